// Windows over (outer, D, H, W, inner): the largest element or the average, and their gradients,
// which gather what the windows of an element have for it: no atomics.
#pragma once
#include "cuda/kernels/elementwise.h"
#include "cuda/kernels/nn_arguments.h"
#include "cuda/kernels/reduce.h"
#include "cuda/kernels/shape.h"

namespace facula {

struct Window {
  int begin, count;
};
FACULA_FN int ceil_of(int a, const Divisor& b) { return quotient(a + b - 1, b); }  // a > -b

FACULA_FN Window window_of(const PooledAxis& axis, int64_t outer, int o) {
  if (axis.begin)
    return {int(axis.begin[axis.per_outer ? outer * axis.out + o : o]), int(axis.count[o])};
  int start = axis.start + o * axis.stride;
  int skipped = start < 0 ? ceil_of(-start, axis.step) : 0, begin = start + skipped * axis.step;
  int count = begin < axis.in ? ceil_of(axis.in - begin, axis.step) : 0;
  if (axis.size - skipped < count) count = axis.size - skipped;
  return {begin, count > 0 ? count : 0};
}
FACULA_FN int64_t divisor_of(const PooledAxis& axis, int64_t outer, int o) {
  if (axis.divisor) return axis.divisor[o];
  if (!axis.counts_padding) return window_of(axis, outer, o).count;
  int start = axis.start + o * axis.stride, end = start + axis.size, limit = axis.in - axis.start;
  return (end < limit ? end : limit) - start;
}
// The windows [first, last) that may have element i.
struct WindowRange {
  int first, last;
};
FACULA_FN WindowRange windows_with(const PooledAxis& axis, int i) {
  if (axis.low) return {int(axis.low[i]), int(axis.high[i])};
  int reach = (axis.size - 1) * axis.step, from = i - axis.start - reach;
  int first = from > 0 ? ceil_of(from, axis.stride) : 0,
      last = quotient(i - axis.start, axis.stride) + 1;
  return {first, last < axis.out ? last : int(axis.out)};
}
FACULA_FN bool has_element(const PooledAxis& axis, Window w, int i) {
  if (i < w.begin) return false;
  int rest, steps = divide(i - w.begin, axis.step, rest);
  return rest == 0 && steps < w.count;
}

// An element of a tensor (outer, three sizes, inner), by its number. n: elements of one of outer.
struct PoolPlace {
  int64_t outer;
  int at[3], inner;
};
FACULA_FN PoolPlace pool_place(int64_t i, int n, const Divisor& h, const Divisor& w,
                               const Divisor& inner) {
  PoolPlace p;
  int64_t rest;
  p.outer = divide(i, n, rest);
  int j = divide(int(rest), inner, p.inner);
  j = divide(j, w, p.at[2]);
  p.at[0] = divide(j, h, p.at[1]);
  return p;
}
FACULA_FN PoolPlace window_place(const PoolArguments& a, int64_t i) {
  return pool_place(i, a.n_windows, a.axes[1].out, a.axes[2].out, a.inner);
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
  const T* x = reinterpret_cast<const T*>(a.x) + p.outer * a.n_inputs + p.inner;
  for (int i = 0; i < w[0].count; ++i)
    for (int j = 0; j < w[1].count; ++j)
      for (int k = 0; k < w[2].count; ++k) {
        int line =
            (w[0].begin + i * a.axes[0].step) * a.axes[1].in + w[1].begin + j * a.axes[1].step;
        int flat = line * a.axes[2].in + w[2].begin + k * a.axes[2].step;
        f(flat, *reinterpret_cast<const Pack<T, kPack>*>(x + flat * a.inner));
      }
}

template <class T, int kPack>
FACULA_FN void find_largest(const PoolArguments& a) {
  using W = Wide<T>;
  int64_t i = first_of_pack<kPack>();
  if (i >= a.n_outer * a.n_windows) return;
  W best[kPack];
  int at[kPack];
  for (int j = 0; j < kPack; ++j) {
    best[j] = math::lowest<W>();
    at[j] = -1;
  }
  visit_window<T, kPack>(a, window_place(a, i), [&](int flat, const Pack<T, kPack>& x) {
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      W value = x.values[j];
      if (at[j] < 0 || value > best[j] || value != value) {  // a NaN stays
        best[j] = value;
        at[j] = flat;
      }
    }
  });
  Pack<T, kPack> y;
  Pack<int64_t, kPack> index;
#pragma unroll
  for (int j = 0; j < kPack; ++j) {
    y.values[j] = T(best[j]);
    index.values[j] = at[j];
  }
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

FACULA_FN double window_divisor(const PoolArguments& a, int64_t outer, const int (&at)[3]) {
  if (a.divisor) return double(a.divisor);
  double divisor = 1;
  for (int d = 0; d < 3; ++d) divisor *= double(divisor_of(a.axes[d], outer, at[d]));
  return divisor;
}

template <class T>
FACULA_FN void mean_pool(const PoolArguments& a) {
  using W = Wide<T>;
  int64_t i = thread_number();
  if (i >= a.n_outer * a.n_windows) return;
  PoolPlace p = window_place(a, i);
  W total = W(0);
  visit_window<T, 1>(a, p, [&](int, const Pack<T, 1>& x) { total += W(x.values[0]); });
  reinterpret_cast<T*>(a.to)[i] = T(total / static_cast<W>(window_divisor(a, p.outer, p.at)));
}

// The sums of what f(place, window, flat index, the window's number, sums) adds for the windows
// that have the elements of this thread.
template <class T, int kPack, class F>
FACULA_FN void gather_windows(const PoolArguments& a, F f) {
  using W = Wide<T>;
  int64_t i = first_of_pack<kPack>();
  if (i >= a.n_outer * a.n_inputs) return;
  PoolPlace p = pool_place(i, a.n_inputs, a.axes[1].in, a.axes[2].in, a.inner);
  int flat = (p.at[0] * a.axes[1].in + p.at[1]) * a.axes[2].in + p.at[2];
  WindowRange r[3];
  for (int d = 0; d < 3; ++d) r[d] = windows_with(a.axes[d], p.at[d]);
  W total[kPack];
  for (int j = 0; j < kPack; ++j) total[j] = W(0);
  int64_t first = p.outer * a.n_windows + p.inner;
  int o[3];
  for (o[0] = r[0].first; o[0] < r[0].last; ++o[0])
    for (o[1] = r[1].first; o[1] < r[1].last; ++o[1])
      for (o[2] = r[2].first; o[2] < r[2].last; ++o[2]) {
        int number = (o[0] * a.axes[1].out + o[1]) * a.axes[2].out + o[2];
        f(p, o, flat, first + number * a.inner, total);
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
      a, [&](const PoolPlace&, const int(&)[3], int flat, int64_t number, W* total) {
        auto index = *reinterpret_cast<const Pack<int64_t, kPack>*>(a.indices + number);
        auto g = *reinterpret_cast<const Pack<T, kPack>*>(reinterpret_cast<const T*>(a.g) + number);
#pragma unroll
        for (int j = 0; j < kPack; ++j)
          if (index.values[j] == flat) total[j] += W(g.values[j]);
      });
}

// The same where inner is 1, of neighbours along a line, which share all but the windows along it.
template <class T>
FACULA_FN void gather_largest_of_line(const PoolArguments& a) {
  using W = Wide<T>;
  int64_t i = first_of_pack<kPoolPack>();
  if (i >= a.n_outer * a.n_inputs) return;
  PoolPlace p = pool_place(i, a.n_inputs, a.axes[1].in, a.axes[2].in, a.inner);
  int flat = (p.at[0] * a.axes[1].in + p.at[1]) * a.axes[2].in + p.at[2];
  WindowRange planes = windows_with(a.axes[0], p.at[0]), lines = windows_with(a.axes[1], p.at[1]);
  WindowRange along[kPoolPack];
  W total[kPoolPack];
#pragma unroll
  for (int j = 0; j < kPoolPack; ++j) {
    along[j] = windows_with(a.axes[2], p.at[2] + j);
    total[j] = W(0);
  }
  const int64_t* indices = a.indices + p.outer * a.n_windows;
  const T* g = reinterpret_cast<const T*>(a.g) + p.outer * a.n_windows;
  for (int plane = planes.first; plane < planes.last; ++plane)
    for (int line = lines.first; line < lines.last; ++line) {
      int first = (plane * a.axes[1].out + line) * a.axes[2].out;
#pragma unroll
      for (int j = 0; j < kPoolPack; ++j)
        for (int o = along[j].first; o < along[j].last; ++o)
          if (indices[first + o] == flat + j) total[j] += W(g[first + o]);
    }
  Pack<T, kPoolPack> to;
#pragma unroll
  for (int j = 0; j < kPoolPack; ++j) to.values[j] = T(total[j]);
  *reinterpret_cast<Pack<T, kPoolPack>*>(reinterpret_cast<T*>(a.to) + i) = to;
}

template <class T>
FACULA_FN void max_pool_backward(const PoolArguments& a) {
  if (a.is_packed && a.inner == 1) {
    gather_largest_of_line<T>(a);
  } else if (a.is_packed) {
    gather_largest<T, kPoolPack>(a);
  } else {
    gather_largest<T, 1>(a);
  }
}

template <class T>
FACULA_FN void mean_pool_backward(const PoolArguments& a) {
  using W = Wide<T>;
  gather_windows<T, 1>(a, [&](const PoolPlace& p, const int(&o)[3], int, int64_t number, W* total) {
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
  PoolPlace p = pool_place(i, a.n_results, a.axes[1].out, a.axes[2].out, a.inner);
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
