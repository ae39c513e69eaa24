// What the formulas of the .def lists may call, as math::name, for one number.
#pragma once
#include "cuda/kernels/types.h"
#include "math/activations.h"
#include "math/arithmetic.h"
#include "math/gamma.h"

namespace facula::math {
inline namespace FACULA_ISA {

template <class T, IfFloat<T> = 0>
FACULA_FN T conj(T x) {
  return x;
}
template <class T, IfFloat<T> = 0>
FACULA_FN T sgn(T x) {
  return sign(x);
}
template <class T>
FACULA_FN T i1(T x) {
  return static_cast<T>(i1_of_lane(x));
}
template <class T>
FACULA_FN T polygamma(T n, T x) {
  return static_cast<T>(polygamma_of_lane(n, x));
}

template <class T>
FACULA_FN T power(T base, T exponent) {
  if constexpr (std::is_integral_v<T>) {
    return integer_pow(base, exponent);
  } else {
    return math::pow(base, exponent);
  }
}

template <class T>
FACULA_FN bool isnan(T x) {
  return x != x;
}
template <class T>
FACULA_FN bool isinf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return abs(x) == infinity<T>();
  } else {
    return false;
  }
}
template <class T>
FACULA_FN bool isfinite(T x) {
  return !isnan(x) && !isinf(x);
}
template <class T>
FACULA_FN bool signbit(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return (to_bits(x) & Bits<T>(Ieee<T>::kSignBit)) != 0;
  } else {
    return x < T(0);
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::math
