// Tables of element-wise loops: one row per operation of the .def lists, one column per dtype; null where not defined.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"
#include "ops/elementwise.h"

namespace facula {

enum class UnaryOp : int {
#define UNARY(name, node, kinds, formula, gradient) name,
#include "ops/unary.def"
#undef UNARY
  count
};
enum class BinaryOp : int {
#define BINARY(name, kinds, formula) name,
#include "ops/binary.def"
#undef BINARY
  count
};

}  // namespace facula

namespace facula::cpu {

struct UnaryTable {
  std::array<std::array<Loop, kNumDTypes>, static_cast<int>(UnaryOp::count)> loops;
};
struct BinaryTable {
  std::array<std::array<Loop, kNumDTypes>, static_cast<int>(BinaryOp::count)> loops;
};
// cast[from][to]; also the plain copy and, with stride 0, the fill.
struct CastTable {
  std::array<std::array<Loop, kNumDTypes>, kNumDTypes> loops;
};

FACULA_KERNEL_TABLE(UnaryTable, unary_table)
FACULA_KERNEL_TABLE(BinaryTable, binary_table)
FACULA_KERNEL_TABLE(CastTable, cast_table)

}  // namespace facula::cpu
