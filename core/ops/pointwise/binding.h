// Helpers to bind element-wise operations: function with out=, method and in-place method, under
// all their names.
#pragma once
#include <initializer_list>
#include <string>

#include "bind/bind.h"
#include "ops/inplace.h"
#include "ops/result.h"

namespace facula {

using Out = std::optional<Tensor>;
using Names = std::initializer_list<const char*>;
using UnaryCall = Tensor (*)(const Tensor&);
using UnaryCallInPlace = Tensor& (*)(Tensor&);
using BinaryCall = Tensor (*)(const Tensor&, const Tensor&);
using BinaryCallInPlace = Tensor& (*)(Tensor&, const Tensor&);

// What an operation says of itself: a sentence, and an example as `arguments` and `result`, written
// as the user would. The example is made for the operation's first name.
struct Doc {
  const char* sentence;
  const char* arguments;
  const char* result;
};
std::string docstring(const char* name, const Doc& doc);

// A name that outlives the call: bound functions keep it for their messages.
const char* in_place_name(const char* name);

// Where Python numbers may stand for tensors: nowhere, as the second operand, as one of them, as
// both.
enum class Numbers { None, Second, OneOf, Both };
void check_not_only_numbers(const char* name, const Tensor& a, const Tensor& b);

// Without `f_` the in-place form is made from f.
void def_unary(nb::module_& m, Names names, UnaryCall f, const Doc& doc,
               UnaryCallInPlace f_ = nullptr);
void def_binary(nb::module_& m, Names names, Numbers numbers, BinaryCall f, const Doc& doc,
                BinaryCallInPlace f_ = nullptr);
// The function and the method only, with bool results of a dtype that in-place forms cannot keep.
void def_predicate(nb::module_& m, const char* name, UnaryCall f, const Doc& doc);

}  // namespace facula
