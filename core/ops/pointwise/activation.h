// Activation functions: the rows of activation.def, with up to three numbers each; and those with a
// weight or halves.
#pragma once
#include <array>
#include "ops/result.h"

namespace facula {

using ActivationNumbers = std::array<Scalar, 3>;

#define ACTIVATION(name, ...) \
  Tensor name(const Tensor& x, ActivationNumbers numbers = {}, const Into& into = {});
#include "tables/activation.def"

Tensor prelu(const Tensor& x, const Tensor& weight);  // one weight, or one per channel (dim 1)
Tensor glu(const Tensor& x, int64_t dim);             // of the two halves along dim

// The gradient of sigmoid from that of its result y.
Tensor sigmoid_backward(const Tensor& g, const Tensor& y);

}  // namespace facula
