#include "products/columns.h"

#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Columns that are worked on together: an element of a vector, once loaded, meets as many.
constexpr int64_t kTogether = 4;

// f(first, constant) for all columns, of which as many as the constant says are taken together.
template <class F>
FACULA_FN void walk_columns(int64_t n_columns, F f) {
  int64_t c = 0;
  for (; c + kTogether <= n_columns; c += kTogether) f(c, std::integral_constant<int, kTogether>());
  for (; c < n_columns; ++c) f(c, std::integral_constant<int, 1>());
}

template <class T, int kVectors>
void dots(const ColumnProduct<T>& x) {
  walk_columns(x.n_columns, [&](int64_t first, auto together) FACULA_INLINE {
    constexpr int kColumns = decltype(together)::value;
    const T* a = x.a + first * x.lda;
    Vec<T> sums[kColumns][kVectors];
    for (int c = 0; c < kColumns; ++c)
      for (int k = 0; k < kVectors; ++k) sums[c][k] = Vec<T>(T(0));
    walk_row<Vec<T>>(x.n, [&](int64_t i, int64_t some) FACULA_INLINE {
      Vec<T> v[kVectors];
      for (int k = 0; k < kVectors; ++k) v[k] = load_lanes<Vec<T>>(x.v + k * x.ldv + i, some);
      for (int c = 0; c < kColumns; ++c) {
        Vec<T> column = load_lanes<Vec<T>>(a + c * x.lda + i, some);
        for (int k = 0; k < kVectors; ++k) sums[c][k] = fma(column, v[k], sums[c][k]);
      }
    });
    for (int c = 0; c < kColumns; ++c)
      for (int k = 0; k < kVectors; ++k)
        x.t[(first + c) * kVectors + k] = join_lanes<Add>(sums[c][k])[0];
  });
}

template <class T, int kVectors>
void add(const ColumnProduct<T>& x) {
  walk_columns(x.n_columns, [&](int64_t first, auto together) FACULA_INLINE {
    constexpr int kColumns = decltype(together)::value;
    T* a = x.a + first * x.lda;
    Vec<T> t[kColumns][kVectors];
    for (int c = 0; c < kColumns; ++c)
      for (int k = 0; k < kVectors; ++k) t[c][k] = Vec<T>(x.t[(first + c) * kVectors + k]);
    walk_row<Vec<T>>(x.n, [&](int64_t i, int64_t some) FACULA_INLINE {
      Vec<T> v[kVectors];
      for (int k = 0; k < kVectors; ++k) v[k] = load_lanes<Vec<T>>(x.v + k * x.ldv + i, some);
      for (int c = 0; c < kColumns; ++c) {
        Vec<T> column = load_lanes<Vec<T>>(a + c * x.lda + i, some);
        for (int k = 0; k < kVectors; ++k) column = fma(t[c][k], v[k], column);
        store_lanes(column, a + c * x.lda + i, some);
      }
    });
  });
}

template <class T, int kVectors>
void sums(const ColumnProduct<T>& x) {
  walk_row<Vec<T>>(x.n, [&](int64_t i, int64_t some) FACULA_INLINE {
    // As many sums as columns are taken together: one addition need not wait for the last.
    Vec<T> parts[kTogether][kVectors];
    for (int c = 0; c < kTogether; ++c)
      for (int k = 0; k < kVectors; ++k) parts[c][k] = Vec<T>(T(0));
    walk_columns(x.n_columns, [&](int64_t first, auto together) FACULA_INLINE {
      for (int c = 0; c < decltype(together)::value; ++c) {
        Vec<T> column = load_lanes<Vec<T>>(x.a + (first + c) * x.lda + i, some);
        for (int k = 0; k < kVectors; ++k)
          parts[c][k] = fma(Vec<T>(x.t[(first + c) * kVectors + k]), column, parts[c][k]);
      }
    });
    for (int k = 0; k < kVectors; ++k) {
      Vec<T> sum = (parts[0][k] + parts[1][k]) + (parts[2][k] + parts[3][k]);
      store_lanes(sum, x.v + k * x.ldv + i, some);
    }
  });
}

template <class T>
constexpr ColumnKernels<T> kKernels = {
    [](const ColumnProduct<T>& x) { x.n_vectors == 1 ? dots<T, 1>(x) : dots<T, 2>(x); },
    [](const ColumnProduct<T>& x) {
      x.n_vectors == 1 ? add<T, 1>(x) : x.n_vectors == 2 ? add<T, 2>(x) : add<T, 4>(x);
    },
    [](const ColumnProduct<T>& x) { x.n_vectors == 1 ? sums<T, 1>(x) : sums<T, 2>(x); }};

}  // namespace

extern const ColumnTable column_table;
const ColumnTable column_table = {kKernels<float>, kKernels<double>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
