// Reads and writes at indices: operand 0 or 1 plus what the last operand, an index (int64), says.
#pragma once
#include <array>
#include <atomic>
#include <vector>

#include "base/dtype.h"
#include "cpu/isa.h"
#include "walk/walk.h"

namespace facula::cpu {

enum class WriteMode { Set, Add, Prod, AMin, AMax };

// What the loops get as params. An index is read once, since another thread may be writing to it,
// and checked where it is used: at one that is out of bounds a loop stops and says so.
struct IndexBounds {
  int64_t size;  // indices are below it
  int64_t wrap;  // added to negative ones: the size, or 0 where they are out of bounds
  int64_t step;  // in bytes, of the indexed dimension
  std::atomic<bool>* is_outside;
};

// What to write about an element: `n_rows` numbers, each a sum of its coordinates times weights.
struct Positions {
  int n_dims, n_rows;
  int64_t sizes[kMaxDims];  // dimension 0 is the innermost
  std::vector<int64_t> weights[kMaxDims];
  int64_t* out;
  int64_t row_step;
};

struct IndexTable {
  template <class F>
  using ByDType = std::array<F, kNumDTypes>;

  // y[i] = x[i + index[i] * step]: operands y, x, index.
  ByDType<Loop> read_at;
  // The same for n_rows rows of n elements, for which the call of a loop for each would take long.
  ByDType<void (*)(char** data, const int64_t* strides, const int64_t* row_strides, int64_t n,
                   int64_t n_rows, const IndexBounds& bounds)>
      read_rows;
  // n lines of `nbytes`, one for each index: operands y, x, index, with steps from line to line.
  void (*read_lines)(char** data, const int64_t* steps, int64_t n, int64_t nbytes,
                     const IndexBounds& bounds);
  // y[i + index[i] * step] op= x[i], by mode: operands y, x, index. In order, so that later writes
  // win and sums have fixed bits.
  std::array<ByDType<Loop>, 5> write_at;
  // Whether all of n indices are in [low, high).
  bool (*are_inside)(const int64_t* index, int64_t n, int64_t low, int64_t high);

  // Which of n elements, one behind the other, are not zero: a bit for each. Returns how many are.
  ByDType<int64_t (*)(const char* data, int64_t n, uint64_t* bits)> find_nonzero;
  // For the bits [begin, end) that are set, in the columns from `at` on; begin starts a word.
  void (*write_positions)(const Positions& positions, const uint64_t* bits, int64_t begin,
                          int64_t end, int64_t at);
};
FACULA_KERNEL_TABLE(IndexTable, index_table)

}  // namespace facula::cpu
