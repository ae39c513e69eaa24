// Products of matrices of integers, which cuBLAS does not multiply.
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

#ifdef __CUDACC_RTC__

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
