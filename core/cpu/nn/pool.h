// Windows over the last three dimensions of an (outer, D, H, W, inner) tensor, contiguous: `inner`
// is 1, or the number of channels of a channels_last tensor.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

// The windows along one dimension.
struct PoolAxis {
  int64_t in;
  int64_t out;
  const int64_t* begin;    // the first element of each window, padding left out
  const int64_t* count;    // its number of elements
  const int64_t* divisor;  // what an average divides by along this dimension
  int64_t step;            // between the elements of a window
  // Regular windows start every `stride` elements from `start`, padding included, and have `size`.
  int64_t stride;  // 0: irregular
  int64_t start;
  int64_t size;
  const int64_t* low;   // of each element of regular windows: those windows [low, high) in which it
  const int64_t* high;  // is not padding
  bool per_outer;       // every slice has `out` windows of its own in `begin`
};

struct PoolShape {
  PoolAxis axes[3];
  int64_t n_outer;
  int64_t inner;
  int64_t n_in;     // of a slice; less than 2^31 where places are looked for
  int64_t divisor;  // of averages, in place of the axes'; 0: none
};

// Rows [begin, end) of the result, (outer, D, H) flattened. `indices`, of max only, are flat ones
// of the slice (D, H, W), -1 for a window without elements; null: not wanted.
using PoolKernel = void (*)(char* y, int64_t* indices, const char* x, const PoolShape& shape,
                            int64_t begin, int64_t end);
// The gradient of x: those of slices and blocks of kPoolBlock channels [begin, end).
using PoolBackward = void (*)(char* gx, const char* g, const char* x, const PoolShape& shape,
                              int64_t begin, int64_t end);

// The inverse of max pooling: slices [begin, end) of y, (outer, n_out, inner), with the elements of
// x at `indices`, both (outer, n_in, inner), and zeros elsewhere. False: an index is not in [0,
// n_out).
using UnpoolKernel = bool (*)(char* y, const char* x, const int64_t* indices, int64_t n_out,
                              int64_t n_in, int64_t inner, int64_t begin, int64_t end);

constexpr int64_t kPoolBlock = 64;

struct PoolTable {
  using Row = std::array<PoolKernel, kNumDTypes>;
  using BackwardRow = std::array<PoolBackward, kNumDTypes>;
  Row max;
  Row mean;
  BackwardRow max_backward;
  BackwardRow mean_backward;
  std::array<UnpoolKernel, kNumDTypes> unpool;
};

FACULA_KERNEL_TABLE(PoolTable, pool_table)

}  // namespace facula::cpu
