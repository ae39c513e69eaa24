// What the formulas of the .def lists may call, as math::name: the functions of core/math over
// numbers and over vectors, and those that have no formula over vectors lane by lane.
#pragma once
#include "cpu/vec.h"
#include "math/activations.h"
#include "math/complex.h"
#include "math/lanes.h"

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

#define FACULA_PER_LANE(name)                                              \
  template <class T>                                                       \
  FACULA_FN Vec<T> name(Vec<T> a, Vec<T> b) {                              \
    return cpu::per_lane([](T x, T y) { return math::name(x, y); }, a, b); \
  }
FACULA_PER_LANE(nextafter)
FACULA_PER_LANE(igamma)
FACULA_PER_LANE(igammac)
#undef FACULA_PER_LANE
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
#define FACULA_OF_ONE(name)                                                               \
  template <class T>                                                                      \
  FACULA_FN Vec<T> name(Vec<T> x) {                                                       \
    return cpu::per_lane([](T lane) { return static_cast<T>(name##_of_lane(lane)); }, x); \
  }
#define FACULA_OF_TWO(name)                                                                    \
  template <class T>                                                                           \
  FACULA_FN Vec<T> name(Vec<T> a, Vec<T> b) {                                                  \
    return cpu::per_lane([](T x, T y) { return static_cast<T>(name##_of_lane(x, y)); }, a, b); \
  }
FACULA_LANES_OF_ONE(FACULA_OF_ONE)
FACULA_LANES_OF_TWO(FACULA_OF_TWO)
#undef FACULA_OF_ONE
#undef FACULA_OF_TWO

}  // namespace FACULA_ISA
}  // namespace facula::math
