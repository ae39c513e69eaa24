// The in-place form of an operation, made from its out-of-place form.
#pragma once
#include "autograd/node.h"
#include "ops/result.h"

namespace facula {

// Raises unless a result of this shape and dtype may be stored in x.
void check_inplace_result(const char* op, const Tensor& x, const Dims& shape, DType dtype);

// x becomes f(x). f is an operation whose first recorded input is x.
template <class F>
Tensor& in_place(const char* op, Tensor& x, F&& f) {
  check_inplace(op, x);
  Destination destination(op, x, Destination::Kind::InPlace);
  if (!is_grad_enabled() || x->is_volatile) {
    Tensor y = f(x);
    check_inplace_result(op, x, y.sizes(), y.dtype());
    if (!y.is_same(x)) copy_into(x, y);
    bump_version(x);
    return x;
  }
  // f may save its input, which is about to be overwritten, so it gets a copy with the history of
  // x.
  Tensor y = f(x.requires_grad() ? clone_with_history(x) : x);
  // Only another operand has a history: seldom, so that a second run costs less than a copy always.
  if (y.requires_grad() && !x.requires_grad()) y = f(clone(x));
  check_inplace_result(op, x, y.sizes(), y.dtype());
  if (y.requires_grad()) check_recorded_write(op, x);
  if (y.requires_grad() && x.is_view()) {
    copy_(x, y);
    return x;
  }
  if (!y.is_same(x)) copy_into(x, y);
  bump_version(x);
  if (y.requires_grad()) rebase_history(x, y);
  return x;
}

}  // namespace facula
