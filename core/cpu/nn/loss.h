// Losses by element, and their sum.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"
#include "tables/operations.h"
#include "walk/walk.h"

namespace facula::cpu {

// By loss and dtype.
struct LossTable {
  template <class F>
  using Rows = std::array<std::array<F, kNumDTypes>, static_cast<int>(LossOp::count)>;
  // y from x and t, and the slope there times `scale`.
  struct Params {
    double p0, scale;
  };
  Rows<Loop> value, slope;
  // Of n elements of x and t that lie side by side.
  Rows<double (*)(const char* x, const char* t, int64_t n, double p0)> sum;
};

FACULA_KERNEL_TABLE(LossTable, loss_table)

}  // namespace facula::cpu
