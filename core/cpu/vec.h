// Vectors as wide as the instruction set that this file is compiled for: Vec<float> holds 4, 8 or
// 16 lanes. Written with the compilers' vector extensions; intrinsics only where those have no word
// for it or where the code they give is poor.
//
// A comparison gives a mask. Masks combine with && || ! (both sides are evaluated) and are used by
// select(mask, a, b), any(mask) and all(mask). The names are those of core/math/primitives.h, so
// that the formulas there work on vectors.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/half.h"
#include "math/primitives.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define FACULA_AVX512 1
#define FACULA_SIMD(name) _mm512_##name
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define FACULA_AVX2 1
#define FACULA_SIMD(name) _mm256_##name
#elif defined(__x86_64__)
#define FACULA_SSE2 1
#define FACULA_SIMD(name) _mm_##name
#elif defined(__aarch64__)
// Compilers find NEON's instructions for most of what is written here lane by lane: fmla, fsqrt,
// frintm. The branches are for the rest.
#define FACULA_NEON 1
#endif

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)
constexpr int kVecBytes = 64;
#elif defined(FACULA_AVX2)
constexpr int kVecBytes = 32;
#else
constexpr int kVecBytes = 16;
#endif

template <class T, int kBytes>
struct NativeVector {
  typedef T Type __attribute__((vector_size(kBytes)));
};
template <class T, int kBytes = kVecBytes>
using Native = typename NativeVector<T, kBytes>::Type;

template <int kLaneBytes>
using LaneInt = std::conditional_t<kLaneBytes == 4, int32_t, int64_t>;
template <int kLaneBytes>
using LaneBits = std::conditional_t<kLaneBytes == 4, uint32_t, uint64_t>;

// One truth value per lane: a bit with AVX-512, else a lane of ones or zeros.
template <int kLaneBytes>
struct Mask {
  static constexpr int kLanes = kVecBytes / kLaneBytes;
#if defined(FACULA_AVX512)
  using Storage = std::conditional_t<kLaneBytes == 4, __mmask16, __mmask8>;
  FACULA_FN bool operator[](int i) const { return (m >> i) & 1; }
#else
  using Storage = Native<LaneInt<kLaneBytes>>;
  FACULA_FN bool operator[](int i) const { return m[i] != 0; }
#endif
  Storage m;

  friend FACULA_FN Mask operator&&(Mask a, Mask b) { return {Storage(a.m & b.m)}; }
  friend FACULA_FN Mask operator||(Mask a, Mask b) { return {Storage(a.m | b.m)}; }
  FACULA_FN Mask operator!() const { return {Storage(~m)}; }
};

template <int kLaneBytes>
FACULA_FN bool any(Mask<kLaneBytes> mask) {
#if defined(FACULA_AVX512)
  return mask.m != 0;
#elif defined(FACULA_AVX2)
  return !_mm256_testz_si256(reinterpret_cast<__m256i>(mask.m), reinterpret_cast<__m256i>(mask.m));
#elif defined(FACULA_SSE2)
  return _mm_movemask_epi8(reinterpret_cast<__m128i>(mask.m)) != 0;
#elif defined(FACULA_NEON)
  return vmaxvq_u32(reinterpret_cast<uint32x4_t>(mask.m)) != 0;
#else
  bool result = false;
  for (int i = 0; i < Mask<kLaneBytes>::kLanes; ++i) result |= mask[i];
  return result;
#endif
}
template <int kLaneBytes>
FACULA_FN bool all(Mask<kLaneBytes> mask) {
  return !any(!mask);
}

#if !defined(FACULA_AVX512)
// Ones in the lanes before number n.
template <int kLaneBytes>
FACULA_FN Native<LaneInt<kLaneBytes>> lanes_before(int64_t n) {
  using Int = LaneInt<kLaneBytes>;
  Native<Int> lane;
  for (int i = 0; i < kVecBytes / kLaneBytes; ++i) lane[i] = i;
  return lane < static_cast<Int>(n) - Native<Int>{};
}
#endif

template <class T>
struct Vec {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "Vec: lanes are 4 or 8 bytes");
  static constexpr int kLanes = kVecBytes / static_cast<int>(sizeof(T));
  using Element = T;
  using MaskType = Mask<sizeof(T)>;
  // Integers wrap around, as unsigned ones do by definition.
  using Word = Native<std::conditional_t<std::is_integral_v<T>, LaneBits<sizeof(T)>, T>>;
  Native<T> v;

  Vec() = default;
  FACULA_FN Vec(Native<T> native) : v(native) {}
  // A broadcast. Minus zero, not plus: -0 must stay -0.
  FACULA_FN Vec(T value) : v(value - Native<T>{}) {}
  FACULA_FN T operator[](int i) const { return v[i]; }

  // Memory need not be aligned. S is T; for Vec<float> also Half or BFloat16, converted on the way.
  template <class S>
  static FACULA_FN Vec load(const S* from);
  template <class S>
  FACULA_FN void store(S* to) const;

  // The first n lanes only, 0 <= n <= kLanes; the others are loaded as zero and not stored.
  template <class S>
  static FACULA_FN Vec load(const S* from, int64_t n) {
#if defined(FACULA_AVX512)
    if constexpr (std::is_same_v<S, float>) return _mm512_maskz_loadu_ps((1u << n) - 1, from);
    if constexpr (std::is_same_v<S, double>) return _mm512_maskz_loadu_pd((1u << n) - 1, from);
    if constexpr (std::is_same_v<S, int64_t>)
      return reinterpret_cast<Native<T>>(_mm512_maskz_loadu_epi64((1u << n) - 1, from));
#elif defined(FACULA_AVX2)
    if constexpr (std::is_same_v<S, float>)
      return _mm256_maskload_ps(from, reinterpret_cast<__m256i>(lanes_before<4>(n)));
    if constexpr (std::is_same_v<S, double>)
      return _mm256_maskload_pd(from, reinterpret_cast<__m256i>(lanes_before<8>(n)));
#endif
    S buffer[kLanes];
    std::memset(static_cast<void*>(buffer), 0, sizeof(buffer));
    std::memcpy(static_cast<void*>(buffer), from, static_cast<size_t>(n) * sizeof(S));
    return load(buffer);
  }
  template <class S>
  FACULA_FN void store(S* to, int64_t n) const {
#if defined(FACULA_AVX512)
    if constexpr (std::is_same_v<S, float>) return _mm512_mask_storeu_ps(to, (1u << n) - 1, v);
    if constexpr (std::is_same_v<S, double>) return _mm512_mask_storeu_pd(to, (1u << n) - 1, v);
#elif defined(FACULA_AVX2)
    if constexpr (std::is_same_v<S, float>)
      return _mm256_maskstore_ps(to, reinterpret_cast<__m256i>(lanes_before<4>(n)), v);
    if constexpr (std::is_same_v<S, double>)
      return _mm256_maskstore_pd(to, reinterpret_cast<__m256i>(lanes_before<8>(n)), v);
#endif
    S buffer[kLanes];
    store(buffer);
    std::memcpy(static_cast<void*>(to), buffer, static_cast<size_t>(n) * sizeof(S));
  }

  friend FACULA_FN Vec operator+(Vec a, Vec b) { return Native<T>(Word(a.v) + Word(b.v)); }
  friend FACULA_FN Vec operator-(Vec a, Vec b) { return Native<T>(Word(a.v) - Word(b.v)); }
  friend FACULA_FN Vec operator*(Vec a, Vec b) { return Native<T>(Word(a.v) * Word(b.v)); }
  friend FACULA_FN Vec operator/(Vec a, Vec b) { return a.v / b.v; }
  friend FACULA_FN Vec operator&(Vec a, Vec b) { return a.v & b.v; }
  friend FACULA_FN Vec operator|(Vec a, Vec b) { return a.v | b.v; }
  friend FACULA_FN Vec operator^(Vec a, Vec b) { return a.v ^ b.v; }
  FACULA_FN Vec operator-() const { return Native<T>(-Word(v)); }
  FACULA_FN Vec operator~() const { return ~v; }
  FACULA_FN Vec operator<<(int n) const { return v << n; }
  FACULA_FN Vec operator>>(int n) const { return v >> n; }
  FACULA_FN Vec& operator+=(Vec b) { return *this = *this + b; }
  FACULA_FN Vec& operator-=(Vec b) { return *this = *this - b; }
  FACULA_FN Vec& operator*=(Vec b) { return *this = *this * b; }
  FACULA_FN Vec& operator/=(Vec b) { return *this = *this / b; }
};

// Comparisons with NaN are false, but for !=.
#if defined(FACULA_AVX512)
#define FACULA_COMPARISON(op, predicate)                                    \
  template <class T>                                                        \
  FACULA_FN Mask<sizeof(T)> operator op(Vec<T> a, Vec<T> b) {               \
    if constexpr (std::is_same_v<T, float>) {                               \
      return {_mm512_cmp_ps_mask(a.v, b.v, predicate)};                     \
    } else if constexpr (std::is_same_v<T, double>) {                       \
      return {_mm512_cmp_pd_mask(a.v, b.v, predicate)};                     \
    } else if constexpr (sizeof(T) == 4) {                                  \
      return {_mm512_movepi32_mask(reinterpret_cast<__m512i>(a.v op b.v))}; \
    } else {                                                                \
      return {_mm512_movepi64_mask(reinterpret_cast<__m512i>(a.v op b.v))}; \
    }                                                                       \
  }
#else
#define FACULA_COMPARISON(op, predicate)                      \
  template <class T>                                          \
  FACULA_FN Mask<sizeof(T)> operator op(Vec<T> a, Vec<T> b) { \
    return {a.v op b.v};                                      \
  }
#endif
FACULA_COMPARISON(==, _CMP_EQ_OQ)
FACULA_COMPARISON(!=, _CMP_NEQ_UQ)
FACULA_COMPARISON(<, _CMP_LT_OQ)
FACULA_COMPARISON(<=, _CMP_LE_OQ)
FACULA_COMPARISON(>, _CMP_GT_OQ)
FACULA_COMPARISON(>=, _CMP_GE_OQ)
#undef FACULA_COMPARISON

// True for the first n lanes.
template <class T>
FACULA_FN Mask<sizeof(T)> first_lanes(int64_t n) {
#if defined(FACULA_AVX512)
  return {static_cast<typename Mask<sizeof(T)>::Storage>((1u << n) - 1)};
#else
  return {lanes_before<sizeof(T)>(n)};
#endif
}

// Lane i of the result is lane i + kSteps of x, counted around.
template <int kSteps, class T, int... kLane>
FACULA_FN Vec<T> rotated_by(Vec<T> x, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(x.v, x.v, (kLane + kSteps) % Vec<T>::kLanes...);
}
template <int kSteps, class T>
FACULA_FN Vec<T> rotated(Vec<T> x) {
  return rotated_by<kSteps>(x, std::make_integer_sequence<int, Vec<T>::kLanes>());
}

// a where the mask is set, else b.
template <class T>
FACULA_FN Vec<T> select(Mask<sizeof(T)> mask, Vec<T> a, Vec<T> b) {
#if defined(FACULA_AVX512)
  if constexpr (std::is_same_v<T, float>) {
    return _mm512_mask_blend_ps(mask.m, b.v, a.v);
  } else if constexpr (std::is_same_v<T, double>) {
    return _mm512_mask_blend_pd(mask.m, b.v, a.v);
  } else if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Native<T>>(_mm512_mask_blend_epi32(
        mask.m, reinterpret_cast<__m512i>(b.v), reinterpret_cast<__m512i>(a.v)));
  } else {
    return reinterpret_cast<Native<T>>(_mm512_mask_blend_epi64(
        mask.m, reinterpret_cast<__m512i>(b.v), reinterpret_cast<__m512i>(a.v)));
  }
#else
  return mask.m ? a.v : b.v;
#endif
}

// The bits of each lane as another type of the same size.
template <class To, class T>
FACULA_FN Vec<To> bit_cast(Vec<T> x) {
  static_assert(sizeof(To) == sizeof(T));
  return reinterpret_cast<Native<To>>(x.v);
}
template <class T>
FACULA_FN Vec<LaneBits<sizeof(T)>> to_bits(Vec<T> x) {
  return bit_cast<LaneBits<sizeof(T)>>(x);
}
FACULA_FN Vec<float> from_bits(Vec<uint32_t> x) { return bit_cast<float>(x); }
FACULA_FN Vec<double> from_bits(Vec<uint64_t> x) { return bit_cast<double>(x); }

// The value of each lane as another type of the same size; to an integer, the fraction is dropped.
template <class To, class T>
FACULA_FN Vec<To> convert(Vec<T> x) {
  static_assert(sizeof(To) == sizeof(T));
  return __builtin_convertvector(x.v, Native<To>);
}

// f of each lane.
template <class T, class F>
FACULA_FN Vec<T> per_lane(F f, Vec<T> x) {
  Vec<T> y;
  for (int i = 0; i < Vec<T>::kLanes; ++i) y.v[i] = f(x.v[i]);
  return y;
}
template <class T, class F>
FACULA_FN Vec<T> per_lane(F f, Vec<T> a, Vec<T> b) {
  Vec<T> y;
  for (int i = 0; i < Vec<T>::kLanes; ++i) y.v[i] = f(a.v[i], b.v[i]);
  return y;
}
// The same where the mask is set; `otherwise` elsewhere. The loop is not entered if no lane is.
template <class T, class F>
FACULA_FN Vec<T> per_lane_where(Mask<sizeof(T)> mask, F f, Vec<T> x, Vec<T> otherwise) {
  if (__builtin_expect(any(mask), 0)) {
    for (int i = 0; i < Vec<T>::kLanes; ++i) {
      if (mask[i]) otherwise.v[i] = f(x.v[i]);
    }
  }
  return otherwise;
}

// Functions of one vector for which each instruction set of x86 has an instruction.
#if defined(FACULA_AVX512)
// The bits of the instruction's result, all 2^32 of them, in six cycles instead of ten: a Newton
// step doubles the 14 bits of the estimate, and the error that is left, exact by fma, is divided by
// twice the root. Zeros, negative numbers, infinities, NaN and what is too small for the error to
// be exact are left to the instruction.
FACULA_FN Vec<float> sqrt(Vec<float> x) {
  __m512 half = _mm512_set1_ps(0.5f), inverse = _mm512_rsqrt14_ps(x.v);
  __m512 root = _mm512_mul_ps(x.v, inverse), factor = _mm512_mul_ps(half, inverse);
  __m512 step = _mm512_fnmadd_ps(root, factor, half);
  root = _mm512_fmadd_ps(root, step, root);
  factor = _mm512_fmadd_ps(factor, step, factor);
  __m512 rounded = _mm512_fmadd_ps(_mm512_fnmadd_ps(root, root, x.v), factor, root);
  constexpr int smallest = 0x21800000, infinity = 0x7F800000;  // 2^-60
  __m512i above = _mm512_sub_epi32(_mm512_castps_si512(x.v), _mm512_set1_epi32(smallest));
  __mmask16 is_special = _mm512_cmpge_epu32_mask(above, _mm512_set1_epi32(infinity - smallest));
  if (__builtin_expect(is_special != 0, 0)) rounded = _mm512_mask_sqrt_ps(rounded, is_special, x.v);
  return rounded;
}
#elif defined(FACULA_SIMD)
FACULA_FN Vec<float> sqrt(Vec<float> x) { return FACULA_SIMD(sqrt_ps)(x.v); }
#endif
#if defined(FACULA_SIMD)
FACULA_FN Vec<double> sqrt(Vec<double> x) { return FACULA_SIMD(sqrt_pd)(x.v); }
#else
template <class T>
FACULA_FN Vec<T> sqrt(Vec<T> x) {
  return per_lane([](T lane) { return math::sqrt(lane); }, x);
}
#endif

#if defined(FACULA_AVX512) || defined(FACULA_AVX2)
FACULA_FN Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return FACULA_SIMD(fmadd_ps)(a.v, b.v, c.v);
}
FACULA_FN Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return FACULA_SIMD(fmadd_pd)(a.v, b.v, c.v);
}
#else
template <class T>
FACULA_FN Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  if constexpr (!math::kHasFma) return a * b + c;
  Vec<T> y;
  for (int i = 0; i < Vec<T>::kLanes; ++i) y.v[i] = math::fma(a.v[i], b.v[i], c.v[i]);
  return y;
}
#endif

// floor, ceil, trunc, and round with halves to even.
#if defined(FACULA_AVX512)
#define FACULA_ROUNDING(name, mode)                                                   \
  FACULA_FN Vec<float> name(Vec<float> x) { return _mm512_roundscale_ps(x.v, mode); } \
  FACULA_FN Vec<double> name(Vec<double> x) { return _mm512_roundscale_pd(x.v, mode); }
#elif defined(FACULA_AVX2)
#define FACULA_ROUNDING(name, mode)                                              \
  FACULA_FN Vec<float> name(Vec<float> x) { return _mm256_round_ps(x.v, mode); } \
  FACULA_FN Vec<double> name(Vec<double> x) { return _mm256_round_pd(x.v, mode); }
#else
#define FACULA_ROUNDING(name, mode)                              \
  template <class T>                                             \
  FACULA_FN Vec<T> name(Vec<T> x) {                              \
    return per_lane([](T lane) { return math::name(lane); }, x); \
  }
#endif
FACULA_ROUNDING(floor, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
FACULA_ROUNDING(ceil, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
FACULA_ROUNDING(trunc, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
FACULA_ROUNDING(round, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#undef FACULA_ROUNDING

template <class T>
FACULA_FN Vec<T> abs(Vec<T> x) {
  if constexpr (std::is_floating_point_v<T>) {
    return bit_cast<T>(to_bits(x) & ~Vec<LaneBits<sizeof(T)>>(math::Ieee<T>::kSignBit));
  } else {
    return select(x < Vec<T>(0), -x, x);
  }
}

// NaN if either is NaN.
template <class T>
FACULA_FN Vec<T> min(Vec<T> a, Vec<T> b) {
  return select(a < b || a != a, a, b);
}
template <class T>
FACULA_FN Vec<T> max(Vec<T> a, Vec<T> b) {
  return select(a > b || a != a, a, b);
}

// A NaN in x stays, and one in the bound is passed over: the instructions give their second operand
// then.
#if defined(FACULA_SIMD)
FACULA_FN Vec<float> at_least(Vec<float> x, Vec<float> low) {
  return FACULA_SIMD(max_ps)(low.v, x.v);
}
FACULA_FN Vec<double> at_least(Vec<double> x, Vec<double> low) {
  return FACULA_SIMD(max_pd)(low.v, x.v);
}
FACULA_FN Vec<float> at_most(Vec<float> x, Vec<float> high) {
  return FACULA_SIMD(min_ps)(high.v, x.v);
}
FACULA_FN Vec<double> at_most(Vec<double> x, Vec<double> high) {
  return FACULA_SIMD(min_pd)(high.v, x.v);
}
#else
template <class T>
FACULA_FN Vec<T> at_least(Vec<T> x, Vec<T> low) {
  return select(low > x, low, x);
}
template <class T>
FACULA_FN Vec<T> at_most(Vec<T> x, Vec<T> high) {
  return select(high < x, high, x);
}
#endif

// x * 2^n for an integral n, rounded once. AVX-512 takes any n, infinities and NaN too.
#if defined(FACULA_AVX512)
FACULA_FN Vec<float> ldexp(Vec<float> x, Vec<float> n) { return _mm512_scalef_ps(x.v, n.v); }
FACULA_FN Vec<double> ldexp(Vec<double> x, Vec<double> n) { return _mm512_scalef_pd(x.v, n.v); }
#else
template <class T>
FACULA_FN Vec<T> ldexp(Vec<T> x, Vec<T> n) {
  return math::scale_in_two_steps(x, n);
}
#endif

// Asks for memory that a loop will read soon. Without it a loop that calculates much waits for
// memory and then memory for it: the machine itself looks ahead to the end of a page only.
template <class S>
FACULA_FN void prefetch_ahead(const S* at) {
  __builtin_prefetch(reinterpret_cast<const char*>(at) + 2048);
}

#if defined(FACULA_AVX512)
// x, or the bound with its sign where |x| is larger or NaN.
FACULA_FN Vec<float> bounded(Vec<float> x, float bound) {
  return _mm512_range_ps(x.v, Vec<float>(bound).v, 0b0010);
}
FACULA_FN Vec<double> bounded(Vec<double> x, double bound) {
  return _mm512_range_pd(x.v, Vec<double>(bound).v, 0b0010);
}
#endif

#if FACULA_HAS_LOOKUP
FACULA_FN Vec<float> lookup(const float (&table)[16], Vec<uint32_t> index) {
#if defined(FACULA_AVX512)
  return _mm512_permutexvar_ps(reinterpret_cast<__m512i>(index.v), _mm512_loadu_ps(table));
#else
  __m256i i = reinterpret_cast<__m256i>(index.v);
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), i),
                          _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), i),
                          _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)));
#endif
}
#endif

// A vector of floats as two of doubles, the lower lanes first, and back.
struct DoublePair {
  Vec<double> low, high;
};
FACULA_FN DoublePair widen(Vec<float> x) {
  Native<float, kVecBytes / 2> halves[2];
  std::memcpy(halves, &x, sizeof(x));
  return {__builtin_convertvector(halves[0], Native<double>),
          __builtin_convertvector(halves[1], Native<double>)};
}
FACULA_FN Vec<float> narrow(DoublePair x) {
  using HalfVector = Native<float, kVecBytes / 2>;
  HalfVector halves[2] = {__builtin_convertvector(x.low.v, HalfVector),
                          __builtin_convertvector(x.high.v, HalfVector)};
  Vec<float> y;
  std::memcpy(&y, halves, sizeof(y));
  return y;
}

template <class F>
FACULA_FN Vec<float> through_double(F f, Vec<float> x) {
  DoublePair wide = widen(x);
  return narrow({f(wide.low), f(wide.high)});
}
template <class F>
FACULA_FN Vec<float> through_double(F f, Vec<float> x, Vec<float> y) {
  DoublePair wide_x = widen(x), wide_y = widen(y);
  return narrow({f(wide_x.low, wide_y.low), f(wide_x.high, wide_y.high)});
}

FACULA_FN Vec<float> load_wide(const Half* from) {
#if defined(FACULA_AVX512)
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(FACULA_AVX2)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#elif defined(FACULA_NEON)
  float16x4_t halves;
  std::memcpy(&halves, from, sizeof(halves));
  return reinterpret_cast<Native<float>>(vcvt_f32_f16(halves));
#else
  Vec<float> y;
  for (int i = 0; i < Vec<float>::kLanes; ++i) y.v[i] = from[i];
  return y;
#endif
}
FACULA_FN void store_rounded(Vec<float> x, Half* to) {
#if defined(FACULA_AVX512)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(x.v, 0));
#elif defined(FACULA_AVX2)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x.v, 0));
#elif defined(FACULA_NEON)
  float16x4_t halves = vcvt_f16_f32(reinterpret_cast<float32x4_t>(x.v));
  std::memcpy(static_cast<void*>(to), &halves, sizeof(halves));
#else
  for (int i = 0; i < Vec<float>::kLanes; ++i) to[i] = x.v[i];
#endif
}

FACULA_FN Vec<float> load_wide(const BFloat16* from) {
  Native<uint16_t, kVecBytes / 2> bits;
  std::memcpy(&bits, from, sizeof(bits));
#if defined(FACULA_AVX512)
  // To the upper halves by one instruction instead of a conversion and a shift.
  const Native<uint16_t> places = {0, 0, 0, 1, 0, 2,  0, 3,  0, 4,  0, 5,  0, 6,  0, 7,
                                   0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
  return bit_cast<float>(Vec<uint32_t>(reinterpret_cast<Native<uint32_t>>(
      _mm512_maskz_permutexvar_epi16(0xAAAAAAAA, reinterpret_cast<__m512i>(places),
                                     _mm512_castsi256_si512(reinterpret_cast<__m256i>(bits))))));
#else
#if defined(FACULA_AVX2)
  auto wide = _mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(bits));
#elif defined(FACULA_NEON)
  auto wide = vmovl_u16(reinterpret_cast<uint16x4_t>(bits));
#else
  auto wide = __builtin_convertvector(bits, Native<uint32_t>);
#endif
  return bit_cast<float>(Vec<uint32_t>(reinterpret_cast<Native<uint32_t>>(wide) << 16));
#endif
}
// Round to nearest even; a NaN stays a NaN. As in BFloat16's constructor.
FACULA_FN void store_rounded(Vec<float> x, BFloat16* to) {
  Vec<uint32_t> u = to_bits(x);
  Vec<uint32_t> rounded = u + Vec<uint32_t>(0x7FFF) + ((u >> 16) & Vec<uint32_t>(1));
  rounded = select(x != x, Vec<uint32_t>(0x7FC00000), rounded);
#if defined(FACULA_AVX512)
  // The upper halves, the same way.
  const Native<uint16_t> upper = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  __m256i bits = _mm512_castsi512_si256(_mm512_permutexvar_epi16(
      reinterpret_cast<__m512i>(upper), reinterpret_cast<__m512i>(rounded.v)));
#else
  auto bits = __builtin_convertvector((rounded >> 16).v, Native<uint16_t, kVecBytes / 2>);
#endif
  std::memcpy(static_cast<void*>(to), &bits, sizeof(bits));
}

template <class T>
template <class S>
FACULA_FN Vec<T> Vec<T>::load(const S* from) {
  if constexpr (std::is_same_v<S, T>) {
    Vec y;
    std::memcpy(&y.v, from, sizeof(y.v));
    return y;
  } else {
    return load_wide(from);
  }
}
template <class T>
template <class S>
FACULA_FN void Vec<T>::store(S* to) const {
  if constexpr (std::is_same_v<S, T>) {
    std::memcpy(to, &v, sizeof(v));
  } else {
    store_rounded(*this, to);
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu

namespace facula::math {
inline namespace FACULA_ISA {

template <class T>
struct Traits<cpu::Vec<T>> {
  using Element = T;
  using Bits = cpu::Vec<cpu::LaneBits<sizeof(T)>>;
#if defined(FACULA_AVX512)
  static constexpr bool kScalesByAll = true;
#else
  static constexpr bool kScalesByAll = false;
#endif
};

// So that math:: names every function, primitive or formula, of an element or a vector.
using cpu::abs;
using cpu::any;
using cpu::at_least;
using cpu::at_most;
using cpu::ceil;
using cpu::floor;
using cpu::fma;
using cpu::max;
using cpu::min;
using cpu::round;
using cpu::select;
using cpu::sqrt;
using cpu::trunc;

}  // namespace FACULA_ISA
}  // namespace facula::math
