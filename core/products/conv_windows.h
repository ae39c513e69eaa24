// What the kernels of convolution share: a sum over windows of images, which both the outputs and
// the gradient of the inputs are. For the instruction set that includes this.
#pragma once
#include <array>
#include <vector>

#include "cpu/vec.h"
#include "products/conv_kernels.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

using Spatial = ConvShape::Spatial;

// A tap of the kernel along one dimension: its number, and what is added to a pixel's position.
struct Tap {
  int64_t index, shift;
};
using Taps = std::array<std::vector<Tap>, 3>;

// Those of the outputs: where in the input a kernel is.
inline Taps taps_of(const ConvShape& s) {
  Taps taps;
  for (size_t d = 0; d < 3; ++d)
    for (int64_t k = 0; k < s.kernel[d]; ++k)
      taps[d].push_back({k, k * s.dilation[d] - s.padding[d]});
  return taps;
}

// y[n, m, first + j * y_step] = bias[m] + the sum over channels c and taps t of
// w[m, c, t.index] * x[n, c, j * x_step + t.shift], for all j in the grid and for each group.
template <class T>
struct WindowSum {
  int64_t n_batch, groups, n_rows, n_channels;
  Taps taps;
  Spatial x_sizes, x_step, grid, y_sizes, y_first, y_step;
  const T* x;
  const T* w;
  Spatial kernel;
  int64_t w_row, w_channel;
  const T* bias;
  T* y;

  int64_t n_taps() const {
    return static_cast<int64_t>(taps[0].size() * taps[1].size() * taps[2].size());
  }
  int64_t n_pixels() const { return ConvShape::product(grid); }
  int64_t x_plane() const { return ConvShape::product(x_sizes); }
  int64_t y_plane() const { return ConvShape::product(y_sizes); }
  // The pixels of an image lie together in the result.
  bool is_dense() const { return y_sizes == grid; }
  const T* w_group(int64_t group) const {
    return w + group * n_rows * n_channels * ConvShape::product(kernel);
  }
  T* y_row(int64_t image, int64_t group, int64_t row) const {
    return y + ((image * groups + group) * n_rows + row) * y_plane();
  }
};

// Calls f(column, n, image, at) for each run of neighbouring pixels in one line of the grid.
template <class T, class F>
void for_each_run(const WindowSum<T>& s, int64_t begin, int64_t end, F f) {
  for (int64_t q = begin; q < end;) {
    int64_t line = q / s.grid[2], w = q % s.grid[2], n = std::min(s.grid[2] - w, end - q);
    int64_t h = line % s.grid[1], plane = line / s.grid[1];
    f(q - begin, n, plane / s.grid[0], Spatial{plane % s.grid[0], h, w});
    q += n;
  }
}

// For few rows: reads the windows where they are. False if their lines are too long.
template <class T>
bool sum_few_rows(const WindowSum<T>& s);
constexpr int64_t kFewRows = 4;

// The gradient of the weight for groups of one channel: true if there are no others.
template <class T>
bool conv_weight_of_planes(const ConvShape& s, const T* x, const T* y, T* w);

#if defined(FACULA_AVX512)
// As a product of matrices. False if the step or the kernel is too large.
template <class T>
bool sum_by_product(const WindowSum<T>& s);
// For 3x3 kernels and many channels, with fewer multiplications. False for others.
bool sum_by_winograd(const WindowSum<float>& s);
bool weight_by_winograd(const ConvShape& s, const float* x, const float* y, float* w);
// As ConvKernels::weight; for float and double.
template <class T>
bool conv_weight(const ConvShape& s, const T* x, const T* y, T* w);
#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
