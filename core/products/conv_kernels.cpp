#include <algorithm>

#include "base/integers.h"
#include "base/parallel.h"
#include "products/conv_windows.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int64_t kFillGrain = 32768;
constexpr int64_t kMinReads = 8;

template <class T>
bool sum_windows(const WindowSum<T>& s) {
  // A line that is copied should be read several times, unless a product would be mostly padding.
  bool is_direct =
      s.n_rows <= kFewRows && (s.n_channels <= kFewRows || s.n_rows * s.n_taps() >= kMinReads);
  if (is_direct && sum_few_rows(s)) return true;
#if defined(FACULA_AVX512)
  if constexpr (std::is_same_v<T, float>)
    if (sum_by_winograd(s)) return true;
  return sum_by_product(s);
#else
  return false;
#endif
}

template <class T>
bool conv_output(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  // clang-format off
  return sum_windows<T>({s.n_batch, s.groups, s.out_channels, s.in_channels, taps_of(s),
                  s.in, s.stride, s.out, s.out, {0, 0, 0}, {1, 1, 1},
                  x, w, s.kernel, s.weight_row(), s.taps(), bias, y});
  // clang-format on
}

// The taps of one dimension that meet the positions first, first + stride, ... of the image.
struct Residue {
  int64_t first;
  std::vector<Tap> taps;  // shifted by how far from the pixel's number the output's is
};

std::vector<Residue> residues_of(const ConvShape& s, int d) {
  std::vector<Residue> residues;
  int64_t stride = s.stride[d];
  for (int64_t k = 0; k < s.kernel[d]; ++k) {
    int64_t first = ((k * s.dilation[d] - s.padding[d]) % stride + stride) % stride;
    if (first >= s.in[d]) continue;
    auto same = [&](const Residue& r) { return r.first == first; };
    auto found = std::find_if(residues.begin(), residues.end(), same);
    if (found == residues.end()) found = residues.insert(found, Residue{first, {}});
    found->taps.push_back({k, (first + s.padding[d] - k * s.dilation[d]) / stride});
  }
  return residues;
}

template <class T>
bool conv_input(const ConvShape& s, const T* w, const T* y, const T* bias, T* x) {
  std::vector<Residue> residues[3];
  bool is_covered = true;
  for (int d = 0; d < 3; ++d) {
    residues[d] = residues_of(s, d);
    is_covered &= static_cast<int64_t>(residues[d].size()) == std::min(s.stride[d], s.in[d]);
  }
  if (!is_covered) {
    int64_t n_channels = s.groups * s.in_channels, plane = s.in_pixels();
    parallel_for(s.n_batch * n_channels, 1 + kFillGrain / plane, [&](int64_t a, int64_t b) {
      for (int64_t i = a; i < b; ++i)
        std::fill(x + i * plane, x + (i + 1) * plane, bias ? bias[i % n_channels] : T(0));
    });
  }
  for (const Residue& a : residues[0]) {
    for (const Residue& b : residues[1]) {
      for (const Residue& c : residues[2]) {
        Spatial first{a.first, b.first, c.first}, grid;
        for (int d = 0; d < 3; ++d) grid[d] = ceil_div(s.in[d] - first[d], s.stride[d]);
        // clang-format off
        bool is_done = sum_windows<T>(
            {s.n_batch, s.groups, s.in_channels, s.out_channels, {a.taps, b.taps, c.taps},
             s.out, {1, 1, 1}, grid, s.in, first, s.stride,
             y, w, s.kernel, s.taps(), s.weight_row(), bias, x});
        // clang-format on
        if (!is_done) return false;
      }
    }
  }
  return true;
}

// The gradient of the weight.
template <class T>
bool conv_weight_any(const ConvShape& s, const T* x, const T* y, T* w) {
  if (conv_weight_of_planes(s, x, y, w)) return true;
#if defined(FACULA_AVX512)
  if constexpr (std::is_same_v<T, float>)
    if (weight_by_winograd(s, x, y, w)) return true;
  return conv_weight(s, x, y, w);
#else
  return false;
#endif
}

}  // namespace

extern const ConvTable conv_table;
const ConvTable conv_table = {{conv_output<float>, conv_input<float>, conv_weight_any<float>},
                              {conv_output<double>, conv_input<double>, conv_weight_any<double>}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
