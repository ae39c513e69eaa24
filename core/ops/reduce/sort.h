// Order: sorting, the largest and smallest, distinct values.
#pragma once
#include <tuple>

#include "tensor/tensor.h"

namespace facula {

// Values and indices; always stable.
std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false,
                                const char* node = "SortBackward0");
std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true);

struct Unique {
  Tensor values, inverse, counts;
};
Unique unique(const Tensor& x);  // of all elements, sorted
Unique unique_rows(const Tensor& x, int64_t dim,
                   bool is_consecutive);     // of the slices along a dimension
Unique unique_consecutive(const Tensor& x);  // of all elements, runs only

}  // namespace facula
