// How arguments and results cross the border to Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/python_error.h"
#include "tensor/tensor.h"

namespace facula {

// A tensor or a Python number, which becomes a wrapped 0-d tensor: the second operand of
// arithmetic.
struct Operand {
  Tensor tensor;
  operator const Tensor&() const { return tensor; }
};

// A device given as 'cuda:0', 0 or facula.device(...). Converting arguments may not throw, so what
// is wrong with a text is said where the device is used.
struct DeviceArg {
  struct {
    Device value;
    std::string problem;
    operator Device() const {
      check(problem.empty(), problem);
      return value;
    }
  } device;
};

// Sizes given as f(2, 3) or f((2, 3)).
Dims dims_from_args(const char* op, const nanobind::args& args);

// Objects of the Python side, made once.
PyObject* dtype_object(DType dtype);                   // borrowed
bool dtype_from_object(PyObject* object, DType& out);  // facula.float32, float, int, bool, complex
bool device_from_object(PyObject* object, Device& out);  // raises for a string that is no device
bool scalar_from_object(PyObject* object, Scalar& out);  // numbers, NumPy numbers, 0-d tensors
bool number_from_object(PyObject* object, Scalar& out);  // the same without tensors
bool index_from_object(
    PyObject* object, int64_t& out);  // ints, objects with __index__, 0-d integer tensors; not bool
bool dims_from_object(PyObject* object, Dims& out);  // a tuple or list of those
PyObject* size_object(const Dims& dims);             // a Size; new reference
PyObject* scalar_object(Scalar value);               // new reference
PyObject* wrap(const Tensor& x);                     // new reference; None if undefined

inline bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, tensor_type); }
inline Tensor as_tensor(PyObject* object) {
  return Tensor::borrow(static_cast<TensorImpl*>(object));
}

// Sets the Python exception for the C++ one in flight. Call inside a catch block.
void set_python_exception() noexcept;

// Runs f and turns C++ exceptions into Python's: for functions called by the interpreter directly.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_exception();
    return nullptr;
  }
}

}  // namespace facula

namespace nanobind::detail {

template <>
struct type_caster<facula::Tensor> {
  NB_TYPE_CASTER(facula::Tensor, const_name("Tensor"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (!facula::is_tensor(src.ptr())) return false;
    value = facula::as_tensor(src.ptr());
    return true;
  }
  static handle from_cpp(const facula::Tensor& x, rv_policy, cleanup_list*) noexcept {
    return facula::wrap(x);
  }
};

template <>
struct type_caster<facula::Operand> {
  NB_TYPE_CASTER(facula::Operand, const_name("Tensor | bool | int | float | complex"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    if (facula::is_tensor(src.ptr())) {
      value.tensor = facula::as_tensor(src.ptr());
      return true;
    }
    facula::Scalar number;
    if (!facula::number_from_object(src.ptr(), number)) return false;
    value.tensor = facula::wrapped_number(number);
    return true;
  }
};

template <>
struct type_caster<facula::Scalar> {
  NB_TYPE_CASTER(facula::Scalar, const_name("bool | int | float | complex"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    return facula::scalar_from_object(src.ptr(), value);
  }
  static handle from_cpp(facula::Scalar x, rv_policy, cleanup_list*) noexcept {
    return facula::scalar_object(x);
  }
};

// PyTorch's integers: no bools, no floats, but tensors of one integer and whatever has __index__.
template <>
struct type_caster<int64_t> {
  NB_TYPE_CASTER(int64_t, const_name("int"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    return facula::index_from_object(src.ptr(), value);
  }
  static handle from_cpp(int64_t x, rv_policy, cleanup_list*) noexcept {
    return PyLong_FromLongLong(x);
  }
};

// A list of ints, or one int.
template <>
struct type_caster<facula::Dims> {
  NB_TYPE_CASTER(facula::Dims, const_name("int | collections.abc.Sequence[int]"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    int64_t one;
    if (facula::index_from_object(src.ptr(), one)) {
      value = {one};
      return true;
    }
    return facula::dims_from_object(src.ptr(), value);
  }
  static handle from_cpp(const facula::Dims& dims, rv_policy, cleanup_list*) noexcept {
    return facula::size_object(dims);
  }
};

template <>
struct type_caster<facula::DType> {
  NB_TYPE_CASTER(facula::DType, const_name("dtype"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    return facula::dtype_from_object(src.ptr(), value);
  }
  static handle from_cpp(facula::DType t, rv_policy, cleanup_list*) noexcept {
    return handle(facula::dtype_object(t)).inc_ref();
  }
};

template <>
struct type_caster<facula::DeviceArg> {
  NB_TYPE_CASTER(facula::DeviceArg, const_name("device | str | int"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    try {
      return facula::device_from_object(src.ptr(), value.device.value);
    } catch (const facula::Error& error) {
      value.device.problem = error.what();
      return true;
    }
  }
};

}  // namespace nanobind::detail
