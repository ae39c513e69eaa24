#include "base/location.h"

namespace facula {

SourceLocation SourceLocation::here() {
  SourceLocation location;
  // A frame object is made once per Python call and kept by it, so this is an increment from the
  // second operation on.
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
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
