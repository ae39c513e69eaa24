// Memory shared with NumPy.
#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

// The tensor over an array's memory; nothing if the object is no ndarray.
std::optional<Tensor> tensor_of_ndarray(PyObject* object);

}  // namespace facula
