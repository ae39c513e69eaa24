// Squares of numbers in vector registers, turned over.
#pragma once
#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

// rows[i] holds row i of a square of numbers; afterwards it holds column i.
FACULA_FN void transpose(__m512 (&rows)[16]) {
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

FACULA_FN void transpose(__m512d (&rows)[8]) {
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

#endif

// The same for vectors of any instruction set.
template <class T>
FACULA_FN void transpose(Vec<T> (&rows)[Vec<T>::kLanes]) {
  constexpr int n = Vec<T>::kLanes;
#if defined(FACULA_AVX512)
  auto turn = [&](auto& square) {
    for (int i = 0; i < n; ++i) square[i] = rows[i].v;
    transpose(square);
    for (int i = 0; i < n; ++i) rows[i] = Vec<T>(Native<T>(square[i]));
  };
  if constexpr (std::is_same_v<T, float>) {
    __m512 square[n];
    turn(square);
  } else {
    __m512d square[n];
    turn(square);
  }
#else
  T square[n][n];
  for (int i = 0; i < n; ++i) rows[i].store(square[i]);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) rows[i].v[j] = square[j][i];
#endif
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
