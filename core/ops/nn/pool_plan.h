// Pooling: the largest element or the average of windows over the last one, two or three dimensions
// (`n`), after a dimension of channels and, optionally, one of batches. Sizes are one number for
// all dimensions or one for each.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "base/integers.h"
#include "cpu/nn/pool.h"
#include "tensor/tensor.h"

namespace facula::pool {

// The names of an operation, by its number of dimensions.
struct PoolNames {
  const char* op[3];
  const char* node[3];
  const char* backward_node[3];
};

enum class PoolKind { Max, Mean };

struct MaxPooled {
  Tensor values;
  Tensor indices;  // flat ones of the pooled dimensions; undefined if not wanted
};

struct PoolAxis {
  int64_t in = 1;
  int64_t out = 1;
  std::vector<int64_t> begin = {0}, count = {1}, divisor = {1};
  int64_t step = 1, stride = 1, start = 0, size = 1;
  std::vector<int64_t> low = {0}, high = {1};
  bool per_outer = false;

  // The windows in which each element is not padding, where windows are regular.
  void set_ranges() {
    low.resize(size);
    high.resize(size);
    for (int64_t k = 0; k < size; ++k) {
      int64_t first = start + k * step;
      low[k] = first < 0 ? ceil_div(-first, stride) : 0;
      high[k] = first < in ? std::min(out, ceil_div(in - first, stride)) : 0;
    }
  }
};

// A pooling of one shape: what forward and backward share. Fewer than three dimensions are three of
// which the first have size 1.
struct PoolPlan {
  const PoolNames& names;
  int n;
  MemoryFormat format;
  std::array<PoolAxis, 3> axes = {};
  int64_t divisor = 0;

  const char* op() const { return names.op[n - 1]; }
  PoolAxis& axis(int i) { return axes[3 - n + i]; }
  const PoolAxis& axis(int i) const { return axes[3 - n + i]; }
};
using SharedPlan = std::shared_ptr<const PoolPlan>;

struct WindowSizes {
  Dims kernel, stride, padding, dilation;
};

// That of the result; a sequence has that of an image of one row.
MemoryFormat pooled_format(const Tensor& x, int n);
// Of operations that do not keep the format of volumes.
MemoryFormat image_format(const Tensor& x, int n);

void check_input(const PoolPlan& plan, const Tensor& x, bool channels_may_be_empty);
void check_kernel(const PoolPlan& plan, const Tensor& x, bool has_kernel);
// One number for each dimension.
Dims each(const PoolPlan& plan, const char* what, const Dims& given);
WindowSizes window_sizes(const PoolPlan& plan, const Dims& kernel_size, const Dims& stride,
                         const Dims& padding, const Dims& dilation);
void set_regular(PoolPlan& plan, const Tensor& x, const WindowSizes& sizes, bool ceil_mode,
                 bool count_include_pad);
void set_adaptive(PoolPlan& plan, const Tensor& x, const Dims& output_size);
int64_t window_numel(const PoolPlan& plan);
void check_places(const PoolPlan& plan, const Tensor& x);
MaxPooled run_forward(PoolKind kind, const PoolPlan& plan, const Tensor& x, bool with_indices);
// The gradient of an input of these sizes; x is read by max only. Sums of half precision are made
// in float32.
Tensor run_backward_kernel(PoolKind kind, const PoolPlan& plan, const Tensor& grad,
                           const Tensor& input, const Dims& sizes);
// The same on a GPU, where max needs the indices of its forward instead.
Tensor run_backward_on_gpu(PoolKind kind, const PoolPlan& plan, const Tensor& grad,
                           const Tensor& indices, const Dims& sizes);

}  // namespace facula::pool
