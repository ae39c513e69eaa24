// Functions of three tensors: the rows of ternary.def, where and lerp.
#pragma once
#include "ops/result.h"
#include "tables/operations.h"

namespace facula {

#define TERNARY(name, ...)                                                                        \
  Tensor name(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value, const Into& into); \
  inline Tensor name(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value = 1) {       \
    return name(x, a, b, value, Into{});                                                          \
  }
#include "tables/ternary.def"

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, const Into& into = {});
Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight, const Into& into = {});
Tensor lerp(const Tensor& start, const Tensor& end, Scalar weight, const Into& into = {});

// From checked operands to the kernel of their device; nothing is recorded.
// a where the mask, which is bool, is true, else b.
Tensor apply_where(const char* name, const Tensor& mask, const Tensor& a, const Tensor& b,
                   DType dtype, const Into& into);
Tensor apply_ternary(const char* name, TernaryOp op, const Tensor& x, const Tensor& a,
                     const Tensor& b, DType dtype, const Into& into, Scalar p0 = 0);

}  // namespace facula
