// The walk that feeds the kernels of core/cpu/nn/softmax.h.
#pragma once
#include "cpu/nn/softmax.h"
#include "tensor/tensor.h"

namespace facula {

// Gives the rows of x along `dim` to the kernel; y and b as it needs them. x is contiguous and has
// elements.
void run_softmax_rows(const cpu::SoftmaxTable::Row& row, const Tensor& x, int64_t dim, char* y,
                      const char* b);

}  // namespace facula
