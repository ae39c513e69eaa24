// The numbers of the operations that are rows of the tables in this folder.
#pragma once

namespace facula {

enum class UnaryOp : int {
#define UNARY(name, node, kinds, formula, gradient) name,
#include "tables/unary.def"
#undef UNARY
  count
};
enum class ParametricOp : int {
#define PARAMETRIC(name, kinds, formula) name,
#include "tables/parametric.def"
#undef PARAMETRIC
  count
};
enum class PredicateOp : int {
#define PREDICATE(name, kinds, formula) name,
#include "tables/predicate.def"
#undef PREDICATE
  count
};
enum class BinaryOp : int {
#define BINARY(name, kinds, formula) name,
#include "tables/binary.def"
#undef BINARY
  count
};
// Those before the operations of floating numbers only.
constexpr int kNumPlainBinaryOps = 0
#define BINARY(name, kinds, formula) +1
#define BINARY_FLOAT(name, kinds, formula)
#include "tables/binary.def"
#undef BINARY
    ;
enum class CompareOp : int {
#define COMPARE(name, kinds, formula) name,
#include "tables/compare.def"
#undef COMPARE
  count
};
enum class TernaryOp : int {
#define TERNARY(name, kinds, formula) name,
#include "tables/ternary.def"
#undef TERNARY
  count
};

}  // namespace facula
