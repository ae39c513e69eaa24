// Matrices, packed in the order in which the inner loop of products (tile.h) reads them.
#pragma once
#include <algorithm>

#include "base/integers.h"
#include "cpu/transpose.h"
#include "products/tile.h"

namespace facula::cpu {
inline namespace FACULA_ISA {
namespace {

#if defined(FACULA_AVX512)

// Half a vector from each.
inline Vec<float> join_halves(const float* low, const float* high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
}
inline Vec<double> join_halves(const double* low, const double* high) {
  return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(low)), _mm256_loadu_pd(high), 1);
}

// A full panel of kRows rows and one vector of columns: the numbers of a column come to lie
// together.
inline void transpose_panel(const float* from, int64_t row_stride, float* to) {
  Vec<double> rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = _mm512_castps_pd(_mm512_loadu_ps(from + i * row_stride));
  transpose(rows);  // pairs of columns
  const __m512i evens_odds =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
  for (int i = 0; i < 8; ++i) {
    _mm512_storeu_ps(to + i * 16, _mm512_permutexvar_ps(evens_odds, _mm512_castpd_ps(rows[i].v)));
  }
}

inline void transpose_panel(const double* from, int64_t row_stride, double* to) {
  Vec<double> rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = Vec<double>::load(from + i * row_stride);
  transpose(rows);
  for (int i = 0; i < 8; ++i) rows[i].store(to + i * 8);
}

#endif

// One panel: `width` rows of `from`, `depth` columns long, so that the numbers of one column lie
// together. Up to `padded` the last row is repeated: what is made of it is not stored.
template <class T>
void pack_transposed(MatrixView<T> from, int64_t width, int64_t padded, int64_t depth, T* to) {
  constexpr int64_t v = kVector<T>;
  int64_t done = 0;
#if defined(FACULA_AVX512)
  if (width == kRows && padded == kRows) {
    for (; done + v <= depth; done += v) {
      transpose_panel(from.data + done, from.row_stride, to + done * kRows);
    }
  }
#endif
  for (int64_t i = 0; i < padded; i += v) {
    int n_to = static_cast<int>(std::min(v, padded - i));
    for (int64_t p = done; p < depth; p += v) {
      int n_steps = static_cast<int>(std::min(v, depth - p));
      Vec<T> rows[v];
#pragma GCC unroll 16
      for (int r = 0; r < v; ++r) {
        const T* row = from.data + std::min(i + r, width - 1) * from.row_stride + p;
        rows[r] = load_first(row, n_steps);
      }
      transpose(rows);
      T* place = to + p * padded + i;
      if (n_steps == v) {
#pragma GCC unroll 16
        for (int r = 0; r < v; ++r) store_first(place + r * padded, n_to, rows[r]);
      } else {
        for (int r = 0; r < n_steps; ++r) store_first(place + r * padded, n_to, rows[r]);
      }
    }
  }
}

// The same for panels whose columns lie together already. All panels advance together: a step of
// one panel alone would touch a page of memory for a few cache lines. The padding is zero.
template <class T>
void pack_copied(MatrixView<T> from, int64_t n_rows, int64_t height, int64_t unit, int64_t depth,
                 T* to) {
  constexpr int64_t v = kVector<T>;
  int64_t n_full = n_rows / height * height, n_rest = n_rows - n_full;
  int64_t padded = ceil_div(n_rest, unit) * unit;
  int64_t done = 0;
#if defined(FACULA_AVX512)
  if (height == v / 2) {
    // Two steps fill a cache line. Panels may lie so that all fall into one set of the cache: a
    // line that waits for its other half would be gone by then.
    for (; done + 2 <= depth; done += 2) {
      const T* column = from.data + done * from.col_stride;
      for (int64_t i = 0; i < n_full; i += height)
        join_halves(column + i, column + from.col_stride + i).store(to + i * depth + done * height);
    }
  }
#endif
  for (int64_t p = 0; p < depth; ++p) {
    const T* column = from.data + p * from.col_stride;
    for (int64_t i = 0; i < n_full && p >= done; i += height) {
      T* place = to + i * depth + p * height;
      for (int64_t r = 0; r + v <= height; r += v) Vec<T>::load(column + i + r).store(place + r);
      int n_tail = static_cast<int>(height % v);
      if (n_tail > 0) {
        int64_t r = height - n_tail;
        store_first(place + r, n_tail, load_first(column + i + r, n_tail));
      }
    }
    for (int64_t r = 0; r < padded; r += v) {
      int n_to = static_cast<int>(std::min(v, padded - r));
      int n_from = static_cast<int>(std::clamp(n_rest - r, int64_t{0}, v));
      store_first(to + n_full * depth + p * padded + r, n_to,
                  load_first(column + n_full + r, n_from));
    }
  }
}

// Packs n_rows rows of `from` in panels of `height` rows. The last one is rounded up to a multiple
// of `unit` rows only.
template <class T>
void pack(MatrixView<T> from, int64_t n_rows, int64_t height, int64_t unit, int64_t depth, T* to) {
  if (from.row_stride == 1) return pack_copied(from, n_rows, height, unit, depth, to);
  for (int64_t i = 0; i < n_rows; i += height) {
    int64_t width = std::min(height, n_rows - i);
    MatrixView<T> panel{from.data + i * from.row_stride, from.row_stride, from.col_stride};
    pack_transposed(panel, width, ceil_div(width, unit) * unit, depth, to + i * depth);
  }
}

}  // namespace
}  // namespace FACULA_ISA
}  // namespace facula::cpu
