// Numbers at equal distances.
#pragma once
#include <array>
#include <cstdint>

#include "base/half.h"
#include "cpu/isa.h"

namespace facula::cpu {

// The numbers [begin, end) of a range, at to[0] and after it; a piece has fewer than 2^31.
struct RangeTable {
  // first + i step. Integers, of 1, 2, 4 and 8 bytes, wrap around; the others are computed in
  // double and then rounded.
  std::array<void (*)(void* to, int64_t begin, int64_t end, int64_t first, int64_t step), 4>
      integers;
  void (*floats)(float* to, int64_t begin, int64_t end, double first, double step);
  void (*doubles)(double* to, int64_t begin, int64_t end, double first, double step);
  void (*halves)(Half* to, int64_t begin, int64_t end, double first, double step);
  void (*bfloats)(BFloat16* to, int64_t begin, int64_t end, double first, double step);

  // origin + (i - at) step, where i - at is rounded first, and then product and sum as one.
  void (*floats_around)(float* to, int64_t begin, int64_t end, int64_t at, float origin,
                        float step);
  void (*doubles_around)(double* to, int64_t begin, int64_t end, int64_t at, double origin,
                         double step);
  // The same, but product and sum are rounded one after the other to the dtype.
  void (*halves_around)(Half* to, int64_t begin, int64_t end, int64_t at, float origin, float step);
  void (*bfloats_around)(BFloat16* to, int64_t begin, int64_t end, int64_t at, float origin,
                         float step);
};
FACULA_KERNEL_TABLE(RangeTable, range_table)

}  // namespace facula::cpu
