// Helpers to bind operations. One call gives the function `facula.name(input, ...)` and the method
// `Tensor.name(...)`.
#pragma once
#include "bind/casters.h"

namespace facula {

namespace nb = nanobind;
using namespace nb::literals;

// "dim"_or_none is an argument that may be None, and is where it is not given.
inline auto operator""_or_none(const char* name, size_t) {
  return nb::arg(name).none() = nb::none();
}

// R"(...)"_doc is a docstring as bindings write it: a sentence, a line `    name: meaning` for each
// argument, then the example. The headings come from here: "Args:" before the first indented line
// (unless a heading like "Shape:" is written there), "Example:" before the first `>>>`.
const char* operator""_doc(const char* text, size_t size);

// The method only. `self` is the first argument and has no name.
template <class F, class... Extra>
void def_method(const char* name, F&& f, const Extra&... extra) {
  nb::cpp_function_def(std::forward<F>(f),
                       nb::scope(nb::handle(reinterpret_cast<PyObject*>(tensor_type))),
                       nb::name(name), nb::is_method(), extra...);
}

// The function and the method of the same signature.
template <class F, class... Extra>
void def_op(nb::module_& m, const char* name, F f, const Extra&... extra) {
  m.def(name, f, "input"_a, extra...);
  def_method(name, f, extra...);
}

// A function that computes nothing with tensors, but asks for a state or sets one: it is no
// operation, and nobody who watches those hears of it.
namespace seam {
void mark_state(const char* name);
}
template <class... Args>
void def_state(nb::module_& m, const char* name, Args&&... args) {
  m.def(name, std::forward<Args>(args)...);
  seam::mark_state(name);
}

// f(), its errors told in the name of the operation that the user called: f may be made of others.
[[noreturn]] void retell(const char* name, const Error& error);
template <class F>
auto told_as(const char* name, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    retell(name, error);
  }
}

// Bindings stand beside what they bind, in `FACULA_BINDINGS { m.def(...); }`, once in a file, and
// find their way into the module by themselves. They run when the types are there; which file's
// come first is not known.
class Bindings {
 public:
  explicit Bindings(void (*bind)(nb::module_&));
};
#define FACULA_BINDINGS                        \
  static void bind_here(nb::module_& m);       \
  static const Bindings bound_here(bind_here); \
  static void bind_here([[maybe_unused]] nb::module_& m)
void run_bindings(nb::module_& m);

}  // namespace facula
