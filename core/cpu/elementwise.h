// Tables of element-wise loops: one row per operation of the .def lists, one column per dtype; null
// where not defined.
#pragma once
#include <array>

#include "base/dtype.h"
#include "base/scalar.h"
#include "cpu/isa.h"
#include "ops/elementwise.h"

namespace facula {

// The dtypes in which an operation is computed. Others are refused; but where it is F or FC,
// integers and bool become the default dtype.
enum class Kinds {
  F,       // floating
  FC,      // floating and complex
  FONLY,   // as F, but integers are refused
  FCONLY,  // as FC, but integers are refused
  NUM,     // integers and floating
  NUMC,    // and complex
  ALL,     // bool, integers, floating
  ALLC,    // everything
  INT,     // integers
  INTB,    // integers and bool
};

template <class T>
constexpr bool in_kinds(Kinds kinds) {
  bool is_bool = std::is_same_v<T, bool>, is_int = std::is_integral_v<T> && !is_bool;
  switch (kinds) {
    case Kinds::F:
    case Kinds::FONLY:
      return is_floating_v<T>;
    case Kinds::FC:
    case Kinds::FCONLY:
      return is_floating_v<T> || is_complex_v<T>;
    case Kinds::NUM:
      return is_int || is_floating_v<T>;
    case Kinds::NUMC:
      return !is_bool;
    case Kinds::ALL:
      return !is_complex_v<T>;
    case Kinds::ALLC:
      return true;
    case Kinds::INT:
      return is_int;
    case Kinds::INTB:
      return is_int || is_bool;
  }
  return false;
}

enum class UnaryOp : int {
#define UNARY(name, node, kinds, formula, gradient) name,
#include "ops/unary.def"
#undef UNARY
  count
};
enum class ParametricOp : int {
#define PARAMETRIC(name, kinds, formula) name,
#include "ops/parametric.def"
#undef PARAMETRIC
  count
};
enum class PredicateOp : int {
#define PREDICATE(name, kinds, formula) name,
#include "ops/predicate.def"
#undef PREDICATE
  count
};
enum class BinaryOp : int {
#define BINARY(name, kinds, formula) name,
#include "ops/binary.def"
#undef BINARY
  count
};
// Those before the operations of floating numbers only.
constexpr int kNumPlainBinaryOps = 0
#define BINARY(name, kinds, formula) +1
#define BINARY_FLOAT(name, kinds, formula)
#include "ops/binary.def"
#undef BINARY
    ;
enum class CompareOp : int {
#define COMPARE(name, kinds, formula) name,
#include "ops/compare.def"
#undef COMPARE
  count
};
enum class TernaryOp : int {
#define TERNARY(name, kinds, formula) name,
#include "ops/ternary.def"
#undef TERNARY
  count
};

}  // namespace facula

namespace facula::cpu {

// What a binary loop is told besides its operands.
struct BinaryParams {
  Scalar numbers[3];  // p0, p1, p2
  // Of a 16-bit dtype: the operand is one float.
  bool a_is_wide, b_is_wide;
};

// get(operation, dtype). The dtype is that of the inputs; results of predicates and comparisons
// are bool. `params`: three Scalars p0, p1, p2 for PARAMETRIC, BinaryParams for BINARY, one Scalar
// p0 for TERNARY, else null.
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
using BinaryTable = LoopTable<BinaryOp, 0, kNumPlainBinaryOps>;
using BinaryFloatTable = LoopTable<BinaryOp, kNumPlainBinaryOps>;
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

FACULA_KERNEL_TABLE(UnaryTable, unary_table)
FACULA_KERNEL_TABLE(ParametricTable, parametric_table)
FACULA_KERNEL_TABLE(PredicateTable, predicate_table)
FACULA_KERNEL_TABLE(BinaryTable, binary_table)
FACULA_KERNEL_TABLE(BinaryFloatTable, binary_float_table)
FACULA_KERNEL_TABLE(CompareTable, compare_table)
FACULA_KERNEL_TABLE(TernaryTable, ternary_table)
FACULA_KERNEL_TABLE(WhereTable, where_table)
FACULA_KERNEL_TABLE(CastTable, cast_table)

inline Loop binary_loop(BinaryOp op, DType dtype) {
  return static_cast<int>(op) < kNumPlainBinaryOps ? get_binary_table().get(op, dtype)
                                                   : get_binary_float_table().get(op, dtype);
}

}  // namespace facula::cpu
