#include "cpu/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/formulas.h"
#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class T>
constexpr bool kHasVec =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>;

template <class T>
inline bool is_nan(T x) {
  return x != x;
}

// ---- operations that join two values of one type: an element alone is already an accumulator

struct Larger {
  template <class T>
  static T first() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  template <class T>
  static FACULA_FN T join(T a, T b) {
    return a > b || a != a ? a : b;
  }
  template <class T>
  static FACULA_FN Vec<T> join(Vec<T> a, Vec<T> b) {
    return max(a, b);
  }
};
struct Smaller {
  template <class T>
  static T first() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  }
  template <class T>
  static FACULA_FN T join(T a, T b) {
    return a < b || a != a ? a : b;
  }
  template <class T>
  static FACULA_FN Vec<T> join(Vec<T> a, Vec<T> b) {
    return min(a, b);
  }
};

// What is done to an element before it is joined.
struct Itself {
  template <class V>
  static FACULA_FN V of(V x) {
    return x;
  }
};
struct ZeroForNan {
  template <class T>
  static FACULA_FN T of(T x) {
    if constexpr (is_complex_v<T>) {
      return is_nan(x.real()) || is_nan(x.imag()) ? T(0) : x;
    } else {
      return is_nan(x) ? T(0) : x;
    }
  }
  template <class T>
  static FACULA_FN Vec<T> of(Vec<T> x) {
    return select(x != x, Vec<T>(T(0)), x);
  }
};
struct Magnitude {
  template <class T>
  static FACULA_FN auto of(T x) {
    // To the bit as abs() of tensors, with which the derivative looks for the largest.
    if constexpr (is_complex_v<T>) {
      return math::hypot(x.real(), x.imag());
    } else {
      return std::abs(x);
    }
  }
  template <class T>
  static FACULA_FN Vec<T> of(Vec<T> x) {
    return abs(x);
  }
};
struct Square {
  template <class T>
  static FACULA_FN auto of(T x) {
    if constexpr (is_complex_v<T>) {
      return std::norm(x);
    } else {
      return x * x;
    }
  }
  template <class T>
  static FACULA_FN Vec<T> of(Vec<T> x) {
    return x * x;
  }
};
struct OneIfNotZero {
  template <class T>
  static FACULA_FN auto of(T x) {
    using R = decltype(std::abs(x));
    return x != T(0) ? R(1) : R(0);
  }
  template <class T>
  static FACULA_FN Vec<T> of(Vec<T> x) {
    return select(x != Vec<T>(T(0)), Vec<T>(T(1)), Vec<T>(T(0)));
  }
};

// Joins n values in a tree; n is a power of two.
template <class Join, class A>
inline A join_halves(A* values, int n) {
  for (; n > 1; n /= 2)
    for (int i = 0; i < n / 2; ++i) values[i] = Join::join(values[i], values[i + n / 2]);
  return values[0];
}

// Four vectors side by side hide the latency of the addition; each lane adds 64 elements at most,
// then lanes join in a tree.
template <class T, class Map, class Join>
inline T fold_vectors(const T* x, int64_t n) {
  using V = Vec<T>;
  constexpr int64_t L = V::kLanes, kLongest = 64 * 4 * L;
  if (n > kLongest) {
    T first = fold_vectors<T, Map, Join>(x, kLongest);
    return Join::join(first, fold_vectors<T, Map, Join>(x + kLongest, n - kLongest));
  }
  int64_t i = 0;
  V all;
  if (n >= 4 * L) {
    V acc[4];
    for (int k = 0; k < 4; ++k) acc[k] = Map::of(V::load(x + k * L));
    for (i = 4 * L; i + 4 * L <= n; i += 4 * L)
      for (int k = 0; k < 4; ++k) acc[k] = Join::join(acc[k], Map::of(V::load(x + i + k * L)));
    all = Join::join(Join::join(acc[0], acc[1]), Join::join(acc[2], acc[3]));
  } else {
    all = V(Join::template first<T>());
  }
  for (; i + L <= n; i += L) all = Join::join(all, Map::of(V::load(x + i)));
  if (i < n) {
    V rest = Map::of(V::load(x + i, n - i));
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

template <class T, class Map, class Join>
struct Fold {
  using A = decltype(Map::of(T()));

  static FACULA_FN A row(const T* x, int64_t n, int64_t, const ReduceParams&) {
    if constexpr (kHasVec<T>) {
      return fold_vectors<T, Map, Join>(x, n);
    } else {
      return fold_elements(
          x, n, Join::template first<A>(), [](T v) { return Map::of(v); }, Join());
    }
  }

  // Joins the elements of one place of n_rows rows, 1 or 4, with the accumulator there.
  template <class V, class Load>
  static FACULA_FN V add_place(V a, int n_rows, Load load) {
    if (n_rows == 1) return Join::join(a, Map::of(load(0)));
    V low = Join::join(Map::of(load(0)), Map::of(load(1)));
    V high = Join::join(Map::of(load(2)), Map::of(load(3)));
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

  static void finish(const void* acc, int64_t n, void* values, void*, const ReduceParams&) {
    std::copy_n(static_cast<const A*>(acc), n, static_cast<A*>(values));
  }

  static void finish_root(const void* acc, int64_t n, void* values, void*, const ReduceParams&) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<A*>(values)[i] = std::sqrt(static_cast<const A*>(acc)[i]);
  }

  static void finish_mean(const void* acc, int64_t n, void* values, void*,
                          const ReduceParams& params) {
    auto divisor = static_cast<decltype(std::abs(A()))>(params.divisor);
    for (int64_t i = 0; i < n; ++i)
      static_cast<A*>(values)[i] = static_cast<const A*>(acc)[i] / divisor;
  }

  static constexpr ReduceKernel kernel() {
    return {sizeof(A), DTypeOf<A>::value, rows_of<Fold, T>, columns, combine, finish};
  }
  static constexpr ReduceKernel mean_kernel() {
    return {sizeof(A), DTypeOf<A>::value, rows_of<Fold, T>, columns, combine, finish_mean};
  }
  static constexpr ReduceKernel root_kernel() {
    return {sizeof(A), DTypeOf<A>::value, rows_of<Fold, T>, columns, combine, finish_root};
  }
};

// The p-norm for an arbitrary p.
template <class T>
struct PowerSum {
  using A = decltype(std::abs(T()));

  static A row(const T* x, int64_t n, int64_t, const ReduceParams& params) {
    A p = static_cast<A>(params.p);
    return fold_elements(
        x, n, A(0), [p](T v) { return std::pow(std::abs(v), p); }, Add());
  }
  static void columns(const void* from, int64_t row_stride, int64_t n_rows, int64_t n, int64_t,
                      void* acc, const ReduceParams& params) {
    const T* x = static_cast<const T*>(from);
    A* y = static_cast<A*>(acc);
    A p = static_cast<A>(params.p);
    std::fill_n(y, n, A(0));
    for (int64_t r = 0; r < n_rows; ++r)
      for (int64_t j = 0; j < n; ++j) y[j] += std::pow(std::abs(x[r * row_stride + j]), p);
  }
  static void finish(const void* acc, int64_t n, void* values, void*, const ReduceParams& params) {
    A inverse = static_cast<A>(1 / params.p);
    for (int64_t i = 0; i < n; ++i)
      static_cast<A*>(values)[i] = std::pow(static_cast<const A*>(acc)[i], inverse);
  }
  static constexpr ReduceKernel kernel() {
    return {
        sizeof(A), DTypeOf<A>::value, rows_of<PowerSum, T>, columns, Fold<A, Itself, Add>::combine,
        finish};
  }
};

// The extremum and where it is first found; NaN beats everything.
template <class T, class Join>
struct Arg {
  using V = Vec<T>;
  struct A {
    T value;
    int64_t index;
  };
  static_assert(sizeof(A) <= kMaxAccumulatorBytes);

  static FACULA_FN bool beats(T later, T value) {
    // Of equal values the first stays.
    return !(Join::join(value, later) == value) && !is_nan(value);
  }

  static A row(const T* x, int64_t n, int64_t first, const ReduceParams& params) {
    constexpr int64_t L = Vec<T>::kLanes;
    V best = Fold<T, Itself, Join>::row(x, n, 0, params);
    bool is_nan = any(best != best);
    // It is there: what is read as zero behind the end is never the first.
    for (int64_t i = 0;; i += L) {
      V v = i + L <= n ? V::load(x + i) : V::load(x + i, n - i);
      auto is_it = is_nan ? v != v : v == best;
      if (!any(is_it)) continue;
      while (!is_it[static_cast<int>(i % L)]) ++i;
      return {x[i], first + i};
    }
  }
  static void columns(const void* from, int64_t row_stride, int64_t n_rows, int64_t n,
                      int64_t first, void* acc, const ReduceParams&) {
    A* y = static_cast<A*>(acc);
    // As wide as T, so that one comparison of vectors chooses both.
    using Row = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    constexpr int64_t kBlock = 64;
    for (int64_t j0 = 0; j0 < n; j0 += kBlock) {
      const T* x = static_cast<const T*>(from) + j0;
      int64_t width = std::min(kBlock, n - j0);
      T best[kBlock];
      Row at[kBlock] = {};
      std::copy_n(x, width, best);
      for (Row r = 1; r < n_rows; ++r) {
        x += row_stride;
        for (int64_t j = 0; j < width; ++j) {
          bool takes = beats(x[j], best[j]);
          best[j] = takes ? x[j] : best[j];
          at[j] = takes ? r : at[j];
        }
      }
      for (int64_t j = 0; j < width; ++j) y[j0 + j] = {best[j], first + at[j]};
    }
  }
  static void combine(void* acc, const void* later, int64_t n) {
    A* y = static_cast<A*>(acc);
    const A* z = static_cast<const A*>(later);
    for (int64_t i = 0; i < n; ++i)
      if (beats(z[i].value, y[i].value)) y[i] = z[i];
  }
  static void finish(const void* acc, int64_t n, void* values, void* seconds, const ReduceParams&) {
    const A* y = static_cast<const A*>(acc);
    for (int64_t i = 0; i < n; ++i) {
      static_cast<T*>(values)[i] = y[i].value;
      static_cast<int64_t*>(seconds)[i] = y[i].index;
    }
  }
  static constexpr ReduceKernel kernel() {
    return {sizeof(A), DTypeOf<T>::value, rows_of<Arg, T>, columns, combine, finish};
  }
};

// any and all. Every byte of the input but 0 is true; accumulators are 0 or 1.
template <bool kAll>
struct Truth {
  using A = uint8_t;
  static A row(const A* x, int64_t n, int64_t, const ReduceParams&) {
    constexpr uint64_t kOnes = 0x0101010101010101;
    uint64_t found = 0;  // not 0 if a byte is true; for all, if one is false
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      uint64_t bytes;
      std::memcpy(&bytes, x + i, 8);
      // A byte that is 0 borrows, which sets its highest bit.
      found |= kAll ? (bytes - kOnes) & ~bytes & (kOnes << 7) : bytes;
    }
    for (; i < n; ++i) found |= kAll ? x[i] == 0 : x[i];
    return (found != 0) != kAll;
  }
  static void columns(const void* from, int64_t row_stride, int64_t n_rows, int64_t n, int64_t,
                      void* acc, const ReduceParams&) {
    const A* x = static_cast<const A*>(from);
    A* y = static_cast<A*>(acc);
    std::fill_n(y, n, A(kAll));
    for (int64_t r = 0; r < n_rows; ++r, x += row_stride)
      for (int64_t i = 0; i < n; ++i) y[i] = kAll ? y[i] & (x[i] != 0) : y[i] | (x[i] != 0);
  }
  static void combine(void* acc, const void* later, int64_t n) {
    A* y = static_cast<A*>(acc);
    const A* z = static_cast<const A*>(later);
    for (int64_t i = 0; i < n; ++i) y[i] = kAll ? y[i] & z[i] : y[i] | z[i];
  }
  static void finish(const void* acc, int64_t n, void* values, void*, const ReduceParams&) {
    std::copy_n(static_cast<const A*>(acc), n, static_cast<A*>(values));
  }
  static constexpr ReduceKernel kernel() {
    return {1, DType::Bool, rows_of<Truth, A>, columns, combine, finish};
  }
};

// Mean and sum of squared distances. Within a chunk both are computed in two passes; chunks join by
// the formula of Chan, Golub and LeVeque, in double.
template <class T>
struct Spread {
  struct A {
    double mean, squares, n;
  };
  static_assert(sizeof(A) <= kMaxAccumulatorBytes);

  // Distances are first taken from the first element: equal elements have a spread of exactly 0.
  static A row(const T* x, int64_t n, int64_t, const ReduceParams&) {
    T origin = n > 0 ? x[0] : T(0);
    double off = static_cast<double>(fold_elements(
                     x, n, T(0), [origin](T v) { return v - origin; }, Add())) /
                 static_cast<double>(n);
    T centre = static_cast<T>(off);
    T squares = fold_elements(
        x, n, T(0), [=](T v) { return (v - origin - centre) * (v - origin - centre); }, Add());
    // The centre was rounded to T: what that adds to the squares is taken off again.
    double rounding = off - static_cast<double>(centre);
    double exact =
        std::max(static_cast<double>(squares) - static_cast<double>(n) * rounding * rounding, 0.0);
    return {static_cast<double>(origin) + off, exact, static_cast<double>(n)};
  }
  static void columns(const void* from, int64_t row_stride, int64_t n_rows, int64_t n, int64_t,
                      void* acc, const ReduceParams&) {
    const T* x = static_cast<const T*>(from);
    A* y = static_cast<A*>(acc);
    constexpr int64_t kBlock = 64;
    for (int64_t j0 = 0; j0 < n; j0 += kBlock) {
      int64_t width = std::min(kBlock, n - j0);
      double origin[kBlock], off[kBlock] = {}, squares[kBlock] = {};
      for (int64_t j = 0; j < width; ++j) origin[j] = static_cast<double>(x[j0 + j]);
      for (int64_t r = 1; r < n_rows; ++r)
        for (int64_t j = 0; j < width; ++j)
          off[j] += static_cast<double>(x[r * row_stride + j0 + j]) - origin[j];
      for (int64_t j = 0; j < width; ++j) off[j] /= static_cast<double>(n_rows);
      for (int64_t r = 0; r < n_rows; ++r)
        for (int64_t j = 0; j < width; ++j) {
          double distance = static_cast<double>(x[r * row_stride + j0 + j]) - origin[j] - off[j];
          squares[j] += distance * distance;
        }
      for (int64_t j = 0; j < width; ++j)
        y[j0 + j] = {origin[j] + off[j], squares[j], static_cast<double>(n_rows)};
    }
  }
  static void combine(void* acc, const void* later, int64_t n) {
    A* y = static_cast<A*>(acc);
    const A* z = static_cast<const A*>(later);
    for (int64_t i = 0; i < n; ++i) {
      double count = y[i].n + z[i].n, share = z[i].n / count, apart = z[i].mean - y[i].mean;
      y[i] = {y[i].mean + apart * share,
              y[i].squares + z[i].squares + apart * apart * y[i].n * share, count};
    }
  }
  static void finish(const void* acc, int64_t n, void* values, void* seconds,
                     const ReduceParams& params) {
    const A* y = static_cast<const A*>(acc);
    for (int64_t i = 0; i < n; ++i) {
      double variance = y[i].squares / params.divisor;
      static_cast<double*>(values)[i] = params.takes_root ? std::sqrt(variance) : variance;
      static_cast<double*>(seconds)[i] = y[i].mean;
    }
  }
  static constexpr ReduceKernel kernel() {
    return {sizeof(A), DType::Float64, rows_of<Spread, T>, columns, combine, finish};
  }
};

using Row = std::array<ReduceKernel, kNumDTypes>;

template <class T>
constexpr void set(Row& row, ReduceKernel kernel) {
  row[static_cast<int>(DTypeOf<T>::value)] = kernel;
}

template <class Map, class Join>
constexpr Row numbers() {
  Row row = {};
  set<int64_t>(row, Fold<int64_t, Map, Join>::kernel());
  set<float>(row, Fold<float, Map, Join>::kernel());
  set<double>(row, Fold<double, Map, Join>::kernel());
  return row;
}
// An extremum is no larger than what it is of: no integer has to be widened.
template <class Join>
constexpr Row extrema() {
  Row row = numbers<Itself, Join>();
  set<uint8_t>(row, Fold<uint8_t, Itself, Join>::kernel());
  set<int8_t>(row, Fold<int8_t, Itself, Join>::kernel());
  set<int16_t>(row, Fold<int16_t, Itself, Join>::kernel());
  set<int32_t>(row, Fold<int32_t, Itself, Join>::kernel());
  return row;
}
template <class Map, class Join>
constexpr Row numbers_and_complex() {
  Row row = numbers<Map, Join>();
  set<Complex64>(row, Fold<Complex64, Map, Join>::kernel());
  set<Complex128>(row, Fold<Complex128, Map, Join>::kernel());
  return row;
}
template <class Join>
constexpr Row arg_numbers() {
  Row row = {};
  set<int64_t>(row, Arg<int64_t, Join>::kernel());
  set<float>(row, Arg<float, Join>::kernel());
  set<double>(row, Arg<double, Join>::kernel());
  return row;
}
// kernel_of(T()) is the kernel for T.
template <class F>
constexpr Row floating_and_complex(F kernel_of) {
  Row row = {};
  set<float>(row, kernel_of(float()));
  set<double>(row, kernel_of(double()));
  set<Complex64>(row, kernel_of(Complex64()));
  set<Complex128>(row, kernel_of(Complex128()));
  return row;
}
template <class Map, class Join>
constexpr Row norms() {
  return floating_and_complex([](auto t) { return Fold<decltype(t), Map, Join>::kernel(); });
}
template <bool kAll>
constexpr Row truths() {
  Row row = {};
  set<bool>(row, Truth<kAll>::kernel());
  return row;
}
constexpr Row spreads() {
  Row row = {};
  set<float>(row, Spread<float>::kernel());
  set<double>(row, Spread<double>::kernel());
  return row;
}

}  // namespace

extern const ReduceTable reduce_table;
const ReduceTable reduce_table = {{
    numbers_and_complex<Itself, Add>(),  // Sum
    floating_and_complex([](auto t) { return Fold<decltype(t), Itself, Add>::mean_kernel(); }),
    numbers_and_complex<ZeroForNan, Add>(),   // NanSum
    numbers_and_complex<Itself, Multiply>(),  // Prod
    extrema<Larger>(),                        // Max
    extrema<Smaller>(),                       // Min
    arg_numbers<Larger>(),                    // ArgMax
    arg_numbers<Smaller>(),                   // ArgMin
    truths<false>(),                          // Any
    truths<true>(),                           // All
    norms<OneIfNotZero, Add>(),               // Norm0
    norms<Magnitude, Add>(),                  // Norm1
    floating_and_complex([](auto t) { return Fold<decltype(t), Square, Add>::root_kernel(); }),
    floating_and_complex([](auto t) { return PowerSum<decltype(t)>::kernel(); }),
    norms<Magnitude, Larger>(),   // NormMax
    norms<Magnitude, Smaller>(),  // NormMin
    spreads(),                    // Moments
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
