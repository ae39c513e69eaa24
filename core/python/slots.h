// Operators: the interpreter calls these directly, without an argument parser.
#pragma once
#include "bind/casters.h"
#include "ops/inplace.h"
#include "ops/ops.h"
#include "python/interop.h"

namespace facula {

using BinaryFunction = Tensor (*)(const Tensor&, const Tensor&);
using InplaceFunction = Tensor& (*)(Tensor&, const Tensor&);
using UnaryFunction = Tensor (*)(const Tensor&);

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

template <BinaryFunction f>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Tensor x, y;
    if (!operand_from(a, x) || !operand_from(b, y)) Py_RETURN_NOTIMPLEMENTED;
    return f(x, y).release();
  });
}

template <InplaceFunction f>
PyObject* inplace_slot(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    Tensor x = as_tensor(self), y;
    if (!operand_from(other, y)) Py_RETURN_NOTIMPLEMENTED;
    return wrap(f(x, y));
  });
}

template <UnaryFunction f>
PyObject* unary_slot(PyObject* self) {
  return guarded([&] { return f(as_tensor(self)).release(); });
}

// Matrices have no product with numbers.
template <BinaryFunction f>
PyObject* tensors_slot(PyObject* a, PyObject* b) {
  if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
  return binary_slot<f>(a, b);
}

template <BinaryFunction f>
PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary_slot<f>(a, b);
}

template <InplaceFunction f>
PyObject* inplace_power_slot(PyObject* self, PyObject* other, PyObject*) {
  return inplace_slot<f>(self, other);
}

inline Tensor add_op(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor sub_op(const Tensor& a, const Tensor& b) {
  return a->is_wrapped_number ? rsub(b, a) : sub(a, b);
}
// A number over a tensor is PyTorch's reciprocal() * number, which the graph shows.
inline Tensor div_op(const Tensor& a, const Tensor& b) {
  return a->is_wrapped_number ? mul(reciprocal(b), a) : div(a, b);
}
inline Tensor& add_inplace(Tensor& a, const Tensor& b) { return add_(a, b); }
inline Tensor& sub_inplace(Tensor& a, const Tensor& b) { return sub_(a, b); }

// a becomes f(a, b): for operations without an in-place form of their own.
#define ASSIGN(f)                                                         \
  inline Tensor& f##_(Tensor& a, const Tensor& b) {                       \
    return in_place(#f "_", a, [&](const Tensor& x) { return f(x, b); }); \
  }
ASSIGN(bitwise_and)
ASSIGN(bitwise_or)
ASSIGN(bitwise_xor)
ASSIGN(bitwise_left_shift)
ASSIGN(bitwise_right_shift)
#undef ASSIGN

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
      return binary_slot<lt>(a, b);
    case Py_LE:
      return binary_slot<le>(a, b);
    case Py_EQ:
      return binary_slot<eq>(a, b);
    case Py_NE:
      return binary_slot<ne>(a, b);
    case Py_GT:
      return binary_slot<gt>(a, b);
    default:
      return binary_slot<ge>(a, b);
  }
}
// x[key] and x[key] = value: indexing.cpp
PyObject* tensor_getitem(PyObject* self, PyObject* key);
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);

}  // namespace facula
