#include "ops/pointwise/binding.h"

#include <deque>

namespace facula {

std::string docstring(const char* name, const Doc& doc) {
  return std::string(doc.sentence) + "\n\nExample:\n    >>> facula." + name + "(" + doc.arguments +
         ")\n    " + doc.result;
}

const char* in_place_name(const char* name) {
  static std::deque<std::string> kept;
  kept.push_back(std::string(name) + "_");
  return kept.back().c_str();
}

void check_not_only_numbers(const char* name, const Tensor& a, const Tensor& b) {
  check_type(!a->is_wrapped_number || !b->is_wrapped_number, name,
             ": expected at least one of the operands to be a tensor, got two numbers.");
}

void def_unary(nb::module_& m, Names names, UnaryCall f, const Doc& doc, UnaryCallInPlace f_) {
  const char* first = *names.begin();
  std::string text = docstring(first, doc);
  const char* first_ = in_place_name(first);
  for (const char* name : names) {
    m.def(
        name,
        [f, first](const Tensor& x, const Out& out) {
          return with_out(first, out, [&] { return f(x); });
        },
        "input"_a, nb::kw_only(), "out"_a.none() = nb::none(), text.c_str());
    def_method(
        name, [f](const Tensor& x) { return f(x); }, text.c_str());
    auto call_ = [f, f_, first_](Tensor x) -> Tensor {
      return f_ ? f_(x) : in_place(first_, x, [f](const Tensor& t) { return f(t); });
    };
    std::string name_ = std::string(name) + "_";
    def_method(name_.c_str(), call_);
    if (f_) m.def(name_.c_str(), call_, "input"_a);
  }
}

void def_predicate(nb::module_& m, const char* name, UnaryCall f, const Doc& doc) {
  std::string text = docstring(name, doc);
  m.def(
      name,
      [f, name](const Tensor& x, const Out& out) {
        return with_out(name, out, [&] { return f(x); });
      },
      "input"_a, nb::kw_only(), "out"_a.none() = nb::none(), text.c_str());
  def_method(
      name, [f](const Tensor& x) { return f(x); }, text.c_str());
}

void def_binary(nb::module_& m, Names names, Numbers numbers, BinaryCall f, const Doc& doc,
                BinaryCallInPlace f_) {
  const char* first = *names.begin();
  std::string text = docstring(first, doc);
  const char* first_ = in_place_name(first);
  for (const char* name : names) {
    std::string name_ = std::string(name) + "_";
    auto assign = [f, f_, first_](Tensor a, const Tensor& b) -> Tensor {
      return f_ ? f_(a, b) : in_place(first_, a, [&](const Tensor& t) { return f(t, b); });
    };
    if (numbers == Numbers::None) {
      m.def(
          name,
          [f, first](const Tensor& a, const Tensor& b, const Out& out) {
            return with_out(first, out, [&] { return f(a, b); });
          },
          "input"_a, "other"_a, nb::kw_only(), "out"_a.none() = nb::none(), text.c_str());
      def_method(
          name, [f](const Tensor& a, const Tensor& b) { return f(a, b); }, "other"_a, text.c_str());
      def_method(name_.c_str(), assign, "other"_a);
      continue;
    }
    if (numbers == Numbers::Both || numbers == Numbers::OneOf) {
      m.def(
          name,
          [f, first, numbers](const Operand& a, const Operand& b, const Out& out) {
            if (numbers == Numbers::OneOf) check_not_only_numbers(first, a, b);
            return with_out(first, out, [&] { return f(a, b); });
          },
          "input"_a, "other"_a, nb::kw_only(), "out"_a.none() = nb::none(), text.c_str());
    } else {
      m.def(
          name,
          [f, first](const Tensor& a, const Operand& b, const Out& out) {
            return with_out(first, out, [&] { return f(a, b); });
          },
          "input"_a, "other"_a, nb::kw_only(), "out"_a.none() = nb::none(), text.c_str());
    }
    def_method(
        name, [f](const Tensor& a, const Operand& b) { return f(a, b); }, "other"_a, text.c_str());
    def_method(
        name_.c_str(), [assign](Tensor a, const Operand& b) { return assign(a, b.tensor); },
        "other"_a);
  }
}

}  // namespace facula
