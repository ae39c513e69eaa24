#include "ops/pointwise/ternary.h"

#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

// A bound of clamp: nothing, a number or a tensor.
using Bound = std::optional<Operand>;

Tensor clamp_by(const Tensor& x, const Bound& low, const Bound& high) {
  auto is_number = [](const Bound& b) { return b && b->tensor->is_wrapped_number; };
  auto is_given_tensor = [](const Bound& b) { return b && !b->tensor->is_wrapped_number; };
  check_type(
      !(is_number(low) && is_given_tensor(high)) && !(is_given_tensor(low) && is_number(high)),
      "clamp: expected min and max to be both numbers or both tensors.");
  if (is_given_tensor(low) || is_given_tensor(high))
    return clamp(x, low ? low->tensor : Tensor(), high ? high->tensor : Tensor());
  auto number = [](const Bound& b) {
    return b ? std::optional<Scalar>(item(b->tensor)) : std::nullopt;
  };
  return clamp(x, number(low), number(high));
}

Tensor clamp_min_by(const Tensor& x, const Tensor& low) {
  return low->is_wrapped_number ? clamp_min(x, item(low)) : clamp_min(x, low);
}
Tensor clamp_max_by(const Tensor& x, const Tensor& high) {
  return high->is_wrapped_number ? clamp_max(x, item(high)) : clamp_max(x, high);
}
Tensor lerp_by(const Tensor& a, const Tensor& b, const Tensor& weight) {
  return weight->is_wrapped_number ? lerp(a, b, item(weight)) : lerp(a, b, weight);
}

void bind_clamp(nb::module_& m) {
  const char* doc =
      R"(Each element, moved into ``[min, max]``. The bounds are numbers or tensors; one may be missing.

Example:
    >>> facula.clamp(facula.tensor([-2.0, 0.5, 2.0]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000]))";
  auto none = nb::none();
  for (const char* name : {"clamp", "clip"}) {
    m.def(
        name,
        [](const Tensor& x, const Bound& low, const Bound& high, const Out& out) {
          return with_out("clamp", out, [&] { return clamp_by(x, low, high); });
        },
        "input"_a, "min"_a.none() = none, "max"_a.none() = none, nb::kw_only(),
        "out"_a.none() = none, doc);
    def_method(name, clamp_by, "min"_a.none() = none, "max"_a.none() = none, doc);
    auto assign = [](Tensor x, const Bound& low, const Bound& high) -> Tensor {
      return in_place("clamp_", x, [&](const Tensor& t) { return clamp_by(t, low, high); });
    };
    std::string name_ = std::string(name) + "_";
    def_method(name_.c_str(), assign, "min"_a.none() = none, "max"_a.none() = none);
    m.def(name_.c_str(), assign, "input"_a, "min"_a.none() = none, "max"_a.none() = none);
  }
  const char* min_doc = R"(Each element, at least ``min``.

Example:
    >>> facula.clamp_min(facula.tensor([-2.0, 2.0]), 0)
    tensor([0., 2.]))";
  const char* max_doc = R"(Each element, at most ``max``.

Example:
    >>> facula.clamp_max(facula.tensor([-2.0, 2.0]), 0)
    tensor([-2.,  0.]))";
  auto def_bound = [&](const char* name, const char* argument, BinaryCall f, const char* text) {
    m.def(
        name,
        [f, name](const Tensor& x, const Operand& b, const Out& out) {
          return with_out(name, out, [&] { return f(x, b); });
        },
        "input"_a, nb::arg(argument), nb::kw_only(), "out"_a.none() = nb::none(), text);
    def_method(
        name, [f](const Tensor& x, const Operand& b) { return f(x, b); }, nb::arg(argument), text);
    const char* name_ = in_place_name(name);
    auto assign = [f, name_](Tensor x, const Operand& b) -> Tensor {
      return in_place(name_, x, [&](const Tensor& t) { return f(t, b); });
    };
    def_method(name_, assign, nb::arg(argument));
    m.def(name_, assign, "input"_a, nb::arg(argument));
  };
  def_bound("clamp_min", "min", clamp_min_by, min_doc);
  def_bound("clamp_max", "max", clamp_max_by, max_doc);
}

using ScaledTernary = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, Scalar);

void def_scaled(nb::module_& m, const char* name, ScaledTernary f, const char* doc) {
  m.def(
      name,
      [f, name](const Tensor& x, const Tensor& a, const Tensor& b, Scalar value, const Out& out) {
        return with_out(name, out, [&] { return f(x, a, b, value); });
      },
      "input"_a, "tensor1"_a, "tensor2"_a, nb::kw_only(), "value"_a = Scalar(1),
      "out"_a.none() = nb::none(), doc);
  def_method(
      name,
      [f](const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
        return f(x, a, b, value);
      },
      "tensor1"_a, "tensor2"_a, nb::kw_only(), "value"_a = Scalar(1), doc);
  const char* name_ = in_place_name(name);
  def_method(
      name_,
      [f, name_](Tensor x, const Tensor& a, const Tensor& b, Scalar value) -> Tensor {
        return in_place(name_, x, [&](const Tensor& t) { return f(t, a, b, value); });
      },
      "tensor1"_a, "tensor2"_a, nb::kw_only(), "value"_a = Scalar(1));
}

}  // namespace

FACULA_BINDINGS {
  const char* where_doc =
      R"(``input`` where ``condition`` is true, else ``other``; all three broadcast.

Example:
    >>> facula.where(facula.tensor([True, False]), facula.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.]))";
  m.def(
      "where",
      [](const Tensor& condition, const Operand& a, const Operand& b, const Out& out) {
        return with_out("where", out, [&] { return where(condition, a, b); });
      },
      "condition"_a, "input"_a, "other"_a, nb::kw_only(), "out"_a.none() = nb::none(), where_doc);
  def_method(
      "where",
      [](const Tensor& x, const Tensor& condition, const Operand& other) {
        return where(condition, x, other);
      },
      "condition"_a, "other"_a, where_doc);

  def_scaled(m, "addcmul", addcmul, R"(``input + value * tensor1 * tensor2``.

Example:
    >>> facula.addcmul(facula.ones(2), facula.tensor([1.0, 2.0]), facula.tensor([3.0, 4.0]), value=2)
    tensor([ 7., 17.]))");
  def_scaled(m, "addcdiv", addcdiv, R"(``input + value * tensor1 / tensor2``.

Example:
    >>> facula.addcdiv(facula.ones(2), facula.tensor([1.0, 2.0]), facula.tensor([2.0, 4.0]))
    tensor([1.5000, 1.5000]))");

  const char* lerp_doc = R"(``input + weight * (end - input)``; the weight is a number or a tensor.

Example:
    >>> facula.lerp(facula.tensor([0.0, 10.0]), facula.tensor([10.0, 20.0]), 0.5)
    tensor([ 5., 15.]))";
  m.def(
      "lerp",
      [](const Tensor& a, const Tensor& b, const Operand& w, const Out& out) {
        return with_out("lerp", out, [&] { return lerp_by(a, b, w); });
      },
      "input"_a, "end"_a, "weight"_a, nb::kw_only(), "out"_a.none() = nb::none(), lerp_doc);
  def_method(
      "lerp", [](const Tensor& a, const Tensor& b, const Operand& w) { return lerp_by(a, b, w); },
      "end"_a, "weight"_a, lerp_doc);
  def_method(
      "lerp_",
      [](Tensor a, const Tensor& b, const Operand& w) -> Tensor {
        return in_place("lerp_", a, [&](const Tensor& t) { return lerp_by(t, b, w); });
      },
      "end"_a, "weight"_a);
  bind_clamp(m);
}

}  // namespace facula
