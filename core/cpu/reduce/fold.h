// Folds: each element is made into a value, and values are joined two by two. The kernels of the
// rows FOLD of tables/reduce.def.
#pragma once
#include <algorithm>

#include "cpu/reduce/reduce_kernels.h"
#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

template <class T>
constexpr bool kHasVec =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>;

// Joins n values in a tree; n is a power of two.
template <class Join, class A>
inline A join_halves(A* values, int n) {
  for (; n > 1; n /= 2)
    for (int i = 0; i < n / 2; ++i) values[i] = Join::join(values[i], values[i + n / 2]);
  return values[0];
}

// Four vectors side by side hide the latency of the addition; each lane adds 64 elements at most,
// then lanes join in a tree.
template <class T, class Formula>
inline T fold_vectors(const T* x, int64_t n) {
  using V = Vec<T>;
  using Join = typename Formula::Join;
  constexpr int64_t L = V::kLanes, kLongest = 64 * 4 * L;
  if (n > kLongest) {
    T first = fold_vectors<T, Formula>(x, kLongest);
    return Join::join(first, fold_vectors<T, Formula>(x + kLongest, n - kLongest));
  }
  int64_t i = 0;
  V all;
  if (n >= 4 * L) {
    V acc[4];
    for (int k = 0; k < 4; ++k) acc[k] = Formula::element(V::load(x + k * L));
    for (i = 4 * L; i + 4 * L <= n; i += 4 * L)
      for (int k = 0; k < 4; ++k)
        acc[k] = Join::join(acc[k], Formula::element(V::load(x + i + k * L)));
    all = Join::join(Join::join(acc[0], acc[1]), Join::join(acc[2], acc[3]));
  } else {
    all = V(Join::template first<T>());
  }
  for (; i + L <= n; i += L) all = Join::join(all, Formula::element(V::load(x + i)));
  if (i < n) {
    V rest = Formula::element(V::load(x + i, n - i));
    all = Join::join(all, keep_lanes(rest, n - i, Join::template first<T>()));
  }
  return join_lanes<Join>(all)[0];
}

// For types without vectors: independent sums, which the compiler may keep in vectors.
template <class T, class A, class F, class Join>
inline A fold_elements(const T* x, int64_t n, A first, F map, Join) {
  constexpr int kLanes = std::is_integral_v<A> ? kVecBytes / sizeof(A) : 8;
  A acc[kLanes];
  for (A& a : acc) a = first;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) acc[k] = Join::join(acc[k], map(x[i + k]));
  for (int k = 0; i < n; ++i, ++k) acc[k] = Join::join(acc[k], map(x[i]));
  return join_halves<Join>(acc, kLanes);
}

template <class Kernel, class T>
void rows_of(const void* from, int64_t row_stride, int64_t n_rows, int64_t n, int64_t first,
             void* accumulators, const ReduceParams& params) {
  const T* x = static_cast<const T*>(from);
  auto* y = static_cast<typename Kernel::A*>(accumulators);
  for (int64_t r = 0; r < n_rows; ++r) y[r] = Kernel::row(x + r * row_stride, n, first, params);
}

template <class T, class Formula>
struct Fold {
  using Join = typename Formula::Join;
  using A = decltype(Formula::element(T()));

  static FACULA_FN A row(const T* x, int64_t n, int64_t, const ReduceParams&) {
    if constexpr (kHasVec<T>) {
      return fold_vectors<T, Formula>(x, n);
    } else {
      return fold_elements(
          x, n, Join::template first<A>(), [](T v) { return Formula::element(v); }, Join());
    }
  }

  // Joins the elements of one place of n_rows rows, 1 or 4, with the accumulator there.
  template <class V, class Load>
  static FACULA_FN V add_place(V a, int n_rows, Load load) {
    if (n_rows == 1) return Join::join(a, Formula::element(load(0)));
    V low = Join::join(Formula::element(load(0)), Formula::element(load(1)));
    V high = Join::join(Formula::element(load(2)), Formula::element(load(3)));
    return Join::join(a, Join::join(low, high));
  }

  static FACULA_FN void add_rows(const T* x, int64_t row_stride, int n_rows, int64_t n, A* y) {
    if constexpr (kHasVec<T>) {
      using V = Vec<T>;
      int64_t j = 0;
      for (; j + V::kLanes <= n; j += V::kLanes)
        add_place(V::load(y + j), n_rows, [=](int64_t r) {
          return V::load(x + r * row_stride + j);
        }).store(y + j);
      // Not element by element: which of two is larger, a branch would guess wrong every other
      // time.
      if (j < n)
        add_place(V::load(y + j, n - j), n_rows, [=](int64_t r) {
          return V::load(x + r * row_stride + j, n - j);
        }).store(y + j, n - j);
    } else {
      for (int64_t j = 0; j < n; ++j)
        y[j] = add_place(y[j], n_rows, [=](int64_t r) { return x[r * row_stride + j]; });
    }
  }

  static void columns(const void* from, int64_t row_stride, int64_t n_rows, int64_t n, int64_t,
                      void* acc, const ReduceParams&) {
    const T* x = static_cast<const T*>(from);
    A* y = static_cast<A*>(acc);
    std::fill_n(y, n, Join::template first<A>());
    // Narrow rows are taken kBeside at a time, as one row: a whole number of vectors.
    if (row_stride == n && n <= kNarrow && n_rows >= 4 * kBeside) {
      A wide[kNarrow * kBeside];
      int64_t n_wide = n_rows / kBeside;
      std::fill_n(wide, n * kBeside, Join::template first<A>());
      add_all_rows(x, n * kBeside, n_wide, n * kBeside, wide);
      for (int64_t half = n * kBeside / 2; half >= n; half /= 2)
        for (int64_t j = 0; j < half; ++j) wide[j] = Join::join(wide[j], wide[j + half]);
      std::copy_n(wide, n, y);
      x += n_wide * kBeside * n;
      n_rows -= n_wide * kBeside;
    }
    add_all_rows(x, row_stride, n_rows, n, y);
  }

  static constexpr int64_t kNarrow = 32;
  static constexpr int64_t kBeside = 16;
  static FACULA_FN void add_all_rows(const T* x, int64_t row_stride, int64_t n_rows, int64_t n,
                                     A* y) {
    int64_t r = 0;
    for (; r + 4 <= n_rows; r += 4) add_rows(x + r * row_stride, row_stride, 4, n, y);
    for (; r < n_rows; ++r) add_rows(x + r * row_stride, row_stride, 1, n, y);
  }

  static void combine(void* acc, const void* later, int64_t n) {
    A* y = static_cast<A*>(acc);
    const A* z = static_cast<const A*>(later);
    for (int64_t i = 0; i < n; ++i) y[i] = Join::join(y[i], z[i]);
  }

  static void finish(const void* acc, int64_t n, void* values, void*, const ReduceParams& params) {
    auto divisor = static_cast<decltype(math::magnitude(A()))>(params.divisor);
    for (int64_t i = 0; i < n; ++i)
      static_cast<A*>(values)[i] = Formula::total(static_cast<const A*>(acc)[i], divisor);
  }

  static constexpr ReduceKernel kernel() {
    return {sizeof(A), DTypeOf<A>::value, rows_of<Fold, T>, columns, combine, finish};
  }
};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
