// The sizes of convolutions, and of the sums over windows that these are.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/integers.h"
#include "products/tuning.h"

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
  bool has_channels_last = false;  // in x and y: (batch, pixels, channels)

  static int64_t product(const Spatial& s) { return s[0] * s[1] * s[2]; }
  int64_t in_pixels() const { return product(in); }
  int64_t out_pixels() const { return product(out); }
  int64_t taps() const { return product(kernel); }
  int64_t weight_row() const { return in_channels * taps(); }  // of one output channel
};
using Spatial = ConvShape::Spatial;

// A tap of the kernel along one dimension: its number, and what is added to a pixel's position.
struct Tap {
  int64_t index, shift;
};

// The taps of one dimension, evenly apart.
struct Taps {
  int64_t n;
  Tap first, step;

  Tap operator[](int64_t i) const {
    return {first.index + i * step.index, first.shift + i * step.shift};
  }
  int64_t low() const { return step.shift < 0 ? (*this)[n - 1].shift : first.shift; }
  int64_t reach() const { return (n - 1) * (step.shift < 0 ? -step.shift : step.shift); }

  struct Iterator {
    const Taps& taps;
    int64_t i;
    Tap operator*() const { return taps[i]; }
    void operator++() { ++i; }
    bool operator!=(const Iterator& other) const { return i != other.i; }
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, n}; }
};

// A sum over windows of images, which the outputs and the gradient of the inputs both are:
// y[n, m, first + j * y_step] = bias[m] + the sum over channels c and taps t of
// w[m, c, t.index] * x[n, c, j * x_step + t.shift], for all j in the grid and for each group.
struct WindowShape {
  int64_t n_batch, groups, n_rows, n_channels;
  std::array<Taps, 3> taps;
  Spatial x_sizes, x_step, grid, y_sizes, y_first, y_step;
  Spatial kernel;
  int64_t w_row, w_channel;  // from one row of w, and from one channel, to the next
  bool has_channels_last;    // in x and y

  int64_t n_taps() const { return taps[0].n * taps[1].n * taps[2].n; }
  int64_t n_pixels() const { return ConvShape::product(grid); }
  int64_t x_plane() const { return ConvShape::product(x_sizes); }
  int64_t y_plane() const { return ConvShape::product(y_sizes); }
  // The pixels of an image lie together in the result.
  bool is_dense() const { return y_sizes == grid; }
};

template <class T>
struct WindowSum : WindowShape {
  const T* x;
  const T* w;
  const T* bias;  // one number per row, or null
  T* y;
  const T* packed_w = nullptr;  // for kernels that read it (conv_kernels.h)

  const T* w_group(int64_t group) const {
    return w + group * n_rows * n_channels * ConvShape::product(kernel);
  }
  T* y_row(int64_t image, int64_t group, int64_t row) const {
    return y + ((image * groups + group) * n_rows + row) * y_plane();
  }
};

WindowShape windows_of_output(const ConvShape& s);
// With strides, the gradient of the input is one sum for each residue of the positions: pixels of
// one residue meet the same taps. Residues that no tap meets are left out.
std::vector<WindowShape> windows_of_input(const ConvShape& s);

// Functions below are static: each instruction set has a copy of its own.

// Calls f(column, n, image, at) for each run of neighbouring pixels in one line of the grid.
template <class F>
static inline void for_each_run(const WindowShape& s, int64_t begin, int64_t end, F f) {
  for (int64_t q = begin; q < end;) {
    int64_t line = q / s.grid[2], w = q % s.grid[2], n = std::min(s.grid[2] - w, end - q);
    int64_t h = line % s.grid[1], plane = line / s.grid[1];
    f(q - begin, n, plane / s.grid[0], Spatial{plane % s.grid[0], h, w});
    q += n;
  }
}

// How ConvWay::Direct cuts a line of pixels. The part of an image's line that a segment reaches
// over has `width` numbers of each residue of the step.
struct Segments {
  int64_t n, pixels, width;
};
[[maybe_unused]] static inline Segments segments_of(const WindowShape& s) {
  int64_t n = ceil_div(s.grid[2], tuning::kSegmentPixels), pixels = ceil_div(s.grid[2], n);
  return {n, pixels, pixels + ceil_div(s.taps[2].reach(), s.x_step[2]) + 1};
}

// The same for the gradient of the weight by ConvWay::Packed. The lines of a channel under a slice
// of segments are copied band by band: `span` numbers of `height` lines for each tap of depth.
struct WeightSegments {
  int64_t n, pixels, span;  // of a line
  int64_t of_slice, height, channel_numel;
};
[[maybe_unused]] static inline WeightSegments weight_segments_of(const ConvShape& s) {
  WeightSegments cut;
  cut.n = ceil_div(s.out[2], tuning::kSlicePixels), cut.pixels = ceil_div(s.out[2], cut.n);
  cut.span = (cut.pixels - 1) * s.stride[2] + (s.kernel[2] - 1) * s.dilation[2] + 1;
  cut.of_slice = std::max<int64_t>(1, tuning::kSlicePixels / cut.pixels);
  for (;; cut.of_slice = ceil_div(cut.of_slice, 2)) {
    int64_t n_bands = ceil_div(cut.of_slice - 1, s.out[1]) + 1;
    cut.height = (std::min(s.out[1], cut.of_slice) - 1) * s.stride[1] +
                 (s.kernel[1] - 1) * s.dilation[1] + 1;
    cut.channel_numel = n_bands * s.kernel[0] * cut.height * cut.span;
    if (cut.of_slice == 1 || cut.channel_numel <= tuning::kMaxCopiedNumel) return cut;
  }
}

// Channels whose lines ConvWay::Lines copies at a time. By the kernel alone, as packed weights are.
[[maybe_unused]] static inline int64_t line_slice_of(const WindowShape& s) {
  int64_t n_lines = 1;  // of taps, of the part that has most
  for (size_t d = 0; d < 2; ++d) n_lines *= ceil_div(s.kernel[d], s.taps[d].step.index);
  int64_t most = std::max<int64_t>(1, tuning::kTapLines / n_lines);
  return ceil_div(s.n_channels, ceil_div(s.n_channels, most));
}

// How ConvWay::Lines cuts images, for the parts of one result.
struct LineCut {
  Spatial cells;          // of the grid that all parts share
  Spatial low, reach;     // the smallest shift, and how much larger the largest is
  int64_t pixels, width;  // cells of a line in a task, and numbers that are copied of each residue
};
template <class Part>
static inline LineCut line_cut_of(const std::vector<Part>& parts) {
  const WindowShape& s = parts[0];
  LineCut cut;
  for (size_t d = 0; d < 3; ++d) {
    int64_t low = s.taps[d].low(), high = low;
    for (const WindowShape& part : parts) {
      low = std::min(low, part.taps[d].low());
      high = std::max(high, part.taps[d].low() + part.taps[d].reach());
    }
    cut.cells[d] = ceil_div(s.y_sizes[d], s.y_step[d]);
    cut.low[d] = low, cut.reach[d] = high - low;
  }
  int64_t lines = line_slice_of(s) * (cut.reach[0] + 1) * (cut.reach[1] + 1) * s.x_step[2];
  int64_t around = ceil_div(cut.reach[2], s.x_step[2]) + 1;
  int64_t most = std::min(tuning::kSegmentPixels, tuning::kMaxCopiedNumel / lines - around);
  most = std::max<int64_t>(most, 1);
  cut.pixels = ceil_div(cut.cells[2], ceil_div(cut.cells[2], most));
  cut.width = cut.pixels + around;
  return cut;
}

}  // namespace facula::cpu
