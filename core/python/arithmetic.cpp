#include "ops/pointwise/arithmetic.h"

#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

using ScaledCall = Tensor (*)(const Tensor&, const Tensor&, Scalar);
using ScaledCallInPlace = Tensor& (*)(Tensor&, const Tensor&, Scalar);

// add and sub, which take alpha.
void def_scaled(nb::module_& m, Names names, ScaledCall f, ScaledCallInPlace f_, const Doc& doc) {
  const char* first = *names.begin();
  std::string text = docstring(first, doc);
  for (const char* name : names) {
    m.def(
        name,
        [f, first](const Operand& a, const Operand& b, Scalar alpha, const Out& out) {
          return with_out(first, out, [&] { return f(a, b, alpha); });
        },
        "input"_a, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), "out"_a.none() = nb::none(),
        text.c_str());
    def_method(
        name, [f](const Tensor& a, const Operand& b, Scalar alpha) { return f(a, b, alpha); },
        "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), text.c_str());
    def_method((std::string(name) + "_").c_str(),
               [f_](Tensor a, const Operand& b, Scalar alpha) -> Tensor { return f_(a, b, alpha); },
               "other"_a, nb::kw_only(), "alpha"_a = Scalar(1));
  }
}

using Mode = std::optional<std::string>;

void bind_division(nb::module_& m) {
  const char* doc =
      R"(``input / other``, rounded towards minus infinity ("floor") or zero ("trunc") where asked for.

Example:
    >>> facula.div(facula.tensor([7.0, -7.0]), 2, rounding_mode="floor")
    tensor([ 3., -4.]))";
  for (const char* name : {"div", "divide"}) {
    m.def(
        name,
        [](const Operand& a, const Operand& b, const Mode& mode, const Out& out) {
          return with_out("div", out, [&] { return div(a, b, mode); });
        },
        "input"_a, "other"_a, nb::kw_only(), "rounding_mode"_a.none() = nb::none(),
        "out"_a.none() = nb::none(), doc);
    def_method(
        name, [](const Tensor& a, const Operand& b, const Mode& mode) { return div(a, b, mode); },
        "other"_a, nb::kw_only(), "rounding_mode"_a.none() = nb::none(), doc);
    def_method((std::string(name) + "_").c_str(),
               [](Tensor a, const Operand& b, const Mode& mode) -> Tensor {
                 if (!mode) return div_(a, b);
                 return in_place("div_", a, [&](const Tensor& x) { return div(x, b, mode); });
               },
               "other"_a, nb::kw_only(), "rounding_mode"_a.none() = nb::none());
  }
  def_binary(m, {"true_divide"}, Numbers::Both, div,
             {"``input / other``.", "facula.tensor([1, 2]), 2", "tensor([0.5000, 1.0000])"}, div_);
  def_binary(m, {"floor_divide"}, Numbers::Both, floor_divide,
             {"``input // other``, rounded towards minus infinity.", "facula.tensor([7, -7]), 2",
              "tensor([ 3, -4])"},
             floor_divide_);
  def_binary(m, {"remainder"}, Numbers::OneOf, remainder,
             {"``input % other``, with the sign of ``other``.", "facula.tensor([7, -7]), 3",
              "tensor([1, 2])"},
             remainder_);
  def_binary(m, {"fmod"}, Numbers::Second, fmod,
             {"The rest of the division rounded towards zero, with the sign of ``input``.",
              "facula.tensor([7, -7]), 3", "tensor([ 1, -1])"});
}

void bind_power(nb::module_& m) {
  const char* doc = R"(``input`` to the power ``exponent``; either may be a number.

Example:
    >>> facula.pow(facula.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.]))";
  m.def(
      "pow",
      [](const Operand& a, const Operand& b, const Out& out) {
        check_not_only_numbers("pow", a, b);
        return with_out("pow", out, [&] { return pow(a, b); });
      },
      "input"_a, "exponent"_a, nb::kw_only(), "out"_a.none() = nb::none(), doc);
  def_method(
      "pow", [](const Tensor& a, const Operand& b) { return pow(a, b); }, "exponent"_a, doc);
  def_method(
      "pow_", [](Tensor a, const Operand& b) -> Tensor { return pow_(a, b); }, "exponent"_a);
}

}  // namespace

FACULA_BINDINGS {
  def_scaled(m, {"add"}, add, add_,
             {"``input + alpha * other``.", "facula.tensor([1.0, 2.0]), 10, alpha=2",
              "tensor([21., 22.])"});
  def_scaled(m, {"sub", "subtract"}, sub, sub_,
             {"``input - alpha * other``.", "facula.tensor([1.0, 2.0]), 10, alpha=2",
              "tensor([-19., -18.])"});
  m.def(
      "rsub", [](const Tensor& a, const Operand& b, Scalar alpha) { return rsub(a, b, alpha); },
      "input"_a, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), R"(``other - alpha * input``.

Example:
    >>> facula.rsub(facula.tensor([1.0, 2.0]), 10)
    tensor([9., 8.]))");
  def_binary(m, {"mul", "multiply"}, Numbers::Both, mul,
             {"``input * other``.", "facula.tensor([1.0, 2.0]), 10", "tensor([10., 20.])"}, mul_);
  bind_division(m);
  bind_power(m);
}

}  // namespace facula
