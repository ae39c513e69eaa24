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
template <class W>
FACULA_FN W parameter_at(const char* values, int64_t at, W otherwise) {
  return values ? reinterpret_cast<const W*>(values)[at] : otherwise;
}
FACULA_FN RowPlace norm_place(const NormArguments& a) {
  return row_place({a.n_rows, a.size, 1, a.n_lanes});
}

template <class T>
FACULA_FN void row_norm(const NormArguments& a) {
  using W = Wide<T>;
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  Sums<W>* shared = reinterpret_cast<Sums<W>*>(memory);
  RowPlace p = norm_place(a);
  const T* x = reinterpret_cast<const T*>(a.x) + p.offset;
  W n = static_cast<W>(a.size), mean = W(0);
  if (a.is_centered) {
    Sums<W> total;
    if (p.is_active)
      visit_row(x, a.size, 1, p.place.lane, a.n_lanes,
                [&](int64_t, W value) { total.first += value; });
    share_lanes(total, shared, p.place, a.n_lanes, true);
    mean = total.first / n;
  }
  // Distances from the mean, not squares less the square of it: few digits would be left.
  Sums<W> squares;
  if (p.is_active)
    visit_row(x, a.size, 1, p.place.lane, a.n_lanes,
              [&](int64_t, W value) { squares.first += (value - mean) * (value - mean); });
  share_lanes(squares, shared, p.place, a.n_lanes, true);
  if (!p.is_active) return;
  W rstd = W(1) / ::sqrt(squares.first / n + static_cast<W>(a.eps));
  if (p.place.lane == 0) {
    if (a.mean) reinterpret_cast<W*>(a.mean)[p.row] = mean;
    reinterpret_cast<W*>(a.rstd)[p.row] = rstd;
  }
  map_row(reinterpret_cast<T*>(a.y) + p.offset, x, x, a.size, 1, p.place.lane, a.n_lanes,
          [&](int64_t i, W value, W) {
            int64_t at = parameter_of(a, p.row, i);
            return (value - mean) * rstd * parameter_at(a.weight, at, W(1)) +
                   parameter_at(a.bias, at, W(0));
          });
}

// The gradient of x.
template <class T>
FACULA_FN void row_norm_backward(const NormArguments& a) {
  using W = Wide<T>;
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  RowPlace p = norm_place(a);
  const T *x = reinterpret_cast<const T*>(a.x) + p.offset,
          *g = reinterpret_cast<const T*>(a.g) + p.offset;
  W mean = W(0), rstd = W(0);
  Sums<W> total;
  if (p.is_active) {
    if (a.mean) mean = reinterpret_cast<const W*>(a.mean)[p.row];
    rstd = reinterpret_cast<const W*>(a.rstd)[p.row];
    visit_row(g, a.size, 1, p.place.lane, a.n_lanes, [&](int64_t i, W up) {
      up *= parameter_at(a.weight, parameter_of(a, p.row, i), W(1));
      total.first += up;
      total.second += up * ((W(x[i]) - mean) * rstd);
    });
  }
  share_lanes(total, reinterpret_cast<Sums<W>*>(memory), p.place, a.n_lanes, true);
  if (!p.is_active) return;
  W n = static_cast<W>(a.size), level = a.is_centered ? total.first / n : W(0),
    tilt = total.second / n;
  map_row(reinterpret_cast<T*>(a.gx) + p.offset, g, x, a.size, 1, p.place.lane, a.n_lanes,
          [&](int64_t i, W up, W value) {
            up *= parameter_at(a.weight, parameter_of(a, p.row, i), W(1));
            return (up - level - (value - mean) * rstd * tilt) * rstd;
          });
}

// The sums for the parameters of rows that have them along all of their length: of a piece of the
// rows, a block to each 32 columns.
constexpr int kNormColumns = 32;
template <class T>
FACULA_FN void row_norm_sums(const NormArguments& a) {
  using W = Wide<T>;
  constexpr int kLanes = kReduceThreads / kNormColumns;
  __shared__ char memory[kReduceThreads * sizeof(Sums<W>)] __attribute__((aligned(16)));
  Place place = place_of(kLanes, false);
  int64_t column = int64_t(blockIdx.x) * kNormColumns + place.slot, piece = blockIdx.y;
  int64_t begin = piece * a.rows_per_piece, end = begin + a.rows_per_piece;
  if (end > a.n_rows) end = a.n_rows;
  Sums<W> total;
  if (column < a.size)
    for (int64_t row = begin + place.lane; row < end; row += kLanes) {
      W up = W(reinterpret_cast<const T*>(a.g)[row * a.size + column]);
      W value = W(reinterpret_cast<const T*>(a.x)[row * a.size + column]);
      if (a.mean) value -= reinterpret_cast<const W*>(a.mean)[row];
      total.first += up;
      total.second += up * (value * reinterpret_cast<const W*>(a.rstd)[row]);
    }
  join_lanes(total, reinterpret_cast<Sums<W>*>(memory), place, kLanes);
  if (place.lane != 0 || column >= a.size) return;
  W* sums = reinterpret_cast<W*>(a.sums) + piece * 2 * a.size;
  sums[column] = total.first;
  sums[a.size + column] = total.second;
}

// The sums for the parameters of groups: of each channel of each sample, a row of `inner` elements,
// [2][n_rows * channels].
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
  W* sums = reinterpret_cast<W*>(a.sums);
  sums[p.row] = total.first;
  sums[a.n_rows * channels + p.row] = total.second;
}

// ---- channels: batch_norm

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

// Sums over pieces of channels. Channels lie next to each other, or each has a run of its own.
template <class T, class F>
FACULA_FN void channel_sums(const ChannelArguments& a, F term) {
  using W = Wide<T>;
  constexpr int kSize = Vector<T>::kSize;
  __shared__ double memory[kReduceThreads][2];
  int64_t piece = blockIdx.y;
  if (a.inner == 1 && a.n_channels % kSize == 0 && is_aligned(a.x) && is_aligned(a.g)) {
    // A thread has a vector of channels and every n-th row.
    int64_t n_groups = a.n_channels / kSize;
    int width = n_groups < 32 ? int(n_groups) : 32, n_lanes = kReduceThreads / width;
    int lane = threadIdx.x / width, slot = threadIdx.x % width;
    int64_t group = int64_t(blockIdx.x) * width + slot;
    bool is_active = lane < n_lanes && group < n_groups;
    Sums<W> totals[kSize];
    int64_t begin = piece * a.piece_size, end = begin + a.piece_size;
    if (end > a.n_outer) end = a.n_outer;
    if (is_active)
      for (int64_t row = begin + lane; row < end; row += n_lanes) {
        int64_t at = row * n_groups + group;
        Vector<T> x = reinterpret_cast<const Vector<T>*>(a.x)[at], g = x;
        if (a.g) g = reinterpret_cast<const Vector<T>*>(a.g)[at];
#pragma unroll
        for (int j = 0; j < kSize; ++j)
          totals[j].join(term(group * kSize + j, W(x.values[j]), W(g.values[j])));
      }
#pragma unroll
    for (int j = 0; j < kSize; ++j) {
      memory[threadIdx.x][0] = totals[j].first;
      memory[threadIdx.x][1] = totals[j].second;
      __syncthreads();
      if (lane == 0 && is_active) {
        double first = 0, second = 0;
        for (int i = 0; i < n_lanes; ++i) {
          first += memory[i * width + slot][0];
          second += memory[i * width + slot][1];
        }
        double* to = a.partials + (piece * a.n_channels + group * kSize + j) * 2;
        to[0] = first;
        to[1] = second;
      }
      __syncthreads();
    }
    return;
  }
  // Neighbouring threads have neighbouring channels, or the elements of one run.
  int n_lanes = a.inner == 1 ? kReduceThreads / 32 : kReduceThreads;
  Place place = place_of(n_lanes, a.inner != 1);
  int64_t channel = int64_t(blockIdx.x) * place.n_slots + place.slot;
  Sums<double> total;
  if (channel < a.n_channels) {
    Sums<W> own;
    visit_channel(a, channel, piece, place.lane, n_lanes, [&](int64_t i) {
      W x = W(reinterpret_cast<const T*>(a.x)[i]);
      own.join(term(channel, x, a.g ? W(reinterpret_cast<const T*>(a.g)[i]) : x));
    });
    total.first = own.first;
    total.second = own.second;
  }
  join_lanes(total, reinterpret_cast<Sums<double>*>(memory), place, n_lanes);
  if (place.lane != 0 || channel >= a.n_channels) return;
  double* to = a.partials + (piece * a.n_channels + channel) * 2;
  to[0] = total.first;
  to[1] = total.second;
}

// Distances from an element of the channel and their squares: of few digits lost to a far mean.
template <class T>
FACULA_FN void batch_norm_sums(const ChannelArguments& a) {
  using W = Wide<T>;
  channel_sums<T>(a, [&](int64_t channel, W x, W) {
    W distance = x - channel_pivot<T>(a, channel);
    return Sums<W>{distance, distance * distance};
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

// to = f(channel, x, g), of all elements.
template <class T, class F>
FACULA_FN void map_channels(const ChannelArguments& a, F f) {
  using W = Wide<T>;
  constexpr int kSize = Vector<T>::kSize;
  int64_t numel = a.n_outer * a.n_channels * a.inner;
  int64_t first = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * kSize;
  if (first >= numel) return;
  auto channel_of = [&](int64_t i) {
    if (numel < (int64_t(1) << 31))
      return int64_t(uint32_t(i) / uint32_t(a.inner) % uint32_t(a.n_channels));
    return i / a.inner % a.n_channels;
  };
  const T *x = reinterpret_cast<const T*>(a.x), *g = reinterpret_cast<const T*>(a.g);
  T* to = reinterpret_cast<T*>(a.to);
  if (first + kSize <= numel && is_aligned(x) && is_aligned(g)) {
    Vector<T> values = *reinterpret_cast<const Vector<T>*>(x + first), up = values, result;
    if (g) up = *reinterpret_cast<const Vector<T>*>(g + first);
    int64_t channel = channel_of(first);
    if (a.inner == 1 && a.n_channels % kSize == 0) {
#pragma unroll
      for (int j = 0; j < kSize; ++j)
        result.values[j] = T(f(channel + j, W(values.values[j]), W(up.values[j])));
      *reinterpret_cast<Vector<T>*>(to + first) = result;
      return;
    }
    int64_t rest = a.inner - first % a.inner;
#pragma unroll
    for (int j = 0; j < kSize; ++j) {
      result.values[j] = T(f(channel, W(values.values[j]), W(up.values[j])));
      if (--rest == 0) {
        rest = a.inner;
        channel = channel + 1 == a.n_channels ? 0 : channel + 1;
      }
    }
    *reinterpret_cast<Vector<T>*>(to + first) = result;
    return;
  }
  for (int64_t i = first; i < first + kSize && i < numel; ++i)
    to[i] = T(f(channel_of(i), W(x[i]), g ? W(g[i]) : W(0)));
}

template <class T>
FACULA_FN void batch_norm_map(const ChannelArguments& a) {
  using W = Wide<T>;
  const W* by = reinterpret_cast<const W*>(a.coefficients);
  int64_t n = a.n_channels;
  map_channels<T>(a, [&](int64_t c, W x, W) { return fused(x, by[c], by[n + c]); });
}

// Sums of g and g * (x - mean).
template <class T>
FACULA_FN void batch_norm_grad_sums(const ChannelArguments& a) {
  using W = Wide<T>;
  channel_sums<T>(a, [&](int64_t channel, W x, W g) {
    return Sums<W>{g, g * (x - static_cast<W>(a.mean[channel]))};
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
  const W* by = reinterpret_cast<const W*>(a.coefficients);
  int64_t n = a.n_channels;
  map_channels<T>(
      a, [&](int64_t c, W x, W g) { return fused(g, by[c], fused(x, by[n + c], by[2 * n + c])); });
}

}  // namespace facula
