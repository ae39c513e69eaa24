// Note [Convolution as a product]
// The outputs and the gradient of the inputs are both sums over channels and taps of numbers read
// from images: matrix products with a matrix B of windows, one column per pixel, that would be
// `taps` times as large as the images. It is never made as a whole: each task packs the panels of
// some pixels straight from the images, a slice of channels at a time, and multiplies the packed
// weights by them as a product of matrices would. The pixels of all images are one row of columns,
// so that small images fill the panels too; panels that lie in two images, or whose pixels are not
// neighbours in the result, are summed in a buffer first. With strides, the gradient of the inputs
// is one such sum for each residue of the positions: pixels of one residue meet the same taps.
#include "cpu/conv_windows.h"

#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/gemm_tile.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

namespace {

constexpr int64_t kSliceDepth = 384;        // as in a product of matrices
constexpr int64_t kTileBytes = 448 * 1024;  // of packed windows: they stay in L2
constexpr int64_t kMinTasks = 16;
constexpr int64_t kMinTilePanels = 3;
constexpr int64_t kMinTileRows = 16;  // panels of weights: packing windows costs as much as 2
constexpr int64_t kPackGrain = 32768;
constexpr int64_t kMinWork = int64_t{1} << 18;  // multiplications that are worth giving to a thread
constexpr int64_t kMaxStep = int64_t{1} << 24;  // of a gather

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
  int64_t per_tap = n_chunks + has_rest,
          n_lines = s.n_taps() / static_cast<int64_t>(s.taps[2].size());
  for (size_t c = 0; c < s.taps[2].size(); ++c) {
    int64_t shift = s.taps[2][c].shift;
    for (int64_t j = 0; j < n_chunks; ++j) {
      auto& chunk = chunks[j];
      chunk.mask = lanes_inside(chunk.w + shift, s.x_step[2], s.x_sizes[2], chunk.n);
      if (s.x_step[2] == 2) chunk.mask = spread_bits(chunk.mask);
    }
    for (int64_t l = 0; l < n_lines; ++l) {
      size_t n_b = s.taps[1].size();
      int64_t shift_d = s.taps[0][l / n_b].shift, shift_h = s.taps[1][l % n_b].shift;
      Piece* to = pieces + (l * s.taps[2].size() + c) * per_tap;
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

inline __m512 load_masked(const float* p, uint32_t mask) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p);
}
inline __m512d load_masked(const double* p, uint32_t mask) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p);
}
// Every second number, of those whose bit is set.
inline __m512 load_even(const float* p, uint32_t mask) {
  const __m512i evens =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(load_masked(p, mask & 0xFFFF), evens,
                                load_masked(p + 16, mask >> 16));
}
inline __m512d load_even(const double* p, uint32_t mask) {
  const __m512i evens = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  return _mm512_permutex2var_pd(load_masked(p, mask & 0xFF), evens, load_masked(p + 8, mask >> 8));
}
inline __m512 load_steps(const float* p, uint32_t mask, int step) {
  __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i at = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(step));
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), static_cast<__mmask16>(mask), at, p, 4);
}
inline __m512d load_steps(const double* p, uint32_t mask, int step) {
  __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i at = _mm256_mullo_epi32(lanes, _mm256_set1_epi32(step));
  return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), static_cast<__mmask8>(mask), at, p, 8);
}

// Rows of B of n_channels channels, `width` columns long. Every piece is stored as a full vector:
// what is too much of it is overwritten by the next one.
template <int kStep, class T>
void pack_pieces(const Piece* pieces, int64_t per_tap, int64_t n_taps, const T* x, int64_t plane,
                 int64_t n_channels, int step, int64_t width, T* to) {
  for (int64_t c = 0; c < n_channels; ++c, x += plane) {
    const Piece* piece = pieces;
    for (int64_t t = 0; t < n_taps; ++t, to += width) {
      for (int64_t i = 0; i < per_tap; ++i, ++piece) {
        const T* from = x + piece->from;
        if constexpr (kStep == 1) store(to + piece->column, load_masked(from, piece->mask));
        if constexpr (kStep == 2) store(to + piece->column, load_even(from, piece->mask));
        if constexpr (kStep == 0) store(to + piece->column, load_steps(from, piece->mask, step));
      }
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
  pack(pieces, per_tap, s.n_taps(), s.x + (group * s.n_channels + channel) * s.x_plane(),
       s.x_plane(), n_channels, step, width, to);
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
    for (const Tap& a : s.taps[0]) {
      for (const Tap& b : s.taps[1]) {
        const T* line = from + (a.index * s.kernel[1] + b.index) * s.kernel[2];
        for (const Tap& tap : s.taps[2])
          for (int64_t r = 0; r < n_rows; ++r) *to++ = line[r * s.w_row + tap.index];
      }
    }
  }
}

// How the work is cut, by the sizes alone.
struct Cut {
  int64_t slice_channels, n_slices;
  int64_t row_panels, row_tasks, col_panels, col_tasks, max_cols;
};

template <class T>
Cut cut_of(const WindowSum<T>& s) {
  Cut cut;
  cut.n_slices = ceil_div(s.n_channels, std::max<int64_t>(1, kSliceDepth / s.n_taps()));
  cut.slice_channels = ceil_div(s.n_channels, cut.n_slices);
  cut.n_slices = ceil_div(s.n_channels, cut.slice_channels);
  cut.row_panels = ceil_div(s.n_rows, kRows);
  cut.col_panels = ceil_div(s.n_batch * s.n_pixels(), kCols<T>);
  int64_t panel_bytes =
      cut.slice_channels * s.n_taps() * kCols<T> * static_cast<int64_t>(sizeof(T));
  int64_t cols = std::max<int64_t>(1, kTileBytes / panel_bytes);
  auto n_tasks = [&] { return s.groups * cut.row_tasks * ceil_div(cut.col_panels, cols); };
  cut.row_tasks = 1;
  while (n_tasks() < kMinTasks && cols > kMinTilePanels) --cols;
  while (n_tasks() < kMinTasks && cut.row_panels / (cut.row_tasks * 2) >= kMinTileRows)
    cut.row_tasks *= 2;
  cut.col_tasks = ceil_div(cut.col_panels, cols);
  cut.max_cols = ceil_div(cut.col_panels, cut.col_tasks);
  return cut;
}

// Where the tiles of a panel are summed: their first row is at `data`.
template <class T>
struct Target {
  T* data;
  int64_t ld;
  bool is_buffer;
};

template <class T>
void store_buffer(const WindowSum<T>& s, int64_t begin, int64_t end, int64_t group, int64_t row,
                  int64_t n_rows, Target<T> from) {
  for_each_run(s, begin, end, [&](int64_t column, int64_t n, int64_t image, const Spatial& at) {
    int64_t offset = 0, step = s.y_step[2];
    for (int d = 0; d < 3; ++d) offset = offset * s.y_sizes[d] + at[d] * s.y_step[d] + s.y_first[d];
    for (int64_t r = 0; r < n_rows; ++r) {
      T* to = s.y_row(image, group, row + r) + offset;
      const T* values = from.data + r * from.ld + column;
      if (step == 1) {
        std::copy(values, values + n, to);
      } else {
        for (int64_t i = 0; i < n; ++i) to[i * step] = values[i];
      }
    }
  });
}

// What the tasks that run one after the other share.
template <class T>
struct Workspace {
  Workspace(const WindowSum<T>& s, const Cut& cut)
      : pieces(s.n_taps() * (kCols<T> + 1)),
        windows(cut.max_cols * cut.slice_channels * s.n_taps() * kCols<T> + kVector<T>),
        sums(ceil_div(cut.row_panels, cut.row_tasks) * kRows * cut.max_cols * kCols<T>) {}
  Scratch<Piece> pieces;
  Scratch<T> windows;
  Scratch<T> sums;
};

// The panels [first_row, last_row) by [first_col, last_col) of the result, all slices.
template <class T>
void multiply_task(const WindowSum<T>& s, const Cut& cut, const T* packed_w, int64_t group,
                   int64_t first_row, int64_t last_row, int64_t first_col, int64_t last_col,
                   Workspace<T>& space) {
  int64_t row = first_row * kRows, n_rows = std::min(last_row * kRows, s.n_rows) - row;
  int64_t n_panels = last_col - first_col, n_pixels = s.n_pixels();
  auto begin = [&](int64_t j) { return (first_col + j) * kCols<T>; };
  auto end = [&](int64_t j) { return std::min(begin(j) + kCols<T>, s.n_batch * n_pixels); };
  auto target = [&](int64_t j) -> Target<T> {
    int64_t image = begin(j) / n_pixels;
    if (!s.is_dense() || (end(j) - 1) / n_pixels != image)
      return {space.sums.data() + j * kCols<T>, n_panels * kCols<T>, true};
    return {s.y_row(image, group, row) + begin(j) % n_pixels, s.y_plane(), false};
  };
  for (int64_t j = 0; s.bias && j < n_panels; ++j) {
    Target<T> to = target(j);
    for (int64_t r = 0; r < n_rows; ++r) {
      T* values = to.data + r * to.ld;
      std::fill(values, values + end(j) - begin(j), s.bias[group * s.n_rows + row + r]);
    }
  }
  for (int64_t slice = 0; slice < cut.n_slices; ++slice) {
    int64_t channel = slice * cut.slice_channels;
    int64_t n_channels = std::min(cut.slice_channels, s.n_channels - channel);
    int64_t depth = n_channels * s.n_taps(), stride = depth * kCols<T>;
    for (int64_t j = 0; j < n_panels; ++j)
      pack_windows(s, begin(j), end(j), group, channel, n_channels, space.pieces.data(),
                   space.windows.data() + j * stride);
    Update<T> update{T(1), slice == 0 && s.bias == nullptr ? T(0) : T(1)};
    const T* w = packed_w + (group * s.n_channels + channel) * s.n_taps() * s.n_rows;
    for (int64_t i = first_row; i < last_row; ++i) {
      int64_t height = std::min(kRows, s.n_rows - i * kRows);
      MatrixView<T> a{w + i * kRows * depth, 1, height};
      for (int64_t j = 0; j < n_panels; ++j) {
        Target<T> to = target(j);
        multiply_tile(a, space.windows.data() + j * stride, height, end(j) - begin(j), depth,
                      update, to.data + (i * kRows - row) * to.ld, to.ld);
      }
    }
  }
  for (int64_t j = 0; j < n_panels; ++j)
    if (target(j).is_buffer) store_buffer(s, begin(j), end(j), group, row, n_rows, target(j));
}

// Where windows are single pixels, lines mean nothing: an image is one line.
template <class T>
void join_lines(WindowSum<T>& s) {
  bool is_plain =
      s.n_taps() == 1 && s.x_sizes == s.grid && s.y_sizes == s.grid && s.x_step == Spatial{1, 1, 1};
  for (const std::vector<Tap>& taps : s.taps) is_plain &= taps[0].shift == 0;
  if (is_plain) s.x_sizes = s.y_sizes = s.grid = {1, 1, s.n_pixels()};
}

template <class T>
void sum_windows(WindowSum<T> s) {
  join_lines(s);
  Cut cut = cut_of(s);
  int64_t n_taps = s.n_taps();
  Scratch<T> packed_w(s.groups * s.n_rows * s.n_channels * n_taps);
  int64_t n_pieces = s.groups * cut.n_slices * cut.row_panels;
  int64_t grain = ceil_div(kPackGrain, kRows * cut.slice_channels * n_taps);
  parallel_for(n_pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t row = piece % cut.row_panels * kRows, slice = piece / cut.row_panels % cut.n_slices;
      int64_t group = piece / cut.row_panels / cut.n_slices, channel = slice * cut.slice_channels;
      int64_t n_channels = std::min(cut.slice_channels, s.n_channels - channel);
      T* to = packed_w.data() + (group * s.n_channels + channel) * n_taps * s.n_rows;
      pack_weights(s, group, row, std::min(kRows, s.n_rows - row), channel, n_channels,
                   to + row * n_channels * n_taps);
    }
  });
  int64_t work =
      ceil_div(s.n_rows, cut.row_tasks) * cut.max_cols * kCols<T> * s.n_channels * n_taps;
  grain = ceil_div(kMinWork, work);
  parallel_for(s.groups * cut.row_tasks * cut.col_tasks, grain, [&](int64_t begin, int64_t end) {
    Workspace<T> space(s, cut);
    for (int64_t task = begin; task < end; ++task) {
      int64_t i = task % cut.row_tasks, j = task / cut.row_tasks % cut.col_tasks;
      multiply_task(s, cut, packed_w.data(), task / cut.row_tasks / cut.col_tasks,
                    cut.row_panels * i / cut.row_tasks, cut.row_panels * (i + 1) / cut.row_tasks,
                    cut.col_panels * j / cut.col_tasks, cut.col_panels * (j + 1) / cut.col_tasks,
                    space);
    }
  });
}

}  // namespace

template <class T>
bool sum_by_product(const WindowSum<T>& s) {
  if (s.x_step[2] > kMaxStep) return false;
  sum_windows(s);
  return true;
}

template bool sum_by_product(const WindowSum<float>&);
template bool sum_by_product(const WindowSum<double>&);

#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
