// The kernels of neural networks on a GPU. Tensors are contiguous unless something else is said,
// and results have their sizes already.
#pragma once
#include <array>
#include <vector>

#include "cuda/kernels/nn_arguments.h"
#include "products/conv_shape.h"
#include "tensor/tensor.h"

namespace facula::cuda {

// The tensor of the role, from the two others. All are contiguous, or all are channels_last.
void convolve(ConvRole role, const cpu::ConvShape& shape, int64_t n_spatial, MemoryFormat format,
              const Tensor& x, const Tensor& w, const Tensor& y);

// Along a dimension. Backward: x is the result of forward, g its gradient.
void softmax(const Tensor& to, const Tensor& x, int64_t dim, bool is_log);
void softmax_backward(const Tensor& to, const Tensor& g, const Tensor& y, int64_t dim, bool is_log);

// The losses of classes along `dim`. `stats` (2, rows), undefined where x are log probabilities;
// losses and weights one a row. All of these are of the wide dtype.
struct ClassTargets {
  Tensor target, weight;  // int64; one number a class, or undefined
  int64_t ignored;
};
void class_loss(const Tensor& x, int64_t dim, const ClassTargets& classes, const Tensor& stats,
                const Tensor& losses, const Tensor& weights);
// g: of each row, or one for all, divided by `total` where that is defined. Of log probabilities, x
// and stats are undefined and gx is 0 before. The rows of a matrix gx may lie apart.
void class_loss_backward(const Tensor& gx, int64_t dim, const Tensor& g, const Tensor& total,
                         const Tensor& x, const ClassTargets& classes, const Tensor& stats);

// Raises when the device is next waited for if an element is not from 0 to 1; op and name, that of
// the argument, live as long as the program.
void check_unit_interval(const char* op, const char* name, const Tensor& x);

// Rows of `size` elements, n_groups of them to a sample; each of a row's runs of `inner` elements
// has a parameter. Parameters have one floating dtype, statistics the wide one of x; undefined ones
// are left out.
struct RowNorm {
  int64_t size, n_groups, inner;
  double eps;
  Tensor x, weight, bias, mean, rstd;
};
void row_norm(const RowNorm& norm, const Tensor& y);
void row_norm_backward(const RowNorm& norm, const Tensor& g, const Tensor& gx);
// The gradients of the parameters that are defined.
void row_norm_parameters(const RowNorm& norm, const Tensor& g, const Tensor& to_weight,
                         const Tensor& to_bias);

// Elements (outer, channels, inner).
struct ChannelNorm {
  int64_t n_outer, n_channels, inner;
  Tensor x, weight, bias;
  Tensor statistics;  // means and inverse deviations, (2, channels) of float64
  double eps;
  bool is_training;
};
// Running statistics are used, or updated in training; they may have any stride.
void batch_norm(const ChannelNorm& norm, const Tensor& running_mean, const Tensor& running_var,
                double momentum, const Tensor& y);
// What is undefined of the gradients is not wanted.
void batch_norm_backward(const ChannelNorm& norm, const Tensor& g, const Tensor& gx,
                         const Tensor& to_weight, const Tensor& to_bias);

// Windows along three dimensions; `lists` of those that are irregular are vectors of the host.
struct PoolWindows {
  std::array<PooledAxis, 3> axes;
  int64_t n_outer, inner, divisor;
  int64_t n_inputs, n_windows;  // of one of n_outer
};
void max_pool(const PoolWindows& windows, const Tensor& x, const Tensor& y, const Tensor& indices);
void mean_pool(const PoolWindows& windows, const Tensor& x, const Tensor& y);
void max_pool_backward(const PoolWindows& windows, const Tensor& g, const Tensor& indices,
                       const Tensor& gx);
void mean_pool_backward(const PoolWindows& windows, const Tensor& g, const Tensor& gx);

// Taps are in memory of the host.
void resample(const std::array<TapAxis, 3>& axes, bool is_pick, int64_t inner, const Tensor& x,
              const Tensor& y);

// Attention of (batch, head, row, column) tensors of any strides, by cuDNN. The others return
// whether it could, and do nothing where it could not.
struct Attention {
  Tensor query, key, value;
  bool is_causal;
  double scale;
};
struct AttentionGrads {
  Tensor out, g;             // the result and its gradient
  Tensor query, key, value;  // to be written
};
bool can_fuse_attention(const Attention& x);
// `stats`: the logarithm of the sum of the exponentials of each row, float32.
bool attention(const Attention& x, const Tensor& out, const Tensor& stats);
bool attention_backward(const Attention& x, const AttentionGrads& grads, const Tensor& stats);
// The same by kernels of our own, which take no more memory either.
bool can_tile_attention(const Attention& x);
void tiled_attention(const Attention& x, const Tensor& out, const Tensor& stats);
void tiled_attention_backward(const Attention& x, const AttentionGrads& grads, const Tensor& stats);

}  // namespace facula::cuda
