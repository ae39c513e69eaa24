// Matrix products of our own: of integers, and for the instruction sets where they beat the BLAS
// library.
#pragma once
#include <cstdint>

#include "base/half.h"
#include "cpu/isa.h"

namespace facula::cpu {

// op(A): element (i, j) is data[i * row_stride + j * col_stride]. One of the strides is 1.
template <class T>
struct MatrixView {
  const T* data;
  int64_t row_stride;
  int64_t col_stride;
};

// C = alpha A B + beta C, with row-major C of m x n and A of m x k. C is not read when beta is 0.
template <class T>
struct GemmProblem {
  int64_t m, n, k;
  T alpha;
  MatrixView<T> a, b;
  T beta;
  T* c;
  int64_t ldc;
};

struct GemmTable {
  // Null where the BLAS library is not slower.
  void (*float32)(const GemmProblem<float>&);
  void (*float64)(const GemmProblem<double>&);
  void (*uint8)(const GemmProblem<uint8_t>&);
  void (*int8)(const GemmProblem<int8_t>&);
  void (*int16)(const GemmProblem<int16_t>&);
  void (*int32)(const GemmProblem<int32_t>&);
  void (*int64)(const GemmProblem<int64_t>&);
  void (*widen_half)(const Half* from, int64_t n, float* to);
  void (*widen_bfloat16)(const BFloat16* from, int64_t n, float* to);
  void (*narrow_half)(const float* from, int64_t n, Half* to);
  void (*narrow_bfloat16)(const float* from, int64_t n, BFloat16* to);
};
FACULA_KERNEL_TABLE(GemmTable, gemm_table)

}  // namespace facula::cpu
