// Tensors from Python data.
#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

// Numbers, nested sequences, arrays: a new tensor. Without a dtype it is inferred as PyTorch does.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, Device device);
// The historic constructor Tensor(2, 3), Tensor([1, 2]), Tensor(other), Tensor(storage), of Tensor
// or a subclass.
Tensor legacy_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
// The same memory and history as an object of a subclass of Tensor.
Tensor as_subclass(const Tensor& x, PyTypeObject* type);

// x.data = value: x looks at value's memory from now on.
void replace_data(const Tensor& x, const Tensor& value);

}  // namespace facula
