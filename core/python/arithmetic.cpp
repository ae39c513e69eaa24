#include "ops/arithmetic.h"

#include "ops/ops.h"
#include "python/bind.h"

namespace facula {

namespace {

using Out = std::optional<Tensor>;

}  // namespace

void bind_arithmetic(nb::module_& m) {
  m.def("add", [](const Operand& a, const Operand& b, Scalar alpha, const Out& out) { return into_out("add", add(a, b, alpha), out.value_or(Tensor())); },
        "input"_a, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), "out"_a.none() = nb::none(), "``input + alpha * other``.");
  def_method("add", [](const Tensor& a, const Operand& b, Scalar alpha) { return add(a, b, alpha); }, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1));
  def_method("add_", [](Tensor a, const Operand& b, Scalar alpha) { return add_(a, b, alpha); }, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1));
  m.def("mul", [](const Operand& a, const Operand& b, const Out& out) { return into_out("mul", mul(a, b), out.value_or(Tensor())); },
        "input"_a, "other"_a, nb::kw_only(), "out"_a.none() = nb::none(), "``input * other``.");
  def_method("mul", [](const Tensor& a, const Operand& b) { return mul(a, b); }, "other"_a);
  def_method("mul_", [](Tensor a, const Operand& b) { return mul_(a, b); }, "other"_a);
}

}  // namespace facula
