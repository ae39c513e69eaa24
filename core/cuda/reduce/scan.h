// Running totals and extrema on a GPU.
#pragma once
#include "tensor/tensor.h"

namespace facula::cuda {

enum class ScanOp { Sum, Prod, LogSumExp, Max, Min };

// y along `dim` of x, of one shape, and for extrema the places of the elements; from the end of
// each line to its start where said so.
void run_scan(ScanOp op, const Tensor& y, const Tensor& places, const Tensor& x, int64_t dim,
              bool from_end = false);

// counts[i] becomes the sum of all before it.
void sum_before(Device device, int64_t* counts, int64_t n);

}  // namespace facula::cuda
