// The largest elements of windows.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/nn/pool_plan.h"
#include "ops/ops.h"
#include "walk/reduction.h"

namespace facula {

using namespace pool;

namespace {

constexpr PoolNames kMaxNames = {
    {"max_pool1d", "max_pool2d", "max_pool3d"},
    {"MaxPool1DBackward0", "MaxPool2DWithIndicesBackward0", "MaxPool3DWithIndicesBackward0"},
    {"MaxPool1DBackwardBackward0", "MaxPool2DWithIndicesBackwardBackward0",
     "MaxPool3DWithIndicesBackwardBackward0"}};
constexpr PoolNames kAdaptiveMaxNames = {
    {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"},
    {"AdaptiveMaxPool1DBackward0", "AdaptiveMaxPool2DBackward0", "AdaptiveMaxPool3DBackward0"},
    {"AdaptiveMaxPool1DBackwardBackward0", "AdaptiveMaxPool2DBackwardBackward0",
     "AdaptiveMaxPool3DBackwardBackward0"}};
constexpr PoolNames kFractionalNames = {
    {nullptr, "fractional_max_pool2d", "fractional_max_pool3d"},
    {nullptr, "FractionalMaxPool2DBackward0", "FractionalMaxPool3DBackward0"},
    {nullptr, "FractionalMaxPool2DBackwardBackward0", "FractionalMaxPool3DBackwardBackward0"}};

bool has_empty_windows(const PoolPlan& plan) {
  return std::any_of(plan.axes.begin(), plan.axes.end(), [](const PoolAxis& axis) {
    return std::count(axis.count.begin(), axis.count.end(), 0) > 0;
  });
}

// Elements of h, which has the shape of the input, at the places of the largest ones.
Tensor pick_largest(const SharedPlan& plan, const Tensor& h, const Tensor& indices) {
  Tensor flat = flatten(indices, h.dim() - plan->n, -1);
  Tensor picked = gather(flatten(h, h.dim() - plan->n, -1), -1, clamp_min(flat, Scalar(0)));
  return reshape(masked_fill(picked, lt(flat, wrapped_number(0)), wrapped_number(0)),
                 indices.sizes());
}

Tensor max_pool_backward(const SharedPlan& plan, const Tensor& g, const Tensor& x) {
  Tensor gx = run_backward_kernel(PoolKind::Max, *plan, g, x, x.sizes());
  return record_linear(
      plan->names.backward_node[plan->n - 1], gx, g, x, [plan, x = save(x)](const Tensor& h) {
        return pick_largest(plan, h, run_forward(PoolKind::Max, *plan, x, true).indices);
      });
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

// From the places that were saved; on a GPU they always are.
Tensor max_pool_backward_at(const SharedPlan& plan, const Tensor& g, const Tensor& indices,
                            const Dims& sizes, const Tensor& place) {
  Tensor gx;
  {
    NoGradGuard guard;
    gx = g.is_cpu() ? add_at(g, indices, sizes, plan->n)
                    : run_backward_on_gpu(PoolKind::Max, *plan, g, indices, sizes);
  }
  return record_linear(
      plan->names.backward_node[plan->n - 1], gx, g, place,
      [plan, indices = save(indices)](const Tensor& h) { return pick_largest(plan, h, indices); });
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
  if (!x.is_cpu()) saves_indices = is_grad_enabled() && x.requires_grad();
  MaxPooled result = run_forward(PoolKind::Max, *plan, x, with_indices || saves_indices);
  const char* node = plan->names.node[plan->n - 1];
  if (saves_indices)
    record(node, result.values, {x},
           [plan, indices = save(result.indices), sizes = x.sizes()](const Tensor& g,
                                                                     Needs needs) -> TensorList {
             return {max_pool_backward_at(plan, g, indices, sizes, needs.place_of(0))};
           });
  else
    record(node, result.values, {x},
           [plan, x = save(x)](const Tensor& g) { return max_pool_backward(plan, g, x); });
  if (!with_indices) result.indices = {};
  return result;
}

// An empty stride means the size of the window.
MaxPooled max_pool(const Tensor& x, int n, const Dims& kernel_size, const Dims& stride,
                   const Dims& padding, const Dims& dilation, bool ceil_mode, bool with_indices) {
  // PyTorch's kernel for sequences on the CPU, without indices or a gradient, knows no formats.
  bool is_plain =
      x.is_cpu() && n == 1 && !with_indices && !(is_grad_enabled() && x.requires_grad());
  MemoryFormat format = is_plain ? MemoryFormat::Contiguous : pooled_format(x, n);
  auto plan = std::make_shared<PoolPlan>(PoolPlan{kMaxNames, n, format});
  WindowSizes sizes = window_sizes(*plan, kernel_size, stride, padding, dilation);
  check_input(*plan, x, false);
  set_regular(*plan, x, sizes, ceil_mode, false);
  return run_max(plan, x, with_indices);
}

// Windows that cover the input evenly, as many as the result has elements.
MaxPooled adaptive_max_pool(const Tensor& x, int n, const Dims& output_size, bool with_indices) {
  auto plan = std::make_shared<PoolPlan>(PoolPlan{kAdaptiveMaxNames, n, image_format(x, n)});
  check_input(*plan, x, true);
  set_adaptive(*plan, x, output_size);
  check_kernel(*plan, x, is_floating(x.dtype()));
  return run_max(plan, x, with_indices);
}

// Where windows begin that a random number u spreads over the input. Rounded as PyTorch does, after
// every step to the dtype of the input: the windows depend on it. Where the rounding, or a u that
// is not from 0 to 1, would carry a window out of the input, it is moved back.
template <class T>
void place_windows(int64_t* begin, const PoolAxis& axis, int64_t size, double u) {
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

// Windows placed by `samples` (batch, channels, n), random numbers in [0, 1).
MaxPooled fractional_max_pool(const Tensor& x, int n, const Dims& kernel_size,
                              const Dims& output_size, const Tensor& samples, bool with_indices) {
  auto plan = std::make_shared<PoolPlan>(PoolPlan{kFractionalNames, n, MemoryFormat::Contiguous});
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
  Tensor numbers = samples.is_meta()
                       ? zeros(samples.sizes(), DType::Float64)
                       : to(detach(samples), Device{}, DType::Float64, /*copy=*/false);
  numbers = contiguous(numbers);
  const double* sample = numbers.data_as<double>();
  for (int i = 0; i < n; ++i) {
    PoolAxis& axis = plan->axis(i);
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

constexpr const char* kWindowArguments = R"(    kernel_size: the size of the windows.
    stride: the distance from window to window; by default the size of the windows.
    padding: how many elements to add on both sides, which are never the largest; at most half of
        the window.
    dilation: the distance between the elements of a window.
    ceil_mode: whether a window may begin inside the input and end outside.

Example:
    >>> facula.)";

// `dims` and `inputs` are the words of so many dimensions, `example` a call and its result.
void def_max_pool(nb::module_& m, int n, const char* name, const char* name_with_indices,
                  const char* dims, const char* inputs, const char* example) {
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
  std::string doc = std::string("The largest elements of windows over the last ") + dims +
                    ".\n\nArgs:\n    input: " + inputs + ".\n" + kWindowArguments + name + "(" +
                    example;
  m.def(name, pool, "input"_a, "kernel_size"_a, "stride"_or_none, "padding"_a = 0, "dilation"_a = 1,
        "ceil_mode"_a = false, doc.c_str());
  doc = std::string(R"(Max pooling with the flat indices of the largest elements.

Args:
    input: one, two or three dimensions to pool, which follow the channels and perhaps a batch.
)") + kWindowArguments +
        R"(max_pool1d_with_indices(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]])))";
  m.def(name_with_indices, pool_with_indices, "input"_a, "kernel_size"_a, "stride"_or_none,
        "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false, doc.c_str());
}

template <int n>
Pair adaptive_max(const Tensor& x, const Dims& output_size, bool with_indices) {
  return pair_of(adaptive_max_pool(x, n, output_size, with_indices));
}

}  // namespace

FACULA_BINDINGS {
  def_max_pool(m, 1, "max_pool1d", "max_pool1d_with_indices", "dimension",
               "the sequences, ``(N, C, L)`` or ``(C, L)``",
               R"(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]]))");
  def_max_pool(m, 2, "max_pool2d", "_max_pool2d_with_indices", "two dimensions",
               "the images, ``(N, C, H, W)`` or ``(C, H, W)``",
               R"(facula.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]]))");
  def_max_pool(m, 3, "max_pool3d", "_max_pool3d_with_indices", "three dimensions",
               "the volumes, ``(N, C, D, H, W)`` or ``(C, D, H, W)``",
               R"(facula.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]]))");
  m.def(
      "adaptive_max_pool1d",
      [](const Tensor& x, const Dims& output_size) {
        return adaptive_max<1>(x, output_size, true);
      },
      "input"_a, "output_size"_a,
      R"(The largest elements of windows that cover the last dimension evenly, and their indices.
    input: the sequences, floating point, ``(N, C, L)`` or ``(C, L)``.
    output_size: the number of windows.
    >>> facula.adaptive_max_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]])))"_doc);
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
