// Convolutions as products of matrices whose elements are found in the tensors: for what cuDNN does
// not compute, and where it is not installed. All offsets are int64, all sums in a fixed order.
#pragma once
#include "cuda/kernels/nn_arguments.h"
#include "cuda/kernels/rows.h"
#include "cuda/kernels/tile.h"

namespace facula {

FACULA_FN void split(int64_t i, const int64_t (&sizes)[3], int64_t (&at)[3]) {
  at[2] = i % sizes[2];
  i /= sizes[2];
  at[1] = i % sizes[1];
  at[0] = i / sizes[1];
}
FACULA_FN int64_t product_of(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

template <class T>
FACULA_FN const T* conv_address(const ConvTensor& x, int64_t first, int64_t second,
                                const int64_t (&at)[3]) {
  return reinterpret_cast<const T*>(x.data) + first * x.strides[0] + second * x.strides[1] +
         at[0] * x.strides[2] + at[1] * x.strides[3] + at[2] * x.strides[4];
}

// x at the place where the kernel's element `tap` meets the output pixel `out`; 0 in the padding.
template <class T>
FACULA_FN T windowed_input(const ConvArguments& a, int64_t image, int64_t channel,
                           const int64_t (&out)[3], const int64_t (&tap)[3]) {
  int64_t at[3];
  for (int d = 0; d < 3; ++d) {
    at[d] = out[d] * a.stride[d] - a.padding[d] + tap[d] * a.dilation[d];
    if (at[d] < 0 || at[d] >= a.in[d]) return T(0);
  }
  return *conv_address<T>(a.input, image, channel, at);
}
// y at the pixel where `tap` meets the input's `in`, if there is one.
template <class T>
FACULA_FN T reached_output(const ConvArguments& a, int64_t image, int64_t channel,
                           const int64_t (&in)[3], const int64_t (&tap)[3]) {
  int64_t at[3];
  for (int d = 0; d < 3; ++d) {
    int64_t from = in[d] + a.padding[d] - tap[d] * a.dilation[d];
    if (from < 0 || from % a.stride[d] != 0) return T(0);
    at[d] = from / a.stride[d];
    if (at[d] >= a.out[d]) return T(0);
  }
  return *conv_address<T>(a.output, image, channel, at);
}

// Element (m, k) of the left matrix and (k, n) of the right one, by role.
template <class T>
FACULA_FN T conv_left(const ConvArguments& a, int64_t group, int64_t m, int64_t k) {
  int64_t at[3];
  if (a.role == ConvRole::Weight) {
    int64_t pixels = product_of(a.out);
    split(k % pixels, a.out, at);
    return *conv_address<T>(a.output, k / pixels, group * a.out_channels + m, at);
  }
  int64_t taps = product_of(a.kernel);
  split(k % taps, a.kernel, at);
  int64_t other = k / taps;
  bool is_output = a.role == ConvRole::Output;
  return *conv_address<T>(a.weight, group * a.out_channels + (is_output ? m : other),
                          is_output ? other : m, at);
}
template <class T>
FACULA_FN T conv_right(const ConvArguments& a, int64_t group, int64_t k, int64_t n) {
  int64_t pixel[3], tap[3];
  int64_t taps = product_of(a.kernel),
          pixels = product_of(a.role == ConvRole::Input ? a.in : a.out);
  int64_t pixel_at = a.role == ConvRole::Weight ? k : n,
          tap_at = a.role == ConvRole::Weight ? n : k;
  split(pixel_at % pixels, a.role == ConvRole::Input ? a.in : a.out, pixel);
  split(tap_at % taps, a.kernel, tap);
  int64_t image = pixel_at / pixels, channel = tap_at / taps;
  if (a.role == ConvRole::Input)
    return reached_output<T>(a, image, group * a.out_channels + channel, pixel, tap);
  return windowed_input<T>(a, image, group * a.in_channels + channel, pixel, tap);
}
template <class T>
FACULA_FN T* conv_result(const ConvArguments& a, int64_t group, int64_t m, int64_t n) {
  int64_t at[3];
  const T* to;
  if (a.role == ConvRole::Weight) {
    int64_t taps = product_of(a.kernel);
    split(n % taps, a.kernel, at);
    to = conv_address<T>(a.weight, group * a.out_channels + m, n / taps, at);
  } else {
    bool is_output = a.role == ConvRole::Output;
    int64_t pixels = product_of(is_output ? a.out : a.in);
    split(n % pixels, is_output ? a.out : a.in, at);
    to = conv_address<T>(is_output ? a.output : a.input, n / pixels,
                         group * (is_output ? a.out_channels : a.in_channels) + m, at);
  }
  return const_cast<T*>(to);
}

// The products of each group (blockIdx.y).
template <class T>
FACULA_FN void implicit_gemm(const ConvArguments& a) {
  using W = Wide<T>;
  int64_t taps = product_of(a.kernel), group = blockIdx.y, m, n, k;
  if (a.role == ConvRole::Output) {
    m = a.out_channels, n = a.n_batch * product_of(a.out), k = a.in_channels * taps;
  } else if (a.role == ConvRole::Input) {
    m = a.in_channels, n = a.n_batch * product_of(a.in), k = a.out_channels * taps;
  } else {
    m = a.out_channels, n = a.in_channels * taps, k = a.n_batch * product_of(a.out);
  }
  tiled_product<W>(
      m, n, k, [&](int64_t i, int64_t j) { return W(conv_left<T>(a, group, i, j)); },
      [&](int64_t i, int64_t j) { return W(conv_right<T>(a, group, i, j)); },
      [&](int64_t i, int64_t j, W sum) { *conv_result<T>(a, group, i, j) = T(sum); });
}

// Of a weight with one input channel: blockIdx.x has taps and channels, blockIdx.y a piece of the
// pixels, whose every n-th a thread multiplies.
template <class T>
FACULA_FN void narrow_weight(const NarrowArguments& a) {
  using W = Wide<T>;
  int n_sets = (a.n_channels + kNarrowChannels - 1) / kNarrowChannels;
  int first_channel = int(blockIdx.x) % n_sets * kNarrowChannels;
  int first_tap = int(blockIdx.x) / n_sets * kNarrowTaps;
  int reach[kNarrowTaps][3];  // from a pixel's first element to that of a tap
#pragma unroll
  for (int t = 0; t < kNarrowTaps; ++t) {
    int at[3], rest = divide(first_tap + t, a.kernel[1], at[2]);
    at[0] = divide(rest, a.kernel[0], at[1]);
    for (int d = 0; d < 3; ++d) reach[t][d] = at[d] * a.dilation[d];
  }
  W totals[kNarrowChannels][kNarrowTaps];
#pragma unroll
  for (int c = 0; c < kNarrowChannels; ++c)
    for (int t = 0; t < kNarrowTaps; ++t) totals[c][t] = W(0);
  int begin = int(blockIdx.y) * a.piece_size, end = begin + a.piece_size;
  if (end > a.n_pixels) end = a.n_pixels;
  for (int i = begin + int(threadIdx.x); i < end; i += kReduceThreads) {
    int at[3], rest, image = divide(i, a.image_pixels, rest);
    rest = divide(rest, a.out[1], at[2]);
    at[0] = divide(rest, a.out[0], at[1]);
    const T* x = reinterpret_cast<const T*>(a.x) + image * a.image_strides[0];
    const T* g = reinterpret_cast<const T*>(a.g) + image * a.image_strides[1] +
                 first_channel * a.g_channel_stride;
    for (int d = 0; d < 3; ++d) {
      g += at[d] * a.strides[1][d];
      at[d] = at[d] * a.stride[d] - a.padding[d];
    }
    W up[kNarrowChannels];
#pragma unroll
    for (int c = 0; c < kNarrowChannels; ++c)
      up[c] = first_channel + c < a.n_channels ? W(g[c * a.g_channel_stride]) : W(0);
#pragma unroll
    for (int t = 0; t < kNarrowTaps; ++t) {
      bool is_inside = first_tap + t < a.n_taps;
      int64_t offset = 0;
      for (int d = 0; d < 3; ++d) {
        int place = at[d] + reach[t][d];
        is_inside = is_inside && place >= 0 && place < a.in[d];
        offset += place * a.strides[0][d];
      }
      W value = is_inside ? W(x[offset]) : W(0);
#pragma unroll
      for (int c = 0; c < kNarrowChannels; ++c) totals[c][t] += up[c] * value;
    }
  }
  // The threads of a warp join their sums, then the warps.
  constexpr int kWarp = 32, kWarps = kReduceThreads / kWarp, kSums = kNarrowChannels * kNarrowTaps;
  __shared__ W shared[kWarps][kSums];
  int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
#pragma unroll
  for (int c = 0; c < kNarrowChannels; ++c)
#pragma unroll
    for (int t = 0; t < kNarrowTaps; ++t) {
      W total = totals[c][t];
      for (int bits = 1; bits < kWarp; bits *= 2) total += from_lane(total, bits);
      if (lane == 0) shared[warp][c * kNarrowTaps + t] = total;
    }
  __syncthreads();
  int channel = first_channel + threadIdx.x / kNarrowTaps,
      tap = first_tap + threadIdx.x % kNarrowTaps;
  if (threadIdx.x >= kSums || channel >= a.n_channels || tap >= a.n_taps) return;
  W total = W(0);
  for (int i = 0; i < kWarps; ++i) total += shared[i][threadIdx.x];
  reinterpret_cast<W*>(
      a.partials)[(int64_t(blockIdx.y) * a.n_channels + channel) * a.n_taps + tap] = total;
}

}  // namespace facula
