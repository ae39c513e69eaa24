// The inner loop of matrix products. See Note [Blocked product] in matmul_blocked.cpp.
#include "products/tile.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/integers.h"

#if defined(FACULA_AVX512)

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// kM rows of A times kN vectors of B; either the numbers of a column of A lie together or those of
// a row. Of the last vector only the first n_last numbers are stored and, where kMasked, read: a
// masked load takes a turn of the multipliers.
//
// What is needed soon is asked for a little at a time: many lines at once would hold up those of B,
// which come all the while.
template <bool kByColumns, bool kMasked, int kM, int kN, class T>
void multiply_panels(const Tile<T>& tile, int n_last) {
  const Tile<T> x = tile;  // which no store to C can change
  using Vec = decltype(load(x.b));
  constexpr int64_t v = kVector<T>;
  const T *a = x.a.data, *b = x.b, *next_a = x.next_a;
  int64_t row_stride = kByColumns ? 1 : x.a.row_stride;
  int64_t col_stride = kByColumns ? x.a.col_stride : 1;
  int64_t step = x.b_step, ldc = x.ldc;
  Vec sums[kM][kN];
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kN; ++j) sums[i][j] = broadcast(T(0));
  }
  for (int64_t first = 0; first < x.depth; first += v) {
    if (first < kM * v) {
      const T* row = x.c + first / v * ldc;
      for (int j = 0; j < kN; ++j) __builtin_prefetch(row + j * v, 1);
    }
    if (next_a != nullptr) {
      int n_lines = kByColumns ? v : kM;
      const T* line = next_a;
      for (int i = 0; i < n_lines; ++i, line += kByColumns ? col_stride : row_stride)
        __builtin_prefetch(line, 0, 2);
      next_a += v * col_stride;
    }
    int64_t n_steps = std::min(v, x.depth - first);
#pragma GCC unroll 1
    for (int64_t p = 0; p < n_steps; ++p) {
      Vec columns[kN];
#pragma GCC unroll 3
      for (int j = 0; j < kN; ++j) {
        bool is_whole = !kMasked || j < kN - 1;
        columns[j] = is_whole ? load(b + j * v) : load_first(b + j * v, n_last);
        __builtin_prefetch(b + tuning::kStepsAhead * step + j * v);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kM; ++i) {
        Vec factor = broadcast(a[i * row_stride]);
#pragma GCC unroll 3
        for (int j = 0; j < kN; ++j) sums[i][j] = fma(factor, columns[j], sums[i][j]);
      }
      a += col_stride;
      b += step;
    }
  }
  Vec alpha = broadcast(x.alpha), beta = broadcast(x.beta);
  bool adds = x.beta != T(0);
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kN; ++j) {
      Vec sum = multiply(alpha, sums[i][j]);
      T* place = x.c + i * ldc + j * v;
      int n = j == kN - 1 ? n_last : static_cast<int>(v);
      if (adds) sum = fma(beta, load_first(place, n), sum);
      store_first(place, n, sum);
    }
  }
}

template <class T>
using Multiply = void (*)(const Tile<T>&, int n_last);
template <bool kByColumns, bool kMasked, class T, int... I>
constexpr std::array<Multiply<T>, sizeof...(I)> multiply_by_size(std::integer_sequence<int, I...>) {
  return {multiply_panels<kByColumns, kMasked, I / kColVectors + 1, I % kColVectors + 1, T>...};
}

}  // namespace

// Tiles at the edges have fewer rows and fewer vectors.
template <class T>
void multiply_tile(const Tile<T>& x, int64_t n_rows, int64_t n_cols) {
  using Sizes = std::make_integer_sequence<int, kRows * kColVectors>;
  static constexpr std::array<Multiply<T>, kRows * kColVectors> kernels[2][2] = {
      {multiply_by_size<false, false, T>(Sizes()), multiply_by_size<false, true, T>(Sizes())},
      {multiply_by_size<true, false, T>(Sizes()), multiply_by_size<true, true, T>(Sizes())}};
  int64_t n_vectors = ceil_div(n_cols, kVector<T>);
  int n_last = static_cast<int>(n_cols - (n_vectors - 1) * kVector<T>);
  bool is_masked = !x.is_padded && n_last < kVector<T>;
  kernels[x.a.row_stride == 1][is_masked][(n_rows - 1) * kColVectors + n_vectors - 1](x, n_last);
}

template void multiply_tile(const Tile<float>&, int64_t, int64_t);
template void multiply_tile(const Tile<double>&, int64_t, int64_t);

}  // namespace FACULA_ISA
}  // namespace facula::cpu

#endif
