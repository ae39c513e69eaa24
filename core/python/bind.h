// Helpers to bind operations. One call gives the function `facula.name(input, ...)` and the method
// `Tensor.name(...)`.
#pragma once
#include "python/casters.h"

namespace facula {

namespace nb = nanobind;
using namespace nb::literals;

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

void bind_types(nb::module_& m);
void bind_tensor_type(nb::module_& m);
void bind_arithmetic(nb::module_& m);
void bind_unary(nb::module_& m);
void bind_binary(nb::module_& m);
void bind_compare(nb::module_& m);
void bind_ternary(nb::module_& m);
void bind_view(nb::module_& m);
void bind_creation(nb::module_& m);
void bind_reduce(nb::module_& m);
void bind_sort(nb::module_& m);
void bind_matmul(nb::module_& m);
void bind_indexing(nb::module_& m);
void bind_scan(nb::module_& m);
void bind_softmax(nb::module_& m);
void bind_order_stats(nb::module_& m);
void bind_convert(nb::module_& m);
void bind_shape(nb::module_& m);
void bind_copy(nb::module_& m);
void bind_random(nb::module_& m);
void bind_autograd(nb::module_& m);
void bind_interop(nb::module_& m);
void bind_dlpack(nb::module_& m);
void bind_storage(nb::module_& m);
void bind_legacy(nb::module_& m);
void bind_runtime(nb::module_& m);

}  // namespace facula
