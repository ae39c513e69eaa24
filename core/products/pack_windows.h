// Windows of images and weights of kernels, packed as the inner loop of products reads them.
#pragma once
#include "cpu/vec_lanes.h"
#include "products/conv_shape.h"
#include "products/pack_panels.h"

namespace facula::cpu {
inline namespace FACULA_ISA {
namespace {

// Those of n_lanes lanes whose positions w, w + step, ... are in [0, size).
inline uint32_t lanes_inside(int64_t w, int64_t step, int64_t size, int64_t n_lanes) {
  int64_t first = w >= 0 ? 0 : std::min(ceil_div(-w, step), n_lanes);
  int64_t last = n_lanes;
  if (w + (n_lanes - 1) * step >= size)
    last = std::max(first, w < size ? ceil_div(size - w, step) : 0);
  return (1u << last) - (1u << first);
}

// Bit 2 i for bit i: the lanes of every second number.
inline uint32_t spread_bits(uint32_t mask) {
  mask = (mask | (mask << 8)) & 0x00FF00FF;
  mask = (mask | (mask << 4)) & 0x0F0F0F0F;
  mask = (mask | (mask << 2)) & 0x33333333;
  return (mask | (mask << 1)) & 0x55555555;
}

// Up to a vector of a row of windows: where its numbers come from. Lanes whose bit is not set are
// padding.
struct Piece {
  int64_t from;
  uint32_t mask;
  int32_t column;
};

// The pieces of the rows of one channel over the columns [begin, end), tap by tap. Returns their
// number for each tap, up to kCols + 1.
template <class T>
int64_t find_pieces(const WindowSum<T>& s, int64_t begin, int64_t end, Piece* pieces) {
  constexpr int64_t v = kVector<T>;
  struct {
    int64_t image, d, h, w, n;
    int32_t column;
    uint32_t mask;
  } chunks[kCols<T>];
  int64_t n_chunks = 0, image_stride = s.groups * s.n_channels * s.x_plane();
  for_each_run(s, begin, end, [&](int64_t column, int64_t n, int64_t image, const Spatial& at) {
    for (int64_t i = 0; i < n; i += v) {
      chunks[n_chunks++] = {image * image_stride,
                            at[0] * s.x_step[0],
                            at[1] * s.x_step[1],
                            (at[2] + i) * s.x_step[2],
                            std::min(v, n - i),
                            static_cast<int32_t>(column + i),
                            0};
    }
  });
  // Lanes after the last column are multiplied too, and must hold numbers.
  bool has_rest = (end - begin) % v != 0;
  int64_t per_tap = n_chunks + has_rest, n_h = s.taps[1].n, n_w = s.taps[2].n;
  for (int64_t c = 0; c < n_w; ++c) {
    int64_t shift = s.taps[2][c].shift;
    for (int64_t j = 0; j < n_chunks; ++j) {
      auto& chunk = chunks[j];
      chunk.mask = lanes_inside(chunk.w + shift, s.x_step[2], s.x_sizes[2], chunk.n);
      if (s.x_step[2] == 2) chunk.mask = spread_bits(chunk.mask);
    }
    for (int64_t l = 0; l < s.taps[0].n * n_h; ++l) {
      int64_t shift_d = s.taps[0][l / n_h].shift, shift_h = s.taps[1][l % n_h].shift;
      Piece* to = pieces + (l * n_w + c) * per_tap;
      if (has_rest) *to++ = {0, 0, static_cast<int32_t>((end - begin) / v * v)};
      for (int64_t j = 0; j < n_chunks; ++j, ++to) {
        const auto& chunk = chunks[j];
        int64_t d = chunk.d + shift_d, h = chunk.h + shift_h;
        bool is_inside = d >= 0 && d < s.x_sizes[0] && h >= 0 && h < s.x_sizes[1];
        to->mask = is_inside ? chunk.mask : 0;
        int64_t from = chunk.image + (d * s.x_sizes[1] + h) * s.x_sizes[2] + chunk.w + shift;
        to->from = to->mask ? from : 0;
        to->column = chunk.column;
      }
    }
  }
  return per_tap;
}

// Calls f(load) with the way to load a piece of a line whose numbers lie `step` apart.
template <int kStep, class T, class F>
FACULA_FN void with_loads(uint32_t mask, int step, F f) {
  constexpr int v = Vec<T>::kLanes;
  if constexpr (kStep == 0) {
    f([=](const T* p) FACULA_INLINE { return gather_masked(p, step, mask); });
  } else if constexpr (kStep == 2) {
    SomeLanes<T> low(mask & kAllLanes<T>), high(mask >> v);
    f([=](const T* p) FACULA_INLINE { return evens(low.load(p), high.load(p + v)); });
  } else if (mask == kAllLanes<T>) {
    f([](const T* p) FACULA_INLINE { return Vec<T>::load(p); });
  } else {
    SomeLanes<T> lanes(mask);
    f([=](const T* p) FACULA_INLINE { return lanes.load(p); });
  }
}

// Rows of B of n_channels channels, `width` columns long. Every piece is stored as a full vector:
// what is too much of it is overwritten by the next one of its row, or was there before and is put
// back. A piece is the same for all channels, which keeps what is known of it in registers.
template <int kStep, class T>
void pack_pieces(const Piece* piece, int64_t per_tap, int64_t n_taps, const T* x, int64_t plane,
                 int64_t n_channels, int step, int64_t width, T* to) {
  int64_t stride = n_taps * width;
  for (int64_t t = 0; t < n_taps; ++t, to += width) {
    for (int64_t i = 0; i < per_tap; ++i, ++piece) {
      const T* from = x + piece->from;
      T *place = to + piece->column, *next_row = to + width;
      bool reaches_next = piece->column + Vec<T>::kLanes > width;
      with_loads<kStep, T>(piece->mask, step, [&](auto load) FACULA_INLINE {
        for (int64_t c = 0; c < n_channels; ++c) {
          Vec<T> next;
          if (reaches_next) next = Vec<T>::load(next_row + c * stride);
          load(from + c * plane).store(place + c * stride);
          if (reaches_next) next.store(next_row + c * stride);
        }
      });
    }
  }
}

// The panel of B of the columns [begin, end) and of some channels.
template <class T>
void pack_windows(const WindowSum<T>& s, int64_t begin, int64_t end, int64_t group, int64_t channel,
                  int64_t n_channels, Piece* pieces, T* to) {
  int64_t per_tap = find_pieces(s, begin, end, pieces);
  int64_t width = ceil_div(end - begin, kVector<T>) * kVector<T>;
  int step = static_cast<int>(s.x_step[2]);
  auto pack = step == 1 ? pack_pieces<1, T> : step == 2 ? pack_pieces<2, T> : pack_pieces<0, T>;
  const T* x = s.x + (group * s.n_channels + channel) * s.x_plane();
  for (int64_t c = 0; c < n_channels; c += tuning::kPlanesAtOnce)
    pack(pieces, per_tap, s.n_taps(), x + c * s.x_plane(), s.x_plane(),
         std::min(tuning::kPlanesAtOnce, n_channels - c), step, width, to + c * s.n_taps() * width);
}

// One panel of weights: n_rows rows from `row` on, the numbers of a column together.
template <class T>
void pack_weights(const WindowSum<T>& s, int64_t group, int64_t row, int64_t n_rows,
                  int64_t channel, int64_t n_channels, T* to) {
  const T* from = s.w_group(group) + row * s.w_row + channel * s.w_channel;
  int64_t n_taps = s.n_taps();
  bool has_all_taps = n_taps == ConvShape::product(s.kernel);
  if (has_all_taps && s.w_channel == n_taps)
    return pack_transposed<T>({from, s.w_row, 1}, n_rows, n_rows, n_channels * n_taps, to);
  for (int64_t c = 0; c < n_channels; ++c, from += s.w_channel) {
    if (has_all_taps && n_taps >= kRows) {
      pack_transposed<T>({from, s.w_row, 1}, n_rows, n_rows, n_taps, to);
      to += n_taps * n_rows;
      continue;
    }
    for (Tap a : s.taps[0]) {
      for (Tap b : s.taps[1]) {
        const T* line = from + (a.index * s.kernel[1] + b.index) * s.kernel[2];
        for (Tap tap : s.taps[2])
          for (int64_t r = 0; r < n_rows; ++r) *to++ = line[r * s.w_row + tap.index];
      }
    }
  }
}

}  // namespace
}  // namespace FACULA_ISA
}  // namespace facula::cpu
