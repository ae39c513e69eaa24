// The inner loop of matrix products. See Note [Blocked product] in matmul_blocked.cpp.
#include "products/tile.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/integers.h"

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
  using V = Vec<T>;
  constexpr int64_t v = kVector<T>, line = 64 / sizeof(T);
  const T *a = nullptr, *b = nullptr, *next_a = x.next_a;
  int64_t row_stride = kByColumns ? 1 : x.a.row_stride;
  int64_t col_stride = kByColumns ? x.a.col_stride : 1;
  int64_t n_sums = x.n_sums, a_step = n_sums * col_stride, step = n_sums * x.b_step, ldc = x.ldc;
  T before[kM][kN * v];  // the sums that are complete, added up
  V sums[kM][kN];
  for (int64_t sum = 0; sum < n_sums; ++sum) {
    a = x.a.data + sum * col_stride;
    b = x.b + sum * x.b_step;
    int64_t depth = n_sums == 1 ? x.depth : (x.depth - sum + n_sums - 1) / n_sums;
#pragma GCC unroll 8
    for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < kN; ++j) sums[i][j] = V(T(0));
    }
    for (int64_t first = 0; first < depth; first += line) {
      if (first < kM * line && sum == n_sums - 1) {
        const T* row = x.c + first / line * ldc;
        for (int j = 0; j < kN; ++j) __builtin_prefetch(row + j * v, 1);
      }
      if (next_a != nullptr) {
        int n_lines = kByColumns ? line : kM;
        const T* place = next_a;
        for (int i = 0; i < n_lines; ++i, place += kByColumns ? col_stride : row_stride)
          __builtin_prefetch(place, 0, 2);
        next_a += line * col_stride;
      }
      int64_t n_steps = std::min(line, depth - first);
#pragma GCC unroll 1
      for (int64_t p = 0; p < n_steps; ++p) {
        V columns[kN];
#pragma GCC unroll 3
        for (int j = 0; j < kN; ++j) {
          bool is_whole = !kMasked || j < kN - 1;
          columns[j] = is_whole ? V::load(b + j * v) : load_first(b + j * v, n_last);
          if (j * v % line == 0) __builtin_prefetch(b + tuning::kStepsAhead * step + j * v);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kM; ++i) {
          V factor(a[i * row_stride]);
#pragma GCC unroll 3
          for (int j = 0; j < kN; ++j) sums[i][j] = fma(factor, columns[j], sums[i][j]);
        }
        a += a_step;
        b += step;
      }
    }
    if (n_sums == 1) break;
#pragma GCC unroll 8
    for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < kN; ++j) {
        if (sum > 0) sums[i][j] = V::load(before[i] + j * v) + sums[i][j];
        if (sum < n_sums - 1) sums[i][j].store(before[i] + j * v);
      }
    }
  }
  V alpha(x.alpha), beta(x.beta);
  bool adds = x.beta != T(0);
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
    V bias(x.bias ? x.bias[i] : T(0));
#pragma GCC unroll 3
    for (int j = 0; j < kN; ++j) {
      V sum = alpha * sums[i][j];
      T* place = x.c + i * ldc + j * v;
      int n = j == kN - 1 ? n_last : static_cast<int>(v);
      if (adds) sum = fma(beta, load_first(place, n), sum);
      if (x.bias) sum += bias;
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
