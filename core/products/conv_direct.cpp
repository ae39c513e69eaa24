// Convolutions in which every number meets few channels: each group has one of them, or there are
// few outputs. Packing windows would cost more than multiplying them. The lines of the image that
// some lines of pixels reach over are copied with their padding, and read from there once per tap.
// Position w of a line is at (w % step) * n + w / step: the pixels of a tap lie together whatever
// the stride.
#include <algorithm>
#include <utility>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/conv_windows.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int64_t kGoodNumel = int64_t{1} << 13;  // of the copied lines: L1 holds them
constexpr int64_t kMaxNumel = int64_t{1} << 16;
constexpr int64_t kSegment = 512;  // pixels of a line
constexpr int64_t kMinWork = int64_t{1} << 17;
constexpr int64_t kMinTasks = 16;
#if defined(FACULA_AVX512)
constexpr int kVectors = 4;  // of pixels, by kFewRows rows of sums: half of the registers
#else
constexpr int kVectors = 2;
#endif
constexpr int kSums = 8;  // taps at a time

// The range of a dimension's shifts.
std::pair<int64_t, int64_t> shifts_of(const std::vector<Tap>& taps) {
  auto less = [](const Tap& a, const Tap& b) { return a.shift < b.shift; };
  auto [low, high] = std::minmax_element(taps.begin(), taps.end(), less);
  return {low->shift, high->shift};
}

// A block of pixels: n_h lines of n_w, at one depth of one image.
struct Block {
  int64_t image, group, d, h, n_h, w, n_w;
};

// How the grid is cut into blocks, and how the lines that a block reaches over are copied.
template <class T>
struct Lines {
  const WindowSum<T>& s;
  bool fits = false;
  int64_t low_h, low_w;  // the smallest shifts
  int64_t n_h, n_w, bands, segments;
  int64_t height, width, step;   // lines of a copy; numbers of one residue in a line; residues
  std::vector<int64_t> offsets;  // of channels and taps: from a pixel's place in the copy

  explicit Lines(const WindowSum<T>& sum) : s(sum), step(sum.x_step[2]) {
    auto [low1, high1] = shifts_of(s.taps[1]);
    auto [low2, high2] = shifts_of(s.taps[2]);
    low_h = low1, low_w = low2;
    if (high1 - low1 > kMaxNumel || high2 - low2 > kMaxNumel || step > kMaxNumel) return;
    segments = ceil_div(s.grid[2], kSegment);
    n_w = ceil_div(s.grid[2], segments);
    width = n_w + ceil_div(high2 - low2, step) + 1;
    int64_t line = n_channels_and_depths() * width * step, reach = high1 - low1 + 1;
    if (line > kMaxNumel / reach || s.x_step[1] > kMaxNumel) return;
    n_h = std::clamp<int64_t>((kGoodNumel / line - reach) / s.x_step[1] + 1, 1, s.grid[1]);
    bands = ceil_div(s.grid[1], n_h);
    n_h = ceil_div(s.grid[1], bands);
    height = (n_h - 1) * s.x_step[1] + reach;
    for (int64_t plane = 0; plane < n_channels_and_depths(); ++plane) {
      for (const Tap& b : s.taps[1]) {
        for (const Tap& c : s.taps[2]) {
          int64_t at = c.shift - low_w, from = plane * height + b.shift - low_h;
          offsets.push_back(from * line_size() + at % step * width + at / step);
        }
      }
    }
    fits = true;
  }

  int64_t n_channels_and_depths() const {
    return s.n_channels * static_cast<int64_t>(s.taps[0].size());
  }
  int64_t line_size() const { return width * step; }
  int64_t numel() const {  // with room for vectors at the end
    return n_channels_and_depths() * height * line_size() + kVectors * Vec<T>::kLanes;
  }
  int64_t n_blocks() const { return s.n_batch * s.groups * blocks_of_image(); }
  int64_t blocks_of_image() const { return s.grid[0] * bands * segments; }

  Block block(int64_t i) const {
    int64_t segment = i % segments, band = i / segments % bands, plane = i / segments / bands;
    int64_t d = plane % s.grid[0], image = plane / s.grid[0];
    int64_t h = band * n_h, w = segment * n_w;
    return {image / s.groups,
            image % s.groups,
            d,
            h,
            std::min(n_h, s.grid[1] - h),
            w,
            std::min(n_w, s.grid[2] - w)};
  }

  void copy(const Block& block, T* to) const {
    int64_t n_lines = (block.n_h - 1) * s.x_step[1] + height - (n_h - 1) * s.x_step[1];
    int64_t first = block.w * step + low_w;
    for (int64_t c = 0; c < s.n_channels; ++c) {
      const T* x = s.x + ((block.image * s.groups + block.group) * s.n_channels + c) * s.x_plane();
      for (const Tap& a : s.taps[0]) {
        int64_t d = block.d * s.x_step[0] + a.shift, h = block.h * s.x_step[1] + low_h;
        bool has_plane = d >= 0 && d < s.x_sizes[0];
        for (int64_t i = 0; i < n_lines; ++i, ++h) {
          bool is_inside = has_plane && h >= 0 && h < s.x_sizes[1];
          const T* line = is_inside ? x + (d * s.x_sizes[1] + h) * s.x_sizes[2] : nullptr;
          copy_line(line, first, to + i * line_size());
        }
        to += height * line_size();
      }
    }
  }

 private:
  // Whole vectors are stored, a few numbers further than asked: the next ones come after them, and
  // behind the last one there is room. Lines are often too short for a call of memset or memcpy.
  static void fill_zeros(T* to, int64_t n) {
    for (int64_t i = 0; i < n; i += Vec<T>::kLanes) Vec<T>(T(0)).store(to + i);
  }

  void copy_line(const T* line, int64_t first, T* to) const {
    constexpr int64_t lanes = Vec<T>::kLanes;
    if (!line) return fill_zeros(to, line_size());
    for (int64_t residue = 0; residue < step; ++residue, to += width) {
      // Numbers begin, begin + 1, ... of the residue are inside the line.
      int64_t at = first + residue, size = s.x_sizes[2];
      int64_t begin = at < 0 ? std::min(ceil_div(-at, step), width) : 0;
      int64_t end = at < size ? std::clamp(ceil_div(size - at, step), begin, width) : begin;
      fill_zeros(to, begin);
      int64_t i = begin;
      if (step == 1) {
        for (; i + lanes <= end; i += lanes) Vec<T>::load(line + at + i).store(to + i);
        if (i < end) Vec<T>::load(line + at + i, end - i).store(to + i);
      } else {
        for (; i < end; ++i) to[i] = line[at + i * step];
      }
      fill_zeros(to + end, width - end);
    }
  }
};

// kR rows of sums over kN vectors of pixels, which begin at these places of the copied lines.
template <int kR, int kN, class T>
void sum_pixels(const T* lines, const int64_t* offsets, const int64_t* places, const T* w,
                int64_t depth, const T* bias, T* to) {
  using V = Vec<T>;
  V sums[kR][kN];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < kN; ++j) sums[r][j] = V(bias ? bias[r] : T(0));
  }
  for (int64_t k = 0; k < depth; ++k) {
    V x[kN];
#pragma GCC unroll 4
    for (int j = 0; j < kN; ++j) x[j] = V::load(lines + offsets[k] + places[j]);
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) {
      V factor(w[k * kR + r]);
#pragma GCC unroll 4
      for (int j = 0; j < kN; ++j) sums[r][j] = fma(factor, x[j], sums[r][j]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < kN; ++j) sums[r][j].store(to + (r * kVectors + j) * V::kLanes);
  }
}

template <class T>
using SumPixels = void (*)(const T*, const int64_t*, const int64_t*, const T*, int64_t, const T*,
                           T*);
template <class T, int... I>
constexpr std::array<SumPixels<T>, sizeof...(I)> sum_pixels_by_size(
    std::integer_sequence<int, I...>) {
  return {sum_pixels<I / kVectors + 1, I % kVectors + 1, T>...};
}

// Vectors of several lines are summed together where lines are short: one after the other, they
// would wait for each other's sums.
template <class T>
void sum_block(const Lines<T>& lines, const Block& block, const T* copy, const T* w) {
  using V = Vec<T>;
  constexpr int64_t lanes = V::kLanes;
  static constexpr auto kernels =
      sum_pixels_by_size<T>(std::make_integer_sequence<int, kFewRows * kVectors>());
  const WindowSum<T>& s = lines.s;
  T sums[kFewRows * kVectors * lanes];
  int64_t depth = s.n_channels * s.n_taps(), line = s.x_step[1] * lines.line_size();
  const T* bias = s.bias ? s.bias + block.group * s.n_rows : nullptr;
  int64_t d = block.d * s.y_step[0] + s.y_first[0];
  for (int64_t i = 0, j = 0; i < block.n_h;) {
    int64_t n = 0, places[kVectors], to[kVectors], n_pixels[kVectors];
    for (; n < kVectors && i < block.n_h; ++n) {
      int64_t h = (block.h + i) * s.y_step[1] + s.y_first[1];
      places[n] = i * line + j;
      to[n] = (d * s.y_sizes[1] + h) * s.y_sizes[2] + (block.w + j) * s.y_step[2] + s.y_first[2];
      n_pixels[n] = std::min(lanes, block.n_w - j);
      j += lanes;
      if (j >= block.n_w) j = 0, ++i;
    }
    kernels[(s.n_rows - 1) * kVectors + n - 1](copy, lines.offsets.data(), places, w, depth, bias,
                                               sums);
    for (int64_t r = 0; r < s.n_rows; ++r) {
      T* row = s.y_row(block.image, block.group, r);
      for (int64_t v = 0; v < n; ++v) {
        const T* values = sums + (r * kVectors + v) * lanes;
        if (s.y_step[2] == 1) {
          V::load(values).store(row + to[v], n_pixels[v]);
        } else {
          for (int64_t p = 0; p < n_pixels[v]; ++p) row[to[v] + p * s.y_step[2]] = values[p];
        }
      }
    }
  }
}

// The weights of a group in the order of the sum: for each channel and tap, its rows.
template <class T>
void gather_weights(const WindowSum<T>& s, int64_t group, T* to) {
  for (int64_t c = 0; c < s.n_channels; ++c) {
    const T* from = s.w_group(group) + c * s.w_channel;
    for (const Tap& a : s.taps[0])
      for (const Tap& b : s.taps[1])
        for (const Tap& t : s.taps[2])
          for (int64_t r = 0; r < s.n_rows; ++r)
            *to++ = from[r * s.w_row + (a.index * s.kernel[1] + b.index) * s.kernel[2] + t.index];
  }
}

// Whether gather_weights would only copy them.
template <class T>
bool are_gathered(const WindowSum<T>& s) {
  if (s.n_rows != 1 || (s.n_channels != 1 && s.w_channel != s.n_taps())) return false;
  for (size_t d = 0; d < 3; ++d) {
    if (static_cast<int64_t>(s.taps[d].size()) != s.kernel[d]) return false;
    for (int64_t k = 0; k < s.kernel[d]; ++k)
      if (s.taps[d][static_cast<size_t>(k)].index != k) return false;
  }
  return true;
}

// kT sums, of the products of pixels of y with those of a tap each.
template <int kT, class T>
void multiply_planes(const Lines<T>& lines, const Block& block, const T* copy,
                     const int64_t* offsets, const T* y, Vec<T>* totals) {
  using V = Vec<T>;
  V sums[kT];
#pragma GCC unroll 8
  for (int t = 0; t < kT; ++t) sums[t] = totals[t];
  for (int64_t i = 0; i < block.n_h; ++i, y += lines.s.grid[2]) {
    const T* from = copy + i * lines.s.x_step[1] * lines.line_size();
    int64_t j = 0;
    for (; j + V::kLanes <= block.n_w; j += V::kLanes) {
      V g = V::load(y + j);
#pragma GCC unroll 8
      for (int t = 0; t < kT; ++t) sums[t] = fma(g, V::load(from + offsets[t] + j), sums[t]);
    }
    int64_t n = block.n_w - j;
    if (n == 0) continue;
    V g = V::load(y + j, n);
#pragma GCC unroll 8
    for (int t = 0; t < kT; ++t) sums[t] = fma(g, V::load(from + offsets[t] + j, n), sums[t]);
  }
#pragma GCC unroll 8
  for (int t = 0; t < kT; ++t) totals[t] = sums[t];
}

template <class T>
using MultiplyPlanes = void (*)(const Lines<T>&, const Block&, const T*, const int64_t*, const T*,
                                Vec<T>*);
template <class T, int... I>
constexpr std::array<MultiplyPlanes<T>, sizeof...(I)> multiply_planes_by_size(
    std::integer_sequence<int, I...>) {
  return {multiply_planes<I + 1, T>...};
}

}  // namespace

template <class T>
bool sum_few_rows(const WindowSum<T>& s) {
  Lines<T> lines(s);
  if (!lines.fits) return false;
  int64_t depth = s.n_channels * s.n_taps(), n = lines.blocks_of_image();
  int64_t work = s.n_rows * depth * lines.n_h * lines.n_w;
  bool is_gathered = are_gathered(s);
  parallel_for(lines.n_blocks(), ceil_div(kMinWork, work), [&](int64_t begin, int64_t end) {
    Scratch<T> copy(lines.numel()), w(depth * s.n_rows);
    for (int64_t i = begin; i < end; ++i) {
      Block block = lines.block(i);
      if (!is_gathered && (i == begin || i % n == 0)) gather_weights(s, block.group, w.data());
      lines.copy(block, copy.data());
      sum_block(lines, block, copy.data(), is_gathered ? s.w_group(block.group) : w.data());
    }
  });
  return true;
}

template <class T>
bool conv_weight_of_planes(const ConvShape& s, const T* x, const T* y, T* w) {
  if (s.in_channels != 1 || s.out_channels > kFewRows) return false;
  WindowSum<T> sum{s.n_batch, s.groups, s.out_channels, 1,         taps_of(s), s.in,
                   s.stride,  s.out,    s.out,          {0, 0, 0}, {1, 1, 1},  x,
                   w,         s.kernel, s.taps(),       s.taps(),  nullptr,    w};
  Lines<T> lines(sum);
  if (!lines.fits) return false;
  static constexpr auto kernels =
      multiply_planes_by_size<T>(std::make_integer_sequence<int, kSums>());
  int64_t n_parts = std::min(s.n_batch, ceil_div(kMinTasks, s.groups)), taps = s.taps();
  int64_t n_sums = s.out_channels * taps, n_blocks = lines.blocks_of_image();
  Scratch<Vec<T>> totals(n_parts * s.groups * n_sums);
  parallel_for(n_parts * s.groups, 1, [&](int64_t begin, int64_t end) {
    Scratch<T> copy(lines.numel());
    for (int64_t task = begin; task < end; ++task) {
      int64_t part = task / s.groups, group = task % s.groups;
      Vec<T>* sums = totals.data() + task * n_sums;
      std::fill(sums, sums + n_sums, Vec<T>(T(0)));
      for (int64_t n = s.n_batch * part / n_parts; n < s.n_batch * (part + 1) / n_parts; ++n) {
        for (int64_t i = 0; i < n_blocks; ++i) {
          Block block = lines.block((n * s.groups + group) * n_blocks + i);
          lines.copy(block, copy.data());
          for (int64_t o = 0; o < s.out_channels; ++o) {
            const T* g = y + ((n * s.groups + group) * s.out_channels + o) * s.out_pixels() +
                         (block.d * s.out[1] + block.h) * s.out[2] + block.w;
            for (int64_t t = 0; t < taps; t += kSums) {
              kernels[std::min<int64_t>(kSums, taps - t) - 1](
                  lines, block, copy.data(), lines.offsets.data() + t, g, sums + o * taps + t);
            }
          }
        }
      }
    }
  });
  for (int64_t i = 0; i < s.groups * n_sums; ++i) {
    Vec<T> total = totals.data()[i];
    for (int64_t p = 1; p < n_parts; ++p) total = total + totals.data()[p * s.groups * n_sums + i];
    w[i] = T(0);
    for (int lane = 0; lane < Vec<T>::kLanes; ++lane) w[i] += total[lane];
  }
  return true;
}

template bool sum_few_rows(const WindowSum<float>&);
template bool sum_few_rows(const WindowSum<double>&);
template bool conv_weight_of_planes(const ConvShape&, const float*, const float*, float*);
template bool conv_weight_of_planes(const ConvShape&, const double*, const double*, double*);

}  // namespace FACULA_ISA
}  // namespace facula::cpu
