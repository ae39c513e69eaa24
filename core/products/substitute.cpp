#include "products/substitute.h"

#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Unknowns that are found together: a number of X, once loaded, meets as many of A.
constexpr int64_t kBlock = 4;

// x[i] -= the sum of a[i, j] x[j] over the block's columns j, for i in [begin, end).
template <class T, int kSides, int kWidth>
FACULA_FN void subtract_columns(const Substitution<T>& s, int64_t j, int64_t begin, int64_t end) {
  const T* columns = s.a + j * s.n;
  Vec<T> found[kSides][kWidth];
  for (int k = 0; k < kSides; ++k)
    for (int c = 0; c < kWidth; ++c) found[k][c] = Vec<T>(-s.x[k * s.n + j + c]);
  walk_row<Vec<T>>(end - begin, [&](int64_t at, int64_t some) FACULA_INLINE {
    int64_t i = begin + at;
    Vec<T> column[kWidth];
    for (int c = 0; c < kWidth; ++c) column[c] = load_lanes<Vec<T>>(columns + c * s.n + i, some);
    for (int k = 0; k < kSides; ++k) {
      Vec<T> x = load_lanes<Vec<T>>(s.x + k * s.n + i, some);
      for (int c = 0; c < kWidth; ++c) x = fma(column[c], found[k][c], x);
      store_lanes(x, s.x + k * s.n + i, some);
    }
  });
}

// x[i] -= the sum of a[j, i] x[j] over j in [begin, end), for the block's rows i of A's transpose.
template <class T, int kSides, int kWidth>
FACULA_FN void subtract_dots(const Substitution<T>& s, int64_t i, int64_t begin, int64_t end) {
  const T* rows = s.a + i * s.n;
  Vec<T> sums[kSides][kWidth];
  for (int k = 0; k < kSides; ++k)
    for (int r = 0; r < kWidth; ++r) sums[k][r] = Vec<T>(T(0));
  walk_row<Vec<T>>(end - begin, [&](int64_t at, int64_t some) FACULA_INLINE {
    int64_t j = begin + at;
    Vec<T> row[kWidth];
    for (int r = 0; r < kWidth; ++r) row[r] = load_lanes<Vec<T>>(rows + r * s.n + j, some);
    for (int k = 0; k < kSides; ++k) {
      Vec<T> x = load_lanes<Vec<T>>(s.x + k * s.n + j, some);
      for (int r = 0; r < kWidth; ++r) sums[k][r] = fma(row[r], x, sums[k][r]);
    }
  });
  for (int k = 0; k < kSides; ++k)
    for (int r = 0; r < kWidth; ++r) s.x[k * s.n + i + r] -= join_lanes<Add>(sums[k][r])[0];
}

// The unknowns of a block, from those that were found before it or with the rest of the right side.
template <class T, int kSides, int kWidth>
FACULA_FN void substitute_block(const Substitution<T>& s, int64_t first, bool is_forward) {
  int64_t behind = first + kWidth;
  if (s.is_transposed)
    subtract_dots<T, kSides, kWidth>(s, first, is_forward ? 0 : behind, is_forward ? first : s.n);
  for (int step = 0; step < kWidth; ++step) {
    int64_t j = is_forward ? first + step : behind - 1 - step;
    for (int k = 0; k < kSides; ++k) {
      T* x = s.x + k * s.n;
      if (!s.is_unit) x[j] /= s.a[j * s.n + j];
      for (int64_t i = is_forward ? j + 1 : first, end = is_forward ? behind : j; i < end; ++i)
        x[i] -= (s.is_transposed ? s.a[i * s.n + j] : s.a[j * s.n + i]) * x[j];
    }
  }
  if (!s.is_transposed)
    subtract_columns<T, kSides, kWidth>(s, first, is_forward ? behind : 0,
                                        is_forward ? s.n : first);
}

template <class T, int kSides>
void substitute_sides(const Substitution<T>& s) {
  bool is_forward = s.is_upper == s.is_transposed;
  int64_t whole = s.n / kBlock * kBlock;
  if (is_forward) {
    for (int64_t i = 0; i < whole; i += kBlock) substitute_block<T, kSides, kBlock>(s, i, true);
    for (int64_t i = whole; i < s.n; ++i) substitute_block<T, kSides, 1>(s, i, true);
  } else {
    for (int64_t i = s.n; i-- > whole;) substitute_block<T, kSides, 1>(s, i, false);
    for (int64_t i = whole; i > 0; i -= kBlock)
      substitute_block<T, kSides, kBlock>(s, i - kBlock, false);
  }
}

template <class T>
void substitute(const Substitution<T>& s) {
  switch (s.n_sides) {
    case 1:
      return substitute_sides<T, 1>(s);
    case 2:
      return substitute_sides<T, 2>(s);
    case 3:
      return substitute_sides<T, 3>(s);
    default:
      return substitute_sides<T, 4>(s);
  }
}

}  // namespace

extern const SubstituteTable substitute_table;
const SubstituteTable substitute_table = {substitute<float>, substitute<double>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
