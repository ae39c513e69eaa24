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
// For results of 16 bits, whose rounding hides the error of the GPU's own exponential: instead of
// the templates in programs that say so.
#ifdef FACULA_ROUNDED
FACULA_FN float silu(float x) { return x / (1 + __expf(-x)); }
FACULA_FN float silu_backward(float g, float x) {
  float e = __expf(-abs(x)), r = 1 / (1 + e);
  float y = x < 0 ? e * r : r, rest = x < 0 ? r : e * r;
  return g * y * (1 + x * rest);
}
FACULA_FN float gelu_tanh(float x) {
  constexpr float sqrt_8_over_pi = 1.5957691216f;
  return x / (1 + __expf(-x * fma(x * x, sqrt_8_over_pi * 0.044715f, sqrt_8_over_pi)));
}
FACULA_FN float gelu_tanh_backward(float g, float x) {
  constexpr float sqrt_2_over_pi = 0.79788456080f;
  float square = x * x, inner = sqrt_2_over_pi * x * fma(square, 0.044715f, 1.0f);
  float slope = sqrt_2_over_pi * fma(square, 3 * 0.044715f, 1.0f);
  float e = __expf(-2 * abs(inner)), r = 1 / (1 + e);
  float half = inner < 0 ? e * r : r, bend = 2 * e * r * r;
  return g * (half + (bend == 0 ? 0.0f : x * slope * bend));
}
#endif

FACULA_LANES_OF_ONE(FACULA_OF_ONE)
FACULA_LANES_OF_TWO(FACULA_OF_TWO)
#undef FACULA_OF_ONE
#undef FACULA_OF_TWO

}  // namespace FACULA_ISA
}  // namespace facula::math
