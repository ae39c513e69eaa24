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
// Whether rows that begin at x fit into so many vectors of each of their threads.
inline bool can_hold(const RowShape& rows, DType dtype, int n_vectors, const void* x) {
  int64_t per_vector = kVectorBytes / item_size(dtype);
  return rows.inner == 1 && is_aligned(x) && rows.size % per_vector == 0 &&
         rows.size / per_vector <= int64_t(rows.n_lanes) * n_vectors;
}
// The threads for rows that may be held: each as much as it can, so that its loads wait together,
// where the row is long enough for a few threads.
inline int held_lanes(int64_t size, DType dtype, int n_vectors) {
  constexpr int kFewest = 16;
  RowShape rows{1, size, 1, lanes_of(size, 1)};
  if (!can_hold(rows, dtype, n_vectors, nullptr)) return rows.n_lanes;
  while (rows.n_lanes > kFewest &&
         can_hold({1, size, 1, rows.n_lanes / 2}, dtype, n_vectors, nullptr))
    rows.n_lanes /= 2;
  return rows.n_lanes;
}
inline Grid grid_of(const RowShape& shape) {
  return {ceil_div(shape.n_rows, int64_t(kKernelThreads / shape.n_lanes)), 1};
}

inline char* data_or_null(const Tensor& x) { return x.defined() ? x.address() : nullptr; }

}  // namespace facula::cuda
