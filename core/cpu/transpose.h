// Squares of numbers in vector registers, turned over.
#pragma once
#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

// rows[i] holds row i of a square of numbers; afterwards it holds column i.
FACULA_FN void transpose_native(Native<float> (&rows)[16]) {
  __m512 pairs[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  auto low = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  auto high = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  __m512 quads[16];
  for (int i = 0; i < 16; i += 4) {
    quads[i] = low(pairs[i], pairs[i + 2]);
    quads[i + 1] = high(pairs[i], pairs[i + 2]);
    quads[i + 2] = low(pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = high(pairs[i + 1], pairs[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    __m512 even_low = _mm512_shuffle_f32x4(quads[i], quads[i + 4], 0x88);
    __m512 odd_low = _mm512_shuffle_f32x4(quads[i], quads[i + 4], 0xDD);
    __m512 even_high = _mm512_shuffle_f32x4(quads[i + 8], quads[i + 12], 0x88);
    __m512 odd_high = _mm512_shuffle_f32x4(quads[i + 8], quads[i + 12], 0xDD);
    rows[i] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
    rows[i + 4] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
    rows[i + 8] = _mm512_shuffle_f32x4(even_low, even_high, 0xDD);
    rows[i + 12] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xDD);
  }
}

FACULA_FN void transpose_native(Native<double> (&rows)[8]) {
  __m512d pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm512_unpacklo_pd(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_pd(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    __m512d even_low = _mm512_shuffle_f64x2(pairs[i], pairs[i + 2], 0x88);
    __m512d odd_low = _mm512_shuffle_f64x2(pairs[i], pairs[i + 2], 0xDD);
    __m512d even_high = _mm512_shuffle_f64x2(pairs[i + 4], pairs[i + 6], 0x88);
    __m512d odd_high = _mm512_shuffle_f64x2(pairs[i + 4], pairs[i + 6], 0xDD);
    rows[i] = _mm512_shuffle_f64x2(even_low, even_high, 0x88);
    rows[i + 2] = _mm512_shuffle_f64x2(odd_low, odd_high, 0x88);
    rows[i + 4] = _mm512_shuffle_f64x2(even_low, even_high, 0xDD);
    rows[i + 6] = _mm512_shuffle_f64x2(odd_low, odd_high, 0xDD);
  }
}

#elif defined(FACULA_AVX2)

FACULA_FN void transpose_native(Native<float> (&rows)[8]) {
  __m256d pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_castps_pd(_mm256_unpacklo_ps(rows[i], rows[i + 1]));
    pairs[i + 1] = _mm256_castps_pd(_mm256_unpackhi_ps(rows[i], rows[i + 1]));
  }
  for (int i = 0; i < 4; ++i) {
    auto quad = [&](int first) {
      __m256d a = pairs[first + i / 2], b = pairs[first + 2 + i / 2];
      return _mm256_castpd_ps(i % 2 ? _mm256_unpackhi_pd(a, b) : _mm256_unpacklo_pd(a, b));
    };
    __m256 upper = quad(0), lower = quad(4);
    rows[i] = _mm256_permute2f128_ps(upper, lower, 0x20);
    rows[i + 4] = _mm256_permute2f128_ps(upper, lower, 0x31);
  }
}

FACULA_FN void transpose_native(Native<double> (&rows)[4]) {
  __m256d pairs[4];
  for (int i = 0; i < 4; i += 2) {
    pairs[i] = _mm256_unpacklo_pd(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_pd(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    rows[i] = _mm256_permute2f128_pd(pairs[i], pairs[i + 2], 0x20);
    rows[i + 2] = _mm256_permute2f128_pd(pairs[i], pairs[i + 2], 0x31);
  }
}

#endif

// Exchanges the lanes i + kStep of a with the lanes i of b, for all i without the bit kStep.
template <int kStep, class T, int... kLane>
FACULA_FN void exchange_lanes(Vec<T>& a, Vec<T>& b, std::integer_sequence<int, kLane...>) {
  constexpr int n = Vec<T>::kLanes;
  Vec<T> first = __builtin_shufflevector(a.v, b.v, (kLane & kStep ? n + kLane - kStep : kLane)...);
  b = __builtin_shufflevector(a.v, b.v, (kLane & kStep ? n + kLane : kLane + kStep)...);
  a = first;
}

// Squares of units of kUnit lanes: rows[i] holds row i; afterwards it holds column i.
template <int kUnit, int kStep, class T>
FACULA_FN void transpose_units(Vec<T> (&rows)[Vec<T>::kLanes / kUnit]) {
  if constexpr (kStep > 0) {
    for (int i = 0; i < Vec<T>::kLanes / kUnit; ++i)
      if (!(i & kStep))
        exchange_lanes<kStep * kUnit>(rows[i], rows[i + kStep],
                                      std::make_integer_sequence<int, Vec<T>::kLanes>());
    transpose_units<kUnit, kStep / 2>(rows);
  }
}
// The same for pairs of numbers, which stay together.
template <class T>
FACULA_FN void transpose_pairs(Vec<T> (&rows)[Vec<T>::kLanes / 2]) {
  transpose_units<2, Vec<T>::kLanes / 4>(rows);
}

// Of numbers, for vectors of any instruction set.
template <class T>
FACULA_FN void transpose(Vec<T> (&rows)[Vec<T>::kLanes]) {
  constexpr int n = Vec<T>::kLanes;
#if defined(FACULA_AVX512) || defined(FACULA_AVX2)
  if constexpr (std::is_floating_point_v<T>) {
    Native<T> square[n];
    for (int i = 0; i < n; ++i) square[i] = rows[i].v;
    transpose_native(square);
    for (int i = 0; i < n; ++i) rows[i] = Vec<T>(square[i]);
  } else {
    transpose_units<1, n / 2>(rows);
  }
#else
  transpose_units<1, n / 2>(rows);
#endif
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
