// How the rows of a tensor are given to threads.
#pragma once
#include <algorithm>

#include "cuda/kernel.h"
#include "cuda/kernels/nn_arguments.h"
#include "tensor/tensor.h"

namespace facula::cuda {

// Elements that a thread should have at least.
constexpr int64_t kPerLane = 16;

// The threads that share a row of so many elements, `inner` apart: by the sizes alone, so that the
// bits never depend on the device.
inline int lanes_of(int64_t size, int64_t inner) {
  // Neighbouring rows are read together, at least a warp of them.
  int64_t most = inner == 1 ? kKernelThreads : kKernelThreads / 32;
  int64_t lanes = 1;
  while (lanes < most && lanes * kPerLane < size) lanes *= 2;
  return static_cast<int>(lanes);
}
inline Grid grid_of(const RowShape& shape) {
  return {ceil_div(shape.n_rows, int64_t(kKernelThreads / shape.n_lanes)), 1};
}

inline char* data_or_null(const Tensor& x) { return x.defined() ? x.data() : nullptr; }

}  // namespace facula::cuda
