// How the rows of the tables of element-wise operations are bound: function with out=, method and
// forms in place, under all their names, with their docstrings.
#pragma once
#include <string>
#include <vector>

#include "ops/result_binding.h"

namespace facula {

// What is bound of an operation of one tensor.
enum class Forms {
  ALL,           // function, method, and both in place
  NO_FUNCTION_,  // the function in place is missing
  NO_OUT,        // the function takes no out=
  HIDDEN,        // nothing: bound by hand, or used by other operations only
  SPECIAL,       // of facula.special: function with out=
  // Activations. Those of nn.functional are bound by def_functional().
  FUNCTIONS,    // function and function in place
  WITH_METHOD,  // function with out=, and method
  NN,           // of nn.functional: function and function in place
  NN_OUT,       // of nn.functional: function with out=
  UNBOUND,
};

// Where Python numbers may stand for tensors: nowhere, as the second operand, as one of them, as
// both. SPECIAL and DEGREE are as ONE_OF, of functions of facula.special, which are no methods; the
// second operand of a DEGREE is called n.
enum class Numbers { TENSORS, SECOND, ONE_OF, BOTH, SPECIAL, DEGREE };

// What an operation says of itself: a sentence, and an example as `arguments` and `result`, written
// as the user would. The example is made for the operation's first name. `meanings` says what each
// parameter means, in lines of "name: meaning."; the functions that bind rows know theirs.
struct Doc {
  const char* sentence;
  const char* arguments;
  const char* result;
  const char* meanings = "";
};
constexpr const char* kOutMeaning = "out: where to put the result.";
std::string docstring(const char* name, const Doc& doc, const char* module = "facula");

// The docstring of a form in place, with the example of the function that is not.
std::string in_place_doc(const char* name, const Doc& doc, const char* module = "facula");

// A name that outlives the call: bound functions keep it for their messages.
const char* in_place_name(const char* name);

// The name of a row and its other names, which are separated by spaces.
std::vector<std::string> all_names(const char* name, const char* others);

void check_not_only_numbers(const char* name, const Tensor& a, const Tensor& b);

using UnaryCall = Tensor (*)(const Tensor& x, const Into& into);
using PlainCall = Tensor (*)(const Tensor& x);
using UnaryCallInPlace = Tensor& (*)(Tensor& x);
using BinaryCall = Tensor (*)(const Tensor& a, const Tensor& b, const Into& into);
using BinaryCallInPlace = Tensor& (*)(Tensor& a, const Tensor& b);

// `plain` is f into a fresh tensor: the method is bound to it as it is.
void def_unary(nb::module_& m, const char* name, const char* names, Forms forms, UnaryCall f,
               PlainCall plain, UnaryCallInPlace f_, const Doc& doc);
void def_binary(nb::module_& m, const char* name, const char* names, Numbers numbers, BinaryCall f,
                BinaryCallInPlace f_, const Doc& doc);
// The function and the method only: no tensor can hold the result in place.
void def_predicate(nb::module_& m, const char* name, UnaryCall f, const Doc& doc);

// Rows are listed for the tests: facula._core._rows() gives (table, name).
void list_row(const char* table, const char* name);

}  // namespace facula
