// NumPy's names of arguments, axis= and keepdims=, for every function and method that has dim= and
// keepdim=.
#include <array>

#include "python/bind.h"

namespace facula {

namespace {

PyObject *axis, *keepdims, *dim, *keepdim;  // interned

bool is(PyObject* name, PyObject* interned) {
  return name == interned || PyUnicode_Compare(name, interned) == 0;
}

PyObject* usual_name(PyObject* name) {
  return is(name, axis) ? dim : is(name, keepdims) ? keepdim : name;
}

// The bound functions share a handful of entry points; each gets one of ours in front.
constexpr size_t kMaxEntries = 8;
std::array<vectorcallfunc, kMaxEntries> originals;

template <size_t I>
PyObject* call(PyObject* function, PyObject* const* args, size_t n_args, PyObject* names) {
  bool has_other = false;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
    has_other |= usual_name(PyTuple_GET_ITEM(names, i)) != PyTuple_GET_ITEM(names, i);
  if (!has_other) return originals[I](function, args, n_args, names);
  nb::object usual = nb::steal(PyTuple_New(PyTuple_GET_SIZE(names)));
  if (!usual.is_valid()) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    PyTuple_SET_ITEM(usual.ptr(), i, Py_NewRef(usual_name(PyTuple_GET_ITEM(names, i))));
  return originals[I](function, args, n_args, usual.ptr());
}

template <size_t... I>
constexpr std::array<vectorcallfunc, kMaxEntries> make_entries(std::index_sequence<I...>) {
  return {call<I>...};
}
constexpr auto entries = make_entries(std::make_index_sequence<kMaxEntries>());

void accept_in(nb::handle names_to_functions, nb::handle kind) {
  for (auto [name, function] : nb::borrow<nb::dict>(names_to_functions)) {
    PyTypeObject* type = Py_TYPE(function.ptr());
    if (!nb::handle(reinterpret_cast<PyObject*>(type)).is(kind)) continue;
    auto& entry = *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function.ptr()) +
                                                     type->tp_vectorcall_offset);
    size_t i = 0;
    while (i < kMaxEntries && originals[i] && originals[i] != entry) ++i;
    if (i == kMaxEntries) continue;
    originals[i] = entry;
    entry = entries[i];
  }
}

}  // namespace

void accept_numpy_names(nb::module_& m) {
  axis = PyUnicode_InternFromString("axis");
  keepdims = PyUnicode_InternFromString("keepdims");
  dim = PyUnicode_InternFromString("dim");
  keepdim = PyUnicode_InternFromString("keepdim");
  nb::object function = m.attr("add");
  accept_in(m.attr("__dict__"), function.type());
  nb::object methods = nb::borrow(reinterpret_cast<PyTypeObject*>(m.attr("Tensor").ptr())->tp_dict);
  accept_in(methods, methods["add"].type());
}

}  // namespace facula
