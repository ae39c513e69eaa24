// Operators: the interpreter calls these directly, without an argument parser.
#pragma once
#include "bind/seam.h"
#include "ops/ops.h"
#include "python/interop.h"

namespace facula {

using BinaryFunction = Tensor (*)(const Tensor&, const Tensor&);
using InplaceFunction = Tensor& (*)(Tensor&, const Tensor&);
using UnaryFunction = Tensor (*)(const Tensor&);

// What takes one tensor alone, such as bool(x), by the name of its method.
[[gnu::cold, gnu::noinline]] inline bool enter_unary(const char* method, PyObject* self,
                                                     PyObject*& result) {
  return seam::enter({nullptr, method, nullptr, /*is_unary=*/true}, {&self, 1}, result);
}

// False if the object is neither a tensor nor a number: then Python asks the other operand.
inline bool operand_from(PyObject* object, Tensor& out) {
  if (is_tensor(object)) {
    out = as_tensor(object);
    return true;
  }
  Scalar number;
  if (!number_from_object(object, number)) return false;
  out = wrapped_number(number);
  return true;
}

// An operator as the seam knows it: the method of Tensor that does the same, with the tensor on the
// left, and with it on the right of something else.
struct Names {
  const char* left;
  const char* right = nullptr;
};
// PyTorch's choice, which __torch_function__ sees.
inline constexpr Names kAdd{"add", "add"}, kSub{"sub", "__rsub__"}, kMul{"mul", "mul"},
    kDiv{"div", "__rtruediv__"}, kFloorDiv{"__floordiv__", "__rfloordiv__"},
    kMod{"remainder", "__rmod__"}, kPow{"__pow__", "__rpow__"}, kMatmul{"matmul", "__rmatmul__"},
    kAnd{"__and__", "bitwise_and"}, kOr{"__or__", "bitwise_or"}, kXor{"__xor__", "bitwise_xor"},
    kLshift{"__lshift__", "__rlshift__"}, kRshift{"__rshift__", "__rrshift__"},
    kEq{"__eq__", "__eq__"}, kNe{"ne", "ne"}, kLt{"lt", "gt"}, kLe{"le", "ge"}, kGt{"gt", "lt"},
    kGe{"ge", "le"};
inline constexpr Names kAddTo{"add_"}, kSubFrom{"sub_"}, kMulTo{"mul_"}, kDivBy{"div_"},
    kFloorDivBy{"floor_divide_"}, kModBy{"remainder_"}, kPowTo{"__ipow__"}, kAndTo{"__iand__"},
    kOrTo{"__ior__"}, kXorTo{"__ixor__"}, kLshiftBy{"__ilshift__"}, kRshiftBy{"__irshift__"};
inline constexpr Names kNeg{"neg"}, kPositive{"positive"}, kAbs{"abs"}, kInvert{"__invert__"};

// Enters with the operands in the order of the method. What the method cannot do with its argument
// is no error of an operator: Python asks the other operand.
[[gnu::cold, gnu::noinline]] inline bool enter_operator(
    const Names& names, PyObject* a, PyObject* b, PyObject*& result,
    bool (*enter)(const seam::Operation&, const seam::Arguments&, PyObject*&)) {
  const bool is_left = is_tensor(a);
  PyObject* operands[] = {is_left ? a : b, is_left ? b : a};
  seam::Operation method{nullptr, is_left ? names.left : names.right};
  if (&names == &kEq) {
    // Without an answer Python would compare identities: a tensor is asked alone, as in PyTorch.
    method.asks_first_only = seam::overrides(Py_TYPE(operands[0]));
    if (!is_tensor(operands[1]) && seam::overrides(Py_TYPE(operands[1]))) method.attribute = "eq";
  }
  if (!enter(method, {operands, 2}, result)) return false;
  if (!result && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    result = Py_NewRef(Py_NotImplemented);
  }
  return true;
}

// Neither a tensor nor a number that fits: a foreign object may know what to do with it.
[[gnu::cold, gnu::noinline]] inline PyObject* other_operand(const Names& names, PyObject* a,
                                                            PyObject* b) {
  PyObject* result;
  if (!seam::is_used() && enter_operator(names, a, b, result, seam::ask_foreign)) return result;
  PyObject* other = is_tensor(a) ? b : a;
  Scalar number;
  if (PyLong_Check(other) && !number_from_object(other, number)) {
    // Without an error Python would compare identities: x == 2**64 would be False.
    return PyErr_Format(PyExc_OverflowError,
                        "%s: int too big to convert: %S needs more than 64 bits.", names.left,
                        other);
  }
  Py_RETURN_NOTIMPLEMENTED;
}

template <BinaryFunction f, const Names& names>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  PyObject* result;
  if (seam::is_used() && enter_operator(names, a, b, result, seam::enter)) return result;
  return guarded([&]() -> PyObject* {
    Tensor x, y;
    if (!operand_from(a, x) || !operand_from(b, y)) return other_operand(names, a, b);
    return f(x, y).release();
  });
}

template <InplaceFunction f, const Names& names>
PyObject* inplace_slot(PyObject* self, PyObject* other) {
  PyObject* result;
  if (seam::is_used() && enter_operator(names, self, other, result, seam::enter)) return result;
  return guarded([&]() -> PyObject* {
    Tensor x = as_tensor(self), y;
    if (!operand_from(other, y)) return other_operand(names, self, other);
    return wrap(f(x, y));
  });
}

template <UnaryFunction f, const Names& names>
PyObject* unary_slot(PyObject* self) {
  PyObject* result;
  if (seam::is_used() && enter_unary(names.left, self, result)) return result;
  return guarded([&] { return f(as_tensor(self)).release(); });
}

// Matrices have no product with numbers.
template <BinaryFunction f, const Names& names>
PyObject* tensors_slot(PyObject* a, PyObject* b) {
  PyObject* result;
  if (seam::is_used() && enter_operator(names, a, b, result, seam::enter)) return result;
  if (!is_tensor(a) || !is_tensor(b)) return other_operand(names, a, b);
  return guarded([&] { return f(as_tensor(a), as_tensor(b)).release(); });
}

template <BinaryFunction f, const Names& names>
PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary_slot<f, names>(a, b);
}

template <InplaceFunction f, const Names& names>
PyObject* inplace_power_slot(PyObject* self, PyObject* other, PyObject*) {
  return inplace_slot<f, names>(self, other);
}

inline Tensor add_op(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor sub_op(const Tensor& a, const Tensor& b) {
  return a->is_wrapped_number ? rsub(b, a) : sub(a, b);
}
// A number over a tensor is PyTorch's reciprocal() * number, which the graph shows.
inline Tensor div_op(const Tensor& a, const Tensor& b) {
  return a->is_wrapped_number ? mul(reciprocal(b), a) : div(a, b);
}
// What cannot be divided by a tensor, as a NumPy array, may be multiplied by one.
inline PyObject* divide_slot(PyObject* a, PyObject* b) {
  PyObject* result = binary_slot<div_op, kDiv>(a, b);
  if (result != Py_NotImplemented || is_tensor(a)) return result;
  Py_DECREF(result);
  PyObject* inverse = PyObject_CallMethod(b, "reciprocal", nullptr);
  if (!inverse) return nullptr;
  result = PyNumber_Multiply(inverse, a);
  Py_DECREF(inverse);
  return result;
}
inline Tensor& add_inplace(Tensor& a, const Tensor& b) { return add_(a, b); }
inline Tensor& sub_inplace(Tensor& a, const Tensor& b) { return sub_(a, b); }

inline Tensor invert(const Tensor& x) {
  check_type(!is_differentiable(x.dtype()), "~: expected a tensor of integers or bool, got ", x,
             ".");
  return bitwise_not(x);
}

inline PyObject* compare_slot(PyObject* a, PyObject* b, int op) {
  // NumPy leaves comparisons with tensors to us, and without an answer Python would compare
  // identities.
  if (!is_tensor(b) && is_numpy_array(b)) {
    PyObject* tensor = guarded([&] { return from_numpy(b, false).release(); });
    PyObject* result = tensor ? compare_slot(a, tensor, op) : nullptr;
    Py_XDECREF(tensor);
    return result;
  }
  switch (op) {
    case Py_LT:
      return binary_slot<lt, kLt>(a, b);
    case Py_LE:
      return binary_slot<le, kLe>(a, b);
    case Py_EQ:
      return binary_slot<eq, kEq>(a, b);
    case Py_NE:
      return binary_slot<ne, kNe>(a, b);
    case Py_GT:
      return binary_slot<gt, kGt>(a, b);
    default:
      return binary_slot<ge, kGe>(a, b);
  }
}
// Tensor.__torch_function__: overrides.cpp
PyObject* default_torch_function(PyObject* cls, PyObject* args, PyObject* kwargs);

// x[key] and x[key] = value: indexing.cpp
PyObject* tensor_getitem(PyObject* self, PyObject* key);
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);

}  // namespace facula
