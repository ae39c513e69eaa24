// Tensors from numbers.
#pragma once
#include "tensor/tensor.h"

namespace facula {

Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype, Device device = {});
Tensor linspace(Scalar start, Scalar end, int64_t steps, DType dtype, Device device = {});
Tensor logspace(Scalar start, Scalar end, int64_t steps, double base, DType dtype,
                Device device = {});
Tensor eye(int64_t n, int64_t m, DType dtype, Device device = {});

}  // namespace facula
