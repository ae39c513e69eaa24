// Kernels of reductions. They read values of the dtypes that is_read_as() names, a chunk at a time;
// reduce_walk.cc walks the tensor, converts other dtypes on the way and joins the chunks in a fixed
// tree.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"
#include "walk/reduction.h"

namespace facula::cpu {

// The longest pieces that a kernel gets at once. Rows may be more where they are narrow:
// kReduceChunk elements in all.
constexpr int64_t kReduceChunk = 4096;
constexpr int64_t kReduceRows = 64;
constexpr int64_t kReduceColumns = 512;
constexpr int64_t kMaxAccumulatorBytes = 24;

struct ReduceKernel {
  int64_t accumulator_bytes = 0;
  DType value_dtype = DType::Float32;  // of what finish() writes
  // The reduction of each of n_rows rows, which are row_stride elements apart, of n contiguous
  // elements, of which the first has this number within the whole reduction.
  void (*rows)(const void* x, int64_t row_stride, int64_t n_rows, int64_t n, int64_t first,
               void* accumulators, const ReduceParams& params) = nullptr;
  // The same for each of n_columns neighbours, over rows that are row_stride elements apart.
  void (*columns)(const void* x, int64_t row_stride, int64_t n_rows, int64_t n_columns,
                  int64_t first, void* accumulators, const ReduceParams& params) = nullptr;
  // Joins n accumulators with those of elements that come later.
  void (*combine)(void* accumulators, const void* later, int64_t n) = nullptr;
  // Writes n values, and where `seconds` is not null the second results: indices (int64) or means
  // (double).
  void (*finish)(const void* accumulators, int64_t n, void* values, void* seconds,
                 const ReduceParams& params) = nullptr;
  // Whether rows may be longer than kReduceChunk: there is no sum whose errors would grow.
  bool takes_long_rows = false;
  bool is_null() const { return rows == nullptr; }
};

struct ReduceTable {
  // By the dtype that is read; null where not defined.
  std::array<std::array<ReduceKernel, kNumDTypes>, static_cast<int>(ReduceOp::count)> kernels;
};

FACULA_KERNEL_TABLE(ReduceTable, reduce_table)

inline bool has_reduction(ReduceOp op, DType read_dtype) {
  return !get_reduce_table().kernels[static_cast<int>(op)][static_cast<int>(read_dtype)].is_null();
}

}  // namespace facula::cpu
