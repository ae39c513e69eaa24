#include "bind/casters.h"

#include <cstring>

#include "bind/exceptions.h"
#include "tensor/sparse.h"

namespace facula {

void retell(const char* name, const Error& error) {
  std::string text = error.what();
  size_t colon = text.find(": "), space = text.find(' ');
  // One word before the colon: another operation's name.
  if (colon != std::string::npos && colon < space) text = text.substr(colon + 2);
  throw Error(error.kind(), std::string(name) + ": " + text);
}

namespace nb = nanobind;

namespace {

// Whether item() would not raise, which must not happen while arguments are converted.
bool has_item(const Tensor& x) { return !x.is_meta() && !is_sparse(x); }

}  // namespace

bool number_from_object(PyObject* object, Scalar& out) {
  if (PyFloat_Check(object)) {
    out = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyBool_Check(object)) {
    out = object == Py_True;
    return true;
  }
  if (PyLong_Check(object)) {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow) {
      // From 2^63 on: the numbers of uint64, and then none.
      unsigned long long wide = PyLong_AsUnsignedLongLong(object);
      if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
      out = static_cast<uint64_t>(wide);
      return true;
    }
    out = static_cast<int64_t>(value);
    return true;
  }
  if (PyComplex_Check(object)) {
    out = std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
    return true;
  }
  if (is_tensor(object) || PyUnicode_Check(object) || PyTuple_Check(object) || PyList_Check(object))
    return false;
  // NumPy numbers: they say what they are by the protocol that they speak. Their bool speaks none
  // but has item(); PyTorch takes it for a float.
  const char* type = Py_TYPE(object)->tp_name;
  if (std::strncmp(type, "numpy.", 6) == 0) {
    PyObject* value = PyObject_CallMethod(object, "item", nullptr);
    if (!value) {
      PyErr_Clear();
      return false;
    }
    bool is_plain = PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value);
    bool ok = is_plain && std::strcmp(type, "numpy.ndarray") != 0 && number_from_object(value, out);
    if (ok && PyBool_Check(value)) out = out.to_double();
    Py_DECREF(value);
    return ok;
  }
  return false;
}

bool scalar_from_object(PyObject* object, Scalar& out) {
  if (is_tensor(object)) {
    Tensor x = as_tensor(object);
    if (x.dim() != 0 || !has_item(x)) return false;
    out = item(x);
    return true;
  }
  return number_from_object(object, out);
}

namespace {

// PyTorch takes a tensor of one integer for an int if it has no dimensions, for one of several
// ints whatever its shape.
bool int_of_tensor(const Tensor& x, int64_t& out) {
  if (x.numel() != 1 || is_differentiable(x.dtype()) || x.dtype() == DType::Bool || !has_item(x))
    return false;
  out = item(x).to_int();
  return true;
}

}  // namespace

bool index_from_object(PyObject* object, int64_t& out) {
  if (PyBool_Check(object)) return false;
  if (PyLong_Check(object)) {
    int overflow;
    out = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
  }
  if (PyFloat_Check(object) || PyUnicode_Check(object) || PyTuple_Check(object) ||
      PyList_Check(object))
    return false;
  if (is_tensor(object)) {
    Tensor x = as_tensor(object);
    return x.dim() == 0 && int_of_tensor(x, out);
  }
  if (!PyIndex_Check(object)) return false;
  PyObject* number = PyNumber_Index(object);
  if (!number) {
    PyErr_Clear();
    return false;
  }
  int overflow;
  out = PyLong_AsLongLongAndOverflow(number, &overflow);
  Py_DECREF(number);
  return overflow == 0;
}

bool dims_from_object(PyObject* object, Dims& out) {
  if (is_tensor(object)) {
    out = Dims{0};
    return int_of_tensor(as_tensor(object), out[0]);
  }
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
  out.resize(n);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* part = PySequence_Fast_GET_ITEM(object, i);
    if (is_tensor(part) ? !int_of_tensor(as_tensor(part), out[i])
                        : !index_from_object(part, out[i]))
      return false;
  }
  return true;
}

Dims dims_from_args(const char* op, const nb::args& args) {
  check_type(args.size() > 0, op, ": expected ints or one tuple of ints, got nothing.");
  Dims dims;
  PyObject* list = args.size() == 1 && (PyTuple_Check(args[0].ptr()) || PyList_Check(args[0].ptr()))
                       ? args[0].ptr()
                       : args.ptr();
  if (!dims_from_object(list, dims))
    fail(ErrorKind::Type, op, ": expected ints or one tuple of ints, got ",
         nb::repr(nb::handle(list)).c_str(), ".");
  return dims;
}

PyObject* scalar_object(Scalar value) {
  switch (value.kind()) {
    case Scalar::Kind::Bool:
      return PyBool_FromLong(value.to_bool());
    case Scalar::Kind::Int:
      return PyLong_FromLongLong(value.to_int());
    case Scalar::Kind::UInt:
      return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(value.to_int()));
    case Scalar::Kind::Float:
      return PyFloat_FromDouble(value.to_double());
    default:
      return PyComplex_FromDoubles(value.to_complex().real(), value.to_complex().imag());
  }
}

PyObject* wrap(const Tensor& x) {
  PyObject* object = x.defined() ? static_cast<PyObject*>(x.get()) : Py_None;
  Py_INCREF(object);
  return object;
}

PyObject* out_of_memory_error() {
  static PyObject* type =
      PyErr_NewExceptionWithDoc("facula.OutOfMemoryError",
                                R"(Raised when the memory of a GPU does not suffice.

What was freed and kept for reuse is given back and tried first; tensors stay usable.

Example:
    >>> issubclass(facula.OutOfMemoryError, RuntimeError)
    True)",
                                PyExc_RuntimeError, nullptr);
  return type ? type : PyExc_RuntimeError;
}

void set_python_exception() noexcept {
  try {
    throw;
  } catch (const PythonError& error) {
    error.restore();
  } catch (const Error& error) {
    PyObject* type = PyExc_RuntimeError;
    switch (error.kind()) {
      case ErrorKind::Type:
        type = PyExc_TypeError;
        break;
      case ErrorKind::Value:
        type = PyExc_ValueError;
        break;
      case ErrorKind::Index:
        type = PyExc_IndexError;
        break;
      case ErrorKind::NotImplemented:
        type = PyExc_NotImplementedError;
        break;
      case ErrorKind::OutOfMemory:
        // That of a GPU has an exception of its own.
        if (std::strncmp(error.what(), "cuda:", 5) == 0) type = out_of_memory_error();
        break;
      case ErrorKind::Runtime:
        break;
    }
    PyErr_SetString(type, error.what());
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace facula
