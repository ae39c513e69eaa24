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
// The same for kernels that hold a row of neighbours in registers: each thread as much as it can,
// so that its loads wait together, where the row is long enough for a few threads.
inline int held_lanes(int64_t size, DType dtype) {
  constexpr int kHeldVectors = 4, kFewest = 16, kVectorBytes = 16;
  int lanes = lanes_of(size, 1);
  int64_t per_vector = kVectorBytes / item_size(dtype);
  if (size % per_vector != 0 || size / per_vector > int64_t(lanes) * kHeldVectors) return lanes;
  while (lanes > kFewest && size / per_vector <= int64_t(lanes) / 2 * kHeldVectors) lanes /= 2;
  return lanes;
}
inline Grid grid_of(const RowShape& shape) {
  return {ceil_div(shape.n_rows, int64_t(kKernelThreads / shape.n_lanes)), 1};
}

inline char* data_or_null(const Tensor& x) { return x.defined() ? x.address() : nullptr; }

}  // namespace facula::cuda
