// Products of matrices and vectors on raw memory. Work is cut by the sizes alone and every sum has
// a fixed order: the results have the same bits for any number of threads.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace facula::products {

enum class Trans { No, Yes };

// What plan_gemm() chooses the way from.
struct GemmShape {
  Trans trans_a = Trans::No;
  Trans trans_b = Trans::No;
  int64_t m = 0, n = 0, k = 0;
  int64_t n_batch = 1;
};

// n_batch products C = alpha op(A) op(B) + beta C, where op(A) is m x k and op(B) is k x n.
// Matrices are row-major: element (i, j) of C is c[i * ldc + j]. `stride` is the distance from one
// matrix of the batch to the next; 0 repeats A or B. C is not read where beta is 0. Every size may
// be 0. Vectors are matrices of one row or one column.
template <class T>
struct Gemm : GemmShape {
  Wide<T> alpha = 1;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  Wide<T> beta = 0;
  T* c = nullptr;
  int64_t ldc = 0;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  const T* bias = nullptr;  // or a number that is added to each row of C. `beta` must be 0 then
};

// Defined for every dtype but bool. Half and BFloat16 are multiplied and summed in float and
// rounded once; integers wrap around.
template <class T>
void gemm(const Gemm<T>& x);

}  // namespace facula::products
