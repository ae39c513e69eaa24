// What the formulas of the .def lists may call, as math::name: the functions of core/math over
// numbers and over vectors. (Bessel functions, sums of powers and polynomials are included by the
// files whose lists have them.)
#pragma once
#include "cpu/vec.h"
#include "math/activations.h"
#include "math/complex.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Lanes that the quick formula cannot do are rare: a divisor that is zero, infinite or tiny.
FACULA_FN Vec<double> fmod_of_lanes(Vec<double> a, Vec<double> b, double limit) {
  Vec<double> whole = trunc(a / b);
  Vec<double> rest = math::fmod_of_small_quotient(a, b, whole);
  if (__builtin_expect(
          all(abs(whole) < Vec<double>(limit) && abs(b) < math::infinity<Vec<double>>()), 1))
    return rest;
  return per_lane([](double x, double y) { return math::fmod(x, y); }, a, b);
}
FACULA_FN Vec<double> fmod(Vec<double> a, Vec<double> b) {
  if constexpr (math::kHasFma) return fmod_of_lanes(a, b, 0x1p53);
  return per_lane([](double x, double y) { return math::fmod(x, y); }, a, b);
}
// Exact in double without fma too, since floats have 24 bits.
FACULA_FN Vec<float> fmod(Vec<float> a, Vec<float> b) {
  return through_double([](Vec<double> x, Vec<double> y) { return fmod_of_lanes(x, y, 0x1p29); }, a,
                        b);
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu

namespace facula::math {
inline namespace FACULA_ISA {

using cpu::abs;
using cpu::at_least;
using cpu::at_most;
using cpu::ceil;
using cpu::floor;
using cpu::fma;
using cpu::fmod;
using cpu::max;
using cpu::min;
using cpu::round;
using cpu::select;
using cpu::sqrt;
using cpu::trunc;
using cpu::Vec;

template <class T>
FACULA_FN Vec<T> trunc_divide(Vec<T> a, Vec<T> b) {
  return trunc(a / b);
}
template <class T>
FACULA_FN Vec<T> conj(Vec<T> x) {
  return x;
}
template <class T>
FACULA_FN Vec<T> sgn(Vec<T> x) {
  return sign(x);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
