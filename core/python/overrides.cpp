// What hangs on the seam from the side of tensors: the default __torch_function__, and operations
// that are composed in Python.
#include <Python.h>
#include <structmember.h>

#include <string_view>

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

// What may stand for a parameter, as far as a look at the type of an object tells; 0: anything.
enum Kind : unsigned {
  kTensor = 1,
  kNone = 2,
  kBool = 4,
  kInt = 8,
  kFloat = 16,  // and any other number: what is not real is refused as a number, not for its type
  kTensors = 32,
  kInts = 64,
  kText = 128,
};

struct Parameter {
  PyObject* name;  // interned, and kept by the function's code
  unsigned kinds;
};

struct Parameters {
  std::vector<Parameter> named;  // those that may be given by position come first
  size_t n_positional = 0;
  unsigned rest = 0;  // what may stand for *args
};

// Once called, a Python function that is an operation enters like a bound one.
struct Composed {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* check;  // or null
  PyObject* dict;
  PyObject* weakrefs;
  Parameters* parameters;  // null until the first call
  bool is_method;          // else it does not bind, as builtin functions do not
  bool is_private;         // only transforms see it
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

// The kinds of an annotation such as "int | Sequence[int] | None"; anything if one is not known.
//
// PyTorch writes the functions of networks in Python, where any object is true or false, and what
// names a mode is compared with those that there are.
unsigned kinds_of(std::string_view hint, bool is_of_networks) {
  static constexpr std::pair<std::string_view, unsigned> known[] = {
      {"Tensor", kTensor},      {"None", kNone},
      {"bool", kBool},          {"int", kInt},
      {"float", kFloat},        {"complex", kFloat},
      {"str", kText},           {"Sequence[Tensor]", kTensors},
      {"Sequence[int]", kInts},
  };
  unsigned kinds = 0;
  while (!hint.empty()) {
    size_t end = std::min(hint.find(" | "), hint.size());
    std::string_view word = hint.substr(0, end);
    hint.remove_prefix(std::min(end + 3, hint.size()));
    auto same = [&](const auto& entry) { return entry.first == word; };
    auto found = std::find_if(std::begin(known), std::end(known), same);
    if (found == std::end(known)) return 0;
    if (is_of_networks && (found->second == kBool || found->second == kText)) return 0;
    kinds |= found->second;
  }
  return kinds;
}

Parameters read_parameters(nb::object function) {
  Parameters parameters;
  while (nb::hasattr(function, "__wrapped__")) function = function.attr("__wrapped__");
  if (!PyFunction_Check(function.ptr())) return parameters;
  nb::object code = function.attr("__code__"), hints = function.attr("__annotations__");
  nb::object names = code.attr("co_varnames"), home = function.attr("__module__");
  bool is_of_networks =
      nb::isinstance<nb::str>(home) && std::strncmp(nb::str(home).c_str(), "facula.nn.", 10) == 0;
  auto parameter = [&](Py_ssize_t i) {
    nb::object name = names[i], hint = hints.attr("get")(name);
    unsigned kinds = 0;
    if (nb::isinstance<nb::str>(hint)) kinds = kinds_of(nb::str(hint).c_str(), is_of_networks);
    if (hint.ptr() == reinterpret_cast<PyObject*>(tensor_type)) kinds = kTensor;
    return Parameter{name.ptr(), kinds};
  };
  parameters.n_positional = nb::cast<size_t>(code.attr("co_argcount"));
  auto n = nb::cast<Py_ssize_t>(code.attr("co_argcount")) +
           nb::cast<Py_ssize_t>(code.attr("co_kwonlyargcount"));
  for (Py_ssize_t i = 0; i < n; ++i) parameters.named.push_back(parameter(i));
  // The name of *args follows those of all others.
  if (nb::cast<int>(code.attr("co_flags")) & CO_VARARGS) parameters.rest = parameter(n).kinds;
  return parameters;
}

template <class F>
bool all_of_sequence(PyObject* sequence, F&& fits) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
    if (!fits(PySequence_Fast_GET_ITEM(sequence, i))) return false;
  return true;
}

// False if it may be that the object does not fit: then check() looks closer.
bool surely_fits(PyObject* value, unsigned kinds) {
  if (kinds == 0) return true;
  if (is_tensor(value)) return kinds & kTensor;
  if (value == Py_None) return kinds & kNone;
  if (PyBool_Check(value)) return kinds & (kBool | kFloat);
  if (PyFloat_Check(value) || PyComplex_Check(value)) return kinds & kFloat;
  if (PyLong_Check(value)) {
    int64_t number;
    return (kinds & kFloat) || ((kinds & kInt) && index_from_object(value, number));
  }
  if (PyUnicode_Check(value)) return kinds & kText;
  if (PyTuple_Check(value) || PyList_Check(value)) {
    auto is_int = [](PyObject* item) { return PyLong_Check(item) && !PyBool_Check(item); };
    return ((kinds & kInts) && all_of_sequence(value, is_int)) ||
           ((kinds & kTensors) && all_of_sequence(value, is_tensor));
  }
  return false;
}

bool all_surely_fit(const Parameters& parameters, const seam::Arguments& args) {
  for (size_t i = 0; i < args.n; ++i) {
    bool is_rest = i >= parameters.n_positional;
    if (!surely_fits(args.values[i], is_rest ? parameters.rest : parameters.named[i].kinds))
      return false;
  }
  if (!args.names) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(args.names, i);
    for (const Parameter& parameter : parameters.named)
      if (parameter.name == name && !surely_fits(args.values[args.n + i], parameter.kinds))
        return false;
  }
  return true;
}

bool is_error(std::initializer_list<PyObject*> types) {
  for (PyObject* type : types)
    if (PyErr_ExceptionMatches(type)) return true;
  return false;
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
  if (!self->parameters) {
    PyObject* done = guarded([&] {
      self->parameters = new Parameters(read_parameters(nb::borrow(self->function)));
      return Py_None;
    });
    if (!done) return nullptr;
  }
  if (!all_surely_fit(*self->parameters, args)) {
    if (!was_used && seam::ask_foreign(operation, args, result)) return result;
    if (seam::call_older_form(object, args, result)) return result;
    if (self->check && !passes_check(self, args)) return nullptr;
  }
  result = PyObject_Vectorcall(self->function, values, n_flagged, names);
  if (result) return result;
  bool may_be_foreign = is_error({PyExc_TypeError, PyExc_AttributeError});
  if (may_be_foreign && !was_used && seam::ask_foreign(operation, args, result)) return result;
  if (may_be_foreign && seam::call_older_form(object, args, result)) return result;
  // An argument of the wrong type is told as such, whatever came of it.
  bool may_be_of_type =
      may_be_foreign || is_error({PyExc_RuntimeError, PyExc_IndexError, PyExc_ValueError});
  if (!self->check || !may_be_of_type) return nullptr;
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
    self->parameters = nullptr;
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
  delete composed(object)->parameters;
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
