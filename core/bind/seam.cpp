// What a call of a bound function or method does besides: it takes NumPy's names of arguments,
// axis= and keepdims=, for dim= and keepdim=, and says in a sentence which argument does not fit.
#include <array>
#include <cstring>

#include "bind/bind.h"

namespace facula {

namespace {

PyObject *axis, *keepdims, *dim, *keepdim;  // interned

bool is(PyObject* name, PyObject* interned) {
  return name == interned || PyUnicode_Compare(name, interned) == 0;
}

PyObject* usual_name(PyObject* name) {
  return is(name, axis) ? dim : is(name, keepdims) ? keepdim : name;
}

// Arguments that fit no signature make nanobind list the signatures: that text becomes a sentence.
PyObject* explain(PyObject* const* args, size_t n_args, PyObject* names) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
  return guarded([&]() -> PyObject* {
    nb::python_error error;
    nb::str text(error.value());
    if (!std::strstr(text.c_str(), "(): incompatible function arguments")) throw error;
    // The two flags that the number of arguments may have: Python's, and nanobind's for methods.
    n_args &= ~(PY_VECTORCALL_ARGUMENTS_OFFSET | PY_VECTORCALL_ARGUMENTS_OFFSET >> 1);
    nb::list given;
    nb::dict named;
    for (size_t i = 0; i < n_args; ++i) given.append(nb::handle(args[i]));
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
      named[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[n_args + i]);
    nb::object explained =
        nb::module_::import_("facula._ops._arguments").attr("explain")(text, given, named);
    fail(ErrorKind::Type, nb::str(explained).c_str());
  });
}

// The bound functions share a handful of entry points; each gets one of ours in front.
constexpr size_t kMaxEntries = 8;
std::array<vectorcallfunc, kMaxEntries> originals;

template <size_t I>
PyObject* call(PyObject* function, PyObject* const* args, size_t n_args, PyObject* names) {
  bool has_other = false;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
    has_other |= usual_name(PyTuple_GET_ITEM(names, i)) != PyTuple_GET_ITEM(names, i);
  nb::object usual;
  if (has_other) {
    usual = nb::steal(PyTuple_New(PyTuple_GET_SIZE(names)));
    if (!usual.is_valid()) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
      PyTuple_SET_ITEM(usual.ptr(), i, Py_NewRef(usual_name(PyTuple_GET_ITEM(names, i))));
    names = usual.ptr();
  }
  PyObject* result = originals[I](function, args, n_args, names);
  return result ? result : explain(args, n_args, names);
}

template <size_t... I>
constexpr std::array<vectorcallfunc, kMaxEntries> make_entries(std::index_sequence<I...>) {
  return {call<I>...};
}
constexpr auto entries = make_entries(std::make_index_sequence<kMaxEntries>());

void put_in_front(nb::handle names_to_functions, nb::handle kind) {
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

void put_calls_in_front(nb::module_& m) {
  axis = PyUnicode_InternFromString("axis");
  keepdims = PyUnicode_InternFromString("keepdims");
  dim = PyUnicode_InternFromString("dim");
  keepdim = PyUnicode_InternFromString("keepdim");
  nb::object function = m.attr("add");
  put_in_front(m.attr("__dict__"), function.type());
  nb::object methods = nb::borrow(reinterpret_cast<PyTypeObject*>(m.attr("Tensor").ptr())->tp_dict);
  put_in_front(methods, methods["add"].type());
}

}  // namespace facula
