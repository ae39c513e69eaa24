// Bindings of operations whose result may be stored in out= or in the tensor itself, and arguments
// that may be None.
#pragma once
#include "bind/bind.h"
#include "ops/inplace.h"
#include "walk/walk.h"

namespace facula {

using Out = std::optional<Tensor>;

// An argument that is a tensor, or None: then it is not defined.
struct OptionalTensor : Tensor {
  OptionalTensor() = default;
  OptionalTensor(const Tensor& x) : Tensor(x) {}
};

// For operations that choose elements of their inputs: PyTorch refuses an out that, once it has the
// shape of the result, is one of them or shares memory with one. Returns the result.
inline Tensor check_apart(const char* op, const Tensor& result, const Out& out,
                          std::initializer_list<TensorRef> inputs) {
  if (!out) return result;
  Tensor resized = alias(*out);
  if (out->sizes() != result.sizes())
    set_geometry(resized, result.sizes(), contiguous_strides(result.sizes()), out->offset());
  for (const TensorRef& input : inputs) {
    bool is_same = resized.storage() == input->storage() && resized.offset() == input->offset() &&
                   resized.sizes() == input->sizes() && resized.numel() > 0;
    check(!is_same, op,
          ": unsupported operation: out and an input are the same memory. Please clone() the "
          "input before performing the operation.");
    check_no_partial_overlap(op, resized, *input);
  }
  return result;
}

// The function f(input, ..., out) with out= after the other keywords.
template <class F, class... Extra>
void def_with_out(nb::module_& m, const char* name, F&& f, const Extra&... extra) {
  if constexpr ((std::is_same_v<Extra, nb::kw_only> || ...)) {
    m.def(name, f, "input"_a, extra..., "out"_a.none() = nb::none());
  } else {
    m.def(name, f, "input"_a, extra..., nb::kw_only(), "out"_a.none() = nb::none());
  }
}

// The function with out=, and the method without.
template <class... Args, class... Extra>
void def_op_out(nb::module_& m, const char* name, Tensor (*f)(const Tensor&, Args...),
                const Extra&... extra) {
  auto to_out = [name, f](const Tensor& x, Args... args, const OptionalTensor& out) {
    return into_out(name, f(x, args...), out);
  };
  def_with_out(m, name, to_out, extra...);
  def_method(name, f, extra...);
}

// The method `name_` that stores what f makes of a tensor in the tensor; `op` is its name in
// messages.
template <class... Args, class... Extra>
void def_in_place(const std::string& name, const char* op, Tensor (*f)(const Tensor&, Args...),
                  const Extra&... extra) {
  std::string doc = "Stores the result of " + name + "() in the tensor itself.";
  def_method((name + "_").c_str(),
             [f, op](Tensor x, Args... args) {
               return in_place(op, x, [&](const Tensor& t) { return f(t, args...); });
             },
             extra..., doc.c_str());
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
