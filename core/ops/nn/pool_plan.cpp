#include "ops/nn/pool_plan.h"

#include <algorithm>
#include <limits>

#include "autograd/node.h"
#include "base/parallel.h"
#include "cuda/nn/nn.h"
#include "ops/ops.h"
#include "tensor/format.h"
#include "walk/reduction.h"

namespace facula::pool {

namespace {

constexpr int64_t kPoolGrain = 32768;  // elements read by a task
constexpr int64_t kMostWalked = 4096;

cpu::PoolShape shape_of(const PoolPlan& plan, const Tensor& x) {
  cpu::PoolShape shape = {};
  shape.n_in = 1;
  for (int i = 0; i < 3; ++i) {
    const PoolAxis& a = plan.axes[i];
    shape.axes[i] = {a.in,          a.out,      a.begin.data(), a.count.data(), a.divisor.data(),
                     a.step,        a.stride,   a.start,        a.size,         a.low.data(),
                     a.high.data(), a.per_outer};
    shape.n_in *= a.in;
  }
  shape.inner = plan.format == MemoryFormat::Contiguous ? 1 : x.size(1);
  shape.n_outer = x.numel() / (shape.n_in * shape.inner);
  shape.divisor = plan.divisor;
  return shape;
}

// Sequences whose channels lie together are images of one row: formats are those of images.
bool is_of_rows(const PoolPlan& plan) {
  return plan.n == 1 && plan.format != MemoryFormat::Contiguous;
}
Tensor as_image(const PoolPlan& plan, const Tensor& x) {
  return is_of_rows(plan) && x.defined() ? unsqueeze(x, -2) : x;
}
Dims as_image(const PoolPlan& plan, Dims sizes) {
  if (is_of_rows(plan)) sizes.insert(2, 1);
  return sizes;
}
// No view, as results are none.
Tensor from_image(const PoolPlan& plan, const Tensor& x) {
  return is_of_rows(plan) && x.defined() ? alias(squeeze(x, -2)) : x;
}

// Irregular windows are told by lists; `elements` holds those of the windows that have an element.
cuda::PoolWindows windows_on_gpu(const PoolPlan& plan, const Tensor& x,
                                 std::vector<std::vector<int64_t>>& elements) {
  cpu::PoolShape shape = shape_of(plan, x);
  cuda::PoolWindows windows = {
      {}, shape.n_outer, shape.inner, plan.divisor, shape.n_in * shape.inner, shape.inner};
  elements.resize(6);
  for (int d = 0; d < 3; ++d) {
    const PoolAxis& a = plan.axes[d];
    PooledAxis& to = windows.axes[d];
    windows.n_windows *= a.out;
    to.in = a.in;
    to.out = a.out;
    to.per_outer = a.per_outer;
    to.counts_padding = a.divisor != a.count;
    to.step = a.step;
    // Within 32 bits; longer windows have lists, as irregular ones do.
    bool is_short = a.in + a.size * a.step < std::numeric_limits<int32_t>::max();
    if (a.stride > 0 && is_short) {
      to.stride = a.stride;
      to.start = static_cast<int>(a.start);
      to.size = static_cast<int>(a.size);
      continue;
    }
    std::vector<int64_t>&low = elements[2 * d], &high = elements[2 * d + 1];
    low.assign(a.in, a.per_outer ? 0 : a.out);
    high.assign(a.in, a.per_outer ? a.out : 0);
    for (int64_t o = 0; o < a.out && !a.per_outer; ++o)
      for (int64_t k = 0; k < a.count[o]; ++k) {
        int64_t i = a.begin[o] + k * a.step;
        low[i] = std::min(low[i], o);
        high[i] = o + 1;
      }
    to.begin = a.begin.data();
    to.count = a.count.data();
    to.divisor = a.divisor.data();
    to.low = low.data();
    to.high = high.data();
  }
  return windows;
}

}  // namespace

// Without a batch dimension, tensors are contiguous.
MemoryFormat pooled_format(const Tensor& x, int n) {
  if (x.dim() != n + 2) return MemoryFormat::Contiguous;
  NoGradGuard guard;
  return format_of(n == 1 ? unsqueeze(x, -2) : x);
}
MemoryFormat image_format(const Tensor& x, int n) {
  return n < 3 ? pooled_format(x, n) : MemoryFormat::Contiguous;
}

void check_input(const PoolPlan& plan, const Tensor& x, bool channels_may_be_empty) {
  bool has_batch = x.dim() == plan.n + 2;
  check(x.dim() == plan.n + 1 || has_batch, plan.op(), ": expected an input of ", plan.n + 1,
        " dimensions, or ", plan.n + 2, " with a batch, got ", x, ".");
  for (int64_t d = has_batch; d < x.dim(); ++d)
    check(x.size(d) > 0 || (channels_may_be_empty && d < x.dim() - plan.n), plan.op(),
          ": expected sizes that are not 0 (that of the batch may be), got ", x, ".");
}

void check_kernel(const PoolPlan& plan, const Tensor& x, bool has_kernel) {
  check_not_implemented(has_kernel, plan.op(), ": not implemented for ", x,
                        ". Convert it with input.float().");
}

// One number for each dimension.
Dims each(const PoolPlan& plan, const char* what, const Dims& given) {
  int64_t n = plan.n, n_given = static_cast<int64_t>(given.size());
  check(n_given == 1 || n_given == n, plan.op(), ": ", what, " must be one int",
        n > 1 ? " or one for each dimension" : "", ", got ", given, ".");
  return n_given == n ? given : Dims(static_cast<size_t>(n), given[0]);
}

WindowSizes window_sizes(const PoolPlan& plan, const Dims& kernel_size, const Dims& stride,
                         const Dims& padding, const Dims& dilation) {
  WindowSizes sizes = {each(plan, "kernel_size", kernel_size),
                       {},
                       each(plan, "padding", padding),
                       each(plan, "dilation", dilation)};
  sizes.stride = stride.empty() ? sizes.kernel : each(plan, "stride", stride);
  constexpr int64_t kMost = INT32_MAX;
  for (int i = 0; i < plan.n; ++i) {
    int64_t k = sizes.kernel[i], s = sizes.stride[i], p = sizes.padding[i], d = sizes.dilation[i];
    check(k > 0 && s > 0 && d > 0, plan.op(),
          ": kernel_size, stride and dilation must be positive, got ", k, ", ", s, " and ", d, ".");
    check(k <= kMost && s <= kMost && d <= kMost, plan.op(),
          ": kernel_size, stride and dilation must be less than 2^31, got ", k, ", ", s, " and ", d,
          ".");
    check(p >= 0 && p <= ((k - 1) * d + 1) / 2, plan.op(),
          ": padding must be from 0 to half of the window, which spans ", (k - 1) * d + 1,
          " elements, got ", p, ".");
  }
  return sizes;
}

void set_regular(PoolPlan& plan, const Tensor& x, const WindowSizes& sizes, bool ceil_mode,
                 bool count_include_pad) {
  for (int i = 0; i < plan.n; ++i) {
    int64_t k = sizes.kernel[i], s = sizes.stride[i], p = sizes.padding[i], d = sizes.dilation[i];
    PoolAxis& axis = plan.axis(i);
    axis.in = x.size(x.dim() - plan.n + i);
    int64_t room = axis.in + 2 * p - d * (k - 1) - 1;
    check(room >= 0 || (ceil_mode && room + s > 0), plan.op(), ": a window of ", d * (k - 1) + 1,
          " elements does not fit into dimension ", x.dim() - plan.n + i, " of ", x,
          " with padding ", p, ". (Output size is too small)");
    axis.out = (ceil_mode ? ceil_div(room, s) : room / s) + 1;
    // The last window must start inside the input or the padding before it.
    if (ceil_mode && (axis.out - 1) * s >= axis.in + p) --axis.out;
    axis.step = d;
    axis.start = -p;
    // Of a window far larger than the input most is padding: it is not looped over.
    bool is_walked = k <= kMostWalked;
    axis.stride = is_walked ? s : 0;
    axis.size = is_walked ? k : 0;
    axis.set_ranges();
    axis.begin.resize(axis.out);
    axis.count.resize(axis.out);
    axis.divisor.resize(axis.out);
    for (int64_t o = 0; o < axis.out; ++o) {
      int64_t start = o * s - p, skipped = start < 0 ? ceil_div(-start, d) : 0;
      axis.begin[o] = start + skipped * d;
      axis.count[o] =
          std::max<int64_t>(0, std::min(k - skipped, ceil_div(axis.in - axis.begin[o], d)));
      axis.divisor[o] =
          count_include_pad ? std::min(start + k, axis.in + p) - start : axis.count[o];
    }
  }
}

// Each takes 24 bytes, which are not there for any number that an int64 can count.
constexpr int64_t kMostWindows = 1 << 28;

void set_adaptive(PoolPlan& plan, const Tensor& x, const Dims& output_size) {
  Dims sizes = each(plan, "output_size", output_size);
  Dims result = x.sizes();
  for (int i = 0; i < plan.n; ++i) {
    check_not_implemented(sizes[i] <= kMostWindows, plan.op(), ": not implemented for more than ",
                          kMostWindows, " windows along a dimension, got output_size ", output_size,
                          ".");
    result[x.dim() - plan.n + i] = std::max<int64_t>(sizes[i], 0);
  }
  // Memory that cannot be had is refused before the windows are made.
  if (checked_numel(result) > 1 << 28) empty(result, x.dtype(), x.device());
  for (int i = 0; i < plan.n; ++i) {
    PoolAxis& axis = plan.axis(i);
    axis.in = x.size(x.dim() - plan.n + i);
    axis.out = sizes[i];
    check(axis.out >= 0, plan.op(), ": output_size must not be negative, got ", output_size, ".");
    bool is_regular = axis.out > 0 && axis.in % axis.out == 0;
    axis.stride = axis.size = is_regular ? axis.in / axis.out : 0;
    axis.set_ranges();
    axis.begin.resize(axis.out);
    axis.count.resize(axis.out);
    for (int64_t o = 0; o < axis.out; ++o) {
      axis.begin[o] = o * axis.in / axis.out;
      axis.count[o] = ceil_div((o + 1) * axis.in, axis.out) - axis.begin[o];
    }
    axis.divisor = axis.count;
  }
}

int64_t window_numel(const PoolPlan& plan) {
  int64_t numel = 1;
  for (const PoolAxis& axis : plan.axes) numel *= axis.count.empty() ? 1 : axis.count[0];
  return std::max<int64_t>(numel, 1);
}

void check_places(const PoolPlan& plan, const Tensor& x) {
  int64_t numel = 1;
  for (const PoolAxis& axis : plan.axes) numel *= axis.in;
  check_not_implemented(numel < INT32_MAX, plan.op(), ": not implemented for ", x,
                        ": a channel has more than 2^31 elements.");
}

namespace {

MaxPooled run_on_image(PoolKind kind, const PoolPlan& plan, const Tensor& input,
                       bool with_indices) {
  Dims sizes = input.sizes();
  for (int i = 0; i < plan.n; ++i) sizes[input.dim() - plan.n + i] = plan.axis(i).out;
  MaxPooled result = {empty(sizes, input.dtype(), input.device(), plan.format), {}};
  if (with_indices) {
    check_places(plan, input);
    result.indices = empty(sizes, DType::Int64, input.device(), plan.format);
  }
  if (result.values.numel() == 0) return result;
  Tensor x = contiguous(input, plan.format);
  if (!x.is_cpu()) {
    std::vector<std::vector<int64_t>> elements;
    cuda::PoolWindows windows = windows_on_gpu(plan, x, elements);
    if (kind == PoolKind::Max)
      cuda::max_pool(windows, x, result.values, result.indices);
    else
      cuda::mean_pool(windows, x, result.values);
    return result;
  }
  cpu::PoolShape shape = shape_of(plan, x);
  const cpu::PoolTable& table = cpu::get_pool_table();
  char* to = result.values.data();
  const char* from = x.data();
  int64_t* indices = with_indices ? result.indices.data_as<int64_t>() : nullptr;
  int64_t per_row = plan.axes[2].out * shape.inner;
  int64_t n_rows = result.values.numel() / per_row;
  cpu::PoolKernel kernel = kernel_of(kind == PoolKind::Max ? table.max : table.mean, x.dtype());
  parallel_for(n_rows, std::max<int64_t>(1, kPoolGrain / (per_row * window_numel(plan))),
               [&](int64_t begin, int64_t end) { kernel(to, indices, from, shape, begin, end); });
  return result;
}

}  // namespace

MaxPooled run_forward(PoolKind kind, const PoolPlan& plan, const Tensor& x, bool with_indices) {
  NoGradGuard guard;
  MaxPooled result = run_on_image(kind, plan, as_image(plan, x), with_indices);
  return {from_image(plan, result.values), from_image(plan, result.indices)};
}

Tensor run_backward_on_gpu(PoolKind kind, const PoolPlan& plan, const Tensor& grad,
                           const Tensor& indices, const Dims& sizes) {
  NoGradGuard guard;
  Tensor gx = empty(as_image(plan, sizes), grad.dtype(), grad.device(), plan.format);
  if (grad.numel() == 0) zero_(gx);
  if (grad.numel() == 0 || gx.numel() == 0) return from_image(plan, gx);
  Tensor g = contiguous(as_image(plan, grad), plan.format);
  std::vector<std::vector<int64_t>> elements;
  cuda::PoolWindows windows = windows_on_gpu(plan, gx, elements);
  if (kind == PoolKind::Max)
    cuda::max_pool_backward(windows, g, contiguous(as_image(plan, indices), plan.format), gx);
  else
    cuda::mean_pool_backward(windows, g, gx);
  return from_image(plan, gx);
}

Tensor run_backward_kernel(PoolKind kind, const PoolPlan& plan, const Tensor& grad,
                           const Tensor& input, const Dims& sizes) {
  NoGradGuard guard;
  DType dtype = wide_dtype(grad.dtype());
  Tensor gx = empty(as_image(plan, sizes), dtype, grad.device(), plan.format);
  if (grad.numel() == 0) zero_(gx);
  if (gx.numel() > 0 && grad.numel() > 0) {
    Tensor g = contiguous(to_dtype(as_image(plan, grad), dtype), plan.format), x;
    if (input.defined()) x = contiguous(to_dtype(as_image(plan, input), dtype), plan.format);
    cpu::PoolShape shape = shape_of(plan, gx);
    char* to = gx.data();
    const char *from = g.data(), *values = x.defined() ? x.data() : nullptr;
    int64_t n_blocks = ceil_div(shape.inner, cpu::kPoolBlock);
    int64_t n_slices = shape.n_outer * n_blocks;
    int64_t cost = g.numel() / n_slices * window_numel(plan);
    const cpu::PoolTable& table = cpu::get_pool_table();
    cpu::PoolBackward kernel =
        kernel_of(kind == PoolKind::Max ? table.max_backward : table.mean_backward, dtype);
    parallel_for(n_slices, std::max<int64_t>(1, kPoolGrain / std::max<int64_t>(cost, 1)),
                 [&](int64_t begin, int64_t end) { kernel(to, from, values, shape, begin, end); });
  }
  return to_dtype(from_image(plan, gx), grad.dtype());
}

}  // namespace facula::pool
