// A Python exception on its way through C++.
#pragma once
#include <Python.h>

#include <exception>

namespace facula {

// Takes the raised exception with it, so that destructors on the way run without one; restore()
// raises it again.
class PythonError : public std::exception {
 public:
  PythonError() { PyErr_Fetch(&type_, &value_, &traceback_); }
  PythonError(const PythonError& o) : type_(o.type_), value_(o.value_), traceback_(o.traceback_) {
    Py_XINCREF(type_);
    Py_XINCREF(value_);
    Py_XINCREF(traceback_);
  }
  PythonError& operator=(const PythonError&) = delete;
  ~PythonError() override {
    Py_XDECREF(type_);
    Py_XDECREF(value_);
    Py_XDECREF(traceback_);
  }
  const char* what() const noexcept override { return "a Python exception"; }
  void restore() const {
    Py_XINCREF(type_);
    Py_XINCREF(value_);
    Py_XINCREF(traceback_);
    PyErr_Restore(type_, value_, traceback_);
  }

 private:
  PyObject *type_, *value_, *traceback_;
};

[[noreturn]] inline void throw_python_error() { throw PythonError(); }

}  // namespace facula
