// How functions that index by tensors are bound: their out= must have the dtype of the input.
#pragma once
#include "ops/result_binding.h"

namespace facula {

// The result of f in out, which must have the dtype of x, as the result has.
template <class F>
Tensor store(const char* op, const Tensor& x, const Out& out, F&& f) {
  if (!out) return f();
  check(out->dtype() == x.dtype(), op, ": expected out of dtype ", x.dtype(), ", got ", *out, ".");
  check(!has_internal_overlap(*out), op, ": expected out with a place for each element, got ", *out,
        ", where elements share places. Pass its clone() instead.");
  return into_out(op, f(), *out);
}

// f(x, into, args...): the function with out=, and the method without.
template <class F, class... Args, class... Extra>
void def_stored(nb::module_& m, const char* name, F f, Arguments<Args...>, const Extra&... extra) {
  auto to_out = [f, name](const Tensor& x, Args... args, const Out& out) {
    return store(name, x, out, [&] { return f(x, Into{}, args...); });
  };
  def_with_out(m, name, to_out, extra...);
  def_method(
      name, [f](const Tensor& x, Args... args) { return f(x, Into{}, args...); }, extra...);
}
template <class... All, class... Extra>
void def_stored(nb::module_& m, const char* name, Tensor (*f)(const Tensor&, All...),
                const Extra&... extra) {
  def_stored(m, name, with_into(f), arguments_of(f), extra...);
}

// The same where out= may share no memory with an input.
template <class... Args, class... Extra>
void def_chooser(nb::module_& m, const char* name, Tensor (*f)(const Tensor&, Args...),
                 const Extra&... extra) {
  auto to_out = [f, name](const Tensor& x, Args... args, const Out& out) {
    return store(name, x, out, [&] {
      Tensor y = check_apart(name, f(x, args...), out, {x});
      auto check_one = [&](const auto& arg) {
        if constexpr (std::is_same_v<decltype(arg), const Tensor&>)
          check_apart(name, y, out, {arg});
      };
      (check_one(args), ...);
      return y;
    });
  };
  def_with_out(m, name, to_out, extra...);
  def_method(name, f, extra...);
}

// A function that changes a copy of its first argument, with out=; the method, and that in place.
template <class... Args, class... Extra>
void def_writer_out(nb::module_& m, const char* name, const char* name_in_place,
                    Tensor (*f)(const Tensor&, Args...), const Extra&... extra) {
  def_stored(m, name, f, extra...);
  def_in_place(name, name_in_place, f, extra...);
}

// The same without out=.
template <class F, class... Args, class... Extra>
void def_without_out(nb::module_& m, const char* name, F f, Arguments<Args...>,
                     const Extra&... extra) {
  def_op(
      m, name, [f](const Tensor& x, Args... args) { return f(x, Into{}, args...); }, extra...);
}
template <class... All, class... Extra>
void def_writer(nb::module_& m, const char* name, const char* name_in_place,
                Tensor (*f)(const Tensor&, All...), const Extra&... extra) {
  def_without_out(m, name, with_into(f), arguments_of(f), extra...);
  def_in_place(name, name_in_place, f, extra...);
}

}  // namespace facula
