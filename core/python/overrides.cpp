// What hangs on the seam from the side of tensors: the default __torch_function__, and operations
// that are composed in Python.
#include <structmember.h>

#include "bind/bind.h"
#include "bind/seam.h"
#include "python/new_tensor.h"
#include "python/slots.h"

namespace facula {

namespace {

// ---- Tensor.__torch_function__

// Tensors in the result, also in tuples and lists of them, as objects of the class.
nb::object as_class(nb::handle result, PyTypeObject* cls) {
  if (is_tensor(result.ptr())) {
    if (PyObject_TypeCheck(result.ptr(), cls)) return nb::borrow(result);
    return nb::cast(as_subclass(as_tensor(result.ptr()), cls));
  }
  if (!PyTuple_Check(result.ptr()) && !PyList_Check(result.ptr())) return nb::borrow(result);
  seam::Level level;
  bool is_other = false;
  nb::list items;
  for (nb::handle item : result) {
    items.append(as_class(item, cls));
    is_other |= !items[items.size() - 1].is(item);
  }
  return is_other ? result.type()(items) : nb::borrow(result);
}

// x.grad and x._base are other tensors than x, and have types of their own.
bool is_other_tensor(PyObject* function) {
  if (Py_TYPE(function) != &_PyMethodWrapper_Type) return false;
  nb::object property = nb::getattr(function, "__self__");
  nb::handle own(tensor_type->tp_dict);
  return property.is(own["grad"]) || property.is(own["_base"]);
}

}  // namespace

PyObject* default_torch_function(PyObject* cls, PyObject* args, PyObject* kwargs) {
  static const char* const names[] = {"func", "types", "args", "kwargs", nullptr};
  PyObject *function, *types, *given = nullptr, *named = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO:__torch_function__",
                                   const_cast<char**>(names), &function, &types, &given, &named))
    return nullptr;
  return guarded([&]() -> PyObject* {
    for (nb::handle type : nb::handle(types)) {
      int is_base = PyObject_IsSubclass(cls, type.ptr());
      if (is_base < 0) throw nb::python_error();
      if (!is_base) Py_RETURN_NOTIMPLEMENTED;
    }
    nb::object result = seam::call_without_subclasses(function, given, named);
    seam::DisabledGuard guard(seam::Disabled::Subclasses);
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    if (type == tensor_type || is_other_tensor(function)) return result.release().ptr();
    return as_class(result, type).release().ptr();
  });
}

namespace {

// ---- _Operation

// Once called, a Python function that is an operation enters like a bound one.
struct Composed {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* check;  // or null
  PyObject* dict;
  PyObject* weakrefs;
  Py_ssize_t n_tensors;  // arguments at the front that must be tensors
  bool is_method;        // else it does not bind, as builtin functions do not
  bool is_private;       // only transforms see it
};

Composed* composed(PyObject* object) { return reinterpret_cast<Composed*>(object); }

// Runs check(function, args, kwargs), which raises an error or lets pass. False if it raised.
bool passes_check(Composed* self, const seam::Arguments& args) {
  return guarded([&]() -> PyObject* {
           auto [positional, named] = seam::unpack(args);
           nb::handle(self->check)(nb::handle(reinterpret_cast<PyObject*>(self)), positional,
                                   named);
           return Py_None;
         }) != nullptr;
}

PyObject* operation_call(PyObject* object, PyObject* const* values, size_t n_flagged,
                         PyObject* names) {
  Composed* self = composed(object);
  const seam::Arguments args{values, static_cast<size_t>(PyVectorcall_NARGS(n_flagged)), names};
  seam::Operation operation{object};
  operation.is_composed = true;
  operation.is_private = self->is_private;
  const bool was_used = seam::is_used();
  PyObject* result;
  if (was_used && seam::enter(operation, args, result)) return result;
  auto n_tensors = std::min(static_cast<Py_ssize_t>(args.n), self->n_tensors);
  for (Py_ssize_t i = 0; i < n_tensors; ++i) {
    if (is_tensor(values[i])) continue;
    if (!was_used && seam::ask_foreign(operation, args, result)) return result;
    if (self->check && !passes_check(self, args)) return nullptr;
    break;
  }
  result = PyObject_Vectorcall(self->function, values, n_flagged, names);
  if (result ||
      !(PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_AttributeError)))
    return result;
  if (!was_used && seam::ask_foreign(operation, args, result)) return result;
  if (!self->check) return nullptr;
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  if (passes_check(self, args)) {
    PyErr_Restore(type, error, traceback);
  } else {
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
  }
  return nullptr;
}

// As many parameters as are annotated `Tensor` and nothing else.
Py_ssize_t count_tensors(nb::handle function) {
  if (!PyFunction_Check(function.ptr())) return 0;
  nb::object code = function.attr("__code__"), hints = function.attr("__annotations__");
  nb::object names = code.attr("co_varnames");
  auto n = nb::cast<Py_ssize_t>(code.attr("co_argcount"));
  Py_ssize_t i = 0;
  for (; i < n; ++i) {
    nb::object hint = hints.attr("get")(names[i]);
    bool is_text = nb::isinstance<nb::str>(hint) && hint.equal(nb::str("Tensor"));
    if (!is_text && hint.ptr() != reinterpret_cast<PyObject*>(tensor_type)) break;
  }
  return i;
}

PyObject* operation_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* const names[] = {"function", "check", "is_method", "is_private", nullptr};
  PyObject *function, *check = Py_None;
  int is_method = 0, is_private = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Opp:_Operation", const_cast<char**>(names),
                                   &function, &check, &is_method, &is_private))
    return nullptr;
  return guarded([&]() -> PyObject* {
    nb::handle given = function;
    if (Py_TYPE(function) == type) {  // another entry to the same function
      if (check == Py_None && composed(function)->check) check = composed(function)->check;
      function = composed(function)->function;
    }
    check_type(PyCallable_Check(function), "_Operation: expected a function.");
    nb::object object = nb::steal(type->tp_alloc(type, 0));
    if (!object.is_valid()) throw nb::python_error();
    Composed* self = composed(object.ptr());
    self->vectorcall = operation_call;
    self->function = Py_NewRef(function);
    self->check = check == Py_None ? nullptr : Py_NewRef(check);
    self->n_tensors = count_tensors(function);
    self->is_method = is_method;
    self->is_private = is_private;
    nb::module_::import_("functools").attr("update_wrapper")(object, given);
    nb::setattr(object, "__wrapped__", nb::handle(function));
    return object.release().ptr();
  });
}

int operation_traverse(PyObject* object, visitproc visit, void* arg) {
  Composed* self = composed(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->function);
  Py_VISIT(self->check);
  Py_VISIT(self->dict);
  return 0;
}

int operation_clear(PyObject* object) {
  Composed* self = composed(object);
  Py_CLEAR(self->function);
  Py_CLEAR(self->check);
  Py_CLEAR(self->dict);
  return 0;
}

void operation_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (composed(object)->weakrefs) PyObject_ClearWeakRefs(object);
  operation_clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* operation_get(PyObject* object, PyObject* instance, PyObject*) {
  return composed(object)->is_method && instance && instance != Py_None
             ? PyMethod_New(object, instance)
             : Py_NewRef(object);
}

// What it has not itself, __code__ and __defaults__ for example, its function has.
PyObject* operation_getattr(PyObject* object, PyObject* name) {
  PyObject* value = PyObject_GenericGetAttr(object, name);
  if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return PyObject_GetAttr(composed(object)->function, name);
}

PyObject* operation_repr(PyObject* object) { return PyObject_Repr(composed(object)->function); }

// Pickled by name, as functions are.
PyObject* operation_reduce(PyObject* object, PyObject*) {
  return PyObject_GetAttrString(object, "__qualname__");
}

PyMethodDef operation_methods[] = {{"__reduce__", operation_reduce, METH_NOARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

PyGetSetDef operation_properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef operation_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Composed, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Composed, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Composed, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

template <auto f>
constexpr void* slot() {
  return reinterpret_cast<void*>(f);
}

}  // namespace

FACULA_BINDINGS {
  static PyType_Slot slots[] = {
      {Py_tp_new, slot<operation_new>()},
      {Py_tp_dealloc, slot<operation_dealloc>()},
      {Py_tp_traverse, slot<operation_traverse>()},
      {Py_tp_clear, slot<operation_clear>()},
      {Py_tp_call, slot<PyVectorcall_Call>()},
      {Py_tp_descr_get, slot<operation_get>()},
      {Py_tp_getattro, slot<operation_getattr>()},
      {Py_tp_repr, slot<operation_repr>()},
      {Py_tp_methods, operation_methods},
      {Py_tp_getset, operation_properties},
      {Py_tp_members, operation_members},
      {Py_tp_doc, const_cast<char*>(
                      "A Python function that is an operation, and enters as those of the core.\n\n"
                      "``check(function, args, kwargs)`` is called if the function could do\n"
                      "nothing with its arguments, and may raise a better error.")},
      {0, nullptr}};
  static PyType_Spec spec = {"facula._core._Operation", sizeof(Composed), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                             slots};
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr("_Operation") = type;
}

}  // namespace facula
