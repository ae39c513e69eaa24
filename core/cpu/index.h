// Reads and writes at offsets: operand 0 or 1 plus a byte offset from the last operand. Compiled
// once: memory sets the pace.
#pragma once
#include "base/dtype.h"
#include "ops/elementwise.h"

namespace facula::cpu {

enum class WriteMode { Set, Add, Prod, AMin, AMax };

// y[i] = x[i + offset[i]]: operands y, x, offsets.
Loop read_at_loop(DType dtype);
// y[i + offset[i]] op= x[i]: operands y, x, offsets. In order, so that later writes win and sums
// have fixed bits.
Loop write_at_loop(DType dtype, WriteMode mode);

// The number of elements that are not zero, and the positions of the first of them, at most
// `capacity`, as flat indices into a contiguous tensor.
int64_t count_nonzero(DType dtype, const char* data, int64_t n);
int64_t find_nonzero(DType dtype, const char* data, int64_t n, int64_t* positions,
                     int64_t capacity);

}  // namespace facula::cpu
