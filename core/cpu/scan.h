// Loops along a line, each by dtype. Operand 0 is written; strides may be negative (a line read
// from its end).
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"
#include "ops/elementwise.h"

namespace facula::cpu {

struct ScanTable {
  using Row = std::array<Loop, kNumDTypes>;
  Row cumsum;   // y, x
  Row cumprod;  // y, x
  Row logcumsumexp;
  Row cummax;  // values, indices (int64), x
  Row cummin;
  // The derivative of cumprod, and the derivative of that: see cumprod_backward() in ops/scan.cpp.
  Row cumprod_backward;  // gx, g, x
};

FACULA_KERNEL_TABLE(ScanTable, scan_table)

}  // namespace facula::cpu
