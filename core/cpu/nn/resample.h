// Weighted sums of elements along up to three dimensions of an (outer, D, H, W, inner) tensor,
// contiguous: `inner` is 1, or the number of channels of a channels_last tensor.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

// Result o is the sum of weight[k] * x[index[k]] over k in [begin[o], begin[o + 1]).
struct ResampleAxis {
  int64_t in;
  int64_t out;
  const int32_t* begin;
  const int32_t* index;
  const void* weight;  // float64 for float64, int32 for uint8, else float32
  int64_t n_taps;      // where all results have as many, else 0
};

struct ResampleShape {
  ResampleAxis axes[3];
  int64_t n_in;  // of a slice
  int64_t inner;
  bool is_pick;      // every result is one element: weights are not read
  int precision[3];  // of uint8: weights are multiples of 2^-precision
};

// Rows [begin, end) of the result, (outer, D, H) flattened; slices for `fixed`.
using ResampleKernel = void (*)(char* y, const char* x, const ResampleShape& shape, int64_t begin,
                                int64_t end);

struct ResampleTable {
  using Row = std::array<ResampleKernel, kNumDTypes>;
  Row rows;
  ResampleKernel fixed;  // uint8, over the last two dimensions, rounded after each
};

FACULA_KERNEL_TABLE(ResampleTable, resample_table)

}  // namespace facula::cpu
