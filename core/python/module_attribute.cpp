#include <array>

#include "bind/bind.h"

// Reading a part of a module, such as self.weight or self.conv1, without an exception on the way.
// nn.Module adds such a descriptor to its class for every name that it registers: the tables of the
// object say what it is. What is not there, Module.__getattr__ is asked for next.
namespace facula {

namespace {

struct ModuleAttribute {
  PyObject_HEAD PyObject* name;  // owned
};

std::array<PyObject*, 3> table_names;

PyObject* attribute_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* name;
  if (!PyArg_ParseTuple(args, "U", &name)) return nullptr;
  auto* self = reinterpret_cast<ModuleAttribute*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  Py_INCREF(name);
  PyUnicode_InternInPlace(&name);
  self->name = name;
  return reinterpret_cast<PyObject*>(self);
}

void attribute_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<ModuleAttribute*>(self)->name);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* attribute_get(PyObject* self, PyObject* module, PyObject*) {
  if (!module) return Py_NewRef(self);
  PyObject* name = reinterpret_cast<ModuleAttribute*>(self)->name;
  nb::object own = nb::steal(PyObject_GenericGetDict(module, nullptr));
  if (!own.is_valid()) return nullptr;
  for (PyObject* table_name : table_names) {
    PyObject* table = PyDict_GetItemWithError(own.ptr(), table_name);
    if (!table || !PyDict_Check(table)) continue;
    if (PyObject* value = PyDict_GetItemWithError(table, name)) return Py_NewRef(value);
  }
  if (!PyErr_Occurred()) PyErr_SetObject(PyExc_AttributeError, name);
  return nullptr;
}

// For those who send whole classes to other processes, as cloudpickle does.
PyObject* attribute_reduce(PyObject* self, PyObject*) {
  PyObject* name = reinterpret_cast<ModuleAttribute*>(self)->name;
  return Py_BuildValue("O(O)", reinterpret_cast<PyObject*>(Py_TYPE(self)), name);
}

}  // namespace

FACULA_BINDINGS {
  table_names = {PyUnicode_InternFromString("_parameters"), PyUnicode_InternFromString("_modules"),
                 PyUnicode_InternFromString("_buffers")};
  static PyMethodDef methods[] = {{"__reduce__", attribute_reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(attribute_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(attribute_dealloc)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(attribute_get)},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec = {"facula._core._ModuleAttribute", sizeof(ModuleAttribute), 0,
                             Py_TPFLAGS_DEFAULT, slots};
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr("_ModuleAttribute") = type;
}

}  // namespace facula
