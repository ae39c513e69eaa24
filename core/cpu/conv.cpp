// Note [Convolution as a product]
// The outputs and the gradient of the inputs are both sums over channels and taps of numbers read
// from images: matrix products with a matrix B of windows, one column per pixel, that would be
// `taps` times as large as the images. It is never made as a whole: each task packs the panels of
// some pixels straight from the images, a slice of channels at a time, and multiplies the packed
// weights by them as a product of matrices would. The pixels of all images are one row of columns,
// so that small images fill the panels too; panels that lie in two images, or whose pixels are not
// neighbours in the result, are summed in a buffer first. With strides, the gradient of the inputs
// is one such sum for each residue of the positions: pixels of one residue meet the same taps.
#include "cpu/conv.h"

#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/conv_weight.h"
#include "cpu/gemm_tile.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

namespace {

using Spatial = ConvShape::Spatial;

constexpr int64_t kSliceDepth = 384;        // as in a product of matrices
constexpr int64_t kTileBytes = 448 * 1024;  // of packed windows: they stay in L2
constexpr int64_t kMinTasks = 16;
constexpr int64_t kMinTilePanels = 3;
constexpr int64_t kMinTileRows = 16;  // panels of weights: packing windows costs as much as 2
constexpr int64_t kPackGrain = 32768;
constexpr int64_t kMaxStep = int64_t{1} << 24;  // of a gather

// A tap of the kernel: its number, and what is added to a pixel's position.
struct Tap {
  int64_t index;
  Spatial shift;
};

// y[n, m, first + j * y_step] = bias[m] + the sum over channels c and taps t of
// w[m, c, t.index] * x[n, c, j * x_step + t.shift], for all j in the grid and for each group.
template <class T>
struct WindowSum {
  int64_t n_batch, groups, n_rows, n_channels;
  std::vector<Tap> taps;
  Spatial x_sizes, x_step, grid, y_sizes, y_first, y_step;
  const T* x;
  const T* w;
  int64_t w_group, w_row, w_channel;
  const T* bias;
  T* y;

  int64_t n_taps() const { return static_cast<int64_t>(taps.size()); }
  int64_t n_pixels() const { return ConvShape::product(grid); }
  int64_t x_plane() const { return ConvShape::product(x_sizes); }
  int64_t y_plane() const { return ConvShape::product(y_sizes); }
  // The pixels of an image lie together in the result.
  bool is_dense() const { return y_sizes == grid; }
  T* y_row(int64_t image, int64_t group, int64_t row) const {
    return y + ((image * groups + group) * n_rows + row) * y_plane();
  }
};

// Neighbouring pixels of one line of the grid.
struct Run {
  int64_t column, n, image;
  Spatial at;
};

// Up to a vector of a row of windows: lanes whose bit is not set are padding.
struct Piece {
  int64_t from;
  uint32_t mask;
  int32_t column;
};

// The columns [begin, end) of B, up to kCols of them, and where their numbers come from.
struct Panel {
  int64_t begin, end;
  std::vector<Run> runs;
  std::vector<Piece> pieces;         // tap by tap
  std::vector<int64_t> first_piece;  // of each tap, and the end
};

template <class T>
std::vector<Run> runs_of(const WindowSum<T>& s, int64_t begin, int64_t end) {
  std::vector<Run> runs;
  for (int64_t q = begin; q < end;) {
    int64_t line = q / s.grid[2], w = q % s.grid[2], n = std::min(s.grid[2] - w, end - q);
    int64_t h = line % s.grid[1], plane = line / s.grid[1];
    runs.push_back({q - begin, n, plane / s.grid[0], {plane % s.grid[0], h, w}});
    q += n;
  }
  return runs;
}

// Bit 2 i for bit i: the lanes of every second number.
uint32_t spread_bits(uint32_t mask) {
  uint32_t spread = 0;
  for (int i = 0; i < 16; ++i) spread |= ((mask >> i) & 1u) << (2 * i);
  return spread;
}

template <class T>
Panel make_panel(const WindowSum<T>& s, int64_t begin, int64_t end) {
  constexpr int64_t v = kVector<T>;
  Panel panel{begin, end, runs_of(s, begin, end), {}, {}};
  int64_t n = end - begin, step = s.x_step[2];
  for (const Tap& tap : s.taps) {
    panel.first_piece.push_back(static_cast<int64_t>(panel.pieces.size()));
    // Lanes after the last column are multiplied too, and must hold numbers.
    if (n % v != 0) panel.pieces.push_back({0, 0, static_cast<int32_t>(n / v * v)});
    for (const Run& run : panel.runs) {
      int64_t d = run.at[0] * s.x_step[0] + tap.shift[0];
      int64_t h = run.at[1] * s.x_step[1] + tap.shift[1];
      bool is_inside = d >= 0 && d < s.x_sizes[0] && h >= 0 && h < s.x_sizes[1];
      int64_t line =
          run.image * s.groups * s.n_channels * s.x_plane() + (d * s.x_sizes[1] + h) * s.x_sizes[2];
      for (int64_t i = 0; i < run.n; i += v) {
        int64_t w = (run.at[2] + i) * step + tap.shift[2];
        uint32_t mask = 0;
        for (int64_t lane = 0; lane < std::min(v, run.n - i); ++lane) {
          int64_t at = w + lane * step;
          mask |= static_cast<uint32_t>(is_inside && at >= 0 && at < s.x_sizes[2]) << lane;
        }
        int64_t from = mask ? line + w : 0;
        if (step == 2) mask = spread_bits(mask);
        panel.pieces.push_back({from, mask, static_cast<int32_t>(run.column + i)});
      }
    }
  }
  panel.first_piece.push_back(static_cast<int64_t>(panel.pieces.size()));
  return panel;
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

// The rows of B of these channels, in the panel's columns. Every piece is stored as a full vector:
// what is too much of it is overwritten by the next one.
template <int kStep, class T>
void pack_channels(const Panel& panel, const T* x, int64_t plane, int64_t n_channels, int step,
                   T* to) {
  int64_t n_taps = static_cast<int64_t>(panel.first_piece.size()) - 1;
  int64_t width = ceil_div(panel.end - panel.begin, kVector<T>) * kVector<T>;
  for (int64_t c = 0; c < n_channels; ++c, x += plane) {
    for (int64_t t = 0; t < n_taps; ++t, to += width) {
      const Piece* piece = panel.pieces.data() + panel.first_piece[t];
      const Piece* last = panel.pieces.data() + panel.first_piece[t + 1];
      for (; piece < last; ++piece) {
        const T* from = x + piece->from;
        if constexpr (kStep == 1) store(to + piece->column, load_masked(from, piece->mask));
        if constexpr (kStep == 2) store(to + piece->column, load_even(from, piece->mask));
        if constexpr (kStep == 0) store(to + piece->column, load_steps(from, piece->mask, step));
      }
    }
  }
}

template <class T>
void pack_windows(const WindowSum<T>& s, const Panel& panel, int64_t group, int64_t channel,
                  int64_t n_channels, T* to) {
  const T* x = s.x + (group * s.n_channels + channel) * s.x_plane();
  int step = static_cast<int>(s.x_step[2]);
  auto pack = step == 1   ? pack_channels<1, T>
              : step == 2 ? pack_channels<2, T>
                          : pack_channels<0, T>;
  pack(panel, x, s.x_plane(), n_channels, step, to);
}

// One panel of weights: n_rows rows from `row` on, the numbers of a column together.
template <class T>
void pack_weights(const WindowSum<T>& s, int64_t group, int64_t row, int64_t n_rows,
                  int64_t channel, int64_t n_channels, bool has_all_taps, T* to) {
  const T* from = s.w + group * s.w_group + row * s.w_row + channel * s.w_channel;
  int64_t n_taps = s.n_taps();
  if (has_all_taps && s.w_channel == n_taps) {
    return pack_transposed<T>({from, s.w_row, 1}, n_rows, n_rows, n_channels * n_taps, to);
  }
  for (int64_t c = 0; c < n_channels; ++c, from += s.w_channel, to += n_taps * n_rows) {
    if (has_all_taps && n_taps >= kRows) {
      pack_transposed<T>({from, s.w_row, 1}, n_rows, n_rows, n_taps, to);
      continue;
    }
    for (int64_t t = 0; t < n_taps; ++t) {
      const T* column = from + s.taps[t].index;
      for (int64_t r = 0; r < n_rows; ++r) to[t * n_rows + r] = column[r * s.w_row];
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
void store_buffer(const WindowSum<T>& s, const Panel& panel, int64_t group, int64_t row,
                  int64_t n_rows, Target<T> from) {
  for (const Run& run : panel.runs) {
    int64_t offset = 0;
    for (int d = 0; d < 3; ++d)
      offset = offset * s.y_sizes[d] + run.at[d] * s.y_step[d] + s.y_first[d];
    for (int64_t r = 0; r < n_rows; ++r) {
      T* to = s.y_row(run.image, group, row + r) + offset;
      const T* values = from.data + r * from.ld + run.column;
      int64_t step = s.y_step[2];
      if (step == 1) {
        std::copy(values, values + run.n, to);
      } else {
        for (int64_t i = 0; i < run.n; ++i) to[i * step] = values[i];
      }
    }
  }
}

// Some panels of rows by some panels of columns of the result, all slices.
template <class T>
void multiply_task(const WindowSum<T>& s, const Cut& cut, const T* packed_w, int64_t group,
                   int64_t first_row, int64_t last_row, const std::vector<Panel>& panels,
                   T* packed_x, T* buffer) {
  int64_t row = first_row * kRows, n_rows = std::min(last_row * kRows, s.n_rows) - row;
  int64_t n_panels = static_cast<int64_t>(panels.size()), n_pixels = s.n_pixels();
  std::vector<Target<T>> targets;
  for (int64_t j = 0; j < n_panels; ++j) {
    const Panel& panel = panels[j];
    int64_t image = panel.begin / n_pixels;
    bool is_buffer = !s.is_dense() || (panel.end - 1) / n_pixels != image;
    T* to = s.y_row(image, group, row) + panel.begin % n_pixels;
    if (is_buffer) {
      targets.push_back({buffer + j * kCols<T>, n_panels * kCols<T>, true});
    } else {
      targets.push_back({to, s.y_plane(), false});
    }
    if (s.bias == nullptr) continue;
    for (int64_t r = 0; r < n_rows; ++r) {
      T* values = targets[j].data + r * targets[j].ld;
      std::fill(values, values + panel.end - panel.begin, s.bias[group * s.n_rows + row + r]);
    }
  }
  for (int64_t slice = 0; slice < cut.n_slices; ++slice) {
    int64_t channel = slice * cut.slice_channels;
    int64_t n_channels = std::min(cut.slice_channels, s.n_channels - channel);
    int64_t depth = n_channels * s.n_taps(), stride = depth * kCols<T>;
    for (int64_t j = 0; j < n_panels; ++j)
      pack_windows(s, panels[j], group, channel, n_channels, packed_x + j * stride);
    Update<T> update{T(1), slice == 0 && s.bias == nullptr ? T(0) : T(1)};
    const T* w = packed_w + (group * s.n_channels + channel) * s.n_taps() * s.n_rows;
    for (int64_t i = first_row; i < last_row; ++i) {
      int64_t height = std::min(kRows, s.n_rows - i * kRows);
      MatrixView<T> a{w + i * kRows * depth, 1, height};
      for (int64_t j = 0; j < n_panels; ++j) {
        T* c = targets[j].data + (i * kRows - row) * targets[j].ld;
        multiply_tile(a, packed_x + j * stride, height, panels[j].end - panels[j].begin, depth,
                      update, c, targets[j].ld);
      }
    }
  }
  for (int64_t j = 0; j < n_panels; ++j)
    if (targets[j].is_buffer) store_buffer(s, panels[j], group, row, n_rows, targets[j]);
}

// Where windows are single pixels, lines mean nothing: an image is one line.
template <class T>
void join_lines(WindowSum<T>& s) {
  bool is_plain = s.n_taps() == 1 && s.taps[0].shift == Spatial{0, 0, 0} && s.x_sizes == s.grid &&
                  s.y_sizes == s.grid && s.x_step == Spatial{1, 1, 1};
  if (is_plain) s.x_sizes = s.y_sizes = s.grid = {1, 1, s.n_pixels()};
}

template <class T>
void sum_windows(WindowSum<T> s, bool has_all_taps) {
  join_lines(s);
  Cut cut = cut_of(s);
  int64_t n_taps = s.n_taps(), n_columns = s.n_batch * s.n_pixels();
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
                   has_all_taps, to + row * n_channels * n_taps);
    }
  });
  int64_t n_tasks = s.groups * cut.row_tasks * cut.col_tasks;
  parallel_for(n_tasks, 1, [&](int64_t begin, int64_t end) {
    int64_t depth = cut.slice_channels * n_taps;
    int64_t max_rows = ceil_div(cut.row_panels, cut.row_tasks) * kRows;
    Scratch<T> packed_x(cut.max_cols * depth * kCols<T> + kVector<T>);
    Scratch<T> buffer(max_rows * cut.max_cols * kCols<T>);
    for (int64_t task = begin; task < end; ++task) {
      int64_t i = task % cut.row_tasks, j = task / cut.row_tasks % cut.col_tasks;
      std::vector<Panel> panels;
      for (int64_t p = cut.col_panels * j / cut.col_tasks;
           p < cut.col_panels * (j + 1) / cut.col_tasks; ++p) {
        int64_t first = p * kCols<T>;
        panels.push_back(make_panel(s, first, std::min(first + kCols<T>, n_columns)));
      }
      multiply_task(s, cut, packed_w.data(), task / cut.row_tasks / cut.col_tasks,
                    cut.row_panels * i / cut.row_tasks, cut.row_panels * (i + 1) / cut.row_tasks,
                    panels, packed_x.data(), buffer.data());
    }
  });
}

template <class T>
bool conv_output(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  if (s.stride[2] > kMaxStep) return false;
  WindowSum<T> sum{s.n_batch,
                   s.groups,
                   s.out_channels,
                   s.in_channels,
                   {},
                   s.in,
                   s.stride,
                   s.out,
                   s.out,
                   {0, 0, 0},
                   {1, 1, 1},
                   x,
                   w,
                   s.out_channels * s.weight_row(),
                   s.weight_row(),
                   s.taps(),
                   bias,
                   y};
  for (int64_t t = 0; t < s.taps(); ++t) {
    Tap tap{t, {}};
    int64_t rest = t;
    for (int d = 2; d >= 0; --d) {
      tap.shift[d] = rest % s.kernel[d] * s.dilation[d] - s.padding[d];
      rest /= s.kernel[d];
    }
    sum.taps.push_back(tap);
  }
  sum_windows(sum, true);
  return true;
}

// The taps of one dimension that meet the positions first, first + stride, ... of the image.
struct Residue {
  int64_t first;
  std::vector<std::pair<int64_t, int64_t>> taps;  // number, and shift in the output
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
    parallel_for(s.n_batch * n_channels, ceil_div(kPackGrain, plane), [&](int64_t a, int64_t b) {
      for (int64_t i = a; i < b; ++i)
        std::fill(x + i * plane, x + (i + 1) * plane, bias ? bias[i % n_channels] : T(0));
    });
  }
  for (const Residue& a : residues[0]) {
    for (const Residue& b : residues[1]) {
      for (const Residue& c : residues[2]) {
        WindowSum<T> sum{s.n_batch,
                         s.groups,
                         s.in_channels,
                         s.out_channels,
                         {},
                         s.out,
                         {1, 1, 1},
                         {},
                         s.in,
                         {a.first, b.first, c.first},
                         s.stride,
                         y,
                         w,
                         s.out_channels * s.weight_row(),
                         s.taps(),
                         s.weight_row(),
                         bias,
                         x};
        for (int d = 0; d < 3; ++d) sum.grid[d] = ceil_div(s.in[d] - sum.y_first[d], s.stride[d]);
        for (auto [ka, sa] : a.taps)
          for (auto [kb, sb] : b.taps)
            for (auto [kc, sc] : c.taps)
              sum.taps.push_back({(ka * s.kernel[1] + kb) * s.kernel[2] + kc, {sa, sb, sc}});
        sum_windows(sum, sum.n_taps() == s.taps());
      }
    }
  }
  return true;
}

}  // namespace

extern const ConvTable conv_table;
const ConvTable conv_table = {{conv_output<float>, conv_input<float>, conv_weight<float>},
                              {conv_output<double>, conv_input<double>, conv_weight<double>}};

#else

extern const ConvTable conv_table;
const ConvTable conv_table = {};

#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
