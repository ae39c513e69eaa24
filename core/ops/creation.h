// Tensors from numbers.
#pragma once
#include "tensor/tensor.h"

namespace facula {

Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype, Device device = {});

}  // namespace facula
