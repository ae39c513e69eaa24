// The primitives that the formulas of core/math are written with, for one element. core/cpu/vec.h
// gives the same names for vectors, and each gives the same bits for an element as for a lane: so a
// strided tensor (elements) and a contiguous one (vectors) agree bit for bit.
#pragma once
#ifndef __CUDACC_RTC__
#include <cmath>
#include <cstdint>
#include <cstring>
#endif

// Kernels are compiled once per instruction set into one library. Everything here and in vec.h is
// in an inline namespace of that name: the linker must never replace a function of the baseline by
// its AVX-512 twin.
#ifndef FACULA_ISA
#define FACULA_ISA baseline
#endif

// Always inlined: a call would spill every vector register and reload every constant.
#ifdef __CUDACC__
#define FACULA_FN __device__ __forceinline__
#else
#define FACULA_FN inline __attribute__((always_inline))
#endif
// Long functions of one number, which have no vectors to spill, are compiled once.
#ifdef __CUDACC__
#define FACULA_LANE_FN __device__ inline
#else
#define FACULA_LANE_FN inline __attribute__((noinline))
#endif

// Whether a vector of numbers from a table of 16 floats costs no more than a few additions.
#if defined(__AVX2__)
#define FACULA_HAS_LOOKUP 1
#else
#define FACULA_HAS_LOOKUP 0
#endif

namespace facula::math {
inline namespace FACULA_ISA {

#if defined(__FMA__) || defined(__aarch64__) || defined(__CUDACC__)
constexpr bool kHasFma = true;
#else
constexpr bool kHasFma = false;
#endif

// What a formula must know about the type V it is written over. Specialised for Vec in vec.h.
// kScalesByAll: ldexp() takes any n, infinities and NaN too, and there is bounded().
template <class V>
struct Traits;
template <>
struct Traits<float> {
  using Element = float;
  using Bits = uint32_t;
  static constexpr bool kScalesByAll = false;
};
template <>
struct Traits<double> {
  using Element = double;
  using Bits = uint64_t;
  static constexpr bool kScalesByAll = false;
};
template <class V>
using Bits = typename Traits<V>::Bits;

template <class A, class B>
constexpr bool kSame = false;
template <class A>
constexpr bool kSame<A, A> = true;
template <class V>
constexpr bool kIsFloat = kSame<typename Traits<V>::Element, float>;

// The layout of IEEE numbers, and constants that differ between float and double.
template <class V>
struct Ieee {
  static constexpr int kMantissaBits = kIsFloat<V> ? 23 : 52;
  static constexpr int kBias = kIsFloat<V> ? 127 : 1023;
  static constexpr uint64_t kSignBit = kIsFloat<V> ? 0x80000000u : 0x8000000000000000u;
  static constexpr double kMinNormal = kIsFloat<V> ? 0x1p-126 : 0x1p-1022;
  // Adding 1.5 * 2^mantissa_bits rounds to an integer, which then stands in the low bits.
  static constexpr double kRounder = kIsFloat<V> ? 0x1.8p23 : 0x1.8p52;
};
template <class V>
FACULA_FN V infinity() {
  return V(__builtin_huge_val());
}
template <class V>
FACULA_FN V nan() {
  return V(__builtin_nan(""));
}

FACULA_FN float select(bool condition, float a, float b) { return condition ? a : b; }
FACULA_FN double select(bool condition, double a, double b) { return condition ? a : b; }
FACULA_FN uint32_t select(bool condition, uint32_t a, uint32_t b) { return condition ? a : b; }
FACULA_FN uint64_t select(bool condition, uint64_t a, uint64_t b) { return condition ? a : b; }
// Also what keeps CUDA's own functions of these names, which old GPUs had, from being called.
FACULA_FN bool any(bool condition) { return condition; }
FACULA_FN bool all(bool condition) { return condition; }

FACULA_FN uint32_t to_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
FACULA_FN uint64_t to_bits(double x) {
  uint64_t u;
  memcpy(&u, &x, 8);
  return u;
}
FACULA_FN float from_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}
FACULA_FN double from_bits(uint64_t u) {
  double x;
  memcpy(&x, &u, 8);
  return x;
}

// a * b + c, with one rounding where the instruction set has it. Without it two roundings must do:
// the library's exact emulation would be a hundred times slower.
FACULA_FN float fma(float a, float b, float c) {
  if constexpr (kHasFma) return __builtin_fmaf(a, b, c);
  return a * b + c;
}
FACULA_FN double fma(double a, double b, double c) {
  if constexpr (kHasFma) return __builtin_fma(a, b, c);
  return a * b + c;
}

FACULA_FN float abs(float x) { return __builtin_fabsf(x); }
FACULA_FN double abs(double x) { return __builtin_fabs(x); }
FACULA_FN float sqrt(float x) { return __builtin_sqrtf(x); }
FACULA_FN double sqrt(double x) { return __builtin_sqrt(x); }
FACULA_FN float floor(float x) { return __builtin_floorf(x); }
FACULA_FN double floor(double x) { return __builtin_floor(x); }
FACULA_FN float ceil(float x) { return __builtin_ceilf(x); }
FACULA_FN double ceil(double x) { return __builtin_ceil(x); }
FACULA_FN float trunc(float x) { return __builtin_truncf(x); }
FACULA_FN double trunc(double x) { return __builtin_trunc(x); }
// Halves go to the even neighbour.
FACULA_FN float round(float x) { return __builtin_rintf(x); }
FACULA_FN double round(double x) { return __builtin_rint(x); }

// NaN if either is NaN.
FACULA_FN float min(float a, float b) { return a < b || a != a ? a : b; }
FACULA_FN double min(double a, double b) { return a < b || a != a ? a : b; }
FACULA_FN float max(float a, float b) { return a > b || a != a ? a : b; }
FACULA_FN double max(double a, double b) { return a > b || a != a ? a : b; }
// The same in one instruction, but for a bound that is NaN, which is passed over. An x equal to the
// bound keeps its sign.
FACULA_FN float at_least(float x, float low) { return low > x ? low : x; }
FACULA_FN double at_least(double x, double low) { return low > x ? low : x; }
FACULA_FN float at_most(float x, float high) { return high < x ? high : x; }
FACULA_FN double at_most(double x, double high) { return high < x ? high : x; }
template <class V>
FACULA_FN V clamp(V x, V low, V high) {
  return at_least(at_most(x, high), low);
}

// 2^n for an integral n in the range of normal numbers.
template <class V>
FACULA_FN V pow2(V n) {
  using I = Ieee<V>;
  return from_bits(to_bits(n + V(I::kRounder + I::kBias)) << I::kMantissaBits);
}

// x * 2^n for an integral n, |n| < 4 * bias, rounded once. Two factors: 2^n alone may overflow or
// lose bits where the product does not.
template <class V>
FACULA_FN V scale_in_two_steps(V x, V n) {
  V half_n = (n * V(0.5) + V(Ieee<V>::kRounder)) - V(Ieee<V>::kRounder);
  return x * pow2(half_n) * pow2(n - half_n);
}
FACULA_FN float ldexp(float x, float n) { return scale_in_two_steps(x, n); }
FACULA_FN double ldexp(double x, double n) { return scale_in_two_steps(x, n); }

// Only the last four bits of the index count.
FACULA_FN float lookup(const float (&table)[16], uint32_t index) { return table[index % 16]; }

// f of a double, computed in double and rounded once.
template <class F>
FACULA_FN float through_double(F f, float x) {
  return static_cast<float>(f(static_cast<double>(x)));
}
template <class F>
FACULA_FN float through_double(F f, float x, float y) {
  return static_cast<float>(f(static_cast<double>(x), static_cast<double>(y)));
}

// f of each element, for functions that have no formula over vectors.
template <class F>
FACULA_FN double per_lane(F f, double x) {
  return f(x);
}
template <class F>
FACULA_FN double per_lane(F f, double x, double y) {
  return f(x, y);
}
// The same where `condition` holds; `otherwise` elsewhere.
template <class F>
FACULA_FN double per_lane_where(bool condition, F f, double x, double otherwise) {
  return condition ? f(x) : otherwise;
}

// c0 + c1 x + c2 x^2 ...
template <class V>
FACULA_FN V poly(V, double c0) {
  return V(c0);
}
template <class V, class... Rest>
FACULA_FN V poly(V x, double c0, Rest... rest) {
  return fma(poly(x, rest...), x, V(c0));
}

template <class V>
FACULA_FN V copysign(V magnitude, V sign) {
  using U = Bits<V>;
  U bit = U(Ieee<V>::kSignBit);
  return from_bits((to_bits(magnitude) & ~bit) | (to_bits(sign) & bit));
}

// copysign() of a magnitude that is not negative.
template <class V>
FACULA_FN V with_sign_of(V magnitude, V sign) {
  return from_bits(to_bits(magnitude) | (to_bits(sign) & Bits<V>(Ieee<V>::kSignBit)));
}

// The rounding error of difference = a - b.
template <class V>
FACULA_FN V difference_error(V a, V b, V difference) {
  V b_seen = a - difference;
  return (a - (difference + b_seen)) - (b - b_seen);
}

// x without the lower half of its bits. The product of two such numbers is exact.
template <class V>
FACULA_FN V high_half(V x) {
  using U = Bits<V>;
  return from_bits(to_bits(x) & ~U((uint64_t(1) << (kIsFloat<V> ? 12 : 27)) - 1));
}

// The error of the rounded product: a * b - product, exactly.
template <class V>
FACULA_FN V product_error(V a, V b, V product) {
  if constexpr (kHasFma) return fma(a, b, -product);
  V a_high = high_half(a), b_high = high_half(b);
  V a_low = a - a_high, b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

}  // namespace FACULA_ISA
}  // namespace facula::math
