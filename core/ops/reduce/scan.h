// Running totals along a dimension.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// The gradient of x, from that of cumprod(x, dim).
Tensor cumprod_backward(const Tensor& g, const Tensor& x, int64_t dim);

}  // namespace facula
