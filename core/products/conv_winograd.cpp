// Note [Winograd's convolution]
// The four outputs of a 2x2 tile of a 3x3 convolution are made of the 4x4 window under the tile
// with 16 multiplications instead of 36: Y = A^T [(G g G^T) * (B^T d B)] A for the window d and the
// kernel g (Winograd; Lavin and Gray, "Fast algorithms for convolutional neural networks"). The
// sums over channels are 16 products of matrices, one for each place in the window. B and A are of
// zeros and ones, so that hardly any precision is lost.
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/conv_kernels.h"
#include "products/pack_windows.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int64_t kPlaces = 16;
constexpr int64_t kBlockRows = tuning::kWinogradRows;
constexpr int64_t kPanelRows = kBlockRows / kRows * kRows;  // of a block of whole panels of kernels

using V = Vec<float>;

// B^T d for one line of a window, and the same for the places of a window.
inline void transform_window(const V (&d)[4], V (&to)[4]) {
  to[0] = d[0] - d[2];
  to[1] = d[1] + d[2];
  to[2] = d[2] - d[1];
  to[3] = d[1] - d[3];
}

// G g for one line of a kernel.
inline void transform_kernel(const V (&g)[3], V (&to)[4]) {
  V half(0.5f);
  V ends = half * (g[0] + g[2]), middle = half * g[1];
  to[0] = g[0];
  to[1] = ends + middle;
  to[2] = ends - middle;
  to[3] = g[2];
}

// A^T m.
inline void transform_products(const V (&m)[4], V (&to)[2]) {
  to[0] = m[0] + m[1] + m[2];
  to[1] = m[1] - m[2] - m[3];
}

// Tiles are the pixels of a sum over 4x4 windows with a step of 2.
WindowSum<float> tiles_of(const WindowSum<float>& s) {
  WindowSum<float> tiles = s;
  tiles.x_step = {1, 2, 2};
  for (int d = 1; d < 3; ++d) {
    tiles.grid[d] = ceil_div(s.grid[d], 2);
    tiles.taps[d] = {4, {0, s.taps[d].low()}, {1, 1}};
  }
  return tiles;
}

// Packed kernels: (place, row, channel) with the rows of a panel together. Vectors hold the kernels
// that follow each other there, so that whole lines are stored: places lie a power of two apart
// where channels do, and a line that waits for its other half would be gone from the cache by then.
void pack_kernels(const WindowSum<float>& s, int64_t group, int64_t row, float* to) {
  constexpr int v = V::kLanes, n_taps = 9;
  constexpr int64_t n_ahead = 8;  // channels, each on another page in the gradient of the input
  int64_t n_rows = std::min(kRows, s.n_rows - row), numel = n_rows * s.n_channels;
  int64_t offsets[n_taps], place_stride = s.n_rows * s.n_channels, r = 0;
  // The taps of the gradient of the input go backwards.
  for (int t = 0; t < n_taps; ++t) {
    int64_t a = s.taps[1].step.shift < 0 ? 2 - t / 3 : t / 3;
    int64_t b = s.taps[2].step.shift < 0 ? 2 - t % 3 : t % 3;
    int64_t line = s.taps[0].first.index * s.kernel[1] + s.taps[1][a].index;
    offsets[t] = line * s.kernel[2] + s.taps[2][b].index;
  }
  const float* channel = s.w_group(group) + row * s.w_row;
  to += row * s.n_channels;
  for (int64_t q = 0; q < numel; q += v) {
    int n = static_cast<int>(std::min<int64_t>(v, numel - q));
    float lanes[n_taps][v] = {};
    for (int i = 0; i < n; ++i) {
      const float* kernel = channel + r * s.w_row;
      __builtin_prefetch(kernel + n_ahead * s.w_channel);
      for (int t = 0; t < n_taps; ++t) lanes[t][i] = kernel[offsets[t]];
      if (++r == n_rows) r = 0, channel += s.w_channel;
    }
    V half_done[4][3];
    for (int j = 0; j < 3; ++j) {
      V g[3], column[4];
      for (int i = 0; i < 3; ++i) g[i] = V::load(lanes[i * 3 + j]);
      transform_kernel(g, column);
      for (int i = 0; i < 4; ++i) half_done[i][j] = column[i];
    }
    for (int i = 0; i < 4; ++i) {
      V line[4];
      transform_kernel(half_done[i], line);
      for (int j = 0; j < 4; ++j) store_first(to + (i * 4 + j) * place_stride + q, n, line[j]);
    }
  }
}

// Up to a vector of tiles in one line: where the four lines of their windows come from, and which
// of the numbers of each are inside the image.
struct TilePiece {
  int64_t from[4];
  uint64_t mask[4];
  int64_t column;
};

int64_t find_tile_pieces(const WindowSum<float>& tiles, int64_t begin, int64_t end,
                         TilePiece* pieces) {
  constexpr int64_t v = kVector<float>;
  int64_t n_pieces = 0, low_h = tiles.taps[1].low(), low_w = tiles.taps[2].low();
  for_each_run(tiles, begin, end, [&](int64_t column, int64_t n, int64_t image, Spatial at) {
    int64_t d = at[0] + tiles.taps[0].first.shift;
    for (int64_t i = 0; i < n; i += v) {
      TilePiece& piece = pieces[n_pieces++];
      piece.column = column + i;
      int64_t w = 2 * (at[2] + i) + low_w, n_lanes = 2 * std::min(v, n - i) + 2;
      int64_t first = std::clamp<int64_t>(-w, 0, n_lanes);
      int64_t last = std::clamp<int64_t>(tiles.x_sizes[2] - w, first, n_lanes);
      uint64_t mask = (uint64_t{1} << last) - (uint64_t{1} << first);
      for (int a = 0; a < 4; ++a) {
        int64_t h = 2 * at[1] + low_h + a;
        bool is_inside = mask && d >= 0 && d < tiles.x_sizes[0] && h >= 0 && h < tiles.x_sizes[1];
        int64_t from = image * tiles.groups * tiles.n_channels * tiles.x_plane() +
                       (d * tiles.x_sizes[1] + h) * tiles.x_sizes[2] + w;
        piece.from[a] = is_inside ? from : 0;
        piece.mask[a] = is_inside ? mask : 0;
      }
    }
  });
  return n_pieces;
}

// The 16 places of the windows of some tiles of one channel, kPitch apart. Vectors are stored
// whole: what is too much is overwritten by the next piece, or is room after the last one.
constexpr int64_t kPitch = kCols<float> + kVector<float>;

void gather_tiles(const TilePiece* pieces, int64_t n_pieces, const float* x, float* to) {
  constexpr int v = V::kLanes;
  for (const TilePiece* piece = pieces; piece < pieces + n_pieces; ++piece) {
    for (int a = 0; a < 4; ++a) {
      const float* line = x + piece->from[a];
      uint64_t mask = piece->mask[a];
      V first = load_masked(line, static_cast<uint32_t>(mask) & kAllLanes<float>);
      V second = load_masked(line + v, static_cast<uint32_t>(mask >> v) & kAllLanes<float>);
      V third = load_masked(line + 2 * v, static_cast<uint32_t>(mask >> 2 * v));
      V even = evens(first, second), odd = odds(first, second);
      float* place = to + a * 4 * kPitch + piece->column;
      even.store(place);
      odd.store(place + kPitch);
      // The next tile's even and odd numbers are this tile's last two.
      shifted_in(even, third).store(place + 2 * kPitch);
      shifted_in(odd, rotated<1>(third)).store(place + 3 * kPitch);
    }
  }
}

// The windows of n_channels channels of the tiles [begin, end), kCols at most: (place, channel,
// tile), where a channel has ld tiles.
void pack_tiles(const WindowSum<float>& tiles, int64_t begin, int64_t end, int64_t group,
                int64_t channel, int64_t n_channels, int64_t ld, float* to) {
  constexpr int64_t v = kVector<float>;
  TilePiece pieces[kCols<float>];
  // Lanes after the last tile are multiplied too, and must hold numbers.
  float raw[kPlaces * kPitch] = {};
  int64_t width = ceil_div(end - begin, v) * v, place_stride = n_channels * ld;
  int64_t n_pieces = find_tile_pieces(tiles, begin, end, pieces);
  const float* x = tiles.x + (group * tiles.n_channels + channel) * tiles.x_plane();
  for (int64_t c = 0; c < n_channels; ++c, x += tiles.x_plane()) {
    gather_tiles(pieces, n_pieces, x, raw);
    for (int64_t j = 0; j < width; j += v) {
      V half_done[4][4];
      for (int b = 0; b < 4; ++b) {
        V d[4], column[4];
        for (int a = 0; a < 4; ++a) d[a] = V::load(raw + (a * 4 + b) * kPitch + j);
        transform_window(d, column);
        for (int a = 0; a < 4; ++a) half_done[a][b] = column[a];
      }
      for (int a = 0; a < 4; ++a) {
        V line[4];
        transform_window(half_done[a], line);
        for (int b = 0; b < 4; ++b) line[b].store(to + (a * 4 + b) * place_stride + c * ld + j);
      }
    }
  }
}

inline void copy_pixels(const float* from, int64_t n, float* to) {
  constexpr int64_t v = kVector<float>;
  for (int64_t i = 0; i < n; i += v) {
    int n_lanes = static_cast<int>(std::min(v, n - i));
    store_first(to + i, n_lanes, load_first(from + i, n_lanes));
  }
}

struct Run {
  int64_t column, n_pixels, image, offset;
  bool has_second_line;
};

// The outputs of the tiles of one row, from their products in places place_stride apart.
void store_tiles(const WindowSum<float>& s, const std::vector<Run>& runs, int64_t width,
                 const float* products, int64_t place_stride, float bias, float* y,
                 int64_t image_stride) {
  constexpr int64_t v = kVector<float>;
  float lines[2][2 * kCols<float>];
  for (int64_t j = 0; j < width; j += v) {
    V half_done[2][4];
    for (int b = 0; b < 4; ++b) {
      V m[4], column[2];
      for (int a = 0; a < 4; ++a) m[a] = V::load(products + (a * 4 + b) * place_stride + j);
      transform_products(m, column);
      half_done[0][b] = column[0], half_done[1][b] = column[1];
    }
    for (int a = 0; a < 2; ++a) {
      V pixels[2];
      transform_products(half_done[a], pixels);
      for (V& p : pixels) p += V(bias);
      turns_of_lower(pixels[0], pixels[1]).store(lines[a] + 2 * j);
      turns_of_upper(pixels[0], pixels[1]).store(lines[a] + 2 * j + v);
    }
  }
  for (const Run& run : runs) {
    float* to = y + run.image * image_stride + run.offset;
    copy_pixels(lines[0] + 2 * run.column, run.n_pixels, to);
    if (run.has_second_line)
      copy_pixels(lines[1] + 2 * run.column, run.n_pixels, to + s.y_sizes[2]);
  }
}

// A y for one line of a tile, the transpose of transform_products.
inline void transform_outputs(const V (&y)[2], V (&to)[4]) {
  to[0] = y[0];
  to[1] = y[0] + y[1];
  to[2] = y[0] - y[1];
  to[3] = V(0.0f) - y[1];
}

// G^T s, the transpose of transform_kernel.
inline void transform_sums(const V (&s)[4], V (&to)[3]) {
  V half(0.5f), ends = half * (s[1] + s[2]);
  to[0] = s[0] + ends;
  to[1] = half * (s[1] - s[2]);
  to[2] = ends + s[3];
}

// How the gradient of the weight is cut: blocks of channels by channels, and parts of the tiles.
struct WeightCut {
  int64_t slice_tiles, n_slices, in_blocks, out_blocks, parts;
  WeightCut(const ConvShape& s, int64_t n_tiles) {
    constexpr int64_t v = kVector<float>;
    n_slices = ceil_div(n_tiles, tuning::kSliceTiles);
    slice_tiles = ceil_div(ceil_div(n_tiles, n_slices), v) * v;
    n_slices = ceil_div(n_tiles, slice_tiles);
    in_blocks = ceil_div(s.in_channels, kBlockRows);
    out_blocks = ceil_div(s.out_channels, kBlockRows);
    parts = std::min(n_slices, ceil_div(tuning::kMinTasks, s.groups * in_blocks * out_blocks));
  }
};

// What a task needs for a block of kBlockRows by kBlockRows channels.
struct WeightSpace {
  explicit WeightSpace(const WeightCut& cut)
      : windows(kPlaces * kBlockRows * cut.slice_tiles),
        pixels(4 * cut.slice_tiles * kBlockRows),
        outputs(kPlaces * kBlockRows * cut.slice_tiles),
        sums(kPlaces * kBlockRows * kBlockRows) {}
  Scratch<float> windows, pixels, outputs, sums;
};

// A dY A^T for the tiles [begin, end) and a block of output channels: (place, panel of channels,
// tile, channel). `pixels` holds both lines of a run of tiles, turned over.
void pack_output_tiles(const ConvShape& s, const WindowSum<float>& tiles, const float* y,
                       int64_t begin, int64_t end, int64_t n_channels, float* pixels, float* to) {
  constexpr int64_t v = kVector<float>;
  int64_t n_vectors = ceil_div(n_channels, v), ld = n_vectors * v, n_tiles = end - begin;
  int64_t panel = std::min(ld, tuning::kWeightVectors * v);
  for_each_run(tiles, begin, end, [&](int64_t column, int64_t n, int64_t image, Spatial at) {
    int64_t h = 2 * at[1], w = 2 * at[2], n_pixels = std::min(2 * n, s.out[2] - w);
    const float* from = y + image * s.groups * s.out_channels * s.out_pixels() +
                        (at[0] * s.out[1] + h) * s.out[2] + w;
    for (int line = 0; line < 2; ++line) {
      float* turned = pixels + line * 2 * n * ld;
      int64_t n_there = h + line < s.out[1] ? n_pixels : 0;
      if (n_there > 0)
        pack_transposed<float>({from + line * s.out[2], s.out_pixels(), 1}, n_channels, ld, n_there,
                               turned);
      std::fill(turned + n_there * ld, turned + 2 * n * ld, 0.0f);
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < ld; c += v) {
        V half_done[4][2];
        for (int b = 0; b < 2; ++b) {
          const float* place = pixels + (2 * i + b) * ld + c;
          V lines[2] = {V::load(place), V::load(place + 2 * n * ld)}, turned[4];
          transform_outputs(lines, turned);
          for (int a = 0; a < 4; ++a) half_done[a][b] = turned[a];
        }
        int64_t first = c / panel * panel, width = std::min(panel, ld - first);
        float* place = to + first * n_tiles + (column + i) * width + c - first;
        for (int a = 0; a < 4; ++a) {
          V line[4];
          transform_outputs(half_done[a], line);
          for (int b = 0; b < 4; ++b) line[b].store(place + (a * 4 + b) * ld * n_tiles);
        }
      }
    }
  });
}

// w[o, c] = G^T sums G for a block; sums are (place, c, o).
void store_kernels(const ConvShape& s, const float* sums, int64_t n_in, int64_t n_out, float* w) {
  constexpr int64_t v = kVector<float>;
  int64_t ld = ceil_div(n_out, v) * v;
  for (int64_t o = 0; o < n_out; o += v) {
    for (int64_t c = 0; c < n_in; ++c) {
      V half_done[3][4];
      for (int b = 0; b < 4; ++b) {
        V m[4], column[3];
        for (int a = 0; a < 4; ++a) m[a] = V::load(sums + ((a * 4 + b) * n_in + c) * ld + o);
        transform_sums(m, column);
        for (int a = 0; a < 3; ++a) half_done[a][b] = column[a];
      }
      float taps[9][v];
      for (int a = 0; a < 3; ++a) {
        V line[3];
        transform_sums(half_done[a], line);
        for (int b = 0; b < 3; ++b) line[b].store(taps[a * 3 + b]);
      }
      for (int64_t i = 0; i < std::min(v, n_out - o); ++i)
        for (int t = 0; t < 9; ++t) w[(o + i) * s.weight_row() + c * 9 + t] = taps[t][i];
    }
  }
}

// One block of the gradient, summed over the slices [first, last).
void sum_weight_block(const ConvShape& s, const WindowSum<float>& tiles, const WeightCut& cut,
                      const float* y, int64_t group, int64_t in, int64_t out, int64_t first,
                      int64_t last, WeightSpace& space, float* w) {
  constexpr int64_t v = kVector<float>, cols = kCols<float>;
  int64_t n_in = std::min(kBlockRows, s.in_channels - in);
  int64_t n_out = std::min(kBlockRows, s.out_channels - out), ld = ceil_div(n_out, v) * v;
  int64_t panel = std::min(ld, tuning::kWeightVectors * v);
  const float* y_block = y + (group * s.out_channels + out) * s.out_pixels();
  for (int64_t slice = first; slice < last; ++slice) {
    int64_t begin = slice * cut.slice_tiles;
    int64_t end = std::min(begin + cut.slice_tiles, s.n_batch * tiles.n_pixels());
    int64_t n = end - begin;
    for (int64_t q = begin; q < end; q += cols)
      pack_tiles(tiles, q, std::min(q + cols, end), group, in, n_in, cut.slice_tiles,
                 space.windows.data() + q - begin);
    pack_output_tiles(s, tiles, y_block, begin, end, n_out, space.pixels.data(),
                      space.outputs.data());
    for (int64_t place = 0; place < kPlaces; ++place) {
      for (int64_t r = 0; r < n_in; r += kRows) {
        const float* a = space.windows.data() + (place * n_in + r) * cut.slice_tiles;
        for (int64_t c = 0; c < ld; c += panel) {
          int64_t width = std::min(panel, ld - c);
          Tile<float> tile{{a, cut.slice_tiles, 1},
                           space.outputs.data() + (place * ld + c) * n,
                           width,
                           n,
                           space.sums.data() + (place * n_in + r) * ld + c,
                           ld};
          tile.beta = slice == first ? 0.0f : 1.0f;
          multiply_tile(tile, std::min(kRows, n_in - r), width);
        }
      }
    }
  }
  store_kernels(s, space.sums.data(), n_in, n_out, w);
}

// Panels of tiles are tasks, or halves of their rows where there are few of them.
struct TileCut {
  int64_t n_tiles, n_panels, row_panels, row_tasks;
  TileCut(const WindowShape& s, const WindowShape& tiles)
      : n_tiles(s.n_batch * tiles.n_pixels()),
        n_panels(ceil_div(n_tiles, kCols<float>)),
        row_panels(ceil_div(s.n_rows, kRows)) {
    bool is_halved = s.groups * n_panels < tuning::kMinTasks && s.n_rows >= 4 * kBlockRows;
    row_tasks = is_halved ? 2 : 1;
  }
};

// The rows [first_row, last_row) of the tiles [begin, end), from their packed kernels.
void sum_tiles(const WindowSum<float>& s, const WindowSum<float>& tiles, const float* kernels,
               int64_t group, int64_t begin, int64_t end, int64_t first_row, int64_t last_row,
               float* windows, float* products, std::vector<Run>& runs) {
  constexpr int64_t cols = kCols<float>, v = kVector<float>;
  int64_t width = ceil_div(end - begin, v) * v;
  pack_tiles(tiles, begin, end, group, 0, s.n_channels, width, windows);
  runs.clear();
  for_each_run(tiles, begin, end, [&](int64_t column, int64_t n, int64_t image, Spatial at) {
    int64_t h = 2 * at[1], w = 2 * at[2];
    runs.push_back({column, std::min(2 * n, s.grid[2] - w), image,
                    (at[0] * s.grid[1] + h) * s.grid[2] + w, h + 1 < s.grid[1]});
  });
  for (int64_t row = first_row; row < last_row; row += kPanelRows) {
    int64_t block_end = std::min(row + kPanelRows, last_row);
    for (int64_t place = 0; place < kPlaces; ++place) {
      const float* w = kernels + place * s.n_rows * s.n_channels;
      for (int64_t r = row; r < block_end; r += kRows) {
        int64_t height = std::min(kRows, block_end - r);
        const float* a = w + r * s.n_channels;
        Tile<float> tile{{a, 1, height}, windows + place * s.n_channels * width,           width,
                         s.n_channels,   products + (place * kPanelRows + r - row) * cols, cols};
        tile.next_a = a + kRows * s.n_channels;
        multiply_tile(tile, height, width);
      }
    }
    for (int64_t r = row; r < block_end; ++r) {
      store_tiles(s, runs, width, products + (r - row) * cols, kPanelRows * cols,
                  s.bias ? s.bias[group * s.n_rows + r] : 0.0f, s.y_row(0, group, r),
                  s.groups * s.n_rows * s.y_plane());
    }
  }
}

int64_t numel_of_group(const WindowShape& s) { return kPlaces * s.n_rows * s.n_channels; }
int64_t packed_numel(const WindowShape& s) { return s.groups * numel_of_group(s); }

void pack_all_kernels(const WindowSum<float>& s, float* to) {
  int64_t row_panels = ceil_div(s.n_rows, kRows);
  parallel_for(s.groups * row_panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t group = i / row_panels;
      pack_kernels(s, group, i % row_panels * kRows, to + group * numel_of_group(s));
    }
  });
}

void sum_by_winograd(const WindowSum<float>& s) {
  constexpr int64_t cols = kCols<float>;
  WindowSum<float> tiles = tiles_of(s);
  TileCut cut(s, tiles);
  int64_t task_rows = ceil_div(cut.row_panels, cut.row_tasks) * kRows;
  parallel_for(s.groups * cut.n_panels * cut.row_tasks, 1, [&](int64_t first, int64_t last) {
    Scratch<float> windows(kPlaces * s.n_channels * cols);
    Scratch<float> products(kPlaces * kPanelRows * cols);
    std::vector<Run> runs;
    for (int64_t task = first; task < last; ++task) {
      int64_t part = task % cut.row_tasks, panel = task / cut.row_tasks % cut.n_panels;
      int64_t group = task / cut.row_tasks / cut.n_panels, begin = panel * cols;
      sum_tiles(s, tiles, s.packed_w + group * numel_of_group(s), group, begin,
                std::min(begin + cols, cut.n_tiles), part * task_rows,
                std::min((part + 1) * task_rows, s.n_rows), windows.data(), products.data(), runs);
    }
  });
}

void weight_by_winograd(const ConvShape& s, const float* x, const float* y, float* w) {
  WindowSum<float> tiles = tiles_of({windows_of_output(s), x, nullptr, nullptr, nullptr});
  int64_t n_tiles = s.n_batch * tiles.n_pixels();
  WeightCut cut(s, n_tiles);
  int64_t numel = s.groups * s.out_channels * s.weight_row();
  Scratch<float> partial((cut.parts - 1) * numel);
  int64_t n_blocks = s.groups * cut.in_blocks * cut.out_blocks;
  parallel_for(n_blocks * cut.parts, 1, [&](int64_t begin, int64_t end) {
    WeightSpace space(cut);
    for (int64_t task = begin; task < end; ++task) {
      int64_t part = task % cut.parts, block = task / cut.parts;
      int64_t in = block % cut.in_blocks * kBlockRows;
      int64_t out = block / cut.in_blocks % cut.out_blocks * kBlockRows;
      int64_t group = block / cut.in_blocks / cut.out_blocks;
      float* to = part == 0 ? w : partial.data() + (part - 1) * numel;
      sum_weight_block(s, tiles, cut, y, group, in, out, cut.n_slices * part / cut.parts,
                       cut.n_slices * (part + 1) / cut.parts, space,
                       to + (group * s.out_channels + out) * s.weight_row() + in * s.taps());
    }
  });
  for (int64_t part = 1; part < cut.parts; ++part) {
    const float* from = partial.data() + (part - 1) * numel;
    for (int64_t i = 0; i < numel; ++i) w[i] += from[i];
  }
}

}  // namespace

extern const ConvTable winograd_table;
const ConvTable winograd_table = {
    {sum_by_winograd, weight_by_winograd, packed_numel, pack_all_kernels}, {}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
