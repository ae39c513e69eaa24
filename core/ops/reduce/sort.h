// Order: sorting and distinct values.
#pragma once
#include "ops/reduce/extrema.h"

namespace facula {

// Values and indices; always stable.
ValuesAndIndices sort(const Tensor& x, int64_t dim = -1, bool descending = false,
                      const char* node = "SortBackward0");

struct Unique {
  Tensor values, inverse, counts;
};
Unique unique(const Tensor& x);  // of all elements, sorted

}  // namespace facula
