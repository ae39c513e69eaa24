// The product of a layer.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// x weight^T + bias over the last dimension of x. A weight of one dimension gives one number for
// each vector of x. bias may be undefined.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace facula
