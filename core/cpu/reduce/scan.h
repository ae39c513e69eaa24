// Loops along lines, each by dtype. Operand 0 is written; steps may be negative (lines read from
// their end).
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

// n elements of each of n_lines lines; `steps` are the bytes between elements of a line,
// `line_steps` those between lines.
using ScanKernel = void (*)(char** data, const int64_t* steps, const int64_t* line_steps, int64_t n,
                            int64_t n_lines);

struct ScanTable {
  using Row = std::array<ScanKernel, kNumDTypes>;
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
