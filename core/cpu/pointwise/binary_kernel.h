// What defines the kernel of a binary operation, for the files that include its list.
#pragma once
#include "cpu/formulas.h"
#include "cpu/loops.h"
#include "cpu/pointwise/loop_tables.h"

#define FACULA_BINARY_KERNEL(name, kinds, formula)                                        \
  template <class T>                                                                      \
  struct name##_formula {                                                                 \
    T p0, p1, p2;                                                                         \
    FACULA_FN T operator()(T a, T b) const { return static_cast<T>(formula); }            \
  };                                                                                      \
  template <class E>                                                                      \
  struct name##_kernel {                                                                  \
    static constexpr Kinds kinds_ = Kinds::kinds;                                         \
    static void loop(char** data, const int64_t* strides, int64_t n, const void* given) { \
      const auto& params = *static_cast<const BinaryParams*>(given);                      \
      const Scalar* p = params.numbers;                                                   \
      name##_formula<Lanes<E>> f{number<E>(p[0]), number<E>(p[1]), number<E>(p[2])};      \
      map_binary<E, is_short(BinaryOp::name)>(data, strides, n, params, f);               \
    }                                                                                     \
  };
#define FACULA_BINARY_ROW(name, names, numbers, kinds, check, formula, ...) \
  FACULA_BINARY_KERNEL(name, kinds, formula)
