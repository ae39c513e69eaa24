// Order statistics of one line: places of elements, by value. NaN counts as the largest.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace facula::cpu {

enum class Pick {
  Kth,
  Median,     // the lower of two; the first NaN where there is one
  NanMedian,  // of the elements that are not NaN
  Mode,       // the smallest of the most frequent values, where it is last
};

// The place in `x` (n > 0 elements of float32, float64 or int64) of the element asked for; k counts
// from 0.
int64_t pick_index(Pick pick, DType dtype, const void* x, int64_t n, int64_t k);

// The places of the elements in ascending order; returns how many are not NaN.
int64_t argsort_line(DType dtype, const void* x, int64_t n, int64_t* order);

}  // namespace facula::cpu
