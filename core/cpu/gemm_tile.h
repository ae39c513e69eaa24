// The inner loop of matrix products, and what it needs: panels packed in the order in which it
// reads them. See Note [Blocked product] in gemm.cpp. Included by kernels, once per instruction
// set.
#pragma once
#include <algorithm>
#include <array>
#include <utility>

#include "base/integers.h"
#include "cpu/gemm.h"
#include "cpu/transpose.h"

// GCC 12 takes the undefined operands inside the headers of the intrinsics for mistakes of ours.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#if defined(FACULA_AVX512)

namespace facula::cpu {
inline namespace FACULA_ISA {
namespace {

constexpr int64_t kRows = 8;        // 8 x 3 vectors of C, 3 of B and 1 of A: 28 of 32 registers
constexpr int64_t kColVectors = 3;  // wide, because every number of A is a load of its own
constexpr int64_t kAhead = 24;      // steps of k after which a line of B that is asked for is there

template <class T>
constexpr int64_t kVector = 64 / sizeof(T);
template <class T>
constexpr int64_t kCols = kColVectors* kVector<T>;

inline __m512 load(const float* p) { return _mm512_loadu_ps(p); }
inline __m512d load(const double* p) { return _mm512_loadu_pd(p); }
inline void store(float* p, __m512 v) { _mm512_storeu_ps(p, v); }
inline void store(double* p, __m512d v) { _mm512_storeu_pd(p, v); }
// Of the first n numbers only.
inline __m512 load_first(const float* p, int n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
}
inline __m512d load_first(const double* p, int n) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p);
}
inline void store_first(float* p, int n, __m512 v) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v);
}
inline void store_first(double* p, int n, __m512d v) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), v);
}
// Half a vector from each.
inline __m512 join_halves(const float* low, const float* high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)), _mm256_loadu_ps(high), 1);
}
inline __m512d join_halves(const double* low, const double* high) {
  return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(low)), _mm256_loadu_pd(high), 1);
}
inline __m512 broadcast(float x) { return _mm512_set1_ps(x); }
inline __m512d broadcast(double x) { return _mm512_set1_pd(x); }
inline __m512 fma(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
inline __m512d fma(__m512d x, __m512d y, __m512d z) { return _mm512_fmadd_pd(x, y, z); }
inline __m512 multiply(__m512 x, __m512 y) { return _mm512_mul_ps(x, y); }
inline __m512d multiply(__m512d x, __m512d y) { return _mm512_mul_pd(x, y); }

// What the store of a tile does with the old C: alpha * product + beta * old.
template <class T>
struct Update {
  T alpha;
  T beta;
};

// kM rows of A times kN vectors of B, whose next row lies `step` numbers further; either the
// numbers of a column of A lie together or those of a row. Of the last vector only the first n_last
// numbers are read and stored.
template <bool kByColumns, int kM, int kN, class T>
void multiply_panels(MatrixView<T> from, const T* b, int64_t step, int64_t depth, Update<T> update,
                     T* c, int64_t ldc, int n_last) {
  using Vec = decltype(load(b));
  const T* a = from.data;
  int64_t row_stride = kByColumns ? 1 : from.row_stride;
  int64_t col_stride = kByColumns ? from.col_stride : 1;
  constexpr int64_t v = kVector<T>;
  Vec sums[kM][kN];
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kN; ++j) {
      sums[i][j] = broadcast(T(0));
      __builtin_prefetch(c + i * ldc + j * v, 1);
    }
  }
  for (int64_t p = 0; p < depth; ++p) {
    Vec columns[kN];
#pragma GCC unroll 3
    for (int j = 0; j < kN; ++j) {
      columns[j] = j < kN - 1 ? load(b + j * v) : load_first(b + j * v, n_last);
      __builtin_prefetch(b + kAhead * step + j * v);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kM; ++i) {
      Vec x = broadcast(a[i * row_stride]);
#pragma GCC unroll 3
      for (int j = 0; j < kN; ++j) sums[i][j] = fma(x, columns[j], sums[i][j]);
    }
    a += col_stride;
    b += step;
  }
  Vec alpha = broadcast(update.alpha), beta = broadcast(update.beta);
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kN; ++j) {
      Vec sum = multiply(alpha, sums[i][j]);
      T* place = c + i * ldc + j * v;
      int n = j == kN - 1 ? n_last : static_cast<int>(v);
      if (update.beta != T(0)) sum = fma(beta, load_first(place, n), sum);
      store_first(place, n, sum);
    }
  }
}

template <class T>
using Multiply = void (*)(MatrixView<T>, const T*, int64_t, int64_t, Update<T>, T*, int64_t, int);
template <bool kByColumns, class T, int... I>
constexpr std::array<Multiply<T>, sizeof...(I)> multiply_by_size(std::integer_sequence<int, I...>) {
  return {multiply_panels<kByColumns, I / kColVectors + 1, I % kColVectors + 1, T>...};
}

// Panels at the edges have fewer rows and fewer vectors.
template <class T>
void multiply_tile(MatrixView<T> a, const T* b, int64_t step, int64_t n_rows, int64_t n_cols,
                   int64_t depth, Update<T> update, T* c, int64_t ldc) {
  using Sizes = std::make_integer_sequence<int, kRows * kColVectors>;
  static constexpr auto by_columns = multiply_by_size<true, T>(Sizes());
  static constexpr auto by_rows = multiply_by_size<false, T>(Sizes());
  int64_t n_vectors = ceil_div(n_cols, kVector<T>);
  int n_last = static_cast<int>(n_cols - (n_vectors - 1) * kVector<T>);
  const auto& kernels = a.row_stride == 1 ? by_columns : by_rows;
  kernels[(n_rows - 1) * kColVectors + n_vectors - 1](a, b, step, depth, update, c, ldc, n_last);
}

// The same with a packed panel of B: its rows are whole vectors, one after the other.
template <class T>
void multiply_tile(MatrixView<T> a, const T* b, int64_t n_rows, int64_t n_cols, int64_t depth,
                   Update<T> update, T* c, int64_t ldc) {
  int64_t step = ceil_div(n_cols, kVector<T>) * kVector<T>;
  multiply_tile(a, b, step, n_rows, n_cols, depth, update, c, ldc);
}

// A full panel of kRows rows and one vector of columns: the numbers of a column come to lie
// together.
inline void transpose_panel(const float* from, int64_t row_stride, float* to) {
  __m512d rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = _mm512_castps_pd(load(from + i * row_stride));
  transpose(rows);  // pairs of columns
  const __m512i evens_odds =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
  for (int i = 0; i < 8; ++i) {
    store(to + i * 16, _mm512_permutexvar_ps(evens_odds, _mm512_castpd_ps(rows[i])));
  }
}

inline void transpose_panel(const double* from, int64_t row_stride, double* to) {
  __m512d rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = load(from + i * row_stride);
  transpose(rows);
  for (int i = 0; i < 8; ++i) store(to + i * 8, rows[i]);
}

// One panel: `width` rows of `from`, `depth` columns long, so that the numbers of one column lie
// together. Up to `padded` the last row is repeated: what is made of it is not stored.
template <class T>
void pack_transposed(MatrixView<T> from, int64_t width, int64_t padded, int64_t depth, T* to) {
  using Vec = decltype(load(to));
  constexpr int64_t v = kVector<T>;
  int64_t done = 0;
  if (width == kRows && padded == kRows) {
    for (; done + v <= depth; done += v) {
      transpose_panel(from.data + done, from.row_stride, to + done * kRows);
    }
  }
  for (int64_t i = 0; i < padded; i += v) {
    int n_to = static_cast<int>(std::min(v, padded - i));
    for (int64_t p = done; p < depth; p += v) {
      int n_steps = static_cast<int>(std::min(v, depth - p));
      Vec rows[v];
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
  if (height == v / 2) {
    // Two steps fill a cache line. Panels may lie so that all fall into one set of the cache: a
    // line that waits for its other half would be gone by then.
    for (; done + 2 <= depth; done += 2) {
      const T* column = from.data + done * from.col_stride;
      for (int64_t i = 0; i < n_full; i += height)
        store(to + i * depth + done * height,
              join_halves(column + i, column + from.col_stride + i));
    }
  }
  for (int64_t p = 0; p < depth; ++p) {
    const T* column = from.data + p * from.col_stride;
    for (int64_t i = 0; i < n_full && p >= done; i += height) {
      T* place = to + i * depth + p * height;
      for (int64_t r = 0; r + v <= height; r += v) store(place + r, load(column + i + r));
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

#endif
