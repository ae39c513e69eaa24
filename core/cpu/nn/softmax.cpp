#include "cpu/nn/softmax.h"

#include <algorithm>

#include "base/integers.h"
#include "cpu/row.h"
#include "cpu/transpose.h"
#include "math/exp_log.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// The larger of two, or NaN if one of them is; and the larger number, which passes over NaN, where
// the sum makes its row NaN.
struct Larger {
  template <class V>
  static FACULA_FN V join(V a, V b) {
    return max(a, b);
  }
};
struct LargerNumber {
  template <class V>
  static FACULA_FN V join(V a, V b) {
    return at_least(a, b);
  }
};

// S is the stored element, T what it is computed in.
template <class S>
struct Softmax {
  using T = Wide<S>;
  using V = Vec<T>;
  static constexpr int64_t L = V::kLanes;
  // Results of half precision are too coarse to hold the exponentials between two passes: they are
  // computed again.
  template <class E>
  static constexpr bool kRecomputes = !std::is_same_v<E, T>;
  // Rows up to this long may become columns, a vector of rows at a time: no lane is idle, and
  // nothing is joined across lanes.
  static constexpr int64_t kShortRow = 48;

  // exp(x - high) for x that are not above `high`.
  static FACULA_FN V exp_below(V x, V high) {
    return math::exp_of_clamped(at_least(x - high, math::lowest_exponent<V>()));
  }

  // Four vectors side by side: one alone would wait for itself.
  template <class Join>
  static V row_max(const S* x, int64_t size) {
    V low = V(-math::infinity<T>()), high[4] = {low, low, low, low};
    int64_t i = 0;
    for (; i + 4 * L <= size; i += 4 * L)
      for (int64_t k = 0; k < 4; ++k) high[k] = Join::join(high[k], V::load(x + i + k * L));
    walk_row<V>(size - i, [&](int64_t at, int64_t n) FACULA_INLINE {
      V part = keep_lanes(load_lanes<V>(x + i + at, n), n, -math::infinity<T>());
      high[0] = Join::join(high[0], part);
    });
    return join_lanes<Join>(Join::join(Join::join(high[0], high[1]), Join::join(high[2], high[3])));
  }

  // What becomes of a row once the sum of its exponentials is known. kKeeps: until then they are in
  // the result.
  struct Scaled {
    static constexpr bool kKeeps = !kRecomputes<S>;
    static FACULA_FN V norm(V total) { return V(T(1)) / total; }
    static FACULA_FN V result(const S* y, const S* x, int64_t n, V high, V scale) {
      return (kKeeps ? load_lanes<V>(y, n) : exp_below(load_lanes<V>(x, n), high)) * scale;
    }
  };
  struct Shifted {
    static constexpr bool kKeeps = false;
    static FACULA_FN V norm(V total) { return math::log(total); }
    static FACULA_FN V result(const S*, const S* x, int64_t n, V high, V shift) {
      return load_lanes<V>(x, n) - high - shift;
    }
  };

  // One loop for the exponentials of a row, the results of the one before and the maximum of the
  // one after it: those wait for memory for the most part, the exponentials do not.
  template <class Result>
  struct RowsInTurn {
    S* y;
    const S* x;
    int64_t size;
    V last_high, last_norm;
    V high;

    template <bool kHasLast, bool kHasThis, bool kHasNext>
    void step() {
      V total = V(T(0)), next_high = V(-math::infinity<T>());
      walk_row<V>(size, [&](int64_t i, int64_t n) FACULA_INLINE {
        if (kHasThis) {
          V e = exp_below(load_lanes<V>(x + i, n), high);
          if (Result::kKeeps) store_lanes(e, y + i, n);
          total += keep_lanes(e, n, T(0));
        }
        if (kHasNext) {
          prefetch_ahead(x + size + i);
          V next = keep_lanes(load_lanes<V>(x + size + i, n), n, -math::infinity<T>());
          next_high = LargerNumber::join(next_high, next);
        }
        if (kHasLast) {
          S* to = y - size + i;
          store_lanes(Result::result(to, x - size + i, n, last_high, last_norm), to, n);
        }
      });
      last_high = high, high = join_lanes<LargerNumber>(next_high);
      last_norm = Result::norm(join_lanes<Add>(total));
      x += size, y += size;
    }
  };
  template <class Result>
  static void normalize_rows(S* y, const S* x, int64_t size, int64_t n_rows) {
    RowsInTurn<Result> rows{y, x, size, V(), V(), row_max<LargerNumber>(x, size)};
    if (n_rows == 1) {
      rows.template step<false, true, false>();
    } else {
      rows.template step<false, true, true>();
      for (int64_t row = 1; row + 1 < n_rows; ++row) rows.template step<true, true, true>();
      rows.template step<true, true, false>();
    }
    rows.template step<true, false, false>();
  }

  static void softmax_rows(S* y, const S* x, const S*, int64_t size, int64_t n_rows) {
    normalize_rows<Scaled>(y, x, size, n_rows);
  }
  static void log_softmax_rows(S* y, const S* x, const S*, int64_t size, int64_t n_rows) {
    normalize_rows<Shifted>(y, x, size, n_rows);
  }

  static void softmax_backward_rows(S* gx, const S* g, const S* y, int64_t size, int64_t n_rows) {
    for (int64_t row = 0; row < n_rows; ++row, gx += size, g += size, y += size) {
      V total = V(T(0));
      walk_row<V>(size, [&](int64_t i, int64_t n) FACULA_INLINE {
        total += load_lanes<V>(g + i, n) * load_lanes<V>(y + i, n);
      });
      V dot = join_lanes<Add>(total);
      walk_row<V>(size, [&](int64_t i, int64_t n) FACULA_INLINE {
        store_lanes(load_lanes<V>(y + i, n) * (load_lanes<V>(g + i, n) - dot), gx + i, n);
      });
    }
  }

  static void log_softmax_backward_rows(S* gx, const S* g, const S* y, int64_t size,
                                        int64_t n_rows) {
    for (int64_t row = 0; row < n_rows; ++row, gx += size, g += size, y += size) {
      V total = V(T(0));
      walk_row<V>(size,
                  [&](int64_t i, int64_t n) FACULA_INLINE { total += load_lanes<V>(g + i, n); });
      V sum = join_lanes<Add>(total);
      walk_row<V>(size, [&](int64_t i, int64_t n) FACULA_INLINE {
        store_lanes(load_lanes<V>(g + i, n) - math::exp(load_lanes<V>(y + i, n)) * sum, gx + i, n);
      });
    }
  }

  // ---- a column per lane, rows `step` elements apart. Of one vector n lanes are taken; several
  // vectors are whole, and take turns: each row is read as far as its cache lines reach.
  static constexpr int kBeside = 4;

  // f(k, i) for vector k of each row, whose first element is i.
  template <int kVectors, class F>
  static FACULA_FN void walk_columns(int64_t size, int64_t step, F f) {
    for (int64_t r = 0; r < size; ++r)
      for (int k = 0; k < kVectors; ++k) f(k, r * step + k * L);
  }
  template <class Join, int kVectors, class E>
  static FACULA_FN void find_highs(const E* x, int64_t size, int64_t step, int64_t n, V* highs) {
    std::fill_n(highs, kVectors, V(-math::infinity<T>()));
    walk_columns<kVectors>(size, step, [&](int k, int64_t i) FACULA_INLINE {
      highs[k] = Join::join(highs[k], load_lanes<V>(x + i, n));
    });
  }

  template <int kVectors, class E>
  static void softmax_columns(E* y, const E* x, const E*, int64_t size, int64_t step, int64_t n) {
    V highs[kVectors], totals[kVectors];
    find_highs<LargerNumber, kVectors>(x, size, step, n, highs);
    std::fill_n(totals, kVectors, V(T(0)));
    walk_columns<kVectors>(size, step, [&](int k, int64_t i) FACULA_INLINE {
      V e = exp_below(load_lanes<V>(x + i, n), highs[k]);
      if (!kRecomputes<E>) store_lanes(e, y + i, n);
      totals[k] += e;
    });
    for (V& total : totals) total = V(T(1)) / total;
    walk_columns<kVectors>(size, step, [&](int k, int64_t i) FACULA_INLINE {
      V e = kRecomputes<E> ? exp_below(load_lanes<V>(x + i, n), highs[k]) : load_lanes<V>(y + i, n);
      store_lanes(e * totals[k], y + i, n);
    });
  }

  template <int kVectors, class E>
  static void log_softmax_columns(E* y, const E* x, const E*, int64_t size, int64_t step,
                                  int64_t n) {
    V highs[kVectors], totals[kVectors];
    find_highs<LargerNumber, kVectors>(x, size, step, n, highs);
    std::fill_n(totals, kVectors, V(T(0)));
    walk_columns<kVectors>(size, step, [&](int k, int64_t i) FACULA_INLINE {
      totals[k] += exp_below(load_lanes<V>(x + i, n), highs[k]);
    });
    for (V& total : totals) total = math::log(total);
    walk_columns<kVectors>(size, step, [&](int k, int64_t i) FACULA_INLINE {
      store_lanes(load_lanes<V>(x + i, n) - highs[k] - totals[k], y + i, n);
    });
  }

  template <int kVectors, class E>
  static void softmax_backward_columns(E* gx, const E* g, const E* y, int64_t size, int64_t step,
                                       int64_t n) {
    V dots[kVectors];
    std::fill_n(dots, kVectors, V(T(0)));
    walk_columns<kVectors>(size, step, [&](int k, int64_t i) FACULA_INLINE {
      dots[k] += load_lanes<V>(g + i, n) * load_lanes<V>(y + i, n);
    });
    walk_columns<kVectors>(size, step, [&](int k, int64_t i) FACULA_INLINE {
      store_lanes(load_lanes<V>(y + i, n) * (load_lanes<V>(g + i, n) - dots[k]), gx + i, n);
    });
  }

  template <int kVectors, class E>
  static void log_softmax_backward_columns(E* gx, const E* g, const E* y, int64_t size,
                                           int64_t step, int64_t n) {
    V sums[kVectors];
    std::fill_n(sums, kVectors, V(T(0)));
    walk_columns<kVectors>(
        size, step, [&](int k, int64_t i) FACULA_INLINE { sums[k] += load_lanes<V>(g + i, n); });
    walk_columns<kVectors>(size, step, [&](int k, int64_t i) FACULA_INLINE {
      store_lanes(load_lanes<V>(g + i, n) - math::exp(load_lanes<V>(y + i, n)) * sums[k], gx + i,
                  n);
    });
  }

  // ---- short rows as columns

  // n rows of `size` elements from x on: the element c of row r goes to columns[c * L + r].
  static void turn(const S* x, int64_t size, int64_t n, T* columns) {
    for (int64_t c = 0; c < size; c += L) {
      int64_t width = std::min(L, size - c);
      V square[L];
      for (int64_t r = 0; r < L; ++r)
        square[r] = r < n ? load_lanes<V>(x + r * size + c, width) : V(T(0));
      transpose(square);
      for (int64_t k = 0; k < width; ++k) square[k].store(columns + (c + k) * L);
    }
  }
  static void turn_back(const T* columns, int64_t size, int64_t n, S* y) {
    for (int64_t c = 0; c < size; c += L) {
      int64_t width = std::min(L, size - c);
      V square[L];
      for (int64_t k = 0; k < L; ++k)
        square[k] = k < width ? V::load(columns + (c + k) * L) : V(T(0));
      transpose(square);
      for (int64_t r = 0; r < n; ++r) store_lanes(square[r], y + r * size + c, width);
    }
  }

  template <class E>
  static FACULA_FN E* offset_by(E* p, int64_t n) {
    return p ? p + n : p;
  }

  // rows() for all, or columns(vectors, y, a, b, step, n, row) for a vector of columns, or some, of
  // which `row` is the number of the first. y and b may be null; kTurns: short rows are taken as
  // columns, which pays where a row is joined to one value twice.
  template <bool kTurns, class Rows, class Columns>
  static FACULA_FN void for_each(SoftmaxShape shape, int64_t begin, int64_t end, S* y, const S* a,
                                 const S* b, Rows rows, Columns columns) {
    constexpr std::integral_constant<int, 1> kOne;
    constexpr std::integral_constant<int, kBeside> kSome;
    int64_t size = shape.size, inner = shape.inner;
    if (kTurns && inner == 1 && size <= kShortRow) {
      T turned_y[kShortRow * L], turned_a[kShortRow * L];
      for (int64_t r = begin; r < end; r += L) {
        int64_t n = std::min(L, end - r);
        turn(a + r * size, size, n, turned_a);
        columns(kOne, turned_y, turned_a, static_cast<const T*>(nullptr), L, n, r);
        if (y) turn_back(turned_y, size, n, y + r * size);
      }
      return;
    }
    if (inner == 1) {
      rows();
      return;
    }
    int64_t n_blocks = ceil_div(inner, kSoftmaxColumns);
    for (int64_t block = begin; block < end; ++block) {
      int64_t first = block % n_blocks * kSoftmaxColumns,
              last = std::min(first + kSoftmaxColumns, inner), slice = block / n_blocks;
      auto run = [&](auto vectors, int64_t j, int64_t n) FACULA_INLINE {
        int64_t at = slice * size * inner + j;
        columns(vectors, offset_by(y, at), a + at, offset_by(b, at), inner, n, slice * inner + j);
      };
      for (; first + kBeside * L <= last; first += kBeside * L) run(kSome, first, L);
      for (; first < last; first += L) run(kOne, first, std::min(L, last - first));
    }
  }

  // An infinite maximum is the result itself: it must not hide a NaN.
  static void log_sum_exp(char* to, const char* from, const char*, SoftmaxShape shape,
                          int64_t begin, int64_t end) {
    T *high_of = reinterpret_cast<T*>(to), *log_of = high_of + shape.n_rows;
    const S* x = reinterpret_cast<const S*>(from);
    for_each<true>(
        shape, begin, end, static_cast<S*>(nullptr), x, static_cast<const S*>(nullptr),
        [&] {
          for (int64_t row = begin; row < end; ++row) {
            const S* row_x = x + row * shape.size;
            V high = row_max<Larger>(row_x, shape.size), total = V(T(0));
            walk_row<V>(shape.size, [&](int64_t i, int64_t n) FACULA_INLINE {
              prefetch_ahead(row_x + i);  // the search for the next maximum would wait for it
              total += keep_lanes(exp_below(load_lanes<V>(row_x + i, n), high), n, T(0));
            });
            high_of[row] = high[0];
            log_of[row] = math::log(join_lanes<Add>(total))[0];
          }
        },
        [&](auto vectors, auto*, auto* x, auto*, int64_t step, int64_t n, int64_t row) {
          constexpr int kVectors = vectors;
          V highs[kVectors], totals[kVectors];
          find_highs<Larger, kVectors>(x, shape.size, step, n, highs);
          std::fill_n(totals, kVectors, V(T(0)));
          walk_columns<kVectors>(shape.size, step, [&](int k, int64_t i) FACULA_INLINE {
            totals[k] += exp_below(load_lanes<V>(x + i, n), highs[k]);
          });
          for (int k = 0; k < kVectors; ++k) {
            highs[k].store(high_of + row + k * L, n);
            math::log(totals[k]).store(log_of + row + k * L, n);
          }
        });
  }

  static void scaled_softmax(char* to, const char* from, const char* stats, SoftmaxShape shape,
                             int64_t begin, int64_t end) {
    S* y = reinterpret_cast<S*>(to);
    const S* x = reinterpret_cast<const S*>(from);
    const T *highs = reinterpret_cast<const T*>(stats), *logs = highs + shape.n_rows,
            *scales = logs + shape.n_rows;
    for_each<false>(
        shape, begin, end, y, x, static_cast<const S*>(nullptr),
        [&] {
          for (int64_t row = begin; row < end; ++row) {
            V high = V(highs[row]), log = V(logs[row]), scale = V(scales[row]);
            int64_t at = row * shape.size;
            walk_row<V>(shape.size, [&](int64_t i, int64_t n) FACULA_INLINE {
              store_lanes(math::exp(load_lanes<V>(x + at + i, n) - high - log) * scale, y + at + i,
                          n);
            });
          }
        },
        [&](auto vectors, auto* y, auto* x, auto*, int64_t step, int64_t n, int64_t row) {
          constexpr int kVectors = vectors;
          V high[kVectors], log[kVectors], scale[kVectors];
          for (int k = 0; k < kVectors; ++k) {
            high[k] = V::load(highs + row + k * L, n);
            log[k] = V::load(logs + row + k * L, n);
            scale[k] = V::load(scales + row + k * L, n);
          }
          walk_columns<kVectors>(shape.size, step, [&](int k, int64_t i) FACULA_INLINE {
            V e = math::exp(load_lanes<V>(x + i, n) - high[k] - log[k]);
            store_lanes(e * scale[k], y + i, n);
          });
        });
  }

#define FACULA_SOFTMAX(name, kTurns)                                                     \
  static void name(char* to, const char* from, const char* result, SoftmaxShape shape,   \
                   int64_t begin, int64_t end) {                                         \
    S* y = reinterpret_cast<S*>(to);                                                     \
    const S* a = reinterpret_cast<const S*>(from);                                       \
    const S* b = reinterpret_cast<const S*>(result);                                     \
    for_each<kTurns>(                                                                    \
        shape, begin, end, y, a, b,                                                      \
        [&] {                                                                            \
          int64_t at = begin * shape.size;                                               \
          name##_rows(y + at, a + at, offset_by(b, at), shape.size, end - begin);        \
        },                                                                               \
        [&](auto vectors, auto* y, auto* a, auto* b, int64_t step, int64_t n, int64_t) { \
          using E = std::remove_pointer_t<decltype(y)>;                                  \
          name##_columns<vectors, E>(y, a, b, shape.size, step, n);                      \
        });                                                                              \
  }
  FACULA_SOFTMAX(softmax, true)
  FACULA_SOFTMAX(log_softmax, true)
  FACULA_SOFTMAX(softmax_backward, false)
  FACULA_SOFTMAX(log_softmax_backward, false)
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
