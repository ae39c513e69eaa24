#include "base/warning.h"

#include <Python.h>

#include "base/python_error.h"

namespace facula {

bool is_in_package(PyFrameObject* frame);  // in location.cpp

void warn_user(const char* text) {
  int level = 1;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame && is_in_package(frame)) {
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
    ++level;
  }
  if (!frame) level = 1;  // the package runs by itself
  Py_XDECREF(frame);
  if (PyErr_WarnEx(PyExc_UserWarning, text, level) != 0) throw_python_error();
}

}  // namespace facula
