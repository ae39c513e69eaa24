// Reads and writes at indices: operand 0 or 1 plus what the last operand, an index (int64), says.
// Compiled once: memory sets the pace.
#pragma once
#include <atomic>

#include "base/dtype.h"
#include "ops/elementwise.h"

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

// y[i] = x[i + index[i] * step]: operands y, x, index.
Loop read_at_loop(DType dtype);
// y[i + index[i] * step] op= x[i]: operands y, x, index. In order, so that later writes win and
// sums have fixed bits.
Loop write_at_loop(DType dtype, WriteMode mode);

// The number of elements that are not zero, and the positions of the first of them, at most
// `capacity`, as flat indices into a contiguous tensor.
int64_t count_nonzero(DType dtype, const char* data, int64_t n);
int64_t find_nonzero(DType dtype, const char* data, int64_t n, int64_t* positions,
                     int64_t capacity);

}  // namespace facula::cpu
