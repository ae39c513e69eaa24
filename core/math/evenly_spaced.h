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

  template <class R>
  FACULA_FN static R fused(R a, R b, R c) {
    if constexpr (sizeof(R) == sizeof(float)) return __builtin_fmaf(a, b, c);
    return __builtin_fma(a, b, c);
  }

  FACULA_FN W operator()(int64_t i) const {
    bool is_from_first = i < n_from_first;
    double n_steps = is_from_first ? static_cast<double>(i) : -static_cast<double>(steps - 1 - i);
    W from = is_from_first ? first : last;
    if constexpr (is_complex_v<T>) {
      // Each part by itself, so that an infinite one leaves the other as it is.
      using R = typename W::value_type;
      return {fused(step.real(), R(n_steps), from.real()),
              fused(step.imag(), R(n_steps), from.imag())};
    } else {
      W distance = W(n_steps);
      if constexpr (std::is_floating_point_v<T>) return fused(step, distance, from);
      return rounded(from + rounded(step * distance));
    }
  }
};

}  // namespace facula::math
