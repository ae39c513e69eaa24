// Products of vectors of three elements.
#pragma once
#include "base/dtype.h"
#include "cpu/isa.h"
#include "walk/walk.h"

namespace facula::cpu {

struct CrossParams {
  DType dtype;       // not bool
  int64_t steps[3];  // in bytes, from one element of a vector to the next, for each operand
};
struct CrossTable {
  Loop cross;  // operands y, a, b: where the first elements of n vectors are
};
FACULA_KERNEL_TABLE(CrossTable, cross_table)

}  // namespace facula::cpu
