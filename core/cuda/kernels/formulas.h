// What the formulas of the .def lists may call, as math::name, for one number.
#pragma once
#include "cuda/kernels/types.h"
#include "math/activations.h"
#include "math/complex.h"
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

}  // namespace FACULA_ISA
}  // namespace facula::math
