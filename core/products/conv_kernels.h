// Convolutions on raw, contiguous memory.
#pragma once
#include <array>
#include <cstdint>

#include "cpu/isa.h"

namespace facula::cpu {

// The sizes of a convolution: y[n, o, p] is the sum over channels c and taps k of
// w[o, c, k] x[n, c, p * stride - padding + k * dilation], for each group of channels.
// There are always three spatial dimensions; those that are missing come first and have size 1.
struct ConvShape {
  using Spatial = std::array<int64_t, 3>;
  int64_t n_batch = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of one group
  Spatial in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1};
  Spatial stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};

  static int64_t product(const Spatial& s) { return s[0] * s[1] * s[2]; }
  int64_t in_pixels() const { return product(in); }
  int64_t out_pixels() const { return product(out); }
  int64_t taps() const { return product(kernel); }
  int64_t weight_row() const { return in_channels * taps(); }  // of one output channel
};

// The three results of a convolution, as in blas/conv.h. A kernel returns false, and does nothing,
// where the sizes are beyond it.
template <class T>
struct ConvKernels {
  bool (*output)(const ConvShape& s, const T* x, const T* w, const T* bias, T* y);
  bool (*input)(const ConvShape& s, const T* w, const T* y, const T* bias, T* x);
  bool (*weight)(const ConvShape& s, const T* x, const T* y, T* w);
};

struct ConvTable {
  ConvKernels<float> float32;
  ConvKernels<double> float64;
};
FACULA_KERNEL_TABLE(ConvTable, conv_table)

}  // namespace facula::cpu
