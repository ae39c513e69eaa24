// What the formulas of the .def lists may call, as math::name, for one number.
#pragma once
#include "cuda/kernels/types.h"
#include "math/activations.h"
#include "math/arithmetic.h"
#include "math/complex.h"
#include "math/gamma.h"
#include "math/lanes.h"

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
#define FACULA_OF_ONE(name)                   \
  template <class T>                          \
  FACULA_FN T name(T x) {                     \
    return static_cast<T>(name##_of_lane(x)); \
  }
#define FACULA_OF_TWO(name)                      \
  template <class T>                             \
  FACULA_FN T name(T a, T b) {                   \
    return static_cast<T>(name##_of_lane(a, b)); \
  }
FACULA_LANES_OF_ONE(FACULA_OF_ONE)
FACULA_LANES_OF_TWO(FACULA_OF_TWO)
#undef FACULA_OF_ONE
#undef FACULA_OF_TWO

}  // namespace FACULA_ISA
}  // namespace facula::math
