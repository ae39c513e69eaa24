// Triangular systems with few right sides, which a library for many of them packs first.
#pragma once
#include <cstdint>

#include "cpu/isa.h"

namespace facula::cpu {

// op(A) X = B, where A is a column-major triangle of n rows and the columns of `x` (n, n_sides)
// are those of B, which become X. There are at most kMaxSides.
template <class T>
struct Substitution {
  static constexpr int64_t kMaxSides = 4;
  int64_t n, n_sides;
  const T* a;
  bool is_upper, is_transposed, is_unit;
  T* x;
};

struct SubstituteTable {
  void (*float32)(const Substitution<float>&);
  void (*float64)(const Substitution<double>&);
};
FACULA_KERNEL_TABLE(SubstituteTable, substitute_table)

}  // namespace facula::cpu
