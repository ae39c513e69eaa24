#include "ops/pointwise/compare.h"

#include <cstring>

#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

// The nodes of the in-place forms through which no gradient passes.
constexpr std::pair<const char*, const char*> kNodes[] = {
    {"eq_", "EqBackward0"}, {"ne_", "NeBackward0"}, {"lt_", "LtBackward0"},
    {"le_", "LeBackward0"}, {"gt_", "GtBackward0"}, {"ge_", "GeBackward0"}};

// Results are bool; the in-place forms store them in the dtype of the tensor.
template <class F>
Tensor assign_truth(const char* name, Tensor x, F f) {
  return in_place(name, x, [&](const Tensor& t) {
    Tensor y = to_dtype(f(t), x.dtype());
    for (auto [op, node] : kNodes) {
      if (std::strcmp(op, name) != 0) continue;
      return record(node, y, {t}, [](const Tensor& g) -> Tensor {
        return zeros(g.sizes(), g.dtype(), g.device());
      });
    }
    return y;
  });
}

void def_compare(nb::module_& m, Names names, Numbers numbers, BinaryCall f, const Doc& doc) {
  const char* first = *names.begin();
  std::string text = docstring(first, doc);
  const char* first_ = in_place_name(first);
  for (const char* name : names) {
    std::string name_ = std::string(name) + "_";
    if (numbers == Numbers::None) {
      m.def(
          name,
          [f, first](const Tensor& a, const Tensor& b, const Out& out) {
            return with_out(first, out, [&] { return f(a, b); });
          },
          "input"_a, "other"_a, nb::kw_only(), "out"_a.none() = nb::none(), text.c_str());
      def_method(
          name, [f](const Tensor& a, const Tensor& b) { return f(a, b); }, "other"_a, text.c_str());
      def_method(
          name_.c_str(),
          [f, first_](const Tensor& a, const Tensor& b) {
            return assign_truth(first_, a, [&](const Tensor& t) { return f(t, b); });
          },
          "other"_a);
    } else {
      m.def(
          name,
          [f, first](const Tensor& a, const Operand& b, const Out& out) {
            return with_out(first, out, [&] { return f(a, b); });
          },
          "input"_a, "other"_a, nb::kw_only(), "out"_a.none() = nb::none(), text.c_str());
      def_method(
          name, [f](const Tensor& a, const Operand& b) { return f(a, b); }, "other"_a,
          text.c_str());
      def_method(
          name_.c_str(),
          [f, first_](const Tensor& a, const Operand& b) {
            return assign_truth(first_, a, [&](const Tensor& t) { return f(t, b); });
          },
          "other"_a);
    }
  }
}

}  // namespace

FACULA_BINDINGS {
  const char* pair = "facula.tensor([1.0, 2.0]), 2";
  def_compare(m, {"eq"}, Numbers::Second, eq,
              {"Whether elements are equal.", pair, "tensor([False,  True])"});
  def_compare(m, {"ne", "not_equal"}, Numbers::Second, ne,
              {"Whether elements differ.", pair, "tensor([ True, False])"});
  def_compare(m, {"lt", "less"}, Numbers::Second, lt,
              {"Whether ``input`` is below ``other``.", pair, "tensor([ True, False])"});
  def_compare(m, {"le", "less_equal"}, Numbers::Second, le,
              {"Whether ``input`` is not above ``other``.", pair, "tensor([True, True])"});
  def_compare(m, {"gt", "greater"}, Numbers::Second, gt,
              {"Whether ``input`` is above ``other``.", pair, "tensor([False, False])"});
  def_compare(m, {"ge", "greater_equal"}, Numbers::Second, ge,
              {"Whether ``input`` is not below ``other``.", pair, "tensor([False,  True])"});
  const char* truths = "facula.tensor([True, True]), facula.tensor([True, False])";
  def_compare(m, {"logical_and"}, Numbers::None, logical_and,
              {"Whether both are true, that is, not zero.", truths, "tensor([ True, False])"});
  def_compare(m, {"logical_or"}, Numbers::None, logical_or,
              {"Whether one of them is true, that is, not zero.", truths, "tensor([True, True])"});
  def_compare(m, {"logical_xor"}, Numbers::None, logical_xor,
              {"Whether exactly one of them is true, that is, not zero.", truths,
               "tensor([False,  True])"});

  const char* numbers = "facula.tensor([1.0, facula.nan, -facula.inf])";
  def_predicate(m, "isnan", isnan,
                {"Whether elements are NaN.", numbers, "tensor([False,  True, False])"});
  def_predicate(m, "isinf", isinf,
                {"Whether elements are infinite.", numbers, "tensor([False, False,  True])"});
  def_predicate(
      m, "isfinite", isfinite,
      {"Whether elements are neither infinite nor NaN.", numbers, "tensor([ True, False, False])"});
  def_predicate(m, "isposinf", isposinf,
                {"Whether elements are plus infinity.", numbers, "tensor([False, False, False])"});
  def_predicate(m, "isneginf", isneginf,
                {"Whether elements are minus infinity.", numbers, "tensor([False, False,  True])"});
  def_predicate(m, "isreal", isreal,
                {"Whether elements have no imaginary part.", "facula.tensor([1 + 0j, 1j])",
                 "tensor([ True, False])"});
  def_predicate(m, "signbit", signbit,
                {"Whether the sign is minus, -0.0 included.", "facula.tensor([-0.0, 1.0])",
                 "tensor([ True, False])"});
  def_predicate(m, "logical_not", logical_not,
                {"Whether elements are zero.", "facula.tensor([0, 5])", "tensor([ True, False])"});
  def_method("logical_not_",
             [](const Tensor& x) { return assign_truth("logical_not_", x, logical_not); });
  m.def("equal", equal, "input"_a, "other"_a,
        R"(Whether two tensors have the same shape and the same elements.

Example:
    >>> facula.equal(facula.tensor([1, 2]), facula.tensor([1, 2]))
    True)");
  def_method("equal", equal, "other"_a,
             "Whether two tensors have the same shape and the same elements.");
}

}  // namespace facula
