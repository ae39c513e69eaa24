// Elements times a number where a mask is set, and times zero elsewhere.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"
#include "walk/walk.h"

namespace facula::cpu {

// Loops over result, input and mask (bool), for the floating dtypes. `params` points to the
// number, a double.
struct DropoutTable {
  std::array<Loop, kNumDTypes> loops;
};

FACULA_KERNEL_TABLE(DropoutTable, dropout_table)

}  // namespace facula::cpu
