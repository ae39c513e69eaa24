// Note [Convolution as a product]
// The outputs and the gradient of the inputs are both sums over channels and taps of numbers read
// from images: matrix products with a matrix B of windows, one column per pixel, that would be
// `taps` times as large as the images. It is never made as a whole: each task packs the panels of
// some pixels straight from the images, a slice of channels at a time, and multiplies the packed
// weights by them as a product of matrices would. The pixels of all images are one row of columns,
// so that small images fill the panels too; panels that lie in two images, or whose pixels are not
// neighbours in the result, are summed in a buffer first.
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/caches.h"
#include "products/conv_kernels.h"
#include "products/pack_windows.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// How the work is cut, by the sizes and the caches. The slices alone decide the order of a sum.
struct Cut {
  int64_t slice_channels, n_slices;
  int64_t row_panels, row_tasks, col_panels, col_tasks, max_cols;
};

template <class T>
Cut cut_of(const WindowSum<T>& s) {
  Cut cut;
  cut.n_slices = ceil_div(s.n_channels, std::max<int64_t>(1, tuning::kWindowDepth / s.n_taps()));
  cut.slice_channels = ceil_div(s.n_channels, cut.n_slices);
  cut.n_slices = ceil_div(s.n_channels, cut.slice_channels);
  cut.row_panels = ceil_div(s.n_rows, kRows);
  cut.col_panels = ceil_div(s.n_batch * s.n_pixels(), kCols<T>);
  int64_t panel_bytes =
      cut.slice_channels * s.n_taps() * kCols<T> * static_cast<int64_t>(sizeof(T));
  int64_t cols = std::max<int64_t>(1, cache_cuts().window_bytes / panel_bytes);
  auto n_tasks = [&] { return s.groups * cut.row_tasks * ceil_div(cut.col_panels, cols); };
  cut.row_tasks = 1;
  while (n_tasks() < tuning::kMinTasks && cols > tuning::kMinWindowPanels) --cols;
  while (n_tasks() < tuning::kMinTasks &&
         cut.row_panels / (cut.row_tasks * 2) >= tuning::kMinWeightPanels)
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

// To every second place. Nobody else writes meanwhile what lies between, up to the last of these.
template <class T>
void store_even(const T* from, int64_t n, T* to) {
  constexpr int64_t v = Vec<T>::kLanes;
  for (int64_t i = 0; i < n; i += v) {
    Vec<T> values = load_first(from + i, static_cast<int>(std::min(v, n - i)));
    int64_t n_places = 2 * (n - i) - 1;
    store_even_lanes(turns_of_lower(values, values), std::min(v, n_places), to + 2 * i);
    if (n_places > v)
      store_even_lanes(turns_of_upper(values, values), std::min(v, n_places - v), to + 2 * i + v);
  }
}

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
      } else if (step == 2) {
        store_even(values, n, to);
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
void multiply_task(const WindowSum<T>& s, const Cut& cut, int64_t group, int64_t first_row,
                   int64_t last_row, int64_t first_col, int64_t last_col, Workspace<T>& space) {
  int64_t row = first_row * kRows, n_rows = std::min(last_row * kRows, s.n_rows) - row;
  int64_t n_panels = last_col - first_col, n_pixels = s.n_pixels();
  // Panels have two or three vectors, rather than three and at the end one.
  int64_t n_columns = s.n_batch * n_pixels, n_vectors = ceil_div(n_columns, kVector<T>);
  auto begin = [&](int64_t j) { return n_vectors * (first_col + j) / cut.col_panels * kVector<T>; };
  auto end = [&](int64_t j) { return std::min(begin(j + 1), n_columns); };
  auto target = [&](int64_t j) -> Target<T> {
    int64_t image = begin(j) / n_pixels;
    if (!s.is_dense() || (end(j) - 1) / n_pixels != image)
      return {space.sums.data() + j * kCols<T>, n_panels * kCols<T>, true};
    return {s.y_row(image, group, row) + begin(j) % n_pixels, s.y_plane(), false};
  };
  for (int64_t slice = 0; slice < cut.n_slices; ++slice) {
    int64_t channel = slice * cut.slice_channels;
    int64_t n_channels = std::min(cut.slice_channels, s.n_channels - channel);
    int64_t depth = n_channels * s.n_taps(), stride = depth * kCols<T>;
    for (int64_t j = 0; j < n_panels; ++j)
      pack_windows(s, begin(j), end(j), group, channel, n_channels, space.pieces.data(),
                   space.windows.data() + j * stride);
    const T* w = s.packed_w + (group * s.n_channels + channel) * s.n_taps() * s.n_rows;
    for (int64_t i = first_row; i < last_row; ++i) {
      int64_t height = std::min(kRows, s.n_rows - i * kRows);
      MatrixView<T> a{w + i * kRows * depth, 1, height};
      for (int64_t j = 0; j < n_panels; ++j) {
        Target<T> to = target(j);
        int64_t n_cols = end(j) - begin(j), step = ceil_div(n_cols, kVector<T>) * kVector<T>;
        Tile<T> tile{a,     space.windows.data() + j * stride,   step,
                     depth, to.data + (i * kRows - row) * to.ld, to.ld};
        tile.beta = slice == 0 ? T(0) : T(1);
        if (slice == 0 && s.bias) tile.bias = s.bias + group * s.n_rows + i * kRows;
        if (j == n_panels - 1) tile.next_a = a.data + kRows * depth;
        multiply_tile(tile, height, n_cols);
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
  for (const Taps& taps : s.taps) is_plain &= taps.first.shift == 0;
  if (is_plain) s.x_sizes = s.y_sizes = s.grid = {1, 1, s.n_pixels()};
}

int64_t packed_numel(const WindowShape& s) {
  return s.groups * s.n_rows * s.n_channels * s.n_taps();
}

template <class T>
void pack_all_weights(const WindowSum<T>& s, T* packed_w) {
  Cut cut = cut_of(s);
  int64_t n_taps = s.n_taps();
  int64_t n_pieces = s.groups * cut.n_slices * cut.row_panels;
  int64_t grain = ceil_div(tuning::kFillGrain, kRows * cut.slice_channels * n_taps);
  parallel_for(n_pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t row = piece % cut.row_panels * kRows, slice = piece / cut.row_panels % cut.n_slices;
      int64_t group = piece / cut.row_panels / cut.n_slices, channel = slice * cut.slice_channels;
      int64_t n_channels = std::min(cut.slice_channels, s.n_channels - channel);
      T* to = packed_w + (group * s.n_channels + channel) * n_taps * s.n_rows;
      pack_weights(s, group, row, std::min(kRows, s.n_rows - row), channel, n_channels,
                   to + row * n_channels * n_taps);
    }
  });
}

template <class T>
void sum_windows(const WindowSum<T>& sum) {
  WindowSum<T> s = sum;
  join_lines(s);
  Cut cut = cut_of(s);
  int64_t work =
      ceil_div(s.n_rows, cut.row_tasks) * cut.max_cols * kCols<T> * s.n_channels * s.n_taps();
  int64_t grain = ceil_div(tuning::kWindowWork, work);
  parallel_for(s.groups * cut.row_tasks * cut.col_tasks, grain, [&](int64_t begin, int64_t end) {
    Workspace<T> space(s, cut);
    for (int64_t task = begin; task < end; ++task) {
      int64_t i = task % cut.row_tasks, j = task / cut.row_tasks % cut.col_tasks;
      multiply_task(s, cut, task / cut.row_tasks / cut.col_tasks,
                    cut.row_panels * i / cut.row_tasks, cut.row_panels * (i + 1) / cut.row_tasks,
                    cut.col_panels * j / cut.col_tasks, cut.col_panels * (j + 1) / cut.col_tasks,
                    space);
    }
  });
}

}  // namespace

extern const ConvTable packed_table;
const ConvTable packed_table = {
    {sum_windows<float>, packed_weight<float>, packed_numel, pack_all_weights<float>},
    {sum_windows<double>, packed_weight<double>, packed_numel, pack_all_weights<double>}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
