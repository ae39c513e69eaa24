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

template <class T>
constexpr uint32_t kAllLanes = (1u << Vec<T>::kLanes) - 1;

// The lanes whose bit is set; the others are zero, and their memory is not touched.
template <class T>
FACULA_FN Vec<T> load_masked(const T* from, uint32_t bits) {
#if defined(FACULA_AVX512)
  if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_ps(static_cast<__mmask16>(bits), from);
  if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_pd(static_cast<__mmask8>(bits), from);
#else
  if (bits == kAllLanes<T>) return Vec<T>::load(from);
#if defined(FACULA_AVX2)
  using Int = LaneInt<sizeof(T)>;
  Native<Int> bit;
  for (int i = 0; i < Vec<T>::kLanes; ++i) bit[i] = Int{1} << i;
  auto mask = reinterpret_cast<__m256i>((bit & static_cast<Int>(bits)) == bit);
  if constexpr (sizeof(T) == 4) return _mm256_maskload_ps(from, mask);
  if constexpr (sizeof(T) == 8) return _mm256_maskload_pd(from, mask);
#else
  Vec<T> y(T(0));
  for (int i = 0; i < Vec<T>::kLanes; ++i)
    if (bits >> i & 1) y.v[i] = from[i];
  return y;
#endif
#endif
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
