// Products of matrices whose elements are found by functions. All sums are in a fixed order.
#pragma once
#include "cuda/kernels/types.h"
#include "math/primitives.h"

namespace facula {

constexpr int kTileThreads = 256, kTile = 64, kTileDepth = 16, kTileSide = 4;

template <class W>
FACULA_FN W multiply_add(W a, W b, W c) {
  if constexpr (std::is_floating_point_v<W>) {
    return ::fma(a, b, c);
  } else {
    return static_cast<W>(a * b + c);
  }
}

// The tile blockIdx.x of the product m x n over k of left(i, k) and right(k, j): store(i, j, sum).
// A thread has kTileSide^2 results.
template <class W, class Left, class Right, class Store>
FACULA_FN void tiled_product(int64_t m, int64_t n, int64_t k, const Left& left, const Right& right,
                             const Store& store) {
  __shared__ W a[kTileDepth][kTile + 1], b[kTileDepth][kTile + 1];
  int64_t n_rows = (m + kTile - 1) / kTile;
  int64_t m0 = blockIdx.x % n_rows * kTile, n0 = blockIdx.x / n_rows * kTile;
  int row = threadIdx.x / 16 * kTileSide, column = threadIdx.x % 16;
  W sums[kTileSide][kTileSide] = {};
  for (int64_t k0 = 0; k0 < k; k0 += kTileDepth) {
    for (int i = threadIdx.x; i < kTile * kTileDepth; i += kTileThreads) {
      int64_t depth = i / kTile, at = i % kTile;
      bool has_k = k0 + depth < k;
      a[depth][at] = has_k && m0 + at < m ? left(m0 + at, k0 + depth) : W(0);
      b[depth][at] = has_k && n0 + at < n ? right(k0 + depth, n0 + at) : W(0);
    }
    __syncthreads();
    for (int depth = 0; depth < kTileDepth; ++depth)
#pragma unroll
      for (int i = 0; i < kTileSide; ++i)
#pragma unroll
        for (int j = 0; j < kTileSide; ++j)
          sums[i][j] = multiply_add(a[depth][row + i], b[depth][column + 16 * j], sums[i][j]);
    __syncthreads();
  }
  for (int i = 0; i < kTileSide; ++i)
    for (int j = 0; j < kTileSide; ++j)
      if (m0 + row + i < m && n0 + column + 16 * j < n)
        store(m0 + row + i, n0 + column + 16 * j, sums[i][j]);
}

}  // namespace facula
