#include "bind/sparse.h"

#include <unordered_set>
#include <vector>

#include "tensor/modes.h"

namespace facula::sparse {

namespace {

// What facula.sparse gives together with its type; owned.
PyObject* rules;           // of operations, None for those that look at no elements
PyObject* block_rules;     // the same where a tensor of blocks takes part
PyObject* block_layouts;   // a tuple
PyObject* usual_names;     // for NumPy's names of arguments
PyObject* do_otherwise;    // called where there is no rule, or where it met a dense tensor
PyObject *kind, *wrapped;  // "_kind", "__wrapped__", interned

bool is_sparse(PyObject* x) { return Py_TYPE(x) == sparse_type; }

bool is_blocked(PyObject* x) {
  if (!is_sparse(x)) return false;
  nb::object layout = nb::steal(PyObject_GetAttr(x, kind));
  if (!layout.is_valid()) throw nb::python_error();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(block_layouts); ++i)
    if (layout.is(PyTuple_GET_ITEM(block_layouts, i))) return true;
  return false;
}

// Also in a list, as those that cat() and stack() take.
bool has_blocks(const seam::Arguments& args) {
  size_t n = args.n + (args.names ? static_cast<size_t>(PyTuple_GET_SIZE(args.names)) : 0);
  for (size_t i = 0; i < n; ++i) {
    PyObject* arg = args.values[i];
    if (is_blocked(arg)) return true;
    if (!PyTuple_Check(arg) && !PyList_Check(arg)) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(arg); ++k)
      if (is_blocked(PySequence_Fast_GET_ITEM(arg, k))) return true;
  }
  return false;
}

nb::object with_usual_names(PyObject* names) {
  nb::object usual = nb::steal(PyTuple_New(PyTuple_GET_SIZE(names)));
  if (!usual.is_valid()) throw nb::python_error();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    PyObject* other = PyDict_GetItemWithError(usual_names, name);
    PyTuple_SET_ITEM(usual.ptr(), i, Py_NewRef(other ? other : name));
  }
  return usual;
}

PyObject* call_otherwise(PyObject* function, const seam::Arguments& args) {
  nb::object error = nb::none();
  if (PyErr_Occurred()) error = nb::borrow(nb::python_error().value());
  auto [positional, named] = seam::unpack(args);
  return nb::handle(do_otherwise)(nb::handle(function), error, positional, named).release().ptr();
}

std::unordered_set<std::string>& allowing() {
  static std::unordered_set<std::string> names;
  return names;
}

}  // namespace

void allow_in(const char* private_function) { allowing().insert(private_function); }
bool is_allowed_in(const std::string& private_function) {
  return allowing().count(private_function) > 0;
}

nb::object function(const char* name) {
  return nb::module_::import_("facula.sparse._graph").attr(name);
}

bool call_rule(PyObject* function, const seam::Arguments& given, PyObject*& result) {
  nb::object usual = given.names ? with_usual_names(given.names) : nb::object();
  const seam::Arguments args{given.values, given.n, usual.ptr()};
  PyObject* rule =
      PyDict_GetItemWithError(has_blocks(args) ? block_rules : rules, function);  // borrowed
  if (rule == Py_None) return false;
  if (!rule && PyErr_Occurred()) throw nb::python_error();
  // Without a rule, an operation composed in Python is tried with the rules of its parts.
  nb::object parts = rule ? nb::object() : nb::getattr(function, nb::handle(wrapped), nb::object());
  if (!rule && !parts.is_valid()) {
    result = call_otherwise(function, args);
    return true;
  }
  result = PyObject_Vectorcall(rule ? rule : parts.ptr(), args.values, args.n, args.names);
  if (!result && rule && PyErr_ExceptionMatches(PyExc_AttributeError))
    result = call_otherwise(function, args);
  return true;
}

FACULA_BINDINGS {
  kind = PyUnicode_InternFromString("_kind");
  wrapped = PyUnicode_InternFromString("__wrapped__");
  m.def(
      "_set_sparse_type",
      [](nb::handle cls, const nb::dict& all, const nb::dict& of_blocks, const nb::tuple& layouts,
         const nb::dict& names, nb::handle otherwise) {
        sparse_type = reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr());
        rules = all.inc_ref().ptr();
        block_rules = of_blocks.inc_ref().ptr();
        block_layouts = layouts.inc_ref().ptr();
        usual_names = names.inc_ref().ptr();
        do_otherwise = otherwise.inc_ref().ptr();
      },
      "cls"_a, "rules"_a, "block_rules"_a, "block_layouts"_a, "usual_names"_a, "do_otherwise"_a,
      "Makes objects of the class sparse tensors to the core, with their rules; called once.");
  m.def(
      "_call_sparse_rule",
      [](nb::handle function, const nb::tuple& args, const nb::dict& kwargs) {
        check(sparse_type,
              "_call_sparse_rule: there are no rules before facula.sparse is imported.");
        std::vector<PyObject*> values;
        for (nb::handle arg : args) values.push_back(arg.ptr());
        for (auto [name, value] : kwargs) values.push_back(value.ptr());
        nb::tuple names(kwargs.keys());
        PyObject* result = nullptr;
        if (call_rule(function.ptr(), {values.data(), args.size(), names.ptr()}, result)) {
          if (!result) throw nb::python_error();
          return nb::steal(result);
        }
        seam::DisabledGuard guard(seam::Disabled::All);
        return nb::object(function(*args, **kwargs));
      },
      "func"_a, "args"_a, "kwargs"_a, "What an operation does that a sparse tensor takes part in.");
  m.def(
      "_is_recorded",
      [](const nb::args& args) {
        if (seam::is_transformed()) return true;
        if (!is_grad_enabled()) return false;
        for (nb::handle arg : args)
          if (is_tensor(arg.ptr()) && as_tensor(arg.ptr()).requires_grad()) return true;
        return false;
      },
      "args"_a, "Whether a function of these arguments has to be one of the graph.");
  for (const char* name : {"_call_sparse_rule", "_is_recorded"}) allow_in(name);
}

}  // namespace facula::sparse
