// Numbers at equal distances, as linspace makes them, for the CPU and for the GPU.
#pragma once
#ifndef __CUDACC_RTC__
#include "base/dtype.h"
#endif
#include "math/primitives.h"

namespace facula::math {

// Number i of `steps`. Counted from the nearer end, so that the last one is exactly `last`; a
// narrow dtype rounds after each operation, as arithmetic in it would. Float and double round
// product and sum once, which is also what PyTorch's numbers show.
template <class T>
struct EvenlySpaced {
  using W = std::conditional_t<std::is_integral_v<T>, double, Wide<T>>;
  W first, last, step;
  int64_t n_from_first, steps;

  FACULA_FN static W rounded(W value) {
    if constexpr (is_reduced_float_v<T>) return W(T(value));
    return value;
  }

  FACULA_FN W operator()(int64_t i) const {
    bool is_from_first = i < n_from_first;
    double n_steps = static_cast<double>(is_from_first ? i : i - (steps - 1));
    W from = is_from_first ? first : last;
    // By a real number: C looks for NaN after a product of two complex ones.
    if constexpr (is_complex_v<T>)
      return from + step * static_cast<typename W::value_type>(n_steps);
    W distance = W(n_steps);
    if constexpr (std::is_same_v<T, float>) return __builtin_fmaf(step, distance, from);
    if constexpr (std::is_same_v<T, double>) return __builtin_fma(step, distance, from);
    return rounded(from + rounded(step * distance));
  }
};

}  // namespace facula::math
