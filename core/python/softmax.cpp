#include "ops/nn/softmax.h"

#include "ops/reduce/arguments.h"

namespace facula {

namespace {

template <Tensor (*f)(const Tensor&, int64_t, OptionalDType, const Into&)>
void def_softmax(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, int64_t dim, OptionalDType dtype, const Out& out) {
        return with_out(name, out, [&](const Into& into) { return f(x, dim, dtype, into); });
      },
      "input"_a, "dim"_a, "dtype"_a.none() = nb::none(), nb::kw_only(), "out"_a.none() = nb::none(),
      doc);
  def_method(
      name,
      [](const Tensor& x, int64_t dim, OptionalDType dtype) { return f(x, dim, dtype, Into{}); },
      "dim"_a, "dtype"_a.none() = nb::none(), doc);
}

}  // namespace

FACULA_BINDINGS {
  def_softmax<softmax>(m, "softmax", R"(Exponentials along a dimension, scaled to a sum of 1.

Args:
    input: logits, floating point.
    dim: the dimension that sums to 1.
    dtype: dtype of the result; the logits are converted first.
    out: where to put the result.

Example:
    >>> facula.softmax(facula.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
)");
  def_softmax<log_softmax>(m, "log_softmax", R"(Logarithm of softmax, without its loss of precision.

Args:
    input: logits, floating point.
    dim: the dimension along which the probabilities sum to 1.
    dtype: dtype of the result; the logits are converted first.
    out: where to put the result.

Example:
    >>> facula.log_softmax(facula.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
)");
}

}  // namespace facula
