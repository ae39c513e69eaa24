// Tables of element-wise loops: one row per operation of the .def lists, one column per dtype; null
// where not defined.
#pragma once
#include <array>

#include "base/dtype.h"
#include "base/scalar.h"
#include "cpu/isa.h"
#include "tables/operations.h"
#include "walk/kinds.h"
#include "walk/walk.h"

namespace facula::cpu {

// What a binary loop is told besides its operands.
struct BinaryParams {
  Scalar numbers[3];  // p0, p1, p2
  // Of a 16-bit dtype: the operand is one float.
  bool a_is_wide, b_is_wide;
};

// get(operation, dtype). The dtype is that of the inputs; results of predicates and comparisons
// are bool. `params`: three Scalars p0, p1, p2 for PARAMETRIC and ACTIVATION, BinaryParams for
// BINARY and slopes, one Scalar p0 for TERNARY, else null.
// A table may hold a part of the operations.
template <class Op, int kFirst = 0, int kEnd = static_cast<int>(Op::count)>
struct LoopTable {
  std::array<std::array<Loop, kNumDTypes>, kEnd - kFirst> loops;
  Loop get(Op op, DType dtype) const {
    return loops[static_cast<int>(op) - kFirst][static_cast<int>(dtype)];
  }
};
using UnaryTable = LoopTable<UnaryOp>;
using ParametricTable = LoopTable<ParametricOp>;
using PredicateTable = LoopTable<PredicateOp>;
constexpr int kFirstFloat = static_cast<int>(BinaryOp::first_float);
using BinaryTable = LoopTable<BinaryOp, 0, kFirstFloat>;
using BinaryFloatTable = LoopTable<BinaryOp, kFirstFloat>;
using ActivationTable = LoopTable<ActivationOp>;
using CompareTable = LoopTable<CompareOp>;
using TernaryTable = LoopTable<TernaryOp>;
// cast[from][to]; also the plain copy and, with stride 0, the fill.
struct CastTable {
  std::array<std::array<Loop, kNumDTypes>, kNumDTypes> loops;
};
// y = condition ? a : b, by dtype; the condition is bool.
struct WhereTable {
  std::array<Loop, kNumDTypes> loops;
};
// y = a + bi, by the dtype of the parts, float32 or float64.
struct ComplexTable {
  std::array<Loop, kNumDTypes> loops;
};

FACULA_KERNEL_TABLE(UnaryTable, unary_table)
FACULA_KERNEL_TABLE(ParametricTable, parametric_table)
FACULA_KERNEL_TABLE(ActivationTable, activation_table)
FACULA_KERNEL_TABLE(ActivationTable, slope_table)  // of real dtypes
FACULA_KERNEL_TABLE(PredicateTable, predicate_table)
FACULA_KERNEL_TABLE(BinaryTable, binary_table)
FACULA_KERNEL_TABLE(BinaryFloatTable, binary_float_table)
FACULA_KERNEL_TABLE(CompareTable, compare_table)
FACULA_KERNEL_TABLE(TernaryTable, ternary_table)
FACULA_KERNEL_TABLE(WhereTable, where_table)
FACULA_KERNEL_TABLE(CastTable, cast_table)
FACULA_KERNEL_TABLE(ComplexTable, complex_table)

// Formulas of a few instructions: see Note [One formula, any layout] in cpu/loops.h.
constexpr bool is_short(UnaryOp op) {
  return op == UnaryOp::reciprocal || op == UnaryOp::sgn || op == UnaryOp::sign ||
         op == UnaryOp::relu || op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::trunc;
}
constexpr bool is_short(ParametricOp op) {
  return op == ParametricOp::clamp || op == ParametricOp::clamp_min ||
         op == ParametricOp::clamp_max || op == ParametricOp::round || op == ParametricOp::angle;
}
constexpr bool is_short(ActivationOp op) { return op == ActivationOp::hardtanh; }
constexpr bool is_short(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::add_scaled || op == BinaryOp::sub ||
         op == BinaryOp::mul || op == BinaryOp::div || op == BinaryOp::maximum ||
         op == BinaryOp::minimum || op == BinaryOp::copysign || op == BinaryOp::lerp_scalar ||
         op == BinaryOp::prelu;
}

inline Loop binary_loop(BinaryOp op, DType dtype) {
  return op < BinaryOp::first_float ? get_binary_table().get(op, dtype)
                                    : get_binary_float_table().get(op, dtype);
}

}  // namespace facula::cpu
