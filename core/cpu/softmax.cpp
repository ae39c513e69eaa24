#include "cpu/softmax.h"

#include <algorithm>

#include "base/integers.h"
#include "cpu/vec.h"
#include "math/exp_log.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Each lambda is called twice, for whole vectors and for the rest; inlined, the first call knows
// that its vectors are whole.
#define FACULA_INLINE __attribute__((always_inline))

// S is the stored element, T what it is computed in.
template <class S>
struct Softmax {
  using T = Wide<S>;
  using V = Vec<T>;
  static constexpr int64_t L = V::kLanes;
  // Results of half precision are too coarse to hold the exponentials between two passes: they are
  // computed again.
  static constexpr bool kRecomputes = !std::is_same_v<S, T>;

  static FACULA_FN T sum_of(V x) {
    T lanes[L];
    x.store(lanes);
    for (int64_t n = L / 2; n > 0; n /= 2)
      for (int64_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
    return lanes[0];
  }
  static FACULA_FN T max_of(V x) {
    T lanes[L];
    x.store(lanes);
    for (int64_t n = L / 2; n > 0; n /= 2)
      for (int64_t i = 0; i < n; ++i) lanes[i] = math::max(lanes[i], lanes[i + n]);
    return lanes[0];
  }

  // f(i, n) for vectors of n lanes from element i.
  template <class F>
  static FACULA_FN void walk(int64_t size, F f) {
    int64_t i = 0;
    for (; i + L <= size; i += L) f(i, L);
    if (i < size) f(i, size - i);
  }
  static FACULA_FN V load(const S* x, int64_t n) { return n == L ? V::load(x) : V::load(x, n); }
  static FACULA_FN void store(V v, S* y, int64_t n) { n == L ? v.store(y) : v.store(y, n); }
  // Lanes from n on become `other`.
  static FACULA_FN V keep(V v, int64_t n, T other) {
    static constexpr T lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static_assert(L <= 16);
    if (n == L) return v;
    return select(V::load(lanes) < V(static_cast<T>(n)), v, V(other));
  }

  // exp(x - high) for x that are not above `high`.
  static FACULA_FN V exp_below(V x, V high) {
    return math::exp_of_clamped(at_least(x - high, math::lowest_exponent<V>()));
  }

  // Four vectors side by side: one alone would wait for itself.
  static T row_max(const S* x, int64_t size) {
    V low = V(-math::infinity<T>()), high[4] = {low, low, low, low};
    int64_t i = 0;
    for (; i + 4 * L <= size; i += 4 * L)
      for (int64_t k = 0; k < 4; ++k) high[k] = max(high[k], V::load(x + i + k * L));
    walk(size - i, [&](int64_t at, int64_t n) FACULA_INLINE {
      high[0] = max(high[0], keep(load(x + i + at, n), n, -math::infinity<T>()));
    });
    return max_of(max(max(high[0], high[1]), max(high[2], high[3])));
  }

  static void softmax_row(S* y, const S* x, int64_t size) {
    V high = V(row_max(x, size));
    V total = V(T(0));
    walk(size, [&](int64_t i, int64_t n) FACULA_INLINE {
      V e = exp_below(load(x + i, n), high);
      if (!kRecomputes) store(e, y + i, n);
      total += keep(e, n, T(0));
    });
    V scale = V(T(1) / sum_of(total));
    walk(size, [&](int64_t i, int64_t n) FACULA_INLINE {
      V e = kRecomputes ? exp_below(load(x + i, n), high) : load(y + i, n);
      store(e * scale, y + i, n);
    });
  }

  static void log_softmax_row(S* y, const S* x, int64_t size) {
    V high = V(row_max(x, size));
    V total = V(T(0));
    walk(size, [&](int64_t i, int64_t n)
                   FACULA_INLINE { total += keep(exp_below(load(x + i, n), high), n, T(0)); });
    V shift = V(math::log(sum_of(total)));
    walk(size, [&](int64_t i, int64_t n)
                   FACULA_INLINE { store(load(x + i, n) - high - shift, y + i, n); });
  }

  static void softmax_backward_row(S* gx, const S* g, const S* y, int64_t size) {
    V total = V(T(0));
    walk(size,
         [&](int64_t i, int64_t n) FACULA_INLINE { total += load(g + i, n) * load(y + i, n); });
    V dot = V(sum_of(total));
    walk(size, [&](int64_t i, int64_t n)
                   FACULA_INLINE { store(load(y + i, n) * (load(g + i, n) - dot), gx + i, n); });
  }

  static void log_softmax_backward_row(S* gx, const S* g, const S* y, int64_t size) {
    V total = V(T(0));
    walk(size, [&](int64_t i, int64_t n) FACULA_INLINE { total += load(g + i, n); });
    V sum = V(sum_of(total));
    walk(size, [&](int64_t i, int64_t n) FACULA_INLINE {
      store(load(g + i, n) - math::exp(load(y + i, n)) * sum, gx + i, n);
    });
  }

  // ---- a column per lane: n of them, rows `step` elements apart

  static void softmax_columns(S* y, const S* x, int64_t size, int64_t step, int64_t n) {
    V high = V(-math::infinity<T>());
    for (int64_t r = 0; r < size; ++r) high = max(high, load(x + r * step, n));
    V total = V(T(0));
    for (int64_t r = 0; r < size; ++r) {
      V e = exp_below(load(x + r * step, n), high);
      if (!kRecomputes) store(e, y + r * step, n);
      total += e;
    }
    V scale = V(T(1)) / total;
    for (int64_t r = 0; r < size; ++r) {
      V e = kRecomputes ? exp_below(load(x + r * step, n), high) : load(y + r * step, n);
      store(e * scale, y + r * step, n);
    }
  }

  static void log_softmax_columns(S* y, const S* x, int64_t size, int64_t step, int64_t n) {
    V high = V(-math::infinity<T>());
    for (int64_t r = 0; r < size; ++r) high = max(high, load(x + r * step, n));
    V total = V(T(0));
    for (int64_t r = 0; r < size; ++r) total += exp_below(load(x + r * step, n), high);
    V shift = math::log(total);
    for (int64_t r = 0; r < size; ++r) store(load(x + r * step, n) - high - shift, y + r * step, n);
  }

  static void softmax_backward_columns(S* gx, const S* g, const S* y, int64_t size, int64_t step,
                                       int64_t n) {
    V dot = V(T(0));
    for (int64_t r = 0; r < size; ++r) dot += load(g + r * step, n) * load(y + r * step, n);
    for (int64_t r = 0; r < size; ++r)
      store(load(y + r * step, n) * (load(g + r * step, n) - dot), gx + r * step, n);
  }

  static void log_softmax_backward_columns(S* gx, const S* g, const S* y, int64_t size,
                                           int64_t step, int64_t n) {
    V sum = V(T(0));
    for (int64_t r = 0; r < size; ++r) sum += load(g + r * step, n);
    for (int64_t r = 0; r < size; ++r)
      store(load(g + r * step, n) - math::exp(load(y + r * step, n)) * sum, gx + r * step, n);
  }

  // The row to which the element at `offset`, the first of a row or of a vector of columns,
  // belongs.
  static FACULA_FN int64_t row_of(SoftmaxShape shape, int64_t offset) {
    int64_t slice = shape.size * shape.inner;
    return offset / slice * shape.inner + offset % slice;
  }

  static void log_sum_exp(char* to, const char* from, const char*, SoftmaxShape shape,
                          int64_t begin, int64_t end) {
    T *highs = reinterpret_cast<T*>(to), *logs = highs + shape.n_rows;
    const S* x = reinterpret_cast<const S*>(from);
    for_each(
        shape, begin, end,
        [&](int64_t at) {
          T top = row_max(x + at, shape.size);
          V high = V(top), total = V(T(0));
          walk(shape.size, [&](int64_t i, int64_t n) FACULA_INLINE {
            total += keep(exp_below(load(x + at + i, n), high), n, T(0));
          });
          highs[row_of(shape, at)] = top;
          logs[row_of(shape, at)] = math::log(sum_of(total));
        },
        [&](int64_t at, int64_t n) {
          V high = V(-math::infinity<T>()), total = V(T(0));
          for (int64_t r = 0; r < shape.size; ++r)
            high = max(high, load(x + at + r * shape.inner, n));
          for (int64_t r = 0; r < shape.size; ++r)
            total += exp_below(load(x + at + r * shape.inner, n), high);
          high.store(highs + row_of(shape, at), n);
          math::log(total).store(logs + row_of(shape, at), n);
        });
  }

  static void scaled_softmax(char* to, const char* from, const char* stats, SoftmaxShape shape,
                             int64_t begin, int64_t end) {
    S* y = reinterpret_cast<S*>(to);
    const S* x = reinterpret_cast<const S*>(from);
    const T *highs = reinterpret_cast<const T*>(stats), *logs = highs + shape.n_rows,
            *scales = logs + shape.n_rows;
    for_each(
        shape, begin, end,
        [&](int64_t at) {
          int64_t row = row_of(shape, at);
          V high = V(highs[row]), log = V(logs[row]), scale = V(scales[row]);
          walk(shape.size, [&](int64_t i, int64_t n) FACULA_INLINE {
            store(math::exp(load(x + at + i, n) - high - log) * scale, y + at + i, n);
          });
        },
        [&](int64_t at, int64_t n) {
          int64_t row = row_of(shape, at);
          V high = V::load(highs + row, n), log = V::load(logs + row, n),
            scale = V::load(scales + row, n);
          for (int64_t r = 0; r < shape.size; ++r) {
            int64_t i = at + r * shape.inner;
            store(math::exp(load(x + i, n) - high - log) * scale, y + i, n);
          }
        });
  }

  // rows(offset) for each row, or columns(offset, n) for each vector of columns.
  template <class Rows, class Columns>
  static FACULA_FN void for_each(SoftmaxShape shape, int64_t begin, int64_t end, Rows rows,
                                 Columns columns) {
    if (shape.inner == 1) {
      for (int64_t r = begin; r < end; ++r) rows(r * shape.size);
      return;
    }
    int64_t n_blocks = ceil_div(shape.inner, kSoftmaxColumns);
    for (int64_t b = begin; b < end; ++b) {
      int64_t first = b % n_blocks * kSoftmaxColumns,
              last = std::min(first + kSoftmaxColumns, shape.inner);
      int64_t base = b / n_blocks * shape.size * shape.inner;
      for (int64_t j = first; j < last; j += L) columns(base + j, std::min(L, last - j));
    }
  }

#define FACULA_SOFTMAX(name, ...)                                                      \
  static void name(char* to, const char* from, const char* result, SoftmaxShape shape, \
                   int64_t begin, int64_t end) {                                       \
    S* y = reinterpret_cast<S*>(to);                                                   \
    const S* a = reinterpret_cast<const S*>(from);                                     \
    [[maybe_unused]] const S* b = reinterpret_cast<const S*>(result);                  \
    for_each(                                                                          \
        shape, begin, end,                                                             \
        [&](int64_t at) { name##_row(y + at, a + at __VA_ARGS__, shape.size); },       \
        [&](int64_t at, int64_t n) {                                                   \
          name##_columns(y + at, a + at __VA_ARGS__, shape.size, shape.inner, n);      \
        });                                                                            \
  }
#define FACULA_B , b + at
  FACULA_SOFTMAX(softmax)
  FACULA_SOFTMAX(log_softmax)
  FACULA_SOFTMAX(softmax_backward, FACULA_B)
  FACULA_SOFTMAX(log_softmax_backward, FACULA_B)
#undef FACULA_B
#undef FACULA_SOFTMAX
};

constexpr SoftmaxTable::Row floating_row(SoftmaxKernel f16, SoftmaxKernel bf16, SoftmaxKernel f32,
                                         SoftmaxKernel f64) {
  SoftmaxTable::Row row = {};
  row[static_cast<int>(DType::Float16)] = f16;
  row[static_cast<int>(DType::BFloat16)] = bf16;
  row[static_cast<int>(DType::Float32)] = f32;
  row[static_cast<int>(DType::Float64)] = f64;
  return row;
}

}  // namespace

extern const SoftmaxTable softmax_table;
#define FACULA_ROW(name)                                                           \
  floating_row(Softmax<Half>::name, Softmax<BFloat16>::name, Softmax<float>::name, \
               Softmax<double>::name)
const SoftmaxTable softmax_table = {FACULA_ROW(softmax),          FACULA_ROW(log_softmax),
                                    FACULA_ROW(softmax_backward), FACULA_ROW(log_softmax_backward),
                                    FACULA_ROW(log_sum_exp),      FACULA_ROW(scaled_softmax)};
#undef FACULA_ROW

}  // namespace FACULA_ISA
}  // namespace facula::cpu
