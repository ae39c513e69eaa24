#include "ops/nn/pool.h"

#include <nanobind/stl/tuple.h>

#include "bind/bind.h"

namespace facula {

namespace {

using Pair = std::tuple<Tensor, Tensor>;
using Stride = std::optional<Dims>;

template <int n>
Tensor max_values(const Tensor& x, const Dims& kernel_size, const Stride& stride,
                  const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return max_pool(x, n, kernel_size, stride.value_or(Dims()), padding, dilation, ceil_mode, false)
      .values;
}

template <int n>
Pair max_with_indices(const Tensor& x, const Dims& kernel_size, const Stride& stride,
                      const Dims& padding, const Dims& dilation, bool ceil_mode) {
  MaxPooled result =
      max_pool(x, n, kernel_size, stride.value_or(Dims()), padding, dilation, ceil_mode, true);
  return {result.values, result.indices};
}

template <int n>
void def_pools(nb::module_& m, const char* max, const char* max_and_indices, const char* max_doc) {
  m.def(max, &max_values<n>, "input"_a, "kernel_size"_a, "stride"_a.none() = nb::none(),
        "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false, max_doc);
  m.def(max_and_indices, &max_with_indices<n>, "input"_a, "kernel_size"_a,
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
  MaxPooled result = adaptive_max_pool(x, n, output_size, with_indices);
  return {result.values, result.indices};
}

}  // namespace

FACULA_BINDINGS {
  def_pools<1>(m, "max_pool1d", "max_pool1d_with_indices",
               R"(The largest elements of windows over the last dimension.

Example:
    >>> facula.max_pool1d(facula.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
)");
  def_pools<2>(m, "max_pool2d", "_max_pool2d_with_indices",
               R"(The largest elements of windows over the last two dimensions.

Example:
    >>> facula.max_pool2d(facula.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
)");
  def_pools<3>(m, "max_pool3d", "_max_pool3d_with_indices",
               R"(The largest elements of windows over the last three dimensions.

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
    stride: from window to window; by default their size.
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
        MaxPooled result =
            fractional_max_pool(x, n, kernel_size, output_size, samples, with_indices);
        return Pair{result.values, result.indices};
      },
      "input"_a, "n"_a, "kernel_size"_a, "output_size"_a, "samples"_a, "with_indices"_a);
  m.def("_max_unpool", &max_unpool, "input"_a, "indices"_a, "n"_a, "output_size"_a);
}

}  // namespace facula
