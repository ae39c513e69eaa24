#include "cpu/nn/norm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cpu/row.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Elements whose sums are taken in one go: they stay in L1 for a second pass, and the error of
// their sum stays small in float.
constexpr int64_t kChunk = 4096;

// S is the stored element, W what it is computed in.
template <class S>
struct Norm {
  using W = Wide<S>;
  using V = Vec<W>;
  static constexpr int64_t L = V::kLanes;

  static const S* elements(const char* x) { return reinterpret_cast<const S*>(x); }
  static S* elements(char* x) { return reinterpret_cast<S*>(x); }
  static const W* numbers(const char* x) { return reinterpret_cast<const W*>(x); }
  static W* numbers(char* x) { return reinterpret_cast<W*>(x); }

  static FACULA_FN W total(V v) { return join_lanes<Add>(v)[0]; }

  // The sum of f(i, n). Four vectors side by side: one alone would wait for itself.
  template <class F>
  static FACULA_FN W sum_of(int64_t size, F f) {
    V sums[4] = {V(W(0)), V(W(0)), V(W(0)), V(W(0))};
    int64_t i = 0;
    for (; i + 4 * L <= size; i += 4 * L)
      for (int64_t k = 0; k < 4; ++k) sums[k] += f(i + k * L, L);
    for (; i + L <= size; i += L) sums[0] += f(i, L);
    if (i < size) sums[1] += f(i, size - i);
    return total((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }

  // ---- rows

  // What is left of a mean when it is rounded to W. The sums and maps make up for it: it may be as
  // large as the elements' distances from their mean.
  static FACULA_FN double rest_of(double mean) { return mean - static_cast<W>(mean); }

  // The moments from the sums of the distances from `center` and of their squares.
  static FACULA_FN Moments moments_about(W center, double sum, double squares, int64_t n) {
    double step = sum / static_cast<double>(n);
    return {center + step, std::max(0.0, squares - step * sum)};
  }

  static Moments moments_of(const S* x, int64_t n) {
    Moments all = {0, 0};
    for (int64_t begin = 0; begin < n; begin += kChunk) {
      const S* from = x + begin;
      int64_t m = std::min(kChunk, n - begin);
      W center = sum_of(m, [&](int64_t i, int64_t k)
                               FACULA_INLINE { return load_lanes<V>(from + i, k); }) /
                 static_cast<W>(m);
      V distances = V(W(0));
      W squares = sum_of(m, [&](int64_t i, int64_t k) FACULA_INLINE {
        V distance = keep_lanes(load_lanes<V>(from + i, k) - V(center), k, W(0));
        distances += distance;
        return distance * distance;
      });
      Moments part = moments_about(center, total(distances), squares, m);
      double share = static_cast<double>(m) / static_cast<double>(begin + m);
      double step = part.mean - all.mean;
      all.mean += step * share;
      all.squares += part.squares + step * step * share * static_cast<double>(begin);
    }
    return all;
  }
  static double squares_of(const S* x, int64_t n) {
    double all = 0;
    for (int64_t begin = 0; begin < n; begin += kChunk) {
      const S* part = x + begin;
      all += sum_of(std::min(kChunk, n - begin), [&](int64_t i, int64_t k) FACULA_INLINE {
        V value = load_lanes<V>(part + i, k);
        return value * value;
      });
    }
    return all;
  }

  static Moments row_moments(const char* x, int64_t n) { return moments_of(elements(x), n); }

  static void row_map(char* to, const char* from, int64_t n, NormMap map) {
    S* y = elements(to);
    const S* x = elements(from);
    V mean = V(static_cast<W>(map.mean)), scale = V(static_cast<W>(map.scale)),
      shift = V(static_cast<W>(map.shift - rest_of(map.mean) * map.scale));
    walk_row<V>(n, [&](int64_t i, int64_t k) FACULA_INLINE {
      store_lanes(fma(load_lanes<V>(x + i, k) - mean, scale, shift), y + i, k);
    });
  }

  static GradSums row_sums(const char* grad, const char* from, int64_t n, double mean) {
    GradSums all = {0, 0};
    V center = V(static_cast<W>(mean));
    for (int64_t begin = 0; begin < n; begin += kChunk) {
      const S *g = elements(grad) + begin, *x = elements(from) + begin;
      V sum = V(W(0)), dot = sum, other_sum = sum, other_dot = sum;
      int64_t m = std::min(kChunk, n - begin), i = 0;
      for (; i + 2 * L <= m; i += 2 * L) {
        V a = V::load(g + i), b = V::load(g + i + L);
        sum += a;
        other_sum += b;
        dot = fma(a, V::load(x + i) - center, dot);
        other_dot = fma(b, V::load(x + i + L) - center, other_dot);
      }
      walk_row<V>(m - i, [&](int64_t j, int64_t k) FACULA_INLINE {
        V a = load_lanes<V>(g + i + j, k);
        sum += a;
        dot = fma(a, load_lanes<V>(x + i + j, k) - center, dot);
      });
      all.sum += total(sum + other_sum);
      all.dot += total(dot + other_dot);
    }
    all.dot -= rest_of(mean) * all.sum;
    return all;
  }

  static void row_grad(char* to, const char* grad, const char* from, int64_t n, GradMap map) {
    S* gx = elements(to);
    const S *g = elements(grad), *x = elements(from);
    V mean = V(static_cast<W>(map.mean)), of_grad = V(static_cast<W>(map.of_grad)),
      of_input = V(static_cast<W>(map.of_input)),
      constant = V(static_cast<W>(map.constant - rest_of(map.mean) * map.of_input));
    walk_row<V>(n, [&](int64_t i, int64_t k) FACULA_INLINE {
      V from_input = fma(load_lanes<V>(x + i, k) - mean, of_input, constant);
      store_lanes(fma(load_lanes<V>(g + i, k), of_grad, from_input), gx + i, k);
    });
  }

  // ---- columns

  template <int kWidth>
  using Width = std::integral_constant<int, kWidth>;

  // f(Width<K>, j, n) for K vectors of columns from column j; n lanes of the last one count. Four
  // at a time, so that memory is read in long pieces.
  template <class F>
  static FACULA_FN void walk_columns(int64_t n_columns, F f) {
    int64_t j = 0;
    for (; j + 4 * L <= n_columns; j += 4 * L) f(Width<4>{}, j, L);
    for (; j + L <= n_columns; j += L) f(Width<1>{}, j, L);
    if (j < n_columns) f(Width<1>{}, j, n_columns - j);
  }

  // f(i) for n neighbouring lanes as a vector.
  template <class F>
  static FACULA_FN V lanes_of(int64_t n, F f) {
    W lanes[L] = {};
    for (int64_t i = 0; i < n; ++i) lanes[i] = static_cast<W>(f(i));
    return V::load(lanes);
  }

  static void column_moments(Moments* out, const char* from, int64_t n_rows, int64_t n_columns) {
    walk_columns(n_columns, [&](auto width, int64_t j, int64_t n) FACULA_INLINE {
      constexpr int K = decltype(width)::value;
      const S* x = elements(from) + j;
      V centers[K], sums[K], squares[K];
      for (int k = 0; k < K; ++k) centers[k] = sums[k] = squares[k] = V(W(0));
      for (int64_t r = 0; r < n_rows; ++r)
        for (int k = 0; k < K; ++k) centers[k] += load_lanes<V>(x + r * n_columns + k * L, n);
      for (int k = 0; k < K; ++k) centers[k] /= V(static_cast<W>(n_rows));
      for (int64_t r = 0; r < n_rows; ++r)
        for (int k = 0; k < K; ++k) {
          V distance = load_lanes<V>(x + r * n_columns + k * L, n) - centers[k];
          sums[k] += distance;
          squares[k] = fma(distance, distance, squares[k]);
        }
      for (int k = 0; k < K; ++k) {
        W center[L], sum[L], square[L];
        centers[k].store(center);
        sums[k].store(sum);
        squares[k].store(square);
        for (int64_t i = 0; i < n; ++i)
          out[j + k * L + i] = moments_about(center[i], sum[i], square[i], n_rows);
      }
    });
  }

  static void column_map(char* to, const char* from, int64_t n_rows, int64_t n_columns,
                         const NormMap* maps) {
    if (n_columns > 4 * L) return map_rows(to, from, n_rows, n_columns, maps);
    walk_columns(n_columns, [&](auto width, int64_t j, int64_t n) FACULA_INLINE {
      constexpr int K = decltype(width)::value;
      V mean[K], scale[K], shift[K];
      for (int k = 0; k < K; ++k) {
        const NormMap* map = maps + j + k * L;
        mean[k] = lanes_of(n, [&](int64_t i) { return map[i].mean; });
        scale[k] = lanes_of(n, [&](int64_t i) { return map[i].scale; });
        shift[k] = lanes_of(
            n, [&](int64_t i) { return map[i].shift - rest_of(map[i].mean) * map[i].scale; });
      }
      for (int64_t r = 0; r < n_rows; ++r)
        for (int k = 0; k < K; ++k) {
          int64_t at = r * n_columns + j + k * L;
          V distance = load_lanes<V>(elements(from) + at, n) - mean[k];
          store_lanes(fma(distance, scale[k], shift[k]), elements(to) + at, n);
        }
    });
  }

  // column_map of long rows, each from end to end: a few columns of every row, 4096 bytes apart,
  // share a few sets of the cache. Batch norm of 1024 x 1024 takes 0.4 ms instead of 0.7.
  static void map_rows(char* to, const char* from, int64_t n_rows, int64_t n_columns,
                       const NormMap* maps) {
    constexpr int64_t kGroup = 4096 / sizeof(W);
    W means[kGroup], scales[kGroup], shifts[kGroup];
    for (int64_t j = 0; j < n_columns; j += kGroup) {
      int64_t m = std::min(kGroup, n_columns - j);
      for (int64_t i = 0; i < m; ++i) {
        NormMap map = maps[j + i];
        means[i] = static_cast<W>(map.mean);
        scales[i] = static_cast<W>(map.scale);
        shifts[i] = static_cast<W>(map.shift - rest_of(map.mean) * map.scale);
      }
      for (int64_t r = 0; r < n_rows; ++r) {
        const S* x = elements(from) + r * n_columns + j;
        S* y = elements(to) + r * n_columns + j;
        walk_row<V>(m, [&](int64_t i, int64_t k) FACULA_INLINE {
          V distance = load_lanes<V>(x + i, k) - load_lanes<V>(means + i, k);
          V shift = load_lanes<V>(shifts + i, k);
          store_lanes(fma(distance, load_lanes<V>(scales + i, k), shift), y + i, k);
        });
      }
    }
  }

  static void column_sums(GradSums* out, const char* grad, const char* from, int64_t n_rows,
                          int64_t n_columns, const double* means) {
    walk_columns(n_columns, [&](auto width, int64_t j, int64_t n) FACULA_INLINE {
      constexpr int K = decltype(width)::value;
      V mean[K], sums[K], dots[K];
      for (int k = 0; k < K; ++k) {
        mean[k] = lanes_of(n, [&](int64_t i) { return means[j + k * L + i]; });
        sums[k] = dots[k] = V(W(0));
      }
      for (int64_t r = 0; r < n_rows; ++r)
        for (int k = 0; k < K; ++k) {
          int64_t at = r * n_columns + j + k * L;
          V g = load_lanes<V>(elements(grad) + at, n);
          sums[k] += g;
          dots[k] = fma(g, load_lanes<V>(elements(from) + at, n) - mean[k], dots[k]);
        }
      for (int k = 0; k < K; ++k) {
        W sum[L], dot[L];
        sums[k].store(sum);
        dots[k].store(dot);
        for (int64_t i = 0; i < n; ++i)
          out[j + k * L + i] = {sum[i], dot[i] - rest_of(means[j + k * L + i]) * sum[i]};
      }
    });
  }

  static void column_grad(char* to, const char* grad, const char* from, int64_t n_rows,
                          int64_t n_columns, const GradMap* maps) {
    walk_columns(n_columns, [&](auto width, int64_t j, int64_t n) FACULA_INLINE {
      constexpr int K = decltype(width)::value;
      V mean[K], of_grad[K], of_input[K], constant[K];
      for (int k = 0; k < K; ++k) {
        const GradMap* map = maps + j + k * L;
        mean[k] = lanes_of(n, [&](int64_t i) { return map[i].mean; });
        of_grad[k] = lanes_of(n, [&](int64_t i) { return map[i].of_grad; });
        of_input[k] = lanes_of(n, [&](int64_t i) { return map[i].of_input; });
        constant[k] = lanes_of(
            n, [&](int64_t i) { return map[i].constant - rest_of(map[i].mean) * map[i].of_input; });
      }
      for (int64_t r = 0; r < n_rows; ++r)
        for (int k = 0; k < K; ++k) {
          int64_t at = r * n_columns + j + k * L;
          V from_input =
              fma(load_lanes<V>(elements(from) + at, n) - mean[k], of_input[k], constant[k]);
          store_lanes(fma(load_lanes<V>(elements(grad) + at, n), of_grad[k], from_input),
                      elements(to) + at, n);
        }
    });
  }

  // ---- rows with a weight for each element

  static void layer_norm(const LayerNorm& norm, char* to, const char* from, int64_t begin,
                         int64_t end) {
    const W *weight = numbers(norm.weight), *bias = numbers(norm.bias);
    int64_t n = norm.size;
    for (int64_t r = begin; r < end; ++r) {
      S* y = elements(to) + r * n;
      const S* x = elements(from) + r * n;
      double mean = 0, squares;
      if (norm.mean) {
        Moments moments = moments_of(x, n);
        mean = moments.mean;
        squares = moments.squares;
        numbers(norm.mean)[r] = static_cast<W>(mean);
      } else {
        squares = squares_of(x, n);
      }
      W rstd = static_cast<W>(1 / std::sqrt(squares / static_cast<double>(n) + norm.eps));
      numbers(norm.rstd)[r] = rstd;
      V center = V(static_cast<W>(mean)), scale = V(rstd),
        offset = V(static_cast<W>(-rest_of(mean) * rstd));
      walk_row<V>(n, [&](int64_t i, int64_t k) FACULA_INLINE {
        V value = fma(load_lanes<V>(x + i, k) - center, scale, offset);
        if (weight) value *= load_lanes<V>(weight + i, k);
        if (bias) value += load_lanes<V>(bias + i, k);
        store_lanes(value, y + i, k);
      });
    }
  }

  static void layer_norm_backward(const LayerNorm& norm, char* to, const char* grad,
                                  const char* from, char* weight_grad, char* bias_grad,
                                  int64_t begin, int64_t end) {
    const W* weight = numbers(norm.weight);
    W *gw = numbers(weight_grad), *gb = numbers(bias_grad);
    int64_t n = norm.size;
    if (gw) std::fill(gw, gw + n, W(0));
    if (gb) std::fill(gb, gb + n, W(0));
    for (int64_t r = begin; r < end; ++r) {
      const S *g = elements(grad) + r * n, *x = elements(from) + r * n;
      W rstd = numbers(norm.rstd)[r];
      V center = V(norm.mean ? numbers(norm.mean)[r] : W(0)), scale = V(rstd);
      V sum = V(W(0)), dot = V(W(0));
      walk_row<V>(n, [&](int64_t i, int64_t k) FACULA_INLINE {
        V a = load_lanes<V>(g + i, k), distance = load_lanes<V>(x + i, k) - center;
        if (gw) store_lanes(fma(a, distance * scale, load_lanes<V>(gw + i, k)), gw + i, k);
        if (gb) store_lanes(load_lanes<V>(gb + i, k) + a, gb + i, k);
        if (weight) a *= load_lanes<V>(weight + i, k);
        sum += a;
        dot = fma(a, distance, dot);
      });
      if (!to) continue;
      S* gx = elements(to) + r * n;
      W mean_grad = norm.mean ? total(sum) / static_cast<W>(n) : W(0);
      V constant = V(-mean_grad * rstd),
        of_input = V(-total(dot) / static_cast<W>(n) * rstd * rstd * rstd);
      walk_row<V>(n, [&](int64_t i, int64_t k) FACULA_INLINE {
        V a = load_lanes<V>(g + i, k) * scale;
        if (weight) a *= load_lanes<V>(weight + i, k);
        store_lanes(fma(load_lanes<V>(x + i, k) - center, of_input, a + constant), gx + i, k);
      });
    }
  }

  static constexpr NormKernels kernels = {
      row_moments, row_map,     row_sums,    row_grad,   column_moments,
      column_map,  column_sums, column_grad, layer_norm, layer_norm_backward};
};

}  // namespace

extern const NormTable norm_table;
#define FACULA_ENTRY(T, Name) norm_kernels<T>(),
template <class T>
constexpr NormKernels norm_kernels() {
  if constexpr (is_floating_v<T>) {
    return Norm<T>::kernels;
  } else {
    return {};
  }
}
const NormTable norm_table = {{FACULA_FORALL_DTYPES(FACULA_ENTRY)}};
#undef FACULA_ENTRY

}  // namespace FACULA_ISA
}  // namespace facula::cpu
