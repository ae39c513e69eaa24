// Activation functions with numbers of their own, and the derivatives of all of them that have a
// kernel, one pass over memory.
#pragma once
#include "tensor/tensor.h"

namespace facula {

Tensor threshold(const Tensor& x, Scalar threshold, Scalar value);
Tensor elu(const Tensor& x, Scalar alpha = 1.0, Scalar scale = 1.0, Scalar input_scale = 1.0);
Tensor selu(const Tensor& x);
Tensor celu(const Tensor& x, Scalar alpha = 1.0);
Tensor gelu(const Tensor& x, bool use_tanh = false);
Tensor leaky_relu(const Tensor& x, Scalar slope = 0.01);
Tensor& leaky_relu_(Tensor& x, Scalar slope);
Tensor prelu(const Tensor& x, const Tensor& weight);  // one weight, or one per channel (dim 1)
Tensor glu(const Tensor& x, int64_t dim);             // of the two halves along dim
Tensor softplus(const Tensor& x, Scalar beta = 1.0, Scalar threshold = 20.0);
Tensor log_sigmoid(const Tensor& x);
Tensor hardshrink(const Tensor& x, Scalar lambd = 0.5);
Tensor softshrink(const Tensor& x, Scalar lambd = 0.5);
Tensor hardtanh(const Tensor& x, Scalar low = -1.0, Scalar high = 1.0);
Tensor& hardtanh_(Tensor& x, Scalar low, Scalar high);

Tensor threshold_backward(const Tensor& g, const Tensor& x, Scalar threshold);
Tensor silu_backward(const Tensor& g, const Tensor& x);
Tensor gelu_backward(const Tensor& g, const Tensor& x, bool use_tanh);
Tensor mish_backward(const Tensor& g, const Tensor& x);
Tensor hardsigmoid_backward(const Tensor& g, const Tensor& x);
Tensor hardswish_backward(const Tensor& g, const Tensor& x);

}  // namespace facula
