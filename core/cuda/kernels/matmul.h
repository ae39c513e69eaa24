// Products of matrices of integers, which cuBLAS does not multiply, and copies of matrices whose
// rows it would read slowly.
#pragma once
#ifdef __CUDACC_RTC__
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

// A matrix, to rows of another distance.
struct CopyRowsArguments {
  const char* from;
  char* to;
  int64_t n_rows, n_columns, from_ld, to_ld;
};
constexpr int kCopiedColumns = 8;  // by one thread

#ifdef __CUDACC_RTC__

template <class T>
FACULA_FN void copy_rows(const CopyRowsArguments& x) {
  int64_t per_row = (x.n_columns + kCopiedColumns - 1) / kCopiedColumns;
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= per_row * x.n_rows) return;
  int64_t row = i / per_row, column = (i - row * per_row) * kCopiedColumns;
  const T* from = reinterpret_cast<const T*>(x.from) + row * x.from_ld + column;
  T* to = reinterpret_cast<T*>(x.to) + row * x.to_ld + column;
  if (column + kCopiedColumns <= x.n_columns) {
    T values[kCopiedColumns];
#pragma unroll
    for (int k = 0; k < kCopiedColumns; ++k) values[k] = from[k];
#pragma unroll
    for (int k = 0; k < kCopiedColumns; ++k) to[k] = values[k];
  } else {
    for (int64_t k = 0; k < x.n_columns - column; ++k) to[k] = from[k];
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
