// Normalisation of rows, and of channels. Parameters and statistics are in the wide type.
#pragma once
#include "cuda/kernels/rows.h"

namespace facula {

// ---- rows: layer_norm, rms_norm, group_norm

template <class W>
struct RowNorm {
  W mean, rstd;
};

FACULA_FN int64_t parameter_of(const NormArguments& a, int64_t row, int64_t i) {
  if (a.n_groups == 1 && a.inner == 1) return i;
  return row % a.n_groups * (a.size / a.inner) + i / a.inner;
}
FACULA_FN RowShape norm_shape(const NormArguments& a) { return {a.n_rows, a.size, 1, a.n_lanes}; }
FACULA_FN RowPlace norm_place(const NormArguments& a) { return row_place(norm_shape(a)); }

// What stands beside a vector of elements in the parameters.
template <class P, int kSize>
struct alignas(kVectorBytes < kSize * sizeof(P) ? kVectorBytes : kSize * sizeof(P)) Parameters {
  P values[kSize];
};

// f(x, z, weight, bias) for a lane's elements x of row a and z of row b, which may be the same; to,
// unless it is null, gets the results.
template <class T, class P, class F>
FACULA_FN void walk_row(const NormArguments& n, int64_t row, T* to, const T* a, const T* b,
                        int lane, F f) {
  using W = Wide<T>;
  constexpr int kSize = Vector<T>::kSize;
  const P *weight = reinterpret_cast<const P*>(n.weight),
          *bias = reinterpret_cast<const P*>(n.bias);
  bool is_plain = n.n_groups == 1 && n.inner == 1 && n.size % kSize == 0;
  if (is_plain && is_aligned(a) && is_aligned(b) && is_aligned(to) && is_aligned(weight) &&
      is_aligned(bias)) {
    for (int64_t v = lane; v < n.size / kSize; v += n.n_lanes) {
      Vector<T> x = reinterpret_cast<const Vector<T>*>(a)[v], z = x, y;
      if (a != b) z = reinterpret_cast<const Vector<T>*>(b)[v];
      Parameters<P, kSize> by, and_then;
      if (weight) by = reinterpret_cast<const Parameters<P, kSize>*>(weight)[v];
      if (bias) and_then = reinterpret_cast<const Parameters<P, kSize>*>(bias)[v];
#pragma unroll
      for (int j = 0; j < kSize; ++j)
        y.values[j] = T(f(W(x.values[j]), W(z.values[j]),
                          weight ? static_cast<W>(Wide<P>(by.values[j])) : W(1),
                          bias ? static_cast<W>(Wide<P>(and_then.values[j])) : W(0)));
      if (to) reinterpret_cast<Vector<T>*>(to)[v] = y;
    }
    return;
  }
  for (int64_t i = lane; i < n.size; i += n.n_lanes) {
    int64_t at = parameter_of(n, row, i);
    W y = f(W(a[i]), W(b[i]), weight ? static_cast<W>(Wide<P>(weight[at])) : W(1),
            bias ? static_cast<W>(Wide<P>(bias[at])) : W(0));
    if (to) to[i] = T(y);
  }
}

template <class T>
using HeldRowOfNorm = HeldRow<T, norm_vectors(sizeof(T))>;

// The same of rows that are held, which have parameters along all of their length.
template <class T, class P, class F>
FACULA_FN void walk_held(const NormArguments& n, T* to, const HeldRowOfNorm<T>& a,
                         const HeldRowOfNorm<T>& b, F f) {
  using W = Wide<T>;
  constexpr int kSize = Vector<T>::kSize;
  const P *weight = reinterpret_cast<const P*>(n.weight),
          *bias = reinterpret_cast<const P*>(n.bias);
  a.visit_vectors([&](int k, int v, const Vector<T>& x) {
    Parameters<P, kSize> by, and_then;
    if (weight) by = reinterpret_cast<const Parameters<P, kSize>*>(weight)[v];
    if (bias) and_then = reinterpret_cast<const Parameters<P, kSize>*>(bias)[v];
    Vector<T> y;
#pragma unroll
    for (int j = 0; j < kSize; ++j)
      y.values[j] = T(f(W(x.values[j]), W(b.vectors[k].values[j]),
                        weight ? static_cast<W>(Wide<P>(by.values[j])) : W(1),
                        bias ? static_cast<W>(Wide<P>(and_then.values[j])) : W(0)));
    if (to) reinterpret_cast<Vector<T>*>(to)[v] = y;
  });
}

// Mean and deviation of the row that visit(f) shows to f, and the map of it by walk(f).
template <class T, class Visit, class Walk>
FACULA_FN void normalize_row(const NormArguments& a, const RowPlace& p, Visit visit, Walk walk) {
  using W = Wide<T>;
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  Sums<W>* shared = reinterpret_cast<Sums<W>*>(memory);
  W n = static_cast<W>(a.size), mean = W(0);
  if (a.is_centered) {
    Sums<W> total;
    visit([&](W value) { total.first += value; });
    share_lanes(total, shared, p.place, a.n_lanes, true);
    mean = total.first / n;
  }
  // Distances from the mean, not squares less the square of it: few digits would be left.
  Sums<W> squares;
  visit([&](W value) { squares.first += (value - mean) * (value - mean); });
  share_lanes(squares, shared, p.place, a.n_lanes, true);
  if (!p.is_active) return;
  W rstd = W(1) / ::sqrt(squares.first / n + static_cast<W>(a.eps));
  if (p.place.lane == 0) {
    if (a.mean) reinterpret_cast<W*>(a.mean)[p.row] = mean;
    reinterpret_cast<W*>(a.rstd)[p.row] = rstd;
  }
  walk([&](W value, W, W weight, W bias) { return (value - mean) * rstd * weight + bias; });
}

template <class T, class P>
FACULA_FN void row_norm(const NormArguments& a) {
  RowPlace p = norm_place(a);
  const T* x = reinterpret_cast<const T*>(a.x);
  StreamedRow<T> row(x, norm_shape(a), p);
  T* y = reinterpret_cast<T*>(a.y) + p.offset;
  normalize_row<T>(
      a, p, [&](auto f) { row.visit(f); },
      [&](auto f) { walk_row<T, P>(a, p.row, y, row.row, row.row, p.place.lane, f); });
}
template <class T, class P>
FACULA_FN void held_row_norm(const NormArguments& a) {
  RowPlace p = norm_place(a);
  HeldRowOfNorm<T> row(reinterpret_cast<const T*>(a.x), norm_shape(a), p);
  T* y = reinterpret_cast<T*>(a.y) + p.offset;
  normalize_row<T>(
      a, p, [&](auto f) { row.visit(f); }, [&](auto f) { walk_held<T, P>(a, y, row, row, f); });
}

// The gradient of x, by walk(to, f) over g and x.
template <class T, class Walk>
FACULA_FN void denormalize_row(const NormArguments& a, const RowPlace& p, Walk walk) {
  using W = Wide<T>;
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  W mean = W(0), rstd = W(0);
  Sums<W> total;
  if (p.is_active) {
    if (a.mean) mean = reinterpret_cast<const W*>(a.mean)[p.row];
    rstd = reinterpret_cast<const W*>(a.rstd)[p.row];
    walk(static_cast<T*>(nullptr), [&](W up, W value, W weight, W) {
      up *= weight;
      total.first += up;
      total.second += up * ((value - mean) * rstd);
      return up;
    });
  }
  share_lanes(total, reinterpret_cast<Sums<W>*>(memory), p.place, a.n_lanes, true);
  if (!p.is_active) return;
  W n = static_cast<W>(a.size), level = a.is_centered ? total.first / n : W(0),
    tilt = total.second / n;
  walk(reinterpret_cast<T*>(a.gx) + p.offset, [&](W up, W value, W weight, W) {
    return (up * weight - level - (value - mean) * rstd * tilt) * rstd;
  });
}

template <class T, class P>
FACULA_FN void row_norm_backward(const NormArguments& a) {
  RowPlace p = norm_place(a);
  const T *x = reinterpret_cast<const T*>(a.x) + p.offset,
          *g = reinterpret_cast<const T*>(a.g) + p.offset;
  denormalize_row<T>(a, p,
                     [&](T* to, auto f) { walk_row<T, P>(a, p.row, to, g, x, p.place.lane, f); });
}
template <class T, class P>
FACULA_FN void held_row_norm_backward(const NormArguments& a) {
  RowPlace p = norm_place(a);
  HeldRowOfNorm<T> x(reinterpret_cast<const T*>(a.x), norm_shape(a), p),
      g(reinterpret_cast<const T*>(a.g), norm_shape(a), p);
  denormalize_row<T>(a, p, [&](T* to, auto f) { walk_held<T, P>(a, to, g, x, f); });
}

// ---- columns: sums over the rows of a matrix, and maps of its elements, by column

// A thread has a vector of columns and every n-th row of a piece (blockIdx.y).
template <class T>
struct Columns {
  static constexpr int kSize = Vector<T>::kSize, kBatch = 4;
  int64_t n_groups, group, begin, end;
  int width, lane, slot, n_lanes;
  bool is_active;

  FACULA_FN Columns(int64_t n_rows, int64_t n_columns, int64_t piece_size) {
    n_groups = n_columns / kSize;
    width = n_groups < kColumnGroups ? int(n_groups) : kColumnGroups;
    n_lanes = kReduceThreads / width;
    lane = threadIdx.x / width;
    slot = threadIdx.x % width;
    group = int64_t(blockIdx.x) * width + slot;
    is_active = lane < n_lanes && group < n_groups;
    begin = int64_t(blockIdx.y) * piece_size;
    end = begin + piece_size < n_rows ? begin + piece_size : n_rows;
  }
  // f(row, place of the vector, x, g); loads of several rows are in flight.
  template <class F>
  FACULA_FN void visit(const char* x_data, const char* g_data, F f) const {
    const Vector<T>*x = reinterpret_cast<const Vector<T>*>(x_data),
          *g = reinterpret_cast<const Vector<T>*>(g_data);
    if (!is_active) return;
    for (int64_t row = begin + lane; row < end; row += kBatch * n_lanes) {
      Vector<T> xs[kBatch], gs[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        int64_t at = (row + k * n_lanes) * n_groups + group;
        if (row + k * n_lanes < end) {
          xs[k] = x[at];
          if (g) gs[k] = g[at];
        }
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k)
        if (row + k * n_lanes < end)
          f(row + k * n_lanes, (row + k * n_lanes) * n_groups + group, xs[k], gs[k]);
    }
  }
  // store(column, sums) of the sums that threads have for their columns.
  template <class W, class F>
  FACULA_FN void join(const Sums<W> (&totals)[kSize], F store) const {
    __shared__ char memory[kReduceThreads * kSize * sizeof(Sums<W>)] __attribute__((aligned(16)));
    Sums<W>* shared = reinterpret_cast<Sums<W>*>(memory);
    int n_columns = width * kSize;
    if (lane < n_lanes)
      for (int j = 0; j < kSize; ++j) shared[lane * n_columns + slot * kSize + j] = totals[j];
    __syncthreads();
    for (int i = threadIdx.x; i < n_columns; i += kReduceThreads) {
      int64_t column = int64_t(blockIdx.x) * n_columns + i;
      if (column >= n_groups * kSize) return;
      Sums<double> total;
      for (int k = 0; k < n_lanes; ++k)
        total.join(
            {double(shared[k * n_columns + i].first), double(shared[k * n_columns + i].second)});
      store(column, total);
    }
  }
};

// The sums for the parameters of rows that have them along all of their length, of a piece of the
// rows.
template <class T>
FACULA_FN void row_norm_sums(const NormArguments& a) {
  using W = Wide<T>;
  const W *means = reinterpret_cast<const W*>(a.mean), *rstds = reinterpret_cast<const W*>(a.rstd);
  W* sums = reinterpret_cast<W*>(a.sums) + int64_t(blockIdx.y) * 2 * a.size;
  if (a.is_columns) {
    constexpr int kSize = Vector<T>::kSize;
    Columns<T> columns(a.n_rows, a.size, a.rows_per_piece);
    Sums<W> totals[kSize];
    columns.visit(a.x, a.g, [&](int64_t row, int64_t, const Vector<T>& x, const Vector<T>& g) {
      W mean = means ? means[row] : W(0), rstd = rstds[row];
#pragma unroll
      for (int j = 0; j < kSize; ++j) {
        W up = W(g.values[j]);
        totals[j].first += up;
        totals[j].second += up * ((W(x.values[j]) - mean) * rstd);
      }
    });
    columns.join(totals, [&](int64_t column, const Sums<double>& total) {
      sums[column] = static_cast<W>(total.first);
      sums[a.size + column] = static_cast<W>(total.second);
    });
    return;
  }
  constexpr int kLanes = kReduceThreads / kColumnGroups;
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  Place place = place_of(kLanes, false);
  int64_t column = int64_t(blockIdx.x) * kColumnGroups + place.slot;
  int64_t begin = int64_t(blockIdx.y) * a.rows_per_piece, end = begin + a.rows_per_piece;
  if (end > a.n_rows) end = a.n_rows;
  Sums<W> total;
  if (column < a.size)
    for (int64_t row = begin + place.lane; row < end; row += kLanes) {
      W up = W(reinterpret_cast<const T*>(a.g)[row * a.size + column]);
      W value = W(reinterpret_cast<const T*>(a.x)[row * a.size + column]);
      if (means) value -= means[row];
      total.first += up;
      total.second += up * (value * rstds[row]);
    }
  join_lanes(total, reinterpret_cast<Sums<W>*>(memory), place, kLanes);
  if (place.lane != 0 || column >= a.size) return;
  sums[column] = total.first;
  sums[a.size + column] = total.second;
}

// The same of groups: of each channel of each sample, a row of `inner` elements. Samples are the
// pieces.
template <class T>
FACULA_FN void group_norm_sums(const NormArguments& a) {
  using W = Wide<T>;
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  int64_t channels = a.size / a.inner;
  RowPlace p = row_place({a.n_rows * channels, a.inner, 1, a.n_lanes});
  const T *x = reinterpret_cast<const T*>(a.x) + p.offset,
          *g = reinterpret_cast<const T*>(a.g) + p.offset;
  Sums<W> total;
  if (p.is_active) {
    W mean = reinterpret_cast<const W*>(a.mean)[p.row / channels];
    W rstd = reinterpret_cast<const W*>(a.rstd)[p.row / channels];
    visit_row(g, a.inner, 1, p.place.lane, a.n_lanes, [&](int64_t i, W up) {
      total.first += up;
      total.second += up * ((W(x[i]) - mean) * rstd);
    });
  }
  join_lanes(total, reinterpret_cast<Sums<W>*>(memory), p.place, a.n_lanes);
  if (!p.is_active || p.place.lane != 0) return;
  int64_t n_channels = a.n_groups * channels;
  W* sums = reinterpret_cast<W*>(a.sums) + p.row / n_channels * 2 * n_channels + p.row % n_channels;
  sums[0] = total.first;
  sums[n_channels] = total.second;
}

// The gradients of the parameters, of which there are a.n_parameters: the sums of all pieces.
template <class T, class P>
FACULA_FN void row_norm_parameters(const NormArguments& a) {
  constexpr int kLanes = kReduceThreads / kColumnGroups;
  __shared__ char memory[kReduceThreads * sizeof(Sums<double>)] __attribute__((aligned(16)));
  Place place = place_of(kLanes, false);
  int64_t column = int64_t(blockIdx.x) * kColumnGroups + place.slot, n = a.n_parameters;
  const Wide<T>* sums = reinterpret_cast<const Wide<T>*>(a.sums) + column;
  Sums<double> total;
  if (column < n)
    for (int64_t piece = place.lane; piece < a.n_pieces; piece += kLanes)
      total.join({double(sums[piece * 2 * n]), double(sums[piece * 2 * n + n])});
  join_lanes(total, reinterpret_cast<Sums<double>*>(memory), place, kLanes);
  if (place.lane != 0 || column >= n) return;
  if (a.to_bias) reinterpret_cast<P*>(a.to_bias)[column] = P(static_cast<Wide<P>>(total.first));
  if (a.to_weight)
    reinterpret_cast<P*>(a.to_weight)[column] = P(static_cast<Wide<P>>(total.second));
}

// ---- channels: batch_norm

// The vectors of runs: a thread has every n-th of those from `begin` to `end`.
template <class T>
struct Runs {
  static constexpr int kSize = Vector<T>::kSize;
  int64_t begin, end;
  // f(number, place of the vector, x, g) for vectors i that lie at place_of(i); loads of several
  // are in flight.
  template <class Place, class F>
  FACULA_FN void visit(const char* x_data, const char* g_data, Place place_of, F f) const {
    const Vector<T>*x = reinterpret_cast<const Vector<T>*>(x_data),
          *g = reinterpret_cast<const Vector<T>*>(g_data);
    for (int64_t i = begin + threadIdx.x; i < end; i += kRunVectors * kReduceThreads) {
      Vector<T> xs[kRunVectors], gs[kRunVectors];
      int64_t at[kRunVectors];
#pragma unroll
      for (int k = 0; k < kRunVectors; ++k) {
        if (i + k * kReduceThreads >= end) continue;
        at[k] = place_of(i + k * kReduceThreads);
        xs[k] = x[at[k]];
        if (g) gs[k] = g[at[k]];
      }
#pragma unroll
      for (int k = 0; k < kRunVectors; ++k)
        if (i + k * kReduceThreads < end) f(i + k * kReduceThreads, at[k], xs[k], gs[k]);
    }
  }
};
FACULA_FN int64_t at_most(int64_t n, int64_t limit) { return n < limit ? n : limit; }

// f(x index) for a lane's elements of a piece of a channel, which is a run of (outer, inner).
template <class F>
FACULA_FN void visit_channel(const ChannelArguments& a, int64_t channel, int64_t piece, int lane,
                             int n_lanes, F f) {
  int64_t begin = piece * a.piece_size, end = begin + a.piece_size, n = a.n_outer * a.inner;
  if (end > n) end = n;
  for (int64_t i = begin + lane; i < end; i += n_lanes) {
    int64_t outer = i, at = 0;
    if (a.inner != 1) {
      outer = i < (int64_t(1) << 31) ? int64_t(uint32_t(i) / uint32_t(a.inner)) : i / a.inner;
      at = i - outer * a.inner;
    }
    f((outer * a.n_channels + channel) * a.inner + at);
  }
}

template <class T>
FACULA_FN Wide<T> channel_pivot(const ChannelArguments& a, int64_t channel) {
  return Wide<T>(reinterpret_cast<const T*>(a.x)[channel * a.inner]);
}

// Sums of term(x, g, base(channel)) over pieces of channels.
template <class T, class Base, class Term>
FACULA_FN void channel_sums(const ChannelArguments& a, Base base, Term term) {
  using W = Wide<T>;
  double* partials = a.partials + int64_t(blockIdx.y) * a.n_channels * 2;
  constexpr int kSize = Vector<T>::kSize;
  if (a.way == ChannelWay::Columns) {
    Columns<T> columns(a.n_outer, a.n_channels, a.piece_size);
    Sums<W> totals[kSize];
    W bases[kSize];
    if (columns.is_active)
      for (int j = 0; j < kSize; ++j) bases[j] = base(columns.group * kSize + j);
    columns.visit(a.x, a.g, [&](int64_t, int64_t, const Vector<T>& x, const Vector<T>& g) {
#pragma unroll
      for (int j = 0; j < kSize; ++j)
        totals[j].join(term(W(x.values[j]), W(g.values[j]), bases[j]));
    });
    columns.join(totals, [&](int64_t channel, const Sums<double>& total) {
      partials[channel * 2] = total.first;
      partials[channel * 2 + 1] = total.second;
    });
    return;
  }
  __shared__ double memory[kReduceThreads][2];
  if (a.way == ChannelWay::Runs) {
    int64_t channel = blockIdx.x, length = a.inner / kSize, piece = a.piece_size / kSize;
    Runs<T> runs{blockIdx.y * piece, at_most((blockIdx.y + 1) * piece, a.n_outer * length)};
    Sums<W> own;
    W by = base(channel);
    runs.visit(
        a.x, a.g,
        [&](int64_t i) {
          int64_t at, outer = divide(i, length, at);
          return (outer * a.n_channels + channel) * length + at;
        },
        [&](int64_t, int64_t, const Vector<T>& x, const Vector<T>& g) {
#pragma unroll
          for (int j = 0; j < kSize; ++j) own.join(term(W(x.values[j]), W(g.values[j]), by));
        });
    Sums<double> total{double(own.first), double(own.second)};
    share_lanes(total, reinterpret_cast<Sums<double>*>(memory), {int(threadIdx.x), 0, 1},
                kReduceThreads, true);
    if (threadIdx.x != 0) return;
    partials[channel * 2] = total.first;
    partials[channel * 2 + 1] = total.second;
    return;
  }
  // Neighbouring threads have neighbouring channels, or the elements of one run.
  int n_lanes = a.inner == 1 ? kReduceThreads / kColumnGroups : kReduceThreads;
  Place place = place_of(n_lanes, a.inner != 1);
  int64_t channel = int64_t(blockIdx.x) * place.n_slots + place.slot;
  Sums<double> total;
  if (channel < a.n_channels) {
    Sums<W> own;
    W by = base(channel);
    visit_channel(a, channel, blockIdx.y, place.lane, n_lanes, [&](int64_t i) {
      W x = W(reinterpret_cast<const T*>(a.x)[i]);
      own.join(term(x, a.g ? W(reinterpret_cast<const T*>(a.g)[i]) : x, by));
    });
    total.first = own.first;
    total.second = own.second;
  }
  join_lanes(total, reinterpret_cast<Sums<double>*>(memory), place, n_lanes);
  if (place.lane != 0 || channel >= a.n_channels) return;
  partials[channel * 2] = total.first;
  partials[channel * 2 + 1] = total.second;
}

// Distances from an element of the channel and their squares: of few digits lost to a far mean.
template <class T>
FACULA_FN void batch_norm_sums(const ChannelArguments& a) {
  using W = Wide<T>;
  channel_sums<T>(
      a, [&](int64_t channel) { return channel_pivot<T>(a, channel); },
      [](W x, W, W pivot) {
        return Sums<W>{x - pivot, (x - pivot) * (x - pivot)};
      });
}

// Several threads to each channel; the first has the sums.
constexpr int kPieceLanes = 128;
FACULA_FN Place channel_place() { return place_of(kPieceLanes, true); }
FACULA_FN int64_t channel_of_place(Place place) {
  return int64_t(blockIdx.x) * place.n_slots + place.slot;
}
FACULA_FN Sums<double> joined_pieces(const ChannelArguments& a, Place place) {
  __shared__ double memory[kReduceThreads][2];
  int64_t channel = channel_of_place(place);
  Sums<double> total;
  if (a.partials && channel < a.n_channels)
    for (int64_t i = place.lane; i < a.n_pieces; i += kPieceLanes) {
      const double* part = a.partials + (i * a.n_channels + channel) * 2;
      total.join({part[0], part[1]});
    }
  join_lanes(total, reinterpret_cast<Sums<double>*>(memory), place, kPieceLanes);
  return total;
}

template <class R>
FACULA_FN void update_running(char* running, int64_t at, double value, double momentum) {
  if (!running) return;
  R& number = reinterpret_cast<R*>(running)[at];
  number = R(static_cast<Wide<R>>(momentum * value + (1 - momentum) * double(Wide<R>(number))));
}

template <class P>
FACULA_FN double parameter_of_channel(const char* values, int64_t channel, double otherwise) {
  return values ? double(Wide<P>(reinterpret_cast<const P*>(values)[channel])) : otherwise;
}

// Means and deviations, and the running ones; or, in evaluation, what the running ones say. Then
// what elements are multiplied by, and what is added. P: of parameters and running statistics.
template <class T, class P>
FACULA_FN void batch_norm_statistics(const ChannelArguments& a) {
  using W = Wide<T>;
  Place place = channel_place();
  int64_t channel = channel_of_place(place);
  Sums<double> total = joined_pieces(a, place);
  if (place.lane != 0 || channel >= a.n_channels) return;
  int64_t at[2] = {channel * a.running_strides[0], channel * a.running_strides[1]};
  double mean, variance;
  if (a.is_training) {
    double n = double(a.n_outer * a.inner);
    double shift = total.first / n, squares = total.second - shift * total.first;
    if (squares < 0) squares = 0;
    mean = double(channel_pivot<T>(a, channel)) + shift;
    variance = squares / n;
    update_running<P>(a.running_mean, at[0], mean, a.momentum);
    update_running<P>(a.running_var, at[1], squares / (n - 1), a.momentum);
  } else {
    mean = double(Wide<P>(reinterpret_cast<const P*>(a.running_mean)[at[0]]));
    variance = double(Wide<P>(reinterpret_cast<const P*>(a.running_var)[at[1]]));
  }
  double rstd = 1 / ::sqrt(variance + a.eps);
  a.mean[channel] = mean;
  a.rstd[channel] = rstd;
  double scale = rstd * parameter_of_channel<P>(a.weight, channel, 1);
  W* to = reinterpret_cast<W*>(a.coefficients);
  to[channel] = static_cast<W>(scale);
  to[a.n_channels + channel] =
      static_cast<W>(parameter_of_channel<P>(a.bias, channel, 0) - mean * scale);
}

template <class W>
FACULA_FN W fused(W a, W b, W c) {
  return ::fma(a, b, c);
}

// to = f(x, g, numbers), of all elements; a channel has kNumbers coefficients.
template <class T, int kNumbers, class F>
FACULA_FN void map_channels(const ChannelArguments& a, F f) {
  using W = Wide<T>;
  const W* by = reinterpret_cast<const W*>(a.coefficients);
  constexpr int kSize = Vector<T>::kSize;
  if (a.way == ChannelWay::Columns) {
    Columns<T> columns(a.n_outer, a.n_channels, a.piece_size);
    W numbers[kSize][kNumbers];
    if (columns.is_active)
      for (int j = 0; j < kSize; ++j)
        for (int k = 0; k < kNumbers; ++k)
          numbers[j][k] = by[k * a.n_channels + columns.group * kSize + j];
    columns.visit(a.x, a.g, [&](int64_t, int64_t at, const Vector<T>& x, const Vector<T>& g) {
      Vector<T> y;
#pragma unroll
      for (int j = 0; j < kSize; ++j)
        y.values[j] = T(f(W(x.values[j]), W(g.values[j]), numbers[j]));
      reinterpret_cast<Vector<T>*>(a.to)[at] = y;
    });
    return;
  }
  if (a.way == ChannelWay::Runs) {
    int64_t piece = int64_t(kRunVectors) * kReduceThreads, length = a.inner / kSize;
    Runs<T> runs{blockIdx.x * piece,
                 at_most((blockIdx.x + 1) * piece, a.n_outer * a.n_channels * length)};
    runs.visit(
        a.x, a.g, [](int64_t i) { return i; },
        [&](int64_t i, int64_t at, const Vector<T>& x, const Vector<T>& g) {
          int64_t channel;
          divide(quotient(i, length), a.n_channels, channel);
          W numbers[kNumbers];
          for (int k = 0; k < kNumbers; ++k) numbers[k] = by[k * a.n_channels + channel];
          Vector<T> y;
#pragma unroll
          for (int j = 0; j < kSize; ++j)
            y.values[j] = T(f(W(x.values[j]), W(g.values[j]), numbers));
          reinterpret_cast<Vector<T>*>(a.to)[at] = y;
        });
    return;
  }
  constexpr int kEach = 4;
  int64_t numel = a.n_outer * a.n_channels * a.inner;
  int64_t first = int64_t(blockIdx.x) * blockDim.x * kEach + threadIdx.x;
  const T *x = reinterpret_cast<const T*>(a.x), *g = reinterpret_cast<const T*>(a.g);
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    int64_t i = first + j * blockDim.x;
    if (i >= numel) return;
    int64_t channel = numel < (int64_t(1) << 31)
                          ? int64_t(uint32_t(i) / uint32_t(a.inner) % uint32_t(a.n_channels))
                          : i / a.inner % a.n_channels;
    W numbers[kNumbers];
    for (int k = 0; k < kNumbers; ++k) numbers[k] = by[k * a.n_channels + channel];
    reinterpret_cast<T*>(a.to)[i] = T(f(W(x[i]), g ? W(g[i]) : W(0), numbers));
  }
}

template <class T>
FACULA_FN void batch_norm_map(const ChannelArguments& a) {
  using W = Wide<T>;
  map_channels<T, 2>(a, [](W x, W, const W* by) { return fused(x, by[0], by[1]); });
}

// Sums of g and g * (x - mean).
template <class T>
FACULA_FN void batch_norm_grad_sums(const ChannelArguments& a) {
  using W = Wide<T>;
  channel_sums<T>(
      a, [&](int64_t channel) { return static_cast<W>(a.mean[channel]); },
      [](W x, W g, W mean) {
        return Sums<W>{g, g * (x - mean)};
      });
}

// The gradients of the parameters, and what those of the elements are made with: g is multiplied by
// the first coefficient, x by the second, and the third is added.
template <class T, class P>
FACULA_FN void batch_norm_coefficients(const ChannelArguments& a) {
  using W = Wide<T>;
  Place place = channel_place();
  int64_t channel = channel_of_place(place), n_channels = a.n_channels;
  Sums<double> total = joined_pieces(a, place);
  if (place.lane != 0 || channel >= n_channels) return;
  double rstd = a.rstd[channel], n = double(a.n_outer * a.inner);
  double scale = rstd * parameter_of_channel<P>(a.weight, channel, 1);
  if (a.to_weight)
    reinterpret_cast<P*>(a.to_weight)[channel] = P(static_cast<Wide<P>>(total.second * rstd));
  if (a.to_bias) reinterpret_cast<P*>(a.to_bias)[channel] = P(static_cast<Wide<P>>(total.first));
  double tilt = a.is_training ? -scale * rstd * rstd * total.second / n : 0;
  double level = a.is_training ? -scale * total.first / n : 0;
  W* to = reinterpret_cast<W*>(a.coefficients);
  to[channel] = static_cast<W>(scale);
  to[n_channels + channel] = static_cast<W>(tilt);
  to[2 * n_channels + channel] = static_cast<W>(level - a.mean[channel] * tilt);
}

template <class T>
FACULA_FN void batch_norm_grad_map(const ChannelArguments& a) {
  using W = Wide<T>;
  map_channels<T, 3>(a,
                     [](W x, W g, const W* by) { return fused(g, by[0], fused(x, by[1], by[2])); });
}

}  // namespace facula
