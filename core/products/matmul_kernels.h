// Matrix products of integers and floats, and the conversions of 16-bit floats. Which of them is
// called is chosen in plan.cc. None is OpenBLAS's: there a row has other bits among others than
// alone.
#pragma once
#include <cstdint>

#include "base/dtype.h"
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
// Of the floats' ways Blocked and SmallA add `bias` to the rows, if it is not null.
template <class T>
struct GemmProblem {
  int64_t m, n, k;
  T alpha;
  MatrixView<T> a, b;
  T beta;
  T* c;
  int64_t ldc;
  const T* bias;
};

// By the names of the ways, GemmWay. Null where plan_gemm() never chooses one.
template <class T>
struct MatmulKernels {
  using Kernel = void (*)(const GemmProblem<T>&);
  Kernel blocked = nullptr, small_a = nullptr, exchanged = nullptr, few_rows = nullptr,
         matrix_vector = nullptr;
};

struct BlockedTable {
  MatmulKernels<float> float32;
  MatmulKernels<double> float64;
};
FACULA_KERNEL_TABLE(BlockedTable, blocked_table)

struct IntegersTable {
  MatmulKernels<uint8_t> uint8;
  MatmulKernels<int8_t> int8;
  MatmulKernels<int16_t> int16;
  MatmulKernels<int32_t> int32;
  MatmulKernels<int64_t> int64;
};
FACULA_KERNEL_TABLE(IntegersTable, integers_table)

// C = alpha A B + beta C, of bfloat16. C is of floats where `c` is null, and not read when beta is
// 0.
struct PairsProblem {
  int64_t m, n, k;
  float alpha;
  MatrixView<BFloat16> a, b;
  float beta;
  BFloat16* c;
  float* wide_c;
  int64_t ldc;
};
struct PairsTable {
  void (*multiply)(const PairsProblem&);  // null where the instruction set has nothing for it
};
FACULA_KERNEL_TABLE(PairsTable, pairs_table)

// The sum of a[i] * b[i], of 16-bit floats as a float.
struct DotsTable {
  float (*half)(const Half* a, const Half* b, int64_t n);
  float (*bfloat16)(const BFloat16* a, const BFloat16* b, int64_t n);
  Complex64 (*complex64)(const Complex64* a, const Complex64* b, int64_t n);
  Complex128 (*complex128)(const Complex128* a, const Complex128* b, int64_t n);
};
FACULA_KERNEL_TABLE(DotsTable, dots_table)

struct WidenTable {
  void (*widen_half)(const Half* from, int64_t n, float* to);
  void (*widen_bfloat16)(const BFloat16* from, int64_t n, float* to);
  void (*narrow_half)(const float* from, int64_t n, Half* to);
  void (*narrow_bfloat16)(const float* from, int64_t n, BFloat16* to);
};
FACULA_KERNEL_TABLE(WidenTable, widen_table)

}  // namespace facula::cpu
