// From checked operands to the kernel of their device: allocates the result and runs the loop.
// Nothing is recorded here.
#pragma once
#include "cpu/pointwise/loop_tables.h"
#include "tensor/tensor.h"

namespace facula {

// x in this dtype, x itself where it has it.
Tensor cast_to(const Tensor& x, DType dtype);

// The dtype in which an operation of these kinds is computed on operands of `dtype`.
DType compute_dtype(Kinds kinds, DType dtype);

Tensor apply_unary(const char* name, UnaryOp op, Kinds kinds, const Tensor& x);
// The same into x itself, which must be allowed to hold the result; counts the write.
void apply_unary_(const char* name, UnaryOp op, Kinds kinds, const Tensor& x);
// `kinds` decides about integers only; the numbers are those of the formula.
Tensor apply_parametric(const char* name, ParametricOp op, Kinds kinds, const Tensor& x,
                        Scalar p0 = 0, Scalar p1 = 0, Scalar p2 = 0);
// The same into x itself; counts the write.
void apply_parametric_(const char* name, ParametricOp op, Kinds kinds, const Tensor& x,
                       Scalar p0 = 0, Scalar p1 = 0, Scalar p2 = 0);
Tensor apply_predicate(const char* name, PredicateOp op, const Tensor& x);
Tensor apply_binary(const char* name, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype,
                    Scalar p0 = 0, Scalar p1 = 0, Scalar p2 = 0);
// a becomes op(a, b); a's dtype need not be `dtype`.
void apply_binary_(const char* name, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype,
                   Scalar p0 = 0);
Tensor apply_compare(const char* name, CompareOp op, const Tensor& a, const Tensor& b, DType dtype);
Tensor apply_ternary(const char* name, TernaryOp op, const Tensor& a, const Tensor& b,
                     const Tensor& c, DType dtype, Scalar p0 = 0);
// a where the mask, which is bool, is true, else b.
Tensor apply_where(const char* name, const Tensor& mask, const Tensor& a, const Tensor& b,
                   DType dtype);

}  // namespace facula
