// The numbers of the operations that are rows of the tables in this folder.
#pragma once

namespace facula {

#define ROW(name, ...) name,

enum class UnaryOp : int {
#define UNARY ROW
#include "tables/unary.def"
  count
};
enum class ParametricOp : int {
#define PARAMETRIC ROW
#include "tables/parametric.def"
  count
};
enum class ActivationOp : int {
#define ACTIVATION ROW
#include "tables/activation.def"
  count
};
enum class PredicateOp : int {
#define PREDICATE ROW
#include "tables/compare.def"
  count
};
enum class CompareOp : int {
#define COMPARE ROW
#include "tables/compare.def"
  count
};
// Those of floating numbers only come last.
enum class BinaryOp : int {
#define BINARY ROW
#define BINARY_KERNEL ROW
#define BINARY_FLOAT(...)
#define BINARY_FLOAT_KERNEL(...)
#include "tables/binary.def"
  first_float,
  before_float = first_float - 1,
#define BINARY_FLOAT ROW
#define BINARY_FLOAT_KERNEL ROW
#include "tables/binary.def"
  count
};
enum class TernaryOp : int {
#define TERNARY ROW
#define TERNARY_KERNEL ROW
#include "tables/ternary.def"
  count
};
enum class LossOp : int {
#define LOSS ROW
#include "tables/loss.def"
  count
};

#undef ROW

}  // namespace facula
