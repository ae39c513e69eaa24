// Normalisation by mean and variance. Weights and biases may be undefined: 1 and 0. Statistics
// that are returned have no derivative.
#pragma once
#include <array>
#include <optional>

#include "tensor/tensor.h"

namespace facula {

using NormResult = std::array<Tensor, 3>;  // the result, the means, and 1 / standard deviation

// Per channel (dim 1) over everything else. In training the running statistics, where they are
// given, move by `momentum` towards those of the batch; otherwise they are used.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps);
NormResult native_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const Tensor& running_mean, const Tensor& running_var, bool training,
                             double momentum, double eps);
// Per channel of each sample.
Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps);
// Per group of channels of each sample.
Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps);
NormResult native_group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t n,
                             int64_t n_channels, int64_t inner, int64_t num_groups, double eps);
// Over the last dimensions, which are of `shape`.
Tensor layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight, const Tensor& bias,
                  double eps);
NormResult native_layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight,
                             const Tensor& bias, double eps);
// The same by the root of the mean square alone. By default eps is that of the dtype.
Tensor rms_norm(const Tensor& x, const Dims& shape, const Tensor& weight,
                std::optional<double> eps);

}  // namespace facula
