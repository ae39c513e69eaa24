// Functions of one tensor: the rows of unary.def, and what they are made with.
#pragma once
#include <array>
#include "ops/result.h"
#include "tables/mentions.h"
#include "tables/operations.h"
#include "walk/kinds.h"

namespace facula {

#define UNARY(name, ...)                                          \
  Tensor name(const Tensor& x, const Into& into);                 \
  inline Tensor name(const Tensor& x) { return name(x, Into{}); } \
  Tensor& name##_(Tensor& x);
#include "tables/unary.def"

inline Tensor operator-(const Tensor& x) { return neg(x); }

// From a checked operand to the kernel of its device; nothing is recorded.
Tensor apply_unary(const char* name, UnaryOp op, Kinds kinds, const Tensor& x,
                   const Into& into = {}, Refused refused = Refused::NONE);
// `kinds` decides about integers only; the numbers are those of the formula.
Tensor apply_parametric(const char* name, ParametricOp op, Kinds kinds, const Tensor& x,
                        std::array<Scalar, 3> numbers, const Into& into = {});

// The result of an operation of one tensor, before it is computed. Without promotion PyTorch does
// not convert on the way to out= either.
inline Tensor unary_result(const char* name, Kinds kinds, const Tensor& x, const Into& into) {
  return result_for(name, into, x.sizes(), compute_dtype(kinds, x.dtype()), {x},
                    promotes(kinds) ? OutDType::Castable : OutDType::Same);
}

}  // namespace facula
