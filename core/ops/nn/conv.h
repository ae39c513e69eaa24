// Convolutions and the windows that they are made of.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// One number, or one per spatial dimension.
struct ConvOptions {
  Dims stride{1}, padding{0}, dilation{1};
  int64_t groups = 1;
  bool is_transposed = false;
  Dims output_padding{0};     // of a transposed convolution
  bool pads_to_same = false;  // instead of `padding`: the output is as large as the input
};

// input (N, C, *), weight (C_out, C / groups, *) or, transposed, (C, C_out / groups, *); bias
// (C_out,) or undefined. `op` is the name for messages.
Tensor convolution(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const ConvOptions& options);
// The same for n_spatial dimensions, where the batch dimension may be missing.
Tensor conv_nd(const char* op, int64_t n_spatial, const Tensor& input, const Tensor& weight,
               const Tensor& bias, const ConvOptions& options);
// Along the first dimension of input (T, B, C); weight (K, C, C_out), bias (C_out,).
Tensor conv_tbc(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t pad);

// The windows of two-dimensional images as columns, and the sum of such columns as images.
Tensor im2col(const Tensor& input, const Dims& kernel_size, const Dims& dilation,
              const Dims& padding, const Dims& stride);
Tensor col2im(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride);

}  // namespace facula
