#include "base/location.h"

#include <cstring>

namespace facula {

namespace {

// Where the package's own Python files lie, with the last slash; empty if it is not imported.
std::string find_package_folder() {
  PyObject* modules = PyImport_GetModuleDict();  // borrowed
  PyObject* package = PyDict_GetItemString(modules, "facula");
  PyObject* path = package ? PyObject_GetAttrString(package, "__file__") : nullptr;
  const char* file = path ? PyUnicode_AsUTF8(path) : nullptr;
  std::string folder = file ? file : "";
  Py_XDECREF(path);
  PyErr_Clear();
  return folder.substr(0, folder.find_last_of("/\\") + 1);
}

}  // namespace

bool is_in_package(PyFrameObject* frame) {
  static const std::string folder = find_package_folder();
  PyCodeObject* code = PyFrame_GetCode(frame);
  Py_ssize_t length = 0;
  const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &length);
  if (!file) PyErr_Clear();
  bool is_ours = file && !folder.empty() && static_cast<size_t>(length) > folder.size() &&
                 std::memcmp(file, folder.data(), folder.size()) == 0;
  Py_DECREF(code);
  return is_ours;
}

SourceLocation SourceLocation::here() {
  SourceLocation location;
  // A frame object is made once per Python call and kept by it, so this is an increment from the
  // second operation on.
  PyThreadState* thread = PyThreadState_Get();
  PyFrameObject* frame = PyThreadState_GetFrame(thread);
  while (frame && is_in_package(frame)) {
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  if (!frame) frame = PyThreadState_GetFrame(thread);  // the package runs by itself
  if (frame) {
    location.code_ = PyFrame_GetCode(frame);
#if PY_VERSION_HEX >= 0x030B0000
    location.lasti_ = PyFrame_GetLasti(frame);
#else
    location.lasti_ = PyFrame_GetLineNumber(frame);
#endif
    Py_DECREF(frame);
  }
  return location;
}

std::string SourceLocation::describe() const {
  if (!code_) return "an unknown line";
#if PY_VERSION_HEX >= 0x030B0000
  int line = PyCode_Addr2Line(code_, lasti_);
#else
  int line = lasti_;
#endif
  const char* file = PyUnicode_AsUTF8(code_->co_filename);
  if (!file) PyErr_Clear();
  return std::string(file ? file : "?") + ":" + std::to_string(line);
}

}  // namespace facula
