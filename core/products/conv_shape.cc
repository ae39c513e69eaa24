#include "products/conv_shape.h"

#include <numeric>

namespace facula::cpu {
namespace {

// The taps of one dimension that meet the positions first, first + stride, ... of the image.
struct Residue {
  int64_t first;
  Taps taps;  // shifted by how far from the pixel's number the output's is
};

std::vector<Residue> residues_of(const ConvShape& s, int d) {
  std::vector<Residue> residues;
  int64_t stride = s.stride[d], dilation = s.dilation[d], padding = s.padding[d];
  // Every period-th tap meets the same positions.
  int64_t common = std::gcd(stride, dilation), period = stride / common;
  for (int64_t k = 0; k < std::min(period, s.kernel[d]); ++k) {
    int64_t first = ((k * dilation - padding) % stride + stride) % stride;
    if (first >= s.in[d]) continue;
    Tap tap{k, (first + padding - k * dilation) / stride};
    residues.push_back(
        {first, {ceil_div(s.kernel[d] - k, period), tap, {period, -(dilation / common)}}});
  }
  return residues;
}

}  // namespace

WindowShape windows_of_output(const ConvShape& s) {
  std::array<Taps, 3> taps;
  for (size_t d = 0; d < 3; ++d) taps[d] = {s.kernel[d], {0, -s.padding[d]}, {1, s.dilation[d]}};
  return {s.n_batch, s.groups, s.out_channels, s.in_channels, taps,
          s.in,      s.stride, s.out,          s.out,         {0, 0, 0},
          {1, 1, 1}, s.kernel, s.weight_row(), s.taps(),      s.has_channels_last};
}

std::vector<WindowShape> windows_of_input(const ConvShape& s) {
  std::vector<WindowShape> parts;
  WindowShape part{s.n_batch,
                   s.groups,
                   s.in_channels,
                   s.out_channels,
                   {},
                   s.out,
                   {1, 1, 1},
                   {},
                   s.in,
                   {},
                   s.stride,
                   s.kernel,
                   s.taps(),
                   s.weight_row(),
                   s.has_channels_last};
  std::vector<Residue> by_h = residues_of(s, 1), by_w = residues_of(s, 2);
  for (const Residue& a : residues_of(s, 0)) {
    for (const Residue& b : by_h) {
      for (const Residue& c : by_w) {
        part.taps = {a.taps, b.taps, c.taps};
        part.y_first = {a.first, b.first, c.first};
        for (size_t d = 0; d < 3; ++d)
          part.grid[d] = ceil_div(s.in[d] - part.y_first[d], s.stride[d]);
        parts.push_back(part);
      }
    }
  }
  return parts;
}

}  // namespace facula::cpu
