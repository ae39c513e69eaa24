#include "ops/nn/norm.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "bind/bind.h"

namespace facula {

namespace {

using Optional = std::optional<Tensor>;

Tensor or_none(const Optional& x) { return x ? *x : Tensor(); }

nb::tuple triple(const NormResult& r) { return nb::make_tuple(r[0], r[1], r[2]); }

void bind_over_channels(nb::module_& m) {
  m.def(
      "batch_norm",
      [](const Tensor& x, const Optional& weight, const Optional& bias, const Optional& mean,
         const Optional& var, bool training, double momentum, double eps, bool) {
        return batch_norm(x, or_none(weight), or_none(bias), or_none(mean), or_none(var), training,
                          momentum, eps);
      },
      "input"_a, "weight"_a.none(), "bias"_a.none(), "running_mean"_a.none(),
      "running_var"_a.none(), "training"_a, "momentum"_a, "eps"_a, "cudnn_enabled"_a,
      R"(Channels (dimension 1) brought to mean 0 and variance 1, then scaled and shifted.

In training mean and variance are those of the batch, and the running ones move towards them by
``momentum``; otherwise the running ones are used. ``cudnn_enabled`` has no effect.

Shape:
    input ``(N, C, *)``, all else ``(C,)``; result as the input.

Example:
    >>> x = facula.tensor([[1.0], [3.0]])
    >>> facula.batch_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[-1.],
            [ 1.]]))");
  m.def(
      "native_batch_norm",
      [](const Tensor& x, const Optional& weight, const Optional& bias, const Optional& mean,
         const Optional& var, bool training, double momentum, double eps) {
        return triple(native_batch_norm(x, or_none(weight), or_none(bias), or_none(mean),
                                        or_none(var), training, momentum, eps));
      },
      "input"_a, "weight"_a.none(), "bias"_a.none(), "running_mean"_a.none(),
      "running_var"_a.none(), "training"_a, "momentum"_a, "eps"_a,
      R"(``batch_norm`` with the means and the inverse standard deviations of the batch.

Example:
    >>> x = facula.tensor([[1.0], [3.0]])
    >>> facula.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)[1]
    tensor([2.]))");
  m.def(
      "instance_norm",
      [](const Tensor& x, const Optional& weight, const Optional& bias, const Optional& mean,
         const Optional& var, bool use_input_stats, double momentum, double eps, bool) {
        return instance_norm(x, or_none(weight), or_none(bias), or_none(mean), or_none(var),
                             use_input_stats, momentum, eps);
      },
      "input"_a, "weight"_a.none(), "bias"_a.none(), "running_mean"_a.none(),
      "running_var"_a.none(), "use_input_stats"_a, "momentum"_a, "eps"_a, "cudnn_enabled"_a,
      R"(Channels (dimension 1) of each sample brought to mean 0 and variance 1.

Shape:
    input ``(N, C, *)``, all else ``(C,)``; result as the input.

Example:
    >>> x = facula.tensor([[[1.0, 3.0]]])
    >>> facula.instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]]))");
  m.def(
      "group_norm",
      [](const Tensor& x, int64_t num_groups, const Optional& weight, const Optional& bias,
         double eps,
         bool) { return group_norm(x, num_groups, or_none(weight), or_none(bias), eps); },
      "input"_a, "num_groups"_a, "weight"_a.none() = nb::none(), "bias"_a.none() = nb::none(),
      "eps"_a = 1e-5, "cudnn_enabled"_a = true,
      R"(Groups of channels (dimension 1) of each sample brought to mean 0 and variance 1.

Shape:
    input ``(N, C, *)``, weight and bias ``(C,)``; result as the input.

Example:
    >>> facula.group_norm(facula.tensor([[1.0, 3.0]]), 1, eps=0.0)
    tensor([[-1.,  1.]]))");
  m.def(
      "native_group_norm",
      [](const Tensor& x, const Optional& weight, const Optional& bias, int64_t n, int64_t c,
         int64_t inner, int64_t group, double eps) {
        return triple(
            native_group_norm(x, or_none(weight), or_none(bias), n, c, inner, group, eps));
      },
      "input"_a, "weight"_a.none(), "bias"_a.none(), "N"_a, "C"_a, "HxW"_a, "group"_a, "eps"_a,
      R"(``group_norm`` with the means and the inverse standard deviations of the groups.

Example:
    >>> facula.native_group_norm(facula.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)[1]
    tensor([[2.]]))");
}

void bind_over_rows(nb::module_& m) {
  m.def(
      "layer_norm",
      [](const Tensor& x, const Dims& shape, const Optional& weight, const Optional& bias,
         double eps, bool) { return layer_norm(x, shape, or_none(weight), or_none(bias), eps); },
      "input"_a, "normalized_shape"_a, "weight"_a.none() = nb::none(), "bias"_a.none() = nb::none(),
      "eps"_a = 1e-5, "cudnn_enable"_a = true,
      R"(The last dimensions brought to mean 0 and variance 1, then scaled and shifted.

Args:
    input: floating point.
    normalized_shape: sizes of the dimensions that have one mean.
    weight: factors of the shape ``normalized_shape``.
    bias: summands of that shape.
    eps: added to the variance.
    cudnn_enable: has no effect.

Example:
    >>> facula.layer_norm(facula.tensor([[1.0, 3.0]]), (2,), eps=0.0)
    tensor([[-1.,  1.]]))");
  m.def(
      "native_layer_norm",
      [](const Tensor& x, const Dims& shape, const Optional& weight, const Optional& bias,
         double eps) {
        return triple(native_layer_norm(x, shape, or_none(weight), or_none(bias), eps));
      },
      "input"_a, "normalized_shape"_a, "weight"_a.none(), "bias"_a.none(), "eps"_a,
      R"(``layer_norm`` with the means and the inverse standard deviations.

Example:
    >>> facula.native_layer_norm(facula.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)[1]
    tensor([[2.]]))");
  m.def(
      "rms_norm",
      [](const Tensor& x, const Dims& shape, const Optional& weight, std::optional<double> eps) {
        return rms_norm(x, shape, or_none(weight), eps);
      },
      "input"_a, "normalized_shape"_a, "weight"_a.none() = nb::none(), "eps"_a.none() = nb::none(),
      R"(The last dimensions divided by the root of their mean square, then scaled.

Args:
    input: floating point.
    normalized_shape: sizes of the dimensions that are divided by one number.
    weight: factors of the shape ``normalized_shape``.
    eps: added to the mean square; by default the dtype's ``finfo.eps``.

Example:
    >>> facula.rms_norm(facula.tensor([[3.0, 4.0, 0.0, 0.0]]), (4,))
    tensor([[1.2000, 1.6000, 0.0000, 0.0000]]))");
}

}  // namespace

FACULA_BINDINGS {
  bind_over_channels(m);
  bind_over_rows(m);
}

}  // namespace facula
