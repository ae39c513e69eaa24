// Pooling: the largest element or the average of windows over the last one, two or three dimensions
// (`n`), after a dimension of channels and, optionally, one of batches. Sizes are one number for
// all dimensions or one for each.
#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

struct MaxPooled {
  Tensor values;
  Tensor indices;  // flat ones of the pooled dimensions; undefined if not wanted
};

// An empty stride means the size of the window.
MaxPooled max_pool(const Tensor& x, int n, const Dims& kernel_size, const Dims& stride,
                   const Dims& padding, const Dims& dilation, bool ceil_mode, bool with_indices);
Tensor avg_pool(const Tensor& x, int n, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override);

// Windows that cover the input evenly, as many as the result has elements.
MaxPooled adaptive_max_pool(const Tensor& x, int n, const Dims& output_size, bool with_indices);
Tensor adaptive_avg_pool(const Tensor& x, int n, const Dims& output_size);

// Windows placed by `samples` (batch, channels, n), random numbers in [0, 1).
MaxPooled fractional_max_pool(const Tensor& x, int n, const Dims& kernel_size,
                              const Dims& output_size, const Tensor& samples, bool with_indices);

// Zeros, with the elements of x at the places that max pooling gave as indices.
Tensor max_unpool(const Tensor& x, const Tensor& indices, int n, const Dims& output_size);

}  // namespace facula
