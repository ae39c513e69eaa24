// Convolutions as products of matrices whose elements are found in the tensors: for what cuDNN does
// not compute, and where it is not installed. All offsets are int64, all sums in a fixed order.
#pragma once
#include "cuda/kernels/nn_arguments.h"
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

}  // namespace facula
