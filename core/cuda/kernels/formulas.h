// What the formulas of the .def lists may call, as math::name, for one number.
#pragma once
#include "cuda/kernels/types.h"
#include "math/primitives.h"

namespace facula::math {
inline namespace FACULA_ISA {
// Before the template, which goes through double: slow on many GPUs.
FACULA_FN float pow(float x, float y) { return ::pow(x, y); }
}  // namespace FACULA_ISA
}  // namespace facula::math

#include "math/activations.h"
#include "math/arithmetic.h"
#include "math/bessel.h"
#include "math/complex.h"
#include "math/gamma.h"
#include "math/polynomials.h"

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

}  // namespace FACULA_ISA
}  // namespace facula::math
