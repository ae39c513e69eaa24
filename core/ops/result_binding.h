// Bindings of operations whose result may be stored in out= or in the tensor itself, and arguments
// that may be None.
#pragma once
#include <tuple>
#include "bind/bind.h"
#include "ops/result.h"

namespace facula {

// An argument that is a tensor, or None: then it is not defined.
struct OptionalTensor : Tensor {
  OptionalTensor() = default;
  OptionalTensor(const Tensor& x) : Tensor(x) {}
};

// What Python passes to f(x, args...), which may take `into` as its last argument.
template <class... Args>
struct Arguments {};
namespace detail {
template <class... All, size_t... I>
auto first_of(std::index_sequence<I...>) {
  return Arguments<std::tuple_element_t<I, std::tuple<All...>>...>();
}
template <class... All>
constexpr bool ends_with_into() {
  if constexpr (sizeof...(All) == 0) {
    return false;
  } else {
    return std::is_same_v<std::tuple_element_t<sizeof...(All) - 1, std::tuple<All...>>,
                          const Into&>;
  }
}
}  // namespace detail
template <class... All>
auto arguments_of(Tensor (*)(const Tensor&, All...)) {
  constexpr size_t n = sizeof...(All) - detail::ends_with_into<All...>();
  return detail::first_of<All...>(std::make_index_sequence<n>());
}
// f as a function (x, into, args...).
template <class... All>
auto with_into(Tensor (*f)(const Tensor&, All...)) {
  return [f](const Tensor& x, [[maybe_unused]] const Into& into, const auto&... args) {
    if constexpr (detail::ends_with_into<All...>()) {
      return f(x, args..., into);
    } else {
      return f(x, args...);
    }
  };
}

// The function f(input, ..., out) with out= after the other keywords.
template <class F, class... Extra>
void def_with_out(nb::module_& m, const char* name, F&& f, const Extra&... extra) {
  if constexpr ((std::is_same_v<Extra, nb::kw_only> || ...)) {
    m.def(name, f, "input"_a, extra..., "out"_or_none);
  } else {
    m.def(name, f, "input"_a, extra..., nb::kw_only(), "out"_or_none);
  }
}

// f(x, into, args...): the function with out=, and the method without.
template <class F, class... Args, class... Extra>
void def_op_out(nb::module_& m, const char* name, F f, Arguments<Args...>, const Extra&... extra) {
  auto to_out = [name, f](const Tensor& x, Args... args, const Out& out) {
    return with_out(name, out, [&](const Into& into) { return f(x, into, args...); });
  };
  def_with_out(m, name, to_out, extra...);
  def_method(
      name, [f](const Tensor& x, Args... args) { return f(x, Into{}, args...); }, extra...);
}
// The same for f(x, args...), which may take `into` as its last argument.
template <class... All, class... Extra>
void def_op_out(nb::module_& m, const char* name, Tensor (*f)(const Tensor&, All...),
                const Extra&... extra) {
  def_op_out(m, name, with_into(f), arguments_of(f), extra...);
}

inline std::string in_place_doc(const std::string& name) {
  return "``" + name + "()`` in place: the tensor gets the result and is returned.";
}

// What stores the result of f(x, into, args...) in x; `op` is its name in messages.
template <class F, class... Args>
auto storing(const char* op, F f, Arguments<Args...>) {
  return [f, op](Tensor x, Args... args) -> Tensor {
    return in_place(op, x, [&](const Tensor& t, const Into& into) { return f(t, into, args...); });
  };
}

// The method `name_` that stores the result of f(x, args...), which may take `into` as its last
// argument, in the tensor.
template <class... All, class... Extra>
void def_in_place(const std::string& name, const char* op, Tensor (*f)(const Tensor&, All...),
                  const Extra&... extra) {
  def_method((name + "_").c_str(), storing(op, with_into(f), arguments_of(f)), extra...,
             in_place_doc(name).c_str());
}
// The method and the function.
template <class... All, class... Extra>
void def_op_in_place(nb::module_& m, const std::string& name, const char* op,
                     Tensor (*f)(const Tensor&, All...), const Extra&... extra) {
  def_in_place(name, op, f, extra...);
  m.def((name + "_").c_str(), storing(op, with_into(f), arguments_of(f)), "input"_a, extra...,
        in_place_doc(name).c_str());
}

// A function that the user finds as facula.nn.functional.name, and the package as _core._name:
// names without an underscore are those that `facula` itself has.
template <class F, class... Extra>
void def_functional(nb::module_& m, const char* name, F&& f, const Extra&... extra) {
  // Never freed: functions do not own the module that they say they belong to.
  static auto& functional =
      *new nb::module_(nb::steal<nb::module_>(PyModule_New("facula.nn.functional")));
  functional.def(name, f, extra...);
  m.attr(("_" + std::string(name)).c_str()) = functional.attr(name);
}

}  // namespace facula

namespace nanobind::detail {

template <>
struct type_caster<facula::OptionalTensor> {
  NB_TYPE_CASTER(facula::OptionalTensor,
                 const_name("Tensor"))  // and None, where the argument takes it
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (!src.is_none() && !facula::is_tensor(src.ptr())) return false;
    if (!src.is_none()) value = facula::as_tensor(src.ptr());
    return true;
  }
};

}  // namespace nanobind::detail
