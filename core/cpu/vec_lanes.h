// Lanes of two vectors taken apart and put together, and loads of some lanes.
#pragma once
#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

template <class T>
using LaneNumbers = std::make_integer_sequence<int, Vec<T>::kLanes>;

// The lanes first, first + step, ... of a and b, one after the other.
template <int kFirst, int kStep, class T, int... kLane>
FACULA_FN Vec<T> take_lanes(Vec<T> a, Vec<T> b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a.v, b.v, (kFirst + kLane * kStep)...);
}
// Every second number of a and b, from the first on and from the second on.
template <class T>
FACULA_FN Vec<T> evens(Vec<T> a, Vec<T> b) {
  return take_lanes<0, 2>(a, b, LaneNumbers<T>());
}
template <class T>
FACULA_FN Vec<T> odds(Vec<T> a, Vec<T> b) {
  return take_lanes<1, 2>(a, b, LaneNumbers<T>());
}
// a without its first lane, and the first lane of b after it.
template <class T>
FACULA_FN Vec<T> shifted_in(Vec<T> a, Vec<T> b) {
  return take_lanes<1, 1>(a, b, LaneNumbers<T>());
}

// Numbers of a and b in turns, from lane kFirst of both on.
template <int kFirst, class T, int... kLane>
FACULA_FN Vec<T> take_turns(Vec<T> a, Vec<T> b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a.v, b.v, (kFirst + kLane / 2 + kLane % 2 * Vec<T>::kLanes)...);
}
// The lower halves of a and b in turns, and the upper ones.
template <class T>
FACULA_FN Vec<T> turns_of_lower(Vec<T> a, Vec<T> b) {
  return take_turns<0>(a, b, LaneNumbers<T>());
}
template <class T>
FACULA_FN Vec<T> turns_of_upper(Vec<T> a, Vec<T> b) {
  return take_turns<Vec<T>::kLanes / 2>(a, b, LaneNumbers<T>());
}

// The even lanes of a and the odd ones of b, where they are.
template <class T, int... kLane>
FACULA_FN Vec<T> join_turns(Vec<T> a, Vec<T> b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a.v, b.v, (kLane + kLane % 2 * Vec<T>::kLanes)...);
}
// Stores the even lanes, of the first n. What lies between may be read and written back.
template <class T>
FACULA_FN void store_even_lanes(Vec<T> x, int64_t n, T* to) {
#if defined(FACULA_AVX512)
  uint32_t bits = 0x5555 & ((1u << n) - 1);
  if constexpr (sizeof(T) == 4) _mm512_mask_storeu_ps(to, static_cast<__mmask16>(bits), x.v);
  if constexpr (sizeof(T) == 8) _mm512_mask_storeu_pd(to, static_cast<__mmask8>(bits), x.v);
#else
  if (n == Vec<T>::kLanes) return join_turns(x, Vec<T>::load(to), LaneNumbers<T>()).store(to);
  for (int i = 0; i < n; i += 2) to[i] = x[i];
#endif
}

template <class T>
constexpr uint32_t kAllLanes = (1u << Vec<T>::kLanes) - 1;

// The lanes whose bit is set, made ready for many loads. The others are loaded as zero, and their
// memory is not touched.
template <class T>
class SomeLanes {
 public:
  FACULA_FN explicit SomeLanes(uint32_t bits) {
#if defined(FACULA_AVX512)
    mask_ = static_cast<Mask>(bits);
#elif defined(FACULA_AVX2)
    using Int = LaneInt<sizeof(T)>;
    Native<Int> bit;
    for (int i = 0; i < Vec<T>::kLanes; ++i) bit[i] = Int{1} << i;
    mask_ = reinterpret_cast<__m256i>((bit & static_cast<Int>(bits)) == bit);
#else
    mask_ = bits;
#endif
  }

  FACULA_FN Vec<T> load(const T* from) const {
#if defined(FACULA_AVX512)
    if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_ps(mask_, from);
    if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_pd(mask_, from);
#elif defined(FACULA_AVX2)
    if constexpr (sizeof(T) == 4) return _mm256_maskload_ps(from, mask_);
    if constexpr (sizeof(T) == 8) return _mm256_maskload_pd(from, mask_);
#else
    Vec<T> y(T(0));
    for (int i = 0; i < Vec<T>::kLanes; ++i)
      if (mask_ >> i & 1) y.v[i] = from[i];
    return y;
#endif
  }

 private:
#if defined(FACULA_AVX512)
  using Mask = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;
#elif defined(FACULA_AVX2)
  using Mask = __m256i;
#else
  using Mask = uint32_t;
#endif
  Mask mask_;
};
template <class T>
FACULA_FN Vec<T> load_masked(const T* from, uint32_t bits) {
#if !defined(FACULA_AVX512)
  if (bits == kAllLanes<T>) return Vec<T>::load(from);
#endif
  return SomeLanes<T>(bits).load(from);
}

// The same of numbers that lie `step` apart, which is at most tuning::kMaxGatherStep.
template <class T>
FACULA_FN Vec<T> gather_masked(const T* from, int step, uint32_t bits) {
#if defined(FACULA_AVX512)
  if constexpr (sizeof(T) == 4) {
    __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i at = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(step));
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), static_cast<__mmask16>(bits), at, from, 4);
  } else {
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i at = _mm256_mullo_epi32(lanes, _mm256_set1_epi32(step));
    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), static_cast<__mmask8>(bits), at, from, 8);
  }
#else
  Vec<T> y(T(0));
  for (int i = 0; i < Vec<T>::kLanes; ++i)
    if (bits >> i & 1) y.v[i] = from[int64_t{i} * step];
  return y;
#endif
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
