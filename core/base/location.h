// Where in the user's Python program we are: the innermost Python frame. Taken cheaply (a code
// object and an instruction offset), turned into a file and a line only when an error message needs
// them.
#pragma once
#include <Python.h>

#include <string>
#include <utility>

namespace facula {

class SourceLocation {
 public:
  SourceLocation() = default;
  SourceLocation(SourceLocation&& o) noexcept
      : code_(std::exchange(o.code_, nullptr)), lasti_(o.lasti_) {}
  SourceLocation& operator=(SourceLocation&& o) noexcept {
    std::swap(code_, o.code_);
    lasti_ = o.lasti_;
    return *this;
  }
  ~SourceLocation() { Py_XDECREF(code_); }

  static SourceLocation here();
  explicit operator bool() const { return code_ != nullptr; }
  std::string describe() const;  // "train.py:12"

 private:
  PyCodeObject* code_ = nullptr;
  int lasti_ = -1;
};

}  // namespace facula
