#pragma once
#include "tensor/tensor.h"

namespace facula {

// x with a border of one value; `pad` has numbers of elements (before, after), the last dimension
// first.
Tensor constant_pad_nd(const Tensor& x, const Dims& pad, Scalar value);

}  // namespace facula
