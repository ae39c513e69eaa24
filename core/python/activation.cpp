#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

// `name(input, ...)` and, in place, `name_(input, ...)`. A name that is not public begins with an
// underscore, of which messages know nothing.
template <class... Numbers, class... Extra>
void def_activation(nb::module_& m, const char* name, Tensor (*f)(const Tensor&, Numbers...),
                    const Extra&... extra) {
  const char* name_ = in_place_name(name[0] == '_' ? name + 1 : name);
  m.def(name, f, "input"_a, extra...);
  m.def((std::string(name) + "_").c_str(),
        [f, name_](Tensor x, Numbers... numbers) -> Tensor {
          return in_place(name_, x, [&](const Tensor& t) { return f(t, numbers...); });
        },
        "input"_a, extra...);
}
// With a form in place of its own.
template <class... Numbers, class... Extra>
void def_activation(nb::module_& m, const char* name, Tensor (*f)(const Tensor&, Numbers...),
                    Tensor& (*f_)(Tensor&, Numbers...), const Extra&... extra) {
  m.def(name, f, "input"_a, extra...);
  m.def((std::string(name) + "_").c_str(),
        [f_](Tensor x, Numbers... numbers) -> Tensor { return f_(x, numbers...); }, "input"_a,
        extra...);
}
// Those of the top level.
void bind_public(nb::module_& m) {
  m.def("relu", relu, "input"_a, R"(Each element, 0 where it is negative.

Example:
    >>> facula.relu(facula.tensor([-1.0, 2.0]))
    tensor([0., 2.]))");
  def_method("relu", relu, "Each element, 0 where it is negative.");
  m.def(
      "relu_", [](Tensor x) -> Tensor { return relu_(x); }, "input"_a);
  def_method("relu_", [](Tensor x) -> Tensor { return relu_(x); });
  def_activation(
      m, "selu", selu,
      R"(``scale * elu(input, alpha)`` with the constants that keep activations normalised.

Example:
    >>> facula.selu(facula.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014]))");
  def_activation(m, "celu", celu, "alpha"_a = Scalar(1.0),
                 R"(``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``.

Example:
    >>> facula.celu(facula.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000]))");
  def_activation(m, "threshold", threshold, "threshold"_a, "value"_a,
                 R"(Each element, ``value`` where it is not above ``threshold``.

Example:
    >>> facula.threshold(facula.tensor([-1.0, 2.0]), 0, 9)
    tensor([9., 2.]))");
  m.def("_glu", glu, "input"_a, "dim"_a);
  const char* prelu_doc = R"(Each element, times ``weight`` where it is negative.

Args:
    input: floating point.
    weight: one number, or one for each channel (dimension 1 of the input).

Example:
    >>> facula.prelu(facula.tensor([-1.0, 2.0]), facula.tensor([0.25]))
    tensor([-0.2500,  2.0000]))";
  m.def("prelu", prelu, "input"_a, "weight"_a, prelu_doc);
  def_method("prelu", prelu, "weight"_a, prelu_doc);
  const char* hardshrink_doc = R"(Each element, 0 where it lies in ``[-lambd, lambd]``.

Example:
    >>> facula.hardshrink(facula.tensor([-1.0, 0.25]))
    tensor([-1.,  0.]))";
  m.def(
      "hardshrink",
      [](const Tensor& x, Scalar lambd, const Out& out) {
        return with_out("hardshrink", out, [&] { return hardshrink(x, lambd); });
      },
      "input"_a, "lambd"_a = Scalar(0.5), nb::kw_only(), "out"_a.none() = nb::none(),
      hardshrink_doc);
  def_method("hardshrink", hardshrink, "lambd"_a = Scalar(0.5), hardshrink_doc);
}

// Those of nn.functional that are bound functions there too.
void bind_with_out(nb::module_& m) {
  m.def(
      "gelu",
      [](const Tensor& x, const std::string& approximate, const Out& out) {
        check(approximate == "none" || approximate == "tanh",
              "gelu: expected 'none' or 'tanh' as approximate, got '", approximate, "'.");
        return with_out("gelu", out, [&] { return gelu(x, approximate == "tanh"); });
      },
      "input"_a, nb::kw_only(), "approximate"_a = "none", "out"_a.none() = nb::none(),
      R"(Each element times the probability that a standard normal number is below it.

Args:
    input: floating point.
    approximate: ``"none"``, or ``"tanh"`` for the approximation by a hyperbolic tangent.
    out: where to put the result.

Example:
    >>> facula.nn.functional.gelu(facula.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545]))");
  m.def(
      "logsigmoid",
      [](const Tensor& x, const Out& out) {
        return with_out("logsigmoid", out, [&] { return log_sigmoid(x); });
      },
      "input"_a, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(The logarithm of the sigmoid.

Example:
    >>> facula.nn.functional.logsigmoid(facula.tensor([0.0, 1.0]))
    tensor([-0.6931, -0.3133]))");
  m.def(
      "softplus",
      [](const Tensor& x, Scalar beta, Scalar threshold, const Out& out) {
        return with_out("softplus", out, [&] { return softplus(x, beta, threshold); });
      },
      "input"_a, "beta"_a = Scalar(1), "threshold"_a = Scalar(20), nb::kw_only(),
      "out"_a.none() = nb::none(),
      R"(``log(1 + exp(beta * x)) / beta``.

Args:
    input: floating point.
    beta: how sharp the bend at 0 is.
    threshold: where ``beta * x`` is above, the result is x itself.
    out: where to put the result.

Example:
    >>> facula.nn.functional.softplus(facula.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000]))");
  m.def(
      "softshrink",
      [](const Tensor& x, Scalar lambd, const Out& out) {
        return with_out("softshrink", out, [&] { return softshrink(x, lambd); });
      },
      "input"_a, "lambd"_a = Scalar(0.5), nb::kw_only(), "out"_a.none() = nb::none(),
      R"(Each element, brought nearer to 0 by ``lambd``.

Example:
    >>> facula.nn.functional.softshrink(facula.tensor([-1.0, 0.25, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000]))");
}

}  // namespace

FACULA_BINDINGS {
  bind_public(m);
  def_activation(m, "_silu", silu, silu_);
  def_activation(m, "_mish", mish, mish_);
  def_activation(m, "_hardswish", hardswish, hardswish_);
  def_activation(m, "_hardsigmoid", hardsigmoid, hardsigmoid_);
  def_activation(m, "_elu", elu, "alpha"_a = Scalar(1.0), "scale"_a = Scalar(1.0),
                 "input_scale"_a = Scalar(1.0));
  def_activation(m, "_leaky_relu", leaky_relu, leaky_relu_, "negative_slope"_a);
  def_activation(m, "_hardtanh", hardtanh, hardtanh_, "min_val"_a, "max_val"_a);
  bind_with_out(m);
}

}  // namespace facula
