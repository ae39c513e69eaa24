// Products of matrices of integers, which cuBLAS does not multiply, and copies that give it
// matrices as it wants them.
#pragma once
#ifdef __CUDACC_RTC__
#include "cuda/kernels/shape.h"
#include "cuda/kernels/tile.h"
#else
#include <cstdint>
#endif

namespace facula {

// C = alpha A B + beta C, row-major, or A and B transposed; a batch along blockIdx.y.
struct MatmulArguments {
  const char *a, *b;
  char* c;
  int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
  int64_t alpha, beta;
  bool trans_a, trans_b;
};

// A row-major matrix into a larger or smaller one: zeros where it ends. A block copies
// kCopiedColumns columns of a row.
struct CopyArguments {
  const char* from;
  char* to;
  int64_t rows, cols, ld;
  int64_t to_rows, to_cols, to_ld;
};
constexpr int kCopiedColumns = 2048;

#ifdef __CUDACC_RTC__

template <class T>
FACULA_FN void copy_matrix(const CopyArguments& x) {
  constexpr int kEach = kCopiedColumns / 256;
  int64_t piece,
      row = divide(blockIdx.x, quotient(x.to_cols + kCopiedColumns - 1, kCopiedColumns), piece);
  const T* from = reinterpret_cast<const T*>(x.from) + row * x.ld;
  T* to = reinterpret_cast<T*>(x.to) + row * x.to_ld;
  int64_t first = piece * kCopiedColumns + threadIdx.x, n = row < x.rows ? x.cols : 0;
  // All loads before the stores, so that they wait together. Rows of odd length are aligned to an
  // element only.
  T values[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    int64_t at = first + j * 256;
    values[j] = at < n ? from[at] : T(0);
  }
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    int64_t at = first + j * 256;
    if (at < x.to_cols) to[at] = values[j];
  }
}

template <class T>
FACULA_FN void integer_matmul(const MatmulArguments& x) {
  int64_t batch = blockIdx.y;
  const T *a = reinterpret_cast<const T*>(x.a) + batch * x.stride_a,
          *b = reinterpret_cast<const T*>(x.b) + batch * x.stride_b;
  T* c = reinterpret_cast<T*>(x.c) + batch * x.stride_c;
  tiled_product<T>(
      x.m, x.n, x.k,
      [&](int64_t i, int64_t j) { return x.trans_a ? a[j * x.lda + i] : a[i * x.lda + j]; },
      [&](int64_t i, int64_t j) { return x.trans_b ? b[j * x.ldb + i] : b[i * x.ldb + j]; },
      [&](int64_t i, int64_t j, T sum) {
        T& to = c[i * x.ldc + j];
        to = static_cast<T>(static_cast<T>(x.alpha) * sum +
                            (x.beta == 0 ? T(0) : static_cast<T>(static_cast<T>(x.beta) * to)));
      });
}

#endif

}  // namespace facula
