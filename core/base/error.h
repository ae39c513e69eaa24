// The one place where C++ errors are made. The Python layer turns `kind` into the exception that
// PyTorch raises there.
#pragma once
#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace facula {

enum class ErrorKind { Runtime, Type, Value, Index, NotImplemented, OutOfMemory };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
  std::string message_;
};

template <class... Args>
[[noreturn]] __attribute__((noinline, cold)) void fail(ErrorKind kind, const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  throw Error(kind, out.str());
}

// The message is built only on failure: on success a check costs one comparison.
template <class... Args>
inline void check(bool ok, const Args&... args) {
  if (__builtin_expect(!ok, 0)) fail(ErrorKind::Runtime, args...);
}
template <class... Args>
inline void check_type(bool ok, const Args&... args) {
  if (__builtin_expect(!ok, 0)) fail(ErrorKind::Type, args...);
}
template <class... Args>
inline void check_value(bool ok, const Args&... args) {
  if (__builtin_expect(!ok, 0)) fail(ErrorKind::Value, args...);
}
template <class... Args>
inline void check_not_implemented(bool ok, const Args&... args) {
  if (__builtin_expect(!ok, 0)) fail(ErrorKind::NotImplemented, args...);
}
template <class... Args>
inline void check_index(bool ok, const Args&... args) {
  if (__builtin_expect(!ok, 0)) fail(ErrorKind::Index, args...);
}

}  // namespace facula
