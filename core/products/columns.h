// Products of a matrix with up to four vectors, in which our factorisations spend their time.
#pragma once
#include <cstdint>

#include "cpu/isa.h"

namespace facula::cpu {

// Of columns a_c of n elements and vectors v_k, with a number t(k, c) for each pair of them.
template <class T>
struct ColumnProduct {
  int64_t n, n_columns;
  T* a;
  int64_t lda;
  int n_vectors;  // 1 or 2, and for add() also 4
  T* v;
  int64_t ldv;
  T* t;
};

template <class T>
struct ColumnKernels {
  void (*dots)(const ColumnProduct<T>&);  // t(k, c) = the product of a_c and v_k
  void (*add)(const ColumnProduct<T>&);   // a_c += the sum of t(k, c) v_k
  void (*sums)(const ColumnProduct<T>&);  // v_k = the sum of t(k, c) a_c
};

struct ColumnTable {
  ColumnKernels<float> float32;
  ColumnKernels<double> float64;
};
FACULA_KERNEL_TABLE(ColumnTable, column_table)

}  // namespace facula::cpu
