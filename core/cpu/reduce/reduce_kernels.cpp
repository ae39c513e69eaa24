#include "cpu/reduce/reduce_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/reduce/fold.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

namespace formula {
#define FOLD(name, result, kinds, element_of, JoinOf, total_of) \
  struct name {                                                 \
    using Join = math::JoinOf;                                  \
    template <class T>                                          \
    static FACULA_FN auto element(T x) {                        \
      return element_of;                                        \
    }                                                           \
    template <class A, class N>                                 \
    static FACULA_FN A total(A a, [[maybe_unused]] N n) {       \
      return total_of;                                          \
    }                                                           \
  };
#include "tables/reduce.def"
}  // namespace formula

// The norm of an arbitrary order p.
template <class T>
struct NormP {
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
        sizeof(A), DTypeOf<A>::value, rows_of<NormP, T>, columns, Fold<A, formula::sum>::combine,
        finish};
  }
};

// The extremum and where it is first found; NaN beats everything.
template <class T, class Formula>
struct Arg {
  using Join = typename Formula::Join;
  using V = Vec<T>;
  struct A {
    T value;
    int64_t index;
  };
  static_assert(sizeof(A) <= kMaxAccumulatorBytes);

  static A row(const T* x, int64_t n, int64_t first, const ReduceParams& params) {
    constexpr int64_t L = Vec<T>::kLanes;
    // Which lane it is found in is hard to predict: short rows go without branches. 100000 rows of
    // 10 of int64 take 0.4 ms instead of 8.2.
    if (n <= 2 * L) return short_row(x, n, first);
    V best = Fold<T, Formula>::row(x, n, 0, params);
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
  static FACULA_FN A short_row(const T* x, int64_t n, int64_t first) {
    T best = x[0];
    int64_t at = 0;
    for (int64_t i = 1; i < n; ++i) {
      bool takes = Join::beats(x[i], best);
      best = takes ? x[i] : best;
      at = takes ? i : at;
    }
    return {best, first + at};
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
          bool takes = Join::beats(x[j], best[j]);
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
      if (Join::beats(z[i].value, y[i].value)) y[i] = z[i];
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

template <class T>
using ArgMax = Arg<T, formula::amax>;
template <class T>
using ArgMin = Arg<T, formula::amin>;

// any and all, eight at a time. Every byte of the input but 0 is true; accumulators are 0 or 1.
template <class Formula>
struct Truth {
  static constexpr bool kAll = std::is_same_v<typename Formula::Join, math::Both>;
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

// Mean and sum of squared distances, in double. Within a chunk both are computed in two passes;
// chunks join by the formula of Chan, Golub and LeVeque.
template <class T>
struct Moments {
  struct A {
    double mean, squares, n;
  };
  static_assert(sizeof(A) <= kMaxAccumulatorBytes);

  using V = Vec<double>;
  static FACULA_FN V load(const T* x, int64_t n) {
    if constexpr (std::is_same_v<T, double>) {
      return load_lanes<V>(x, n);
    } else if (n < V::kLanes) {
      return widen(Vec<T>::load(x, n)).low;
    } else {
      Native<T, kVecBytes / 2> half;
      std::memcpy(&half, x, sizeof(half));
      return __builtin_convertvector(half, Native<double>);
    }
  }
  template <class F>
  static FACULA_FN double sum_of(const T* x, int64_t n, F f) {
    return join_lanes<Add>(fold_row<Add, V, 16>(n, [=](int64_t i, int64_t k) FACULA_INLINE {
      return keep_lanes(f(load(x + i, k)), k, 0.0);
    }))[0];
  }

  // Distances are first taken from the first element: equal elements have a spread of exactly 0.
  static A row(const T* x, int64_t n, int64_t, const ReduceParams&) {
    double count = static_cast<double>(n), origin = n > 0 ? static_cast<double>(x[0]) : 0;
    double off = sum_of(x, n, [=](V v) FACULA_INLINE { return v - V(origin); }) / count;
    double squares = sum_of(x, n, [=](V v) FACULA_INLINE {
      V distance = v - V(origin) - V(off);
      return distance * distance;
    });
    return {origin + off, squares, count};
  }
  static void columns(const void* from, int64_t row_stride, int64_t n_rows, int64_t n, int64_t,
                      void* acc, const ReduceParams& params) {
    const T* x = static_cast<const T*>(from);
    A* y = static_cast<A*>(acc);
    constexpr int64_t kBlock = 64;
    // Narrow rows are taken some at a time, as one row, whose columns are joined afterwards.
    const int64_t n_beside = kBlock / n;
    if (row_stride == n && n_beside > 1 && n_rows >= 4 * n_beside) {
      A beside[kBlock];
      int64_t n_wide = n_rows / n_beside, n_taken = n_wide * n_beside;
      columns(x, n * n_beside, n_wide, n * n_beside, 0, beside, params);
      std::copy_n(beside, n, y);
      for (int64_t k = 1; k < n_beside; ++k) combine(y, beside + k * n, n);
      if (n_taken == n_rows) return;
      columns(x + n_taken * n, n, n_rows - n_taken, n, 0, beside, params);
      return combine(y, beside, n);
    }
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
    return {sizeof(A), DType::Float64, rows_of<Moments, T>, columns, combine, finish};
  }
};

template <class Formula>
struct FoldOf {
  template <class T>
  using Kernel = std::conditional_t<std::is_same_v<T, bool>, Truth<Formula>, Fold<T, Formula>>;
};

// Kernel<T>::kernel() for each type T that is read; folds read 16-bit floats as they are, too.
template <ReduceResult kResult, Kinds kKinds, template <class> class Kernel, bool kIsFold>
constexpr std::array<ReduceKernel, kNumDTypes> by_dtype() {
  std::array<ReduceKernel, kNumDTypes> kernels = {};
#define FACULA_SET(T, Name)                                                               \
  if constexpr (is_read_as<T>(kResult, kKinds) ||                                         \
                (kIsFold && is_reduced_float_v<T> && is_read_as<float>(kResult, kKinds))) \
    kernels[static_cast<int>(DType::Name)] = Kernel<T>::kernel();
  FACULA_FORALL_DTYPES(FACULA_SET)
#undef FACULA_SET
  return kernels;
}

}  // namespace

extern const ReduceTable reduce_table;
const ReduceTable reduce_table = {{
#define FOLD(name, result, kinds, ...) \
  by_dtype<ReduceResult::result, Kinds::kinds, FoldOf<formula::name>::template Kernel, true>(),
#define KERNEL(name, Class, kinds, ...) by_dtype<ReduceResult::Total, Kinds::kinds, Class, false>(),
#include "tables/reduce.def"
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
