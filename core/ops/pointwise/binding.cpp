#include "ops/pointwise/binding.h"

#include <nanobind/stl/pair.h>

#include <cstring>
#include <deque>
#include <sstream>

namespace facula {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;
Rows& all_rows() {
  static Rows rows;
  return rows;
}

}  // namespace

void list_row(const char* table, const char* name) { all_rows().emplace_back(table, name); }

std::string docstring(const char* name, const Doc& doc, const char* module) {
  std::string text = doc.sentence;
  if (*doc.meanings) text += "\n\nArgs:";
  std::istringstream lines(doc.meanings);
  for (std::string line; std::getline(lines, line);) text += "\n    " + line;
  return text + "\n\nExample:\n    >>> " + module + "." + name + "(" + doc.arguments + ")\n    " +
         doc.result;
}

std::string in_place_doc(const char* name, const Doc& doc, const char* module) {
  std::string sentence = in_place_doc(name), name_ = std::string(name) + "_";
  std::string meanings = doc.meanings;
  meanings = meanings.substr(0, meanings.find(kOutMeaning));  // which forms in place do not take
  Doc in_place{sentence.c_str(), doc.arguments, doc.result, meanings.c_str()};
  return docstring(name_.c_str(), in_place, module);
}

// The docstring's own meanings, or those that all rows of a kind share.
static Doc with_meanings(const Doc& doc, const char* meanings) {
  Doc full = doc;
  if (!*full.meanings) full.meanings = meanings;
  return full;
}

const char* in_place_name(const char* name) {
  static std::deque<std::string> kept;
  kept.push_back(std::string(name) + "_");
  return kept.back().c_str();
}

std::vector<std::string> all_names(const char* name, const char* others) {
  std::vector<std::string> names{name};
  std::istringstream words(others);
  for (std::string word; words >> word;) names.push_back(word);
  return names;
}

void check_not_only_numbers(const char* name, const Tensor& a, const Tensor& b) {
  check_type(!a->is_wrapped_number || !b->is_wrapped_number, name,
             ": expected at least one of the operands to be a tensor, got two numbers.");
}

// Rows of facula.special, special_name, are bound as _special_name, which facula/special.py gives
// the name that its docstring has.
static std::string special_docstring(const char* name, const Doc& doc) {
  return docstring(name + std::strlen("special_"), doc, "facula.special");
}

void def_unary(nb::module_& m, const char* name, const char* names, Forms forms, UnaryCall f,
               PlainCall plain, UnaryCallInPlace f_, const Doc& row_doc) {
  if (forms == Forms::HIDDEN) return;
  Doc doc = with_meanings(row_doc, forms == Forms::NO_OUT
                                       ? "input: the elements."
                                       : "input: the elements.\nout: where to put the result.");
  auto call = [f, name](const Tensor& x, const Out& out) {
    return with_out(name, out, [&](const Into& into) { return f(x, into); });
  };
  if (forms == Forms::SPECIAL) {
    m.def((std::string("_") + name).c_str(), call, "input"_a, nb::kw_only(), "out"_or_none,
          special_docstring(name, doc).c_str());
    return;
  }
  bool has_function_ = forms != Forms::NO_FUNCTION_;
  std::string text = docstring(name, doc),
              text_ = has_function_ ? in_place_doc(name, doc) : in_place_doc(name);
  auto call_ = [f_](Tensor x) -> Tensor { return f_(x); };
  for (const std::string& public_name : all_names(name, names)) {
    if (forms == Forms::NO_OUT) {
      m.def(public_name.c_str(), plain, "input"_a, text.c_str());
    } else {
      m.def(public_name.c_str(), call, "input"_a, nb::kw_only(), "out"_or_none, text.c_str());
    }
    def_method(public_name.c_str(), plain, text.c_str());
    std::string name_ = public_name + "_";
    def_method(name_.c_str(), call_, text_.c_str());
    if (has_function_) m.def(name_.c_str(), call_, "input"_a, text_.c_str());
  }
}

void def_predicate(nb::module_& m, const char* name, UnaryCall f, const Doc& doc) {
  std::string text =
      docstring(name, with_meanings(doc, "input: the elements.\nout: where to put the result."));
  def_op_out(m, name, f, text.c_str());
}

namespace {

// A and B: what the operands of the function may be, Tensor or Operand.
template <class A, class B>
void def_pair(nb::module_& m, const char* public_name, const char* name, Numbers numbers,
              BinaryCall f, BinaryCallInPlace f_, const std::string& text) {
  m.def(
      public_name,
      [f, name, numbers](const A& a, const B& b, const Out& out) {
        if (numbers == Numbers::ONE_OF) check_not_only_numbers(name, a, b);
        return with_out(name, out, [&](const Into& into) { return f(a, b, into); });
      },
      "input"_a, "other"_a, nb::kw_only(), "out"_or_none, text.c_str());
  def_method(
      public_name, [f](const Tensor& a, const B& b) { return f(a, b, Into{}); }, "other"_a,
      text.c_str());
  def_method((std::string(public_name) + "_").c_str(),
             [f_](Tensor a, const B& b) -> Tensor { return f_(a, b); }, "other"_a,
             in_place_doc(name).c_str());
}

void def_special_pair(nb::module_& m, const char* name, const char* second, BinaryCall f,
                      const Doc& doc) {
  const char* meanings = std::strcmp(second, "n") == 0
                             ? "input: where to take the polynomial, a tensor or a number.\n"
                               "n: the degree of the polynomial, a tensor or a number.\n"
                               "out: where to put the result."
                             : "input: the first argument of the function, a tensor or a number.\n"
                               "other: the second argument, which broadcasts with the first.\n"
                               "out: where to put the result.";
  m.def((std::string("_") + name).c_str(),
        [f, name](const Operand& a, const Operand& b, const Out& out) {
          check_not_only_numbers(name, a, b);
          return with_out(name, out, [&](const Into& into) { return f(a, b, into); });
        },
        "input"_a, nb::arg(second), nb::kw_only(), "out"_or_none,
        special_docstring(name, with_meanings(doc, meanings)).c_str());
}

}  // namespace

void def_binary(nb::module_& m, const char* name, const char* names, Numbers numbers, BinaryCall f,
                BinaryCallInPlace f_, const Doc& doc) {
  if (numbers == Numbers::SPECIAL) return def_special_pair(m, name, "other", f, doc);
  if (numbers == Numbers::DEGREE) return def_special_pair(m, name, "n", f, doc);
  auto def = numbers == Numbers::TENSORS  ? def_pair<Tensor, Tensor>
             : numbers == Numbers::SECOND ? def_pair<Tensor, Operand>
                                          : def_pair<Operand, Operand>;
  const char* meanings =
      numbers == Numbers::TENSORS ? "input: the first operand.\nother: the second operand, which "
                                    "broadcasts with the first.\n"
                                    "out: where to put the result."
      : numbers == Numbers::SECOND
          ? "input: the first operand.\n"
            "other: the second operand, a number or a tensor that broadcasts with the first.\n"
            "out: where to put the result."
          : "input: the first operand, a tensor or a number.\n"
            "other: the second operand, a tensor or a number; tensors broadcast with each other.\n"
            "out: where to put the result.";
  std::string text = docstring(name, with_meanings(doc, meanings));
  for (const std::string& public_name : all_names(name, names))
    def(m, public_name.c_str(), name, numbers, f, f_, text);
}

FACULA_BINDINGS {
  m.def(
      "_rows", [] { return all_rows(); },
      "The rows of the tables, as (table, name): what tests are parametrised with.");
}

}  // namespace facula
