// Pooling: the largest element or the average of windows over the last one, two or three dimensions
// (`n`), after a dimension of channels and, optionally, one of batches. Sizes are one number for
// all dimensions or one for each.
#include <nanobind/stl/tuple.h>
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "cpu/nn/pool.h"
#include "ops/ops.h"
#include "tensor/format.h"
#include "walk/reduction.h"

namespace facula {

namespace {

constexpr int64_t kPoolGrain = 32768;  // elements read by a task
constexpr int64_t kMostWalked = 4096;

// The names of an operation, by its number of dimensions.
struct PoolNames {
  const char* op[3];
  const char* node[3];
  const char* backward_node[3];
};
constexpr PoolNames kMaxNames = {
    {"max_pool1d", "max_pool2d", "max_pool3d"},
    {"MaxPool1DBackward0", "MaxPool2DWithIndicesBackward0", "MaxPool3DWithIndicesBackward0"},
    {"MaxPool1DBackwardBackward0", "MaxPool2DWithIndicesBackwardBackward0",
     "MaxPool3DWithIndicesBackwardBackward0"}};
constexpr PoolNames kMeanNames = {
    {"avg_pool1d", "avg_pool2d", "avg_pool3d"},
    {"AvgPool1DBackward0", "AvgPool2DBackward0", "AvgPool3DBackward0"},
    {"AvgPool1DBackwardBackward0", "AvgPool2DBackwardBackward0", "AvgPool3DBackwardBackward0"}};
constexpr PoolNames kAdaptiveMaxNames = {
    {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"},
    {"AdaptiveMaxPool1DBackward0", "AdaptiveMaxPool2DBackward0", "AdaptiveMaxPool3DBackward0"},
    {"AdaptiveMaxPool1DBackwardBackward0", "AdaptiveMaxPool2DBackwardBackward0",
     "AdaptiveMaxPool3DBackwardBackward0"}};
constexpr PoolNames kAdaptiveMeanNames = {
    {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"},
    {"AdaptiveAvgPool1DBackward0", "AdaptiveAvgPool2DBackward0", "AdaptiveAvgPool3DBackward0"},
    {"AdaptiveAvgPool1DBackwardBackward0", "AdaptiveAvgPool2DBackwardBackward0",
     "AdaptiveAvgPool3DBackwardBackward0"}};
constexpr PoolNames kFractionalNames = {
    {nullptr, "fractional_max_pool2d", "fractional_max_pool3d"},
    {nullptr, "FractionalMaxPool2DBackward0", "FractionalMaxPool3DBackward0"},
    {nullptr, "FractionalMaxPool2DBackwardBackward0", "FractionalMaxPool3DBackwardBackward0"}};
struct MaxPooled {
  Tensor values;
  Tensor indices;  // flat ones of the pooled dimensions; undefined if not wanted
};

// ---- windows

struct Axis {
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
struct Plan {
  const PoolNames& names;
  int n;
  MemoryFormat format;
  std::array<Axis, 3> axes = {};
  int64_t divisor = 0;

  const char* op() const { return names.op[n - 1]; }
  Axis& axis(int i) { return axes[3 - n + i]; }
  const Axis& axis(int i) const { return axes[3 - n + i]; }
};
using SharedPlan = std::shared_ptr<const Plan>;

// Without a batch dimension, tensors are contiguous.
MemoryFormat pooled_format(const Tensor& x, int n) {
  return x.dim() == n + 2 ? format_of(x) : MemoryFormat::Contiguous;
}
// Of operations that keep the format of images only.
MemoryFormat image_format(const Tensor& x, int n) {
  return n == 2 ? pooled_format(x, n) : MemoryFormat::Contiguous;
}

void check_input(const Plan& plan, const Tensor& x, bool channels_may_be_empty) {
  bool has_batch = x.dim() == plan.n + 2;
  check(x.dim() == plan.n + 1 || has_batch, plan.op(), ": expected an input of ", plan.n + 1,
        " dimensions, or ", plan.n + 2, " with a batch, got ", x, ".");
  for (int64_t d = has_batch; d < x.dim(); ++d)
    check(x.size(d) > 0 || (channels_may_be_empty && d < x.dim() - plan.n), plan.op(),
          ": expected sizes that are not 0 (that of the batch may be), got ", x, ".");
}

void check_kernel(const Plan& plan, const Tensor& x, bool has_kernel) {
  check_not_implemented(x.is_cpu(), plan.op(), ": not implemented on ", x.device(), ".");
  check_not_implemented(has_kernel, plan.op(), ": not implemented for ", x,
                        ". Convert it with input.float().");
}

// One number for each dimension.
Dims each(const Plan& plan, const char* what, const Dims& given) {
  int64_t n = plan.n, n_given = static_cast<int64_t>(given.size());
  check(n_given == 1 || n_given == n, plan.op(), ": ", what, " must be one int",
        n > 1 ? " or one for each dimension" : "", ", got ", given, ".");
  return n_given == n ? given : Dims(static_cast<size_t>(n), given[0]);
}

struct WindowSizes {
  Dims kernel, stride, padding, dilation;
};

WindowSizes window_sizes(const Plan& plan, const Dims& kernel_size, const Dims& stride,
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

void set_regular(Plan& plan, const Tensor& x, const WindowSizes& sizes, bool ceil_mode,
                 bool count_include_pad) {
  for (int i = 0; i < plan.n; ++i) {
    int64_t k = sizes.kernel[i], s = sizes.stride[i], p = sizes.padding[i], d = sizes.dilation[i];
    Axis& axis = plan.axis(i);
    axis.in = x.size(x.dim() - plan.n + i);
    int64_t room = axis.in + 2 * p - d * (k - 1) - 1;
    check(room >= 0 || (ceil_mode && room + s > 0), plan.op(), ": a window of ", d * (k - 1) + 1,
          " elements does not fit into dimension ", x.dim() - plan.n + i, " of ", x,
          " with padding ", p, ".");
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

void set_adaptive(Plan& plan, const Tensor& x, const Dims& output_size) {
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
    Axis& axis = plan.axis(i);
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

// Where windows begin that a random number u spreads over the input. Rounded as PyTorch does, after
// every step to the dtype of the input: the windows depend on it. Where the rounding, or a u that
// is not from 0 to 1, would carry a window out of the input, it is moved back.
template <class T>
void place_windows(int64_t* begin, const Axis& axis, int64_t size, double u) {
  using W = Wide<T>;
  auto rounded = [](W value) { return static_cast<W>(static_cast<T>(value)); };
  W start = static_cast<W>(u);
  W pace =
      axis.out > 1
          ? rounded(rounded(static_cast<W>(axis.in - size)) / rounded(static_cast<W>(axis.out - 1)))
          : W(0);
  auto whole = [](W value) {
    return std::abs(value) < W(int64_t(1) << 62) ? static_cast<int64_t>(value) : 0;
  };
  int64_t offset = whole(rounded(start * pace)), last = axis.in - size;
  for (int64_t o = 0; o + 1 < axis.out; ++o)
    begin[o] = std::clamp<int64_t>(
        whole(rounded(rounded(rounded(static_cast<W>(o)) + start) * pace)) - offset, 0, last);
  begin[axis.out - 1] = last;
}

// ---- running the kernels

cpu::PoolShape shape_of(const Plan& plan, const Tensor& x) {
  cpu::PoolShape shape = {};
  shape.n_in = 1;
  for (int i = 0; i < 3; ++i) {
    const Axis& a = plan.axes[i];
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

int64_t window_numel(const Plan& plan) {
  int64_t numel = 1;
  for (const Axis& axis : plan.axes) numel *= axis.count.empty() ? 1 : axis.count[0];
  return std::max<int64_t>(numel, 1);
}

bool has_empty_windows(const Plan& plan) {
  return std::any_of(plan.axes.begin(), plan.axes.end(), [](const Axis& axis) {
    return std::count(axis.count.begin(), axis.count.end(), 0) > 0;
  });
}

void check_places(const Plan& plan, const Tensor& x) {
  int64_t numel = 1;
  for (const Axis& axis : plan.axes) numel *= axis.in;
  check_not_implemented(numel < INT32_MAX, plan.op(), ": not implemented for ", x,
                        ": a channel has more than 2^31 elements.");
}

MaxPooled run_forward(const cpu::PoolTable::Row& row, const Plan& plan, const Tensor& input,
                      bool with_indices) {
  NoGradGuard guard;
  Dims sizes = input.sizes();
  for (int i = 0; i < plan.n; ++i) sizes[input.dim() - plan.n + i] = plan.axis(i).out;
  MaxPooled result = {empty(sizes, input.dtype(), input.device(), plan.format), {}};
  if (with_indices) {
    check_places(plan, input);
    result.indices = empty(sizes, DType::Int64, input.device(), plan.format);
  }
  if (result.values.numel() == 0) return result;
  Tensor x = contiguous(input, plan.format);
  cpu::PoolShape shape = shape_of(plan, x);
  char* to = result.values.data();
  const char* from = x.data();
  int64_t* indices = with_indices ? result.indices.data_as<int64_t>() : nullptr;
  int64_t per_row = plan.axes[2].out * shape.inner;
  int64_t n_rows = result.values.numel() / per_row;
  cpu::PoolKernel kernel = row[static_cast<int>(x.dtype())];
  parallel_for(n_rows, std::max<int64_t>(1, kPoolGrain / (per_row * window_numel(plan))),
               [&](int64_t begin, int64_t end) { kernel(to, indices, from, shape, begin, end); });
  return result;
}

// The gradient of an input of these sizes; x is read by max only. Sums of half precision are made
// in float32.
Tensor run_backward_kernel(const cpu::PoolTable::BackwardRow& row, const Plan& plan,
                           const Tensor& grad, const Tensor& input, const Dims& sizes) {
  NoGradGuard guard;
  DType dtype = wide_dtype(grad.dtype());
  Tensor gx = empty(sizes, dtype, grad.device(), plan.format);
  if (grad.numel() == 0) zero_(gx);
  if (gx.numel() > 0 && grad.numel() > 0) {
    Tensor g = contiguous(to_dtype(grad, dtype), plan.format), x;
    if (input.defined()) x = contiguous(to_dtype(input, dtype), plan.format);
    cpu::PoolShape shape = shape_of(plan, gx);
    char* to = gx.data();
    const char *from = g.data(), *values = x.defined() ? x.data() : nullptr;
    int64_t n_blocks = ceil_div(shape.inner, cpu::kPoolBlock);
    int64_t n_slices = shape.n_outer * n_blocks;
    int64_t cost = g.numel() / n_slices * window_numel(plan);
    cpu::PoolBackward kernel = row[static_cast<int>(dtype)];
    parallel_for(n_slices, std::max<int64_t>(1, kPoolGrain / std::max<int64_t>(cost, 1)),
                 [&](int64_t begin, int64_t end) { kernel(to, from, values, shape, begin, end); });
  }
  return to_dtype(gx, grad.dtype());
}

// ---- max

// Elements of h, which has the shape of the input, at the places of the largest ones of x.
Tensor pick_largest(const SharedPlan& plan, const Tensor& h, const Tensor& x) {
  Tensor indices = run_forward(cpu::get_pool_table().max, *plan, x, true).indices;
  Tensor flat = flatten(indices, x.dim() - plan->n, -1);
  Tensor picked = gather(flatten(h, x.dim() - plan->n, -1), -1, clamp_min(flat, Scalar(0)));
  return reshape(masked_fill(picked, lt(flat, wrapped_number(0)), wrapped_number(0)),
                 indices.sizes());
}

Tensor max_pool_backward(const SharedPlan& plan, const Tensor& g, const Tensor& x) {
  Tensor gx = run_backward_kernel(cpu::get_pool_table().max_backward, *plan, g, x, x.sizes());
  return record(plan->names.backward_node[plan->n - 1], gx, {g},
                [plan, x = save(x)](const Tensor& h) { return pick_largest(plan, h, x); });
}

// Zeros of these sizes, with the gradients added at the places that they are of.
Tensor add_at(const Tensor& g, const Tensor& indices, const Dims& sizes, int n) {
  int64_t first = g.dim() - n;
  Dims flat(sizes.begin(), sizes.begin() + first);
  flat.push_back(
      std::accumulate(sizes.begin() + first, sizes.end(), int64_t(1), std::multiplies<int64_t>()));
  DType dtype = wide_dtype(g.dtype());
  Tensor sums = scatter_add(zeros(flat, dtype, g.device()), -1, flatten(indices, first, -1),
                            flatten(to_dtype(g, dtype), first, -1));
  return to_dtype(reshape(sums, sizes), g.dtype());
}

MaxPooled run_max(const SharedPlan& plan, const Tensor& x, bool with_indices) {
  const cpu::PoolTable& table = cpu::get_pool_table();
  check_kernel(*plan, x, table.max[static_cast<int>(x.dtype())] != nullptr);
  if (x.requires_grad()) check_places(*plan, x);
  // The places of irregular windows, which take long to find again, and of large ones, which are
  // few, are saved.
  constexpr int64_t kLargeWindow = 16;
  bool saves_indices = (plan->axes[2].stride == 0 || window_numel(*plan) >= kLargeWindow) &&
                       plan->format == MemoryFormat::Contiguous && !has_empty_windows(*plan) &&
                       is_grad_enabled() && x.requires_grad();
  MaxPooled result = run_forward(table.max, *plan, x, with_indices || saves_indices);
  const char* node = plan->names.node[plan->n - 1];
  if (saves_indices)
    record(node, result.values, {x},
           [indices = save(result.indices), sizes = x.sizes(), n = plan->n](const Tensor& g) {
             return add_at(g, indices, sizes, n);
           });
  else
    record(node, result.values, {x},
           [plan, x = save(x)](const Tensor& g) { return max_pool_backward(plan, g, x); });
  if (!with_indices) result.indices = {};
  return result;
}

// ---- averages

Tensor run_mean(const SharedPlan& plan, const Tensor& x);

Tensor mean_backward(const SharedPlan& plan, const Tensor& g, const Dims& sizes) {
  Tensor gx = run_backward_kernel(cpu::get_pool_table().mean_backward, *plan, g, {}, sizes);
  return record(plan->names.backward_node[plan->n - 1], gx, {g},
                [plan](const Tensor& h) { return run_mean(plan, h); });
}

Tensor run_mean(const SharedPlan& plan, const Tensor& x) {
  const cpu::PoolTable& table = cpu::get_pool_table();
  check_kernel(*plan, x, table.mean[static_cast<int>(x.dtype())] != nullptr);
  Tensor y = run_forward(table.mean, *plan, x, false).values;
  return record(plan->names.node[plan->n - 1], y, {x}, [plan, sizes = x.sizes()](const Tensor& g) {
    return mean_backward(plan, g, sizes);
  });
}

// An empty stride means the size of the window.
MaxPooled max_pool(const Tensor& x, int n, const Dims& kernel_size, const Dims& stride,
                   const Dims& padding, const Dims& dilation, bool ceil_mode, bool with_indices) {
  auto plan = std::make_shared<Plan>(Plan{kMaxNames, n, pooled_format(x, n)});
  WindowSizes sizes = window_sizes(*plan, kernel_size, stride, padding, dilation);
  check_input(*plan, x, false);
  set_regular(*plan, x, sizes, ceil_mode, false);
  return run_max(plan, x, with_indices);
}

Tensor avg_pool(const Tensor& x, int n, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override) {
  auto plan = std::make_shared<Plan>(Plan{kMeanNames, n, image_format(x, n)});
  WindowSizes sizes = window_sizes(*plan, kernel_size, stride, padding, {1});
  check(!divisor_override || *divisor_override != 0, plan->op(),
        ": divisor_override must not be 0.");
  check_input(*plan, x, false);
  set_regular(*plan, x, sizes, ceil_mode, count_include_pad);
  plan->divisor = divisor_override.value_or(0);
  return run_mean(plan, x);
}

// Windows that cover the input evenly, as many as the result has elements.
MaxPooled adaptive_max_pool(const Tensor& x, int n, const Dims& output_size, bool with_indices) {
  auto plan = std::make_shared<Plan>(Plan{kAdaptiveMaxNames, n, image_format(x, n)});
  check_input(*plan, x, true);
  set_adaptive(*plan, x, output_size);
  check_kernel(*plan, x, is_floating(x.dtype()));
  return run_max(plan, x, with_indices);
}

Tensor adaptive_avg_pool(const Tensor& x, int n, const Dims& output_size) {
  auto plan = std::make_shared<Plan>(Plan{kAdaptiveMeanNames, n, image_format(x, n)});
  check_input(*plan, x, true);
  set_adaptive(*plan, x, output_size);
  bool is_whole = true;
  Dims dims;
  for (int i = 0; i < n; ++i) {
    is_whole = is_whole && plan->axis(i).out == 1;
    dims.push_back(i - n);
  }
  if (is_whole) return mean(x, dims, /*keepdim=*/true);
  check_kernel(*plan, x, is_floating(x.dtype()));
  return run_mean(plan, x);
}

// Windows placed by `samples` (batch, channels, n), random numbers in [0, 1).
MaxPooled fractional_max_pool(const Tensor& x, int n, const Dims& kernel_size,
                              const Dims& output_size, const Tensor& samples, bool with_indices) {
  auto plan = std::make_shared<Plan>(Plan{kFractionalNames, n, MemoryFormat::Contiguous});
  Dims kernel = each(*plan, "kernel_size", kernel_size),
       sizes = each(*plan, "output_size", output_size);
  check_input(*plan, x, false);
  check_kernel(*plan, x, is_floating(x.dtype()));
  check_same_device(plan->op(), {x, samples});
  int64_t n_channels = x.size(x.dim() - n - 1), n_batch = x.dim() == n + 2 ? x.size(0) : 1;
  int64_t n_slices = n_batch * n_channels;
  check(samples.dtype() == x.dtype(), plan->op(), ": expected random samples of ", x.dtype(),
        ", got ", samples.dtype(), ".");
  check(samples.dim() == 3 && samples.size(0) >= n_batch && samples.size(1) == n_channels &&
            samples.size(2) == n,
        plan->op(), ": expected random samples (", n_batch, ", ", n_channels, ", ", n, ") for ", x,
        ", got ", samples.sizes(), ".");
  Tensor numbers = contiguous(to_dtype(detach(samples), DType::Float64));
  const double* sample = numbers.data_as<double>();
  for (int i = 0; i < n; ++i) {
    Axis& axis = plan->axis(i);
    axis.in = x.size(x.dim() - n + i);
    axis.out = sizes[i];
    // PyTorch wants one element more in three dimensions.
    int64_t room = axis.in - (n == 3 ? 1 : 0);
    check(kernel[i] > 0 && axis.out > 0 && kernel[i] <= room && axis.out - 1 <= room - kernel[i],
          plan->op(), ": windows of ", kernel[i], " elements and a result of ", axis.out,
          " do not fit into dimension ", x.dim() - n + i, " of ", x, ".");
    axis.stride = axis.size = 0;
    axis.count.assign(axis.out, kernel[i]);
    axis.divisor = axis.count;
    axis.per_outer = true;
    axis.begin.resize(n_slices * axis.out);
    // Of two dimensions the first number is that of the second.
    int at = n == 2 ? 1 - i : i;
    for (int64_t slice = 0; slice < n_slices; ++slice)
      visit_dtype(x.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (is_floating_v<T>)
          place_windows<T>(axis.begin.data() + slice * axis.out, axis, kernel[i],
                           sample[slice * n + at]);
      });
  }
  return run_max(plan, x, with_indices);
}

using Pair = std::tuple<Tensor, Tensor>;
using Stride = std::optional<Dims>;

Pair pair_of(const MaxPooled& pooled) { return {pooled.values, pooled.indices}; }

void def_max_pool(nb::module_& m, int n, const char* name, const char* name_with_indices,
                  const char* doc) {
  auto pool = [n](const Tensor& x, const Dims& kernel_size, const Stride& stride,
                  const Dims& padding, const Dims& dilation, bool ceil_mode) {
    return max_pool(x, n, kernel_size, stride.value_or(Dims()), padding, dilation, ceil_mode, false)
        .values;
  };
  auto pool_with_indices = [n](const Tensor& x, const Dims& kernel_size, const Stride& stride,
                               const Dims& padding, const Dims& dilation, bool ceil_mode) {
    return pair_of(
        max_pool(x, n, kernel_size, stride.value_or(Dims()), padding, dilation, ceil_mode, true));
  };
  m.def(name, pool, "input"_a, "kernel_size"_a, "stride"_a.none() = nb::none(), "padding"_a = 0,
        "dilation"_a = 1, "ceil_mode"_a = false, doc);
  m.def(name_with_indices, pool_with_indices, "input"_a, "kernel_size"_a,
        "stride"_a.none() = nb::none(), "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false,
        "Max pooling with the flat indices of the largest elements.");
}

template <int n>
Tensor average(const Tensor& x, const Dims& kernel_size, const Stride& stride, const Dims& padding,
               bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return avg_pool(x, n, kernel_size, stride.value_or(Dims()), padding, ceil_mode, count_include_pad,
                  divisor_override);
}

template <int n>
Pair adaptive_max(const Tensor& x, const Dims& output_size, bool with_indices) {
  return pair_of(adaptive_max_pool(x, n, output_size, with_indices));
}

}  // namespace

FACULA_BINDINGS {
  def_max_pool(m, 1, "max_pool1d", "max_pool1d_with_indices",
               R"(The largest elements of windows over the last dimension.

Args:
    input: ``(N, C, L)`` or ``(C, L)``.
    kernel_size: the size of the windows.
    stride: steps from window to window; by default their size.
    padding: elements added on both sides that are never the largest, at most half of the window.
    dilation: steps between the elements of a window.
    ceil_mode: whether a window may begin inside the input and end outside.

Example:
    >>> facula.max_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
)");
  def_max_pool(m, 2, "max_pool2d", "_max_pool2d_with_indices",
               R"(The largest elements of windows over the last two dimensions.

Args:
    input: ``(N, C, H, W)`` or ``(C, H, W)``.
    kernel_size: the size of the windows.
    stride: steps from window to window; by default their size.
    padding: elements added on both sides that are never the largest, at most half of the window.
    dilation: steps between the elements of a window.
    ceil_mode: whether a window may begin inside the input and end outside.

Example:
    >>> facula.max_pool2d(facula.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
)");
  def_max_pool(m, 3, "max_pool3d", "_max_pool3d_with_indices",
               R"(The largest elements of windows over the last three dimensions.

Args:
    input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
    kernel_size: the size of the windows.
    stride: steps from window to window; by default their size.
    padding: elements added on both sides that are never the largest, at most half of the window.
    dilation: steps between the elements of a window.
    ceil_mode: whether a window may begin inside the input and end outside.

Example:
    >>> facula.max_pool3d(facula.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
)");
  m.def(
      "avg_pool1d",
      [](const Tensor& x, const Dims& kernel_size, const Stride& stride, const Dims& padding,
         bool ceil_mode, bool count_include_pad) {
        return average<1>(x, kernel_size, stride, padding, ceil_mode, count_include_pad, {});
      },
      "input"_a, "kernel_size"_a, "stride"_a.none() = nb::none(), "padding"_a = 0,
      "ceil_mode"_a = false, "count_include_pad"_a = true,
      R"(Averages of windows over the last dimension.

Args:
    input: of a floating dtype or int64, ``(N, C, L)`` or ``(C, L)``.
    kernel_size: the size of the windows.
    stride: steps from window to window; by default their size.
    padding: zeros on both sides, at most half of the window.
    ceil_mode: whether a window may begin inside the input and end outside.
    count_include_pad: whether zeros of the padding count in the average.

Example:
    >>> facula.avg_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
)");
  m.def("_avg_pool2d", &average<2>, "input"_a, "kernel_size"_a, "stride"_a.none(), "padding"_a,
        "ceil_mode"_a, "count_include_pad"_a, "divisor_override"_a.none());
  m.def("_avg_pool3d", &average<3>, "input"_a, "kernel_size"_a, "stride"_a.none(), "padding"_a,
        "ceil_mode"_a, "count_include_pad"_a, "divisor_override"_a.none());
  m.def(
      "adaptive_avg_pool1d",
      [](const Tensor& x, const Dims& output_size) { return adaptive_avg_pool(x, 1, output_size); },
      "input"_a, "output_size"_a, R"(Averages of windows that cover the last dimension evenly.

Args:
    input: floating point, ``(N, C, L)`` or ``(C, L)``.
    output_size: the number of windows.

Example:
    >>> facula.adaptive_avg_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
)");
  m.def("_adaptive_avg_pool", &adaptive_avg_pool, "input"_a, "n"_a, "output_size"_a);
  m.def(
      "adaptive_max_pool1d",
      [](const Tensor& x, const Dims& output_size) {
        return adaptive_max<1>(x, output_size, true);
      },
      "input"_a, "output_size"_a,
      R"(The largest elements of windows that cover the last dimension evenly, and their indices.

Args:
    input: floating point, ``(N, C, L)`` or ``(C, L)``.
    output_size: the number of windows.

Example:
    >>> facula.adaptive_max_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
)");
  m.def("_adaptive_max_pool1d", &adaptive_max<1>, "input"_a, "output_size"_a, "with_indices"_a);
  m.def("_adaptive_max_pool2d", &adaptive_max<2>, "input"_a, "output_size"_a, "with_indices"_a);
  m.def("_adaptive_max_pool3d", &adaptive_max<3>, "input"_a, "output_size"_a, "with_indices"_a);
  m.def(
      "_fractional_max_pool",
      [](const Tensor& x, int n, const Dims& kernel_size, const Dims& output_size,
         const Tensor& samples, bool with_indices) {
        return pair_of(fractional_max_pool(x, n, kernel_size, output_size, samples, with_indices));
      },
      "input"_a, "n"_a, "kernel_size"_a, "output_size"_a, "samples"_a, "with_indices"_a);
}

}  // namespace facula
