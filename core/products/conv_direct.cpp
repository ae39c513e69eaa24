// Convolutions in which every number meets few channels: each group has one of them, or there are
// few outputs. Packing windows would cost more than multiplying them. The lines of the image that
// some lines of pixels reach over are copied with their padding, and read from there once per tap.
// Those of 3x3 taps for each channel by itself are read where they lie.
#include <algorithm>
#include <utility>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/conv_kernels.h"
#include "products/padded_line.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

using tuning::kFewRows;

#if defined(FACULA_AVX512)
constexpr int kVectors = 4;  // of pixels, by kFewRows rows of sums: half of the registers
#else
constexpr int kVectors = 2;
#endif

// A block of pixels: n_h lines of n_w, at one depth of one image.
struct Block {
  int64_t image, group, d, h, n_h, w, n_w;
};

// How the grid is cut into blocks, and how the lines that a block reaches over are copied.
template <class T>
struct Lines {
  const WindowSum<T>& s;
  int64_t low_h, low_w;  // the smallest shifts
  int64_t n_h, n_w, bands, segments;
  int64_t height, width, step;  // lines of a copy; numbers of one residue in a line; residues
  Scratch<int64_t> offsets;     // of channels and taps: from a pixel's place in the copy

  explicit Lines(const WindowSum<T>& sum)
      : s(sum),
        low_h(s.taps[1].low()),
        low_w(s.taps[2].low()),
        step(s.x_step[2]),
        offsets(s.n_channels * s.n_taps()) {
    Segments cut = segments_of(s);
    segments = cut.n, n_w = cut.pixels, width = cut.width;
    int64_t line = n_channels_and_depths() * line_size(), reach = s.taps[1].reach() + 1;
    // As many lines as L1 holds, or, where few of these would be met by several lines of pixels,
    // L2.
    int64_t most = std::max(tuning::kGoodLineNumel / line,
                            std::min(tuning::kMaxLineNumel / line, tuning::kLineReaches * reach));
    n_h = (most - reach) / s.x_step[1] + 1;
    n_h = std::clamp<int64_t>(n_h, 1, s.grid[1]);
    bands = ceil_div(s.grid[1], n_h);
    n_h = ceil_div(s.grid[1], bands);
    height = (n_h - 1) * s.x_step[1] + reach;
    int64_t* to = offsets.data();
    for (int64_t plane = 0; plane < n_channels_and_depths(); ++plane) {
      for (Tap b : s.taps[1]) {
        for (Tap c : s.taps[2]) {
          int64_t at = c.shift - low_w, from = plane * height + b.shift - low_h;
          *to++ = from * line_size() + at % step * width + at / step;
        }
      }
    }
  }

  int64_t n_channels_and_depths() const { return s.n_channels * s.taps[0].n; }
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
      for (Tap a : s.taps[0]) {
        int64_t d = block.d * s.x_step[0] + a.shift, h = block.h * s.x_step[1] + low_h;
        bool has_plane = d >= 0 && d < s.x_sizes[0];
        for (int64_t i = 0; i < n_lines; ++i, ++h) {
          bool is_inside = has_plane && h >= 0 && h < s.x_sizes[1];
          const T* line = is_inside ? x + (d * s.x_sizes[1] + h) * s.x_sizes[2] : nullptr;
          if (line) {
            copy_padded_line(line, s.x_sizes[2], first, step, width, to + i * line_size());
          } else {
            fill_zeros(to + i * line_size(), line_size());
          }
        }
        to += height * line_size();
      }
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

// ---- one channel to one: lines of pixels share the lines that their windows reach over

constexpr int kLines = 4;  // of pixels, whose sums are in registers
constexpr int kLineVectors = 2;

// The taps of a plane, from the uppermost line down.
template <class T>
struct PlaneTaps {
  int64_t n_lines, n_columns;
  const int64_t* offsets;  // of the taps of a line, in a copied line
  const T* w;
  int64_t w_step;  // from the weights of a line to those of the next: up or down

  PlaneTaps(const Lines<T>& lines, const T* weights)
      : n_lines(lines.s.taps[1].n), n_columns(lines.s.taps[2].n) {
    bool is_flipped = lines.s.taps[1].step.shift < 0;
    int64_t first = is_flipped ? (n_lines - 1) * n_columns : 0;
    offsets = lines.offsets.data() + first;
    w = weights + first;
    w_step = is_flipped ? -n_columns : n_columns;
  }
};

// kR lines of kN vectors of pixels each. A copied line is read once for all lines of pixels whose
// windows it is in: depthwise 7x7 on 96x28x28 took a third longer with a load for every product.
// The last vector ends with the last pixel and may overlap the one before, so that a whole one is
// stored: masked stores took a sixth of the time of depthwise 7x7 with AVX2.
template <int kR, int kN, class T>
void sum_lines(const PlaneTaps<T>& taps, const T* lines, int64_t line_size, T bias, T* to,
               int64_t to_line, int64_t n_pixels) {
  using V = Vec<T>;
  V sums[kR][kN];
  int64_t last = std::max<int64_t>(n_pixels - V::kLanes, 0);
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < kN; ++j) sums[r][j] = V(bias);
  }
  for (int64_t l = 0; l < taps.n_lines + kR - 1; ++l, lines += line_size) {
    for (int64_t c = 0; c < taps.n_columns; ++c) {
      V x[kN];
      const T* from = lines + taps.offsets[c];
#pragma GCC unroll 2
      for (int j = 0; j < kN; ++j) x[j] = V::load(from + (j < kN - 1 ? j * V::kLanes : last));
      const T* w = taps.w + l * taps.w_step + c;
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r, w -= taps.w_step) {
        if (l < r || l >= taps.n_lines + r) continue;
        V factor(*w);
#pragma GCC unroll 2
        for (int j = 0; j < kN; ++j) sums[r][j] = fma(factor, x[j], sums[r][j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r, to += to_line) {
#pragma GCC unroll 2
    for (int j = 0; j < kN - 1; ++j) sums[r][j].store(to + j * V::kLanes);
    if (kN == 1 && n_pixels < V::kLanes) {
      sums[r][0].store(to, n_pixels);
    } else {
      sums[r][kN - 1].store(to + last);
    }
  }
}

template <class T>
using SumLines = void (*)(const PlaneTaps<T>&, const T*, int64_t, T, T*, int64_t, int64_t);
template <class T, int... I>
constexpr std::array<SumLines<T>, sizeof...(I)> sum_lines_by_size(
    std::integer_sequence<int, I...>) {
  return {sum_lines<I / kLineVectors + 1, I % kLineVectors + 1, T>...};
}

// Whether lines of pixels that follow each other share lines of the image.
bool shares_lines(const WindowShape& s) {
  int64_t step = s.taps[1].step.shift;
  return s.n_rows == 1 && s.n_channels == 1 && s.taps[0].n == 1 && s.x_step[1] == 1 &&
         (step == 1 || step == -1) && s.y_step[2] == 1;
}

template <class T>
void sum_block_of_lines(const Lines<T>& lines, const Block& block, const T* copy, const T* w) {
  static constexpr auto kernels =
      sum_lines_by_size<T>(std::make_integer_sequence<int, kLines * kLineVectors>());
  constexpr int64_t width = kLineVectors * Vec<T>::kLanes;
  const WindowSum<T>& s = lines.s;
  PlaneTaps<T> taps(lines, w);
  T bias = s.bias ? s.bias[block.group] : T(0);
  int64_t to_line = s.y_step[1] * s.y_sizes[2];
  int64_t first = (block.d * s.y_step[0] + s.y_first[0]) * s.y_sizes[1] + s.y_first[1];
  T* y = s.y_row(block.image, block.group, 0) + first * s.y_sizes[2] + block.h * to_line +
         s.y_first[2] + block.w;
  for (int64_t i = 0; i < block.n_h; i += kLines) {
    int64_t n_lines = std::min<int64_t>(kLines, block.n_h - i);
    for (int64_t j = 0; j < block.n_w; j += width) {
      int64_t n = std::min(width, block.n_w - j), n_vectors = ceil_div(n, Vec<T>::kLanes);
      kernels[(n_lines - 1) * kLineVectors + n_vectors - 1](taps, copy + i * lines.line_size() + j,
                                                            lines.line_size(), bias,
                                                            y + i * to_line + j, to_line, n);
    }
  }
}

// ---- the same of 3x3, which copying would take longer than

constexpr int kTaps = 3;  // in each direction

// Of lines that are read where they lie, the last vector ends with the last pixel and may overlap
// the one before, so that a whole one is stored.
template <class T>
struct Plane {
  const WindowSum<T>& s;
  int64_t shifts[kTaps];      // of the taps of a line
  Scratch<uint32_t> insides;  // for each vector and tap, which of its numbers are in the image

  explicit Plane(const WindowSum<T>& sum) : s(sum), insides(n_vectors() * kTaps) {
    for (int c = 0; c < kTaps; ++c) shifts[c] = s.taps[2][c].shift;
    uint32_t* to = insides.data();
    for (int64_t i = 0; i < n_vectors(); ++i)
      for (Tap t : s.taps[2])
        *to++ = numbers_inside(place(i) * s.x_step[2] + t.shift, s.x_step[2] * Vec<T>::kLanes);
  }
  int64_t n_vectors() const { return ceil_div(s.grid[2], Vec<T>::kLanes); }
  int64_t place(int64_t i) const {
    return std::max<int64_t>(0, std::min((i + 1) * Vec<T>::kLanes, s.grid[2]) - Vec<T>::kLanes);
  }

 private:
  // Of n numbers, 32 at most, from `first` on.
  uint32_t numbers_inside(int64_t first, int64_t n) const {
    int64_t begin = std::clamp<int64_t>(-first, 0, n);
    int64_t end = std::clamp(s.x_sizes[2] - first, begin, n);
    return static_cast<uint32_t>((uint64_t{1} << end) - (uint64_t{1} << begin));
  }
};

// The weights of a plane, of the taps from the uppermost line down.
template <class T>
struct PlaneWeights {
  const T* w;
  int64_t line;  // from one line to the next: up or down
  PlaneWeights(const WindowShape& s, const T* weights) {
    bool is_flipped = s.taps[1].step.shift < 0;
    line = is_flipped ? -kTaps : kTaps;
    w = weights + (is_flipped ? (kTaps - 1) * kTaps : 0);
  }
};

// kR lines of kN vectors of pixels, kStep apart, from vector i on. Their uppermost line of taps is
// line h of the image x.
template <int kStep, int kR, int kN, class T>
void sum_lines_in_place(const Plane<T>& plane, PlaneWeights<T> weights, const T* x, int64_t h,
                        int64_t i, T bias, T* to, int64_t to_line) {
  using V = Vec<T>;
  constexpr int lanes = V::kLanes;
  const WindowSum<T>& s = plane.s;
  const uint32_t* insides = plane.insides.data() + i * kTaps;
  int64_t places[kN], height = s.x_sizes[1], width = s.x_sizes[2];
  for (int j = 0; j < kN; ++j) places[j] = plane.place(i + j);
  V sums[kR][kN];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < kN; ++j) sums[r][j] = V(bias);
  }
  // What the next lines meet first: from memory, it would be waited for.
  const T* next = x + (h + kTaps + (kR - 1) * kStep) * width + places[0] * kStep;
#pragma GCC unroll 8
  for (int r = 0; r < kR * kStep; ++r, next += width)
    for (int j = 0; j < kN * kStep * lanes; j += 64 / static_cast<int>(sizeof(T)))
      __builtin_prefetch(next + j);
  V factors[kTaps * kTaps];
#pragma GCC unroll 16
  for (int t = 0; t < kTaps * kTaps; ++t)
    factors[t] = V(weights.w[t / kTaps * weights.line + t % kTaps]);
#pragma GCC unroll 16
  for (int l = 0; l < kTaps + (kR - 1) * kStep; ++l) {
    if (h + l < 0 || h + l >= height) continue;
    const T* line = x + (h + l) * width;
#pragma GCC unroll 3
    for (int c = 0; c < kTaps; ++c) {
      V pixels[kN];
#pragma GCC unroll 2
      for (int j = 0; j < kN; ++j) {
        const T* from = line + places[j] * kStep + plane.shifts[c];
        uint32_t inside = insides[j * kTaps + c];
        pixels[j] = load_masked(from, inside & kAllLanes<T>);
        if (kStep == 2) pixels[j] = evens(pixels[j], load_masked(from + lanes, inside >> lanes));
      }
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) {
        int t = l - r * kStep;
        if (t < 0 || t >= kTaps) continue;
#pragma GCC unroll 2
        for (int j = 0; j < kN; ++j)
          sums[r][j] = fma(factors[t * kTaps + c], pixels[j], sums[r][j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r, to += to_line) {
#pragma GCC unroll 2
    for (int j = 0; j < kN; ++j) {
      if (s.grid[2] < lanes) {
        sums[r][j].store(to, s.grid[2]);
      } else {
        sums[r][j].store(to + places[j]);
      }
    }
  }
}

// Whether the taps of 3x3 are read where they lie. Vectors of 16 bytes have no masks: their edges
// should not be most of a line.
template <class T>
bool reads_in_place(const WindowShape& s) {
  int64_t step = s.taps[1].step.shift;
  return s.n_rows == 1 && s.n_channels == 1 && s.taps[0].n == 1 && s.taps[1].n == kTaps &&
         s.taps[2].n == kTaps && s.x_step[1] == s.x_step[2] && s.x_step[2] <= 2 &&
         (step == 1 || step == -1) && s.y_step[2] == 1 &&
         (kVecBytes > 16 || s.grid[2] >= 4 * Vec<T>::kLanes);
}

// The lines [begin, end) of pixels of one plane, at depth d.
template <int kStep, class T>
void sum_plane(const Plane<T>& plane, const T* w, int64_t channel, int64_t d, int64_t begin,
               int64_t end) {
  const WindowSum<T>& s = plane.s;
  PlaneWeights<T> weights(s, w);
  T bias = s.bias ? s.bias[channel % s.groups] : T(0);
  int64_t x_d = d * s.x_step[0] + s.taps[0].first.shift;
  bool is_inside = x_d >= 0 && x_d < s.x_sizes[0];
  const T* x = s.x + channel * s.x_plane() + x_d * s.x_sizes[1] * s.x_sizes[2];
  T* y =
      s.y + channel * s.y_plane() + (d * s.y_step[0] + s.y_first[0]) * s.y_sizes[1] * s.y_sizes[2];
  int64_t to_line = s.y_step[1] * s.y_sizes[2];
  for (int64_t i = begin; i < end; i += kLines) {
    // The last lines may be summed twice.
    int64_t line = std::max(begin, std::min(i, end - kLines));
    int64_t n_lines = std::min<int64_t>(kLines, end - begin);
    T* to = y + line * to_line + s.y_first[1] * s.y_sizes[2];
    int64_t h = is_inside ? line * kStep + s.taps[1].low() : s.x_sizes[1];
    int64_t j = 0;
    if (n_lines == kLines) {
      for (; j + kLineVectors <= plane.n_vectors(); j += kLineVectors)
        sum_lines_in_place<kStep, kLines, kLineVectors>(plane, weights, x, h, j, bias, to, to_line);
      if (j < plane.n_vectors())
        sum_lines_in_place<kStep, kLines, 1>(plane, weights, x, h, j, bias, to, to_line);
    } else {
      for (; j < plane.n_vectors(); ++j)
        for (int64_t r = 0; r < n_lines; ++r)
          sum_lines_in_place<kStep, 1, 1>(plane, weights, x, h + r * kStep, j, bias,
                                          to + r * to_line, to_line);
    }
  }
}

// The weights of a group in the order of the sum: for each channel and tap, its rows.
template <class T>
void gather_weights(const WindowSum<T>& s, int64_t group, T* to) {
  for (int64_t c = 0; c < s.n_channels; ++c) {
    const T* from = s.w_group(group) + c * s.w_channel;
    for (Tap a : s.taps[0])
      for (Tap b : s.taps[1])
        for (Tap t : s.taps[2])
          for (int64_t r = 0; r < s.n_rows; ++r)
            *to++ = from[r * s.w_row + (a.index * s.kernel[1] + b.index) * s.kernel[2] + t.index];
  }
}

// Whether gather_weights would only copy them.
bool are_gathered(const WindowShape& s) {
  bool has_all_taps = s.n_taps() == ConvShape::product(s.kernel);
  return s.n_rows == 1 && has_all_taps && (s.n_channels == 1 || s.w_channel == s.n_taps());
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

template <class T>
void sum_planes(const WindowSum<T>& s) {
  Plane<T> plane(s);
  bool is_gathered = are_gathered(s);
  auto sum = s.x_step[2] == 1 ? sum_plane<1, T> : sum_plane<2, T>;
  int64_t line_work = s.grid[2] * s.n_taps();
  int64_t n_bands = ceil_div(s.grid[1], kLines + tuning::kTaskWork / line_work);
  int64_t n_blocks = s.n_batch * s.groups * s.grid[0] * n_bands;
  int64_t work = line_work * ceil_div(s.grid[1], n_bands);
  parallel_for(n_blocks, ceil_div(tuning::kTaskWork, work), [&](int64_t begin, int64_t end) {
    Scratch<T> gathered(s.n_taps());
    for (int64_t i = begin; i < end; ++i) {
      int64_t band = i % n_bands, d = i / n_bands % s.grid[0], channel = i / n_bands / s.grid[0];
      const T* w = s.w_group(channel % s.groups);
      if (!is_gathered) gather_weights(s, channel % s.groups, gathered.data());
      sum(plane, is_gathered ? w : gathered.data(), channel, d, s.grid[1] * band / n_bands,
          s.grid[1] * (band + 1) / n_bands);
    }
  });
}

template <class T>
void sum_few_rows(const WindowSum<T>& s) {
  if (reads_in_place<T>(s)) return sum_planes(s);
  Lines<T> lines(s);
  int64_t depth = s.n_channels * s.n_taps(), n = lines.blocks_of_image();
  int64_t work = s.n_rows * depth * lines.n_h * lines.n_w;
  bool is_gathered = are_gathered(s);
  auto sum = shares_lines(s) ? sum_block_of_lines<T> : sum_block<T>;
  parallel_for(lines.n_blocks(), ceil_div(tuning::kTaskWork, work),
               [&](int64_t begin, int64_t end) {
                 Scratch<T> copy(lines.numel()), w(depth * s.n_rows);
                 for (int64_t i = begin; i < end; ++i) {
                   Block block = lines.block(i);
                   if (!is_gathered && (i == begin || i % n == 0))
                     gather_weights(s, block.group, w.data());
                   lines.copy(block, copy.data());
                   sum(lines, block, copy.data(), is_gathered ? s.w_group(block.group) : w.data());
                 }
               });
}

// The gradient of the weight for groups of one channel.
template <class T>
void weight_of_planes(const ConvShape& s, const T* x, const T* y, T* w) {
  WindowSum<T> windows{windows_of_output(s), x, nullptr, nullptr, nullptr};
  Lines<T> lines(windows);
  static constexpr auto kernels =
      multiply_planes_by_size<T>(std::make_integer_sequence<int, tuning::kTapSums>());
  int64_t n_parts = std::min(s.n_batch, ceil_div(tuning::kMinTasks, s.groups)), taps = s.taps();
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
            for (int64_t t = 0; t < taps; t += tuning::kTapSums) {
              kernels[std::min<int64_t>(tuning::kTapSums, taps - t) - 1](
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
}

}  // namespace

extern const ConvTable direct_table;
const ConvTable direct_table = {{sum_few_rows<float>, weight_of_planes<float>},
                                {sum_few_rows<double>, weight_of_planes<double>}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
