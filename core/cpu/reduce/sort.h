// Sorting and selection within one row of numbers. The order is the one of PyTorch: NaN is larger
// than every number, -0 equals 0, and equal elements keep their order. Defined for every dtype but
// the complex ones.
#pragma once
#include <array>
#include <cstdint>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

struct SortTable {
  // in[i * in_stride] in order; values and indices are contiguous. A large row is sorted by all
  // threads.
  std::array<void (*)(const void* in, int64_t in_stride, void* values, int64_t* indices, int64_t n,
                      bool descending),
             kNumDTypes>
      sort;
  // The k largest or smallest elements, best first; of equal elements the first ones. 0 <= k <= n.
  std::array<void (*)(const void* in, int64_t in_stride, void* values, int64_t* indices, int64_t n,
                      int64_t k, bool largest),
             kNumDTypes>
      topk;
};
FACULA_KERNEL_TABLE(SortTable, sort_table)

}  // namespace facula::cpu
