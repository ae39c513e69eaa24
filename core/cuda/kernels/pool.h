// Windows over (outer, D, H, W, inner): the largest element or the average, and their gradients,
// which gather what the windows of an element have for it: no atomics.
#pragma once
#include "cuda/kernels/elementwise.h"
#include "cuda/kernels/nn_arguments.h"
#include "cuda/kernels/reduce.h"
#include "cuda/kernels/shape.h"

namespace facula {

struct Window {
  int64_t begin, count;
};
FACULA_FN int64_t ceil_of(int64_t a, int64_t b) { return quotient(a + b - 1, b); }  // a > -b

FACULA_FN Window window_of(const PooledAxis& axis, int64_t outer, int64_t o) {
  if (axis.begin) return {axis.begin[axis.per_outer ? outer * axis.out + o : o], axis.count[o]};
  int64_t start = axis.start + o * axis.stride;
  int64_t skipped = start < 0 ? ceil_of(-start, axis.step) : 0, begin = start + skipped * axis.step;
  int64_t count = begin < axis.in ? ceil_of(axis.in - begin, axis.step) : 0;
  if (axis.size - skipped < count) count = axis.size - skipped;
  return {begin, count > 0 ? count : 0};
}
FACULA_FN int64_t divisor_of(const PooledAxis& axis, int64_t outer, int64_t o) {
  if (axis.divisor) return axis.divisor[o];
  if (!axis.counts_padding) return window_of(axis, outer, o).count;
  int64_t start = axis.start + o * axis.stride, end = start + axis.size,
          limit = axis.in - axis.start;
  return (end < limit ? end : limit) - start;
}
// The windows [first, last) that may have element i.
struct WindowRange {
  int64_t first, last;
};
FACULA_FN WindowRange windows_with(const PooledAxis& axis, int64_t i) {
  if (axis.low) return {axis.low[i], axis.high[i]};
  int64_t reach = (axis.size - 1) * axis.step, from = i - axis.start - reach;
  int64_t first = from > 0 ? ceil_of(from, axis.stride) : 0,
          last = quotient(i - axis.start, axis.stride) + 1;
  return {first, last < axis.out ? last : axis.out};
}
FACULA_FN bool has_element(const PooledAxis& axis, Window w, int64_t i) {
  if (i < w.begin) return false;
  int64_t rest, steps = divide(i - w.begin, axis.step, rest);
  return rest == 0 && steps < w.count;
}

// An element of a tensor (outer, three sizes, inner), by its number.
struct PoolPlace {
  int64_t outer, at[3], inner;
};
FACULA_FN PoolPlace pool_place(int64_t i, int64_t d, int64_t h, int64_t w, int64_t inner) {
  PoolPlace p;
  i = divide(i, inner, p.inner);
  i = divide(i, w, p.at[2]);
  i = divide(i, h, p.at[1]);
  p.outer = divide(i, d, p.at[0]);
  return p;
}
FACULA_FN int64_t n_inputs(const PoolArguments& a) {
  return a.axes[0].in * a.axes[1].in * a.axes[2].in;
}
FACULA_FN int64_t n_windows(const PoolArguments& a) {
  return a.axes[0].out * a.axes[1].out * a.axes[2].out;
}

// A thread has `kPack` neighbours along the inner dimension, which have the same windows.
template <int kPack>
FACULA_FN int64_t first_of_pack() {
  return thread_number() * kPack;
}

// f(flat index, elements) for the places of a window, in order.
template <class T, int kPack, class F>
FACULA_FN void visit_window(const PoolArguments& a, const PoolPlace& p, F f) {
  Window w[3];
  for (int d = 0; d < 3; ++d) w[d] = window_of(a.axes[d], p.outer, p.at[d]);
  const T* x = reinterpret_cast<const T*>(a.x) + p.outer * n_inputs(a) * a.inner + p.inner;
  for (int64_t i = 0; i < w[0].count; ++i)
    for (int64_t j = 0; j < w[1].count; ++j)
      for (int64_t k = 0; k < w[2].count; ++k) {
        int64_t flat =
            ((w[0].begin + i * a.axes[0].step) * a.axes[1].in + w[1].begin + j * a.axes[1].step) *
                a.axes[2].in +
            w[2].begin + k * a.axes[2].step;
        f(flat, *reinterpret_cast<const Pack<T, kPack>*>(x + flat * a.inner));
      }
}

template <class T, int kPack>
FACULA_FN void find_largest(const PoolArguments& a) {
  using W = Wide<T>;
  int64_t i = first_of_pack<kPack>();
  if (i >= a.n_outer * n_windows(a) * a.inner) return;
  PoolPlace p = pool_place(i, a.axes[0].out, a.axes[1].out, a.axes[2].out, a.inner);
  W best[kPack];
  Pack<int64_t, kPack> index;
  for (int j = 0; j < kPack; ++j) {
    best[j] = math::lowest<W>();
    index.values[j] = -1;
  }
  visit_window<T, kPack>(a, p, [&](int64_t flat, const Pack<T, kPack>& x) {
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      W value = x.values[j];
      if (index.values[j] < 0 || value > best[j] || value != value) {  // a NaN stays
        best[j] = value;
        index.values[j] = flat;
      }
    }
  });
  Pack<T, kPack> y;
#pragma unroll
  for (int j = 0; j < kPack; ++j) y.values[j] = T(best[j]);
  *reinterpret_cast<Pack<T, kPack>*>(reinterpret_cast<T*>(a.to) + i) = y;
  if (a.indices) *reinterpret_cast<Pack<int64_t, kPack>*>(a.indices + i) = index;
}

template <class T>
FACULA_FN void max_pool(const PoolArguments& a) {
  if (a.is_packed) {
    find_largest<T, kPoolPack>(a);
  } else {
    find_largest<T, 1>(a);
  }
}

FACULA_FN double window_divisor(const PoolArguments& a, int64_t outer, const int64_t (&at)[3]) {
  if (a.divisor) return double(a.divisor);
  double divisor = 1;
  for (int d = 0; d < 3; ++d) divisor *= double(divisor_of(a.axes[d], outer, at[d]));
  return divisor;
}

template <class T>
FACULA_FN void mean_pool(const PoolArguments& a) {
  using W = Wide<T>;
  int64_t i = thread_number();
  if (i >= a.n_outer * n_windows(a) * a.inner) return;
  PoolPlace p = pool_place(i, a.axes[0].out, a.axes[1].out, a.axes[2].out, a.inner);
  W total = W(0);
  visit_window<T, 1>(a, p, [&](int64_t, const Pack<T, 1>& x) { total += W(x.values[0]); });
  reinterpret_cast<T*>(a.to)[i] = T(total / static_cast<W>(window_divisor(a, p.outer, p.at)));
}

// The sums of what f(place, window, flat index, the window's number, sums) adds for the windows
// that have the elements of this thread.
template <class T, int kPack, class F>
FACULA_FN void gather_windows(const PoolArguments& a, F f) {
  using W = Wide<T>;
  int64_t i = first_of_pack<kPack>();
  if (i >= a.n_outer * n_inputs(a) * a.inner) return;
  PoolPlace p = pool_place(i, a.axes[0].in, a.axes[1].in, a.axes[2].in, a.inner);
  int64_t flat = (p.at[0] * a.axes[1].in + p.at[1]) * a.axes[2].in + p.at[2];
  WindowRange r[3];
  for (int d = 0; d < 3; ++d) r[d] = windows_with(a.axes[d], p.at[d]);
  W total[kPack];
  for (int j = 0; j < kPack; ++j) total[j] = W(0);
  int64_t o[3];
  for (o[0] = r[0].first; o[0] < r[0].last; ++o[0])
    for (o[1] = r[1].first; o[1] < r[1].last; ++o[1])
      for (o[2] = r[2].first; o[2] < r[2].last; ++o[2]) {
        int64_t number = ((p.outer * a.axes[0].out + o[0]) * a.axes[1].out + o[1]) * a.axes[2].out;
        f(p, o, flat, (number + o[2]) * a.inner + p.inner, total);
      }
  Pack<T, kPack> to;
#pragma unroll
  for (int j = 0; j < kPack; ++j) to.values[j] = T(total[j]);
  *reinterpret_cast<Pack<T, kPack>*>(reinterpret_cast<T*>(a.to) + i) = to;
}

template <class T, int kPack>
FACULA_FN void gather_largest(const PoolArguments& a) {
  using W = Wide<T>;
  gather_windows<T, kPack>(
      a, [&](const PoolPlace&, const int64_t(&)[3], int64_t flat, int64_t number, W* total) {
        auto index = *reinterpret_cast<const Pack<int64_t, kPack>*>(a.indices + number);
        auto g = *reinterpret_cast<const Pack<T, kPack>*>(reinterpret_cast<const T*>(a.g) + number);
#pragma unroll
        for (int j = 0; j < kPack; ++j)
          if (index.values[j] == flat) total[j] += W(g.values[j]);
      });
}

template <class T>
FACULA_FN void max_pool_backward(const PoolArguments& a) {
  if (a.is_packed) {
    gather_largest<T, kPoolPack>(a);
  } else {
    gather_largest<T, 1>(a);
  }
}

template <class T>
FACULA_FN void mean_pool_backward(const PoolArguments& a) {
  using W = Wide<T>;
  gather_windows<T, 1>(
      a, [&](const PoolPlace& p, const int64_t(&o)[3], int64_t, int64_t number, W* total) {
        for (int d = 0; d < 3; ++d)
          if (!has_element(a.axes[d], window_of(a.axes[d], p.outer, o[d]), p.at[d])) return;
        W g = reinterpret_cast<const T*>(a.g)[number];
        total[0] += g * (W(1) / static_cast<W>(window_divisor(a, p.outer, o)));
      });
}

// ---- images of another size

template <class T>
FACULA_FN void resample(const ResampleArguments& a) {
  using W = Wide<T>;
  int64_t i = thread_number();
  if (i >= a.numel) return;
  PoolPlace p = pool_place(i, a.axes[0].out, a.axes[1].out, a.axes[2].out, a.inner);
  int32_t begin[3], end[3];
  for (int d = 0; d < 3; ++d) {
    begin[d] = a.axes[d].begin[p.at[d]];
    end[d] = a.axes[d].begin[p.at[d] + 1];
  }
  const T* x = reinterpret_cast<const T*>(a.x) +
               p.outer * a.axes[0].in * a.axes[1].in * a.axes[2].in * a.inner + p.inner;
  auto element = [&](int32_t u, int32_t v, int32_t w) {
    int64_t line = a.axes[0].index[u] * a.axes[1].in + a.axes[1].index[v];
    return x[(line * a.axes[2].in + a.axes[2].index[w]) * a.inner];
  };
  T* to = reinterpret_cast<T*>(a.to) + i;
  if (a.is_pick) {
    *to = element(begin[0], begin[1], begin[2]);
    return;
  }
  W total = W(0);
  for (int32_t u = begin[0]; u < end[0]; ++u)
    for (int32_t v = begin[1]; v < end[1]; ++v) {
      W line = W(0);
      for (int32_t w = begin[2]; w < end[2]; ++w)
        line += static_cast<W>(a.axes[2].weight[w]) * W(element(u, v, w));
      total += static_cast<W>(a.axes[0].weight[u]) * static_cast<W>(a.axes[1].weight[v]) * line;
    }
  *to = T(total);
}

}  // namespace facula
