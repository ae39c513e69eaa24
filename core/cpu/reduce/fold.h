// Folds: each element is made into a value, and values are joined two by two. The kernels of the
// rows FOLD of tables/reduce.def. 16-bit floats are widened in registers: in a buffer on the way, a
// million of them along the first dimension took 71 us instead of 26.
#pragma once
#include <algorithm>
#include <cstring>

#include "cpu/pairs.h"
#include "cpu/reduce/reduce_kernels.h"
#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

template <class T>
constexpr bool kHasVec =
    std::is_same_v<Wide<T>, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>;

// Joins n values in a tree; n is a power of two.
template <class Join, class A>
inline A join_halves(A* values, int n) {
  for (; n > 1; n /= 2)
    for (int i = 0; i < n / 2; ++i) values[i] = Join::join(values[i], values[i + n / 2]);
  return values[0];
}

// For types without vectors: independent sums, which the compiler may keep in vectors.
template <class T, class A, class F, class Join>
inline A fold_block(const T* x, int64_t n, A first, F map, Join) {
  constexpr int kLanes = std::is_integral_v<A> ? kVecBytes / sizeof(A) : 8;
  A acc[kLanes];
  for (A& a : acc) a = first;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) acc[k] = Join::join(acc[k], map(x[i + k]));
  for (int k = 0; i < n; ++i, ++k) acc[k] = Join::join(acc[k], map(x[i]));
  return join_halves<Join>(acc, kLanes);
}
template <class T, class A, class F, class Join>
inline A fold_elements(const T* x, int64_t n, A first, F map, Join join) {
  constexpr int64_t kBlock = std::is_integral_v<A> ? kReduceChunk : 256;
  return join_blocks<Join>(n, kBlock, [=](int64_t begin, int64_t end) {
    return fold_block(x + begin, end - begin, first, map, join);
  });
}

template <class Join>
constexpr bool kIsExtremum =
    std::is_same_v<Join, math::Larger> || std::is_same_v<Join, math::Smaller>;

template <class Join, class V>
FACULA_FN V extremum_of_two(V a, V b) {
  return std::is_same_v<Join, math::Larger> ? (a > b ? a : b) : (a < b ? a : b);
}
// Half by half, as long as these are vectors.
template <class Join, class T, int kBytes>
FACULA_FN T extremum_of_lanes(Native<T, kBytes> v) {
  if constexpr (kBytes > 16) {
    Native<T, kBytes / 2> halves[2];
    std::memcpy(halves, &v, kBytes);
    return extremum_of_lanes<Join, T, kBytes / 2>(extremum_of_two<Join>(halves[0], halves[1]));
  } else {
    T lanes[kBytes / sizeof(T)];
    std::memcpy(lanes, &v, kBytes);
    return join_halves<Join>(lanes, kBytes / sizeof(T));
  }
}

// The extremum of integers. Four vectors side by side hide the latency of a comparison; the last
// one may overlap those before it. 1M of int8 take 18 us instead of 54 in fold_block, whose array
// of lanes stays in memory.
template <class Join, class T>
inline T extremum_of(const T* x, int64_t n) {
  using V = Native<T>;
  constexpr int64_t L = kVecBytes / sizeof(T);
  auto load = [x](int64_t i) FACULA_INLINE {
    V v;
    std::memcpy(&v, x + i, sizeof(v));
    return v;
  };
  auto join = [](V a, V b) FACULA_INLINE { return extremum_of_two<Join>(a, b); };
  if (n < L) {
    T best = Join::template first<T>();
    for (int64_t i = 0; i < n; ++i) best = Join::join(best, x[i]);
    return best;
  }
  V last = load(n - L), best[4] = {last, last, last, last};
  int64_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L)
    for (int k = 0; k < 4; ++k) best[k] = join(best[k], load(i + k * L));
  for (; i + L <= n; i += L) best[0] = join(best[0], load(i));
  return extremum_of_lanes<Join, T, kVecBytes>(
      join(join(best[0], best[1]), join(best[2], best[3])));
}

// The extremum of floats. What is NaN is passed over, and remembered: an instruction each, where a
// join that keeps NaN takes four. 1M of float take 48 us instead of 72.
template <class Formula, class T>
inline Wide<T> extremum_of_floats(const T* x, int64_t n) {
  using Join = typename Formula::Join;
  using V = Vec<Wide<T>>;
  constexpr int64_t L = V::kLanes;
  const V first(Join::template first<Wide<T>>());
  V best[4] = {first, first, first, first};
  auto is_nan = first != first;
  auto join = [&is_nan](V& best, V v) FACULA_INLINE {
    v = Formula::element(v);
    is_nan = is_nan || v != v;
    best = std::is_same_v<Join, math::Larger> ? at_least(best, v) : at_most(best, v);
  };
  int64_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L)
    for (int k = 0; k < 4; ++k) join(best[k], V::load(x + i + k * L));
  for (; i + L <= n; i += L) join(best[0], V::load(x + i));
  // Lanes that are not loaded get the first element again.
  if (i < n) join(best[0], keep_lanes(V::load(x + i, n - i), n - i, static_cast<Wide<T>>(x[0])));
  if (any(is_nan)) return math::nan<Wide<T>>();
  if (n >= 4 * L) best[0] = join_some<Join, 4>([&](int64_t k) FACULA_INLINE { return best[k]; });
  return join_lanes<Join>(best[0])[0];
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
  using A = decltype(Formula::element(Wide<T>()));

  static FACULA_FN A row(const T* x, int64_t n, int64_t, const ReduceParams&) {
    if constexpr (kIsExtremum<Join> && is_floating_v<T>) {
      return extremum_of_floats<Formula>(x, n);
    } else if constexpr (kIsExtremum<Join> && std::is_integral_v<T>) {
      return extremum_of<Join>(x, n);
    } else if constexpr (kHasVec<T>) {
      using V = Vec<Wide<T>>;
      V all = fold_row<Join, V, 16>(n, [x](int64_t i, int64_t k) FACULA_INLINE {
        return keep_lanes(Formula::element(load_lanes<V>(x + i, k)), k,
                          Join::template first<Wide<T>>());
      });
      return join_lanes<Join>(all)[0];
    } else if constexpr (is_complex_v<A> && std::is_same_v<Join, Add>) {
      return sum_of_parts(x, n);
    } else if constexpr (is_complex_v<A> && std::is_same_v<Join, math::Multiply>) {
      return product_of_pairs(x, n);
    } else {
      return fold_elements(
          x, n, Join::template first<A>(), [](T v) { return Formula::element(v); }, Join());
    }
  }

  // The sum of complex elements, whose real and imaginary parts are every other number.
  static A sum_of_parts(const A* x, int64_t n) {
    using V = Vec<typename A::value_type>;
    const auto* parts = reinterpret_cast<const typename A::value_type*>(x);
    V all = fold_row<Join, V, 16>(
        2 * n, [parts](int64_t i, int64_t k) FACULA_INLINE { return load_lanes<V>(parts + i, k); });
    A lanes[V::kLanes / 2];
    std::memcpy(static_cast<void*>(lanes), &all, sizeof(all));
    return join_halves<Join>(lanes, V::kLanes / 2);
  }

  static A product_of_pairs(const A* x, int64_t n) {
    using V = Pairs<typename A::value_type>;
    V all = fold_row<Join, V, 4>(n, [x](int64_t i, int64_t k) FACULA_INLINE {
      return k == V::kLanes ? V::load(x + i) : V::load(x + i, k, A(1));
    });
    A lanes[V::kLanes];
    all.store(lanes);
    return join_halves<Join>(lanes, V::kLanes);
  }

  // Joins rows with the accumulators, those of one place in a tree first. A call for some rows
  // costs nothing beside them; inlined eight times it was half of what this file takes to compile.
  template <int n_rows>
  [[gnu::noinline]] static void add_rows(const T* __restrict x, int64_t row_stride, int64_t n,
                                         A* __restrict y) {
    if constexpr (kHasVec<T>) {
      using V = Vec<Wide<T>>;
      // Not element by element at the end: which of two is larger, a branch would guess wrong every
      // other time.
      walk_row<V>(n, [=](int64_t j, int64_t k) FACULA_INLINE {
        V all = join_some<Join, n_rows>([=](int64_t r) FACULA_INLINE {
          return Formula::element(load_lanes<V>(x + r * row_stride + j, k));
        });
        store_lanes(Join::join(load_lanes<V>(y + j, k), all), y + j, k);
      });
    } else {
      for (int64_t j = 0; j < n; ++j) {
        auto element = [=](int64_t r) { return Formula::element(x[r * row_stride + j]); };
        y[j] = Join::join(y[j], join_some<Join, n_rows>(element));
      }
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
  [[gnu::noinline]] static void add_all_rows(const T* x, int64_t row_stride, int64_t n_rows,
                                             int64_t n, A* y) {
    // Many rows are narrow ones. The sums of some at a time keep the errors small.
    int64_t n_last = n_rows > 2 * kReduceRows ? kReduceRows : n_rows;
    for (; n_rows > n_last; n_rows -= kReduceRows, x += kReduceRows * row_stride) {
      A some[kNarrow * kBeside];
      std::fill_n(some, n, Join::template first<A>());
      for (int64_t r = 0; r < kReduceRows; r += 8)
        add_rows<8>(x + r * row_stride, row_stride, n, some);
      combine(y, some, n);
    }
    int64_t r = 0;
    for (; r + 8 <= n_rows; r += 8) add_rows<8>(x + r * row_stride, row_stride, n, y);
    for (; r + 4 <= n_rows; r += 4) add_rows<4>(x + r * row_stride, row_stride, n, y);
    for (; r < n_rows; ++r) add_rows<1>(x + r * row_stride, row_stride, n, y);
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
    constexpr bool takes_long_rows = kIsExtremum<Join> && std::is_integral_v<T>;
    return {sizeof(A), DTypeOf<A>::value, rows_of<Fold, T>, columns, combine,
            finish,    takes_long_rows};
  }
};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
