// Sorting on a GPU. The order of equal elements is kept; NaN is the largest.
#pragma once
#include "tensor/tensor.h"

namespace facula::cuda {

// Of each line of x, which is contiguous and has lines of line_size elements, the first in order,
// as many as the lines of values and places (contiguous) have.
void sort_lines(const Tensor& values, const Tensor& places, const Tensor& x, int64_t line_size,
                bool is_descending);

// Brings keys from 0 to below `limit` in order, and the order with them.
void sort_by_key(Device device, int64_t* keys, int64_t* order, int64_t n, int64_t limit);

}  // namespace facula::cuda
