// The averages of windows.
#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/nn/pool_plan.h"
#include "ops/ops.h"

namespace facula {

using namespace pool;

namespace {

constexpr PoolNames kMeanNames = {
    {"avg_pool1d", "avg_pool2d", "avg_pool3d"},
    {"AvgPool1DBackward0", "AvgPool2DBackward0", "AvgPool3DBackward0"},
    {"AvgPool1DBackwardBackward0", "AvgPool2DBackwardBackward0", "AvgPool3DBackwardBackward0"}};
constexpr PoolNames kAdaptiveMeanNames = {
    {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"},
    {"AdaptiveAvgPool1DBackward0", "AdaptiveAvgPool2DBackward0", "AdaptiveAvgPool3DBackward0"},
    {"AdaptiveAvgPool1DBackwardBackward0", "AdaptiveAvgPool2DBackwardBackward0",
     "AdaptiveAvgPool3DBackwardBackward0"}};

Tensor run_mean(const SharedPlan& plan, const Tensor& x);

Tensor mean_backward(const SharedPlan& plan, const Tensor& g, const Dims& sizes,
                     const Tensor& place) {
  Tensor gx = g.is_cpu() ? run_backward_kernel(PoolKind::Mean, *plan, g, {}, sizes)
                         : run_backward_on_gpu(PoolKind::Mean, *plan, g, {}, sizes);
  return record_linear(plan->names.backward_node[plan->n - 1], gx, g, place,
                       [plan](const Tensor& h) { return run_mean(plan, h); });
}

Tensor run_mean(const SharedPlan& plan, const Tensor& x) {
  const cpu::PoolTable& table = cpu::get_pool_table();
  check_kernel(*plan, x, table.mean[static_cast<int>(x.dtype())] != nullptr);
  Tensor y = run_forward(PoolKind::Mean, *plan, x, false).values;
  return record(plan->names.node[plan->n - 1], y, {x},
                [plan, sizes = x.sizes()](const Tensor& g, Needs needs) -> TensorList {
                  return {mean_backward(plan, g, sizes, needs.place_of(0))};
                });
}

Tensor avg_pool(const Tensor& x, int n, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override) {
  auto plan = std::make_shared<PoolPlan>(PoolPlan{kMeanNames, n, image_format(x, n)});
  WindowSizes sizes = window_sizes(*plan, kernel_size, stride, padding, {1});
  check(!divisor_override || *divisor_override != 0, plan->op(),
        ": divisor_override must not be 0.");
  check_input(*plan, x, false);
  set_regular(*plan, x, sizes, ceil_mode, count_include_pad);
  plan->divisor = divisor_override.value_or(0);
  return run_mean(plan, x);
}

// Windows that cover the input evenly, as many as the result has elements.
Tensor adaptive_avg_pool(const Tensor& x, int n, const Dims& output_size) {
  auto plan = std::make_shared<PoolPlan>(PoolPlan{kAdaptiveMeanNames, n, image_format(x, n)});
  check_input(*plan, x, true);
  set_adaptive(*plan, x, output_size);
  bool is_whole = true;
  Dims dims;
  for (int i = 0; i < n; ++i) {
    is_whole = is_whole && plan->axis(i).out == 1;
    dims.push_back(i - n);
  }
  if (is_whole) {
    Tensor y = mean(x, dims, /*keepdim=*/true);
    // The pixel has no neighbours, but its strides tell layers behind it of the format.
    MemoryFormat format = pooled_format(x, n);
    if (n > 1 && format != MemoryFormat::Contiguous)
      set_geometry(y, y.sizes(), channels_last_strides(y.sizes()), 0);
    return y;
  }
  check_kernel(*plan, x, is_floating(x.dtype()));
  return run_mean(plan, x);
}

using Stride = std::optional<Dims>;

template <int n>
Tensor average(const Tensor& x, const Dims& kernel_size, const Stride& stride, const Dims& padding,
               bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return avg_pool(x, n, kernel_size, stride.value_or(Dims()), padding, ceil_mode, count_include_pad,
                  divisor_override);
}

}  // namespace

FACULA_BINDINGS {
  m.def(
      "avg_pool1d",
      [](const Tensor& x, const Dims& kernel_size, const Stride& stride, const Dims& padding,
         bool ceil_mode, bool count_include_pad) {
        return average<1>(x, kernel_size, stride, padding, ceil_mode, count_include_pad, {});
      },
      "input"_a, "kernel_size"_a, "stride"_or_none, "padding"_a = 0, "ceil_mode"_a = false,
      "count_include_pad"_a = true,
      R"(Averages of windows over the last dimension.
    input: the sequences, floating point or int64, ``(N, C, L)`` or ``(C, L)``.
    kernel_size: the size of the windows.
    stride: the distance from window to window; by default the size of the windows.
    padding: how many zeros to add on both sides, at most half of the window.
    ceil_mode: whether a window may begin inside the input and end outside.
    count_include_pad: whether zeros of the padding count in the average.
    >>> facula.avg_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]]))"_doc);
  m.def("_avg_pool2d", &average<2>, "input"_a, "kernel_size"_a, "stride"_a.none(), "padding"_a,
        "ceil_mode"_a, "count_include_pad"_a, "divisor_override"_a.none());
  m.def("_avg_pool3d", &average<3>, "input"_a, "kernel_size"_a, "stride"_a.none(), "padding"_a,
        "ceil_mode"_a, "count_include_pad"_a, "divisor_override"_a.none());
  m.def(
      "adaptive_avg_pool1d",
      [](const Tensor& x, const Dims& output_size) { return adaptive_avg_pool(x, 1, output_size); },
      "input"_a, "output_size"_a, R"(Averages of windows that cover the last dimension evenly.
    input: the sequences, floating point, ``(N, C, L)`` or ``(C, L)``.
    output_size: the number of windows.
    >>> facula.adaptive_avg_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]]))"_doc);
  m.def("_adaptive_avg_pool", &adaptive_avg_pool, "input"_a, "n"_a, "output_size"_a);
}

}  // namespace facula
