// Operators: the interpreter calls these directly, without an argument parser.
#pragma once
#include "ops/ops.h"
#include "python/casters.h"

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

inline Tensor add_op(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor sub_op(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor& add_inplace(Tensor& a, const Tensor& b) { return add_(a, b); }
inline Tensor& sub_inplace(Tensor& a, const Tensor& b) { return sub_(a, b); }

}  // namespace facula
