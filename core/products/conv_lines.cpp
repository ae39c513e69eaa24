// Note [Convolution from lines]
// The product of Note [Convolution as a product], turned over: pixels are the rows, output channels
// the columns. A number of a window then stands alone, and is read from a copy of the image's lines
// with padding, which is much smaller than the windows and quicker to make. There the channels of a
// pixel lie together: those of taps that are neighbours follow each other, and a tile reads them
// straight ahead. They meet vectors of weights, packed in the order of the sum: slices of channels,
// lines of taps, taps from left to right, channels. Lines of taps outside of the image are left
// out. The sums, pixels by channels, are turned over at the end. Images whose channels are last
// have both as the product takes it, and where rows are whole vectors the sums are made in place.
//
// The gradient of the input of a convolution with strides has several parts (windows_of_input()). A
// task computes all of them from the same lines: each pixel is summed where it belongs, so that
// whole lines are stored. The pixels of all parts at one place of the grid are a cell.
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/conv_kernels.h"
#include "products/pack_panels.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

#if defined(FACULA_AVX512)
constexpr int kPixels = tuning::kLinePixels;
#else
constexpr int kPixels = tuning::kShortLinePixels;
#endif
constexpr int64_t kPanelVectors = 2;

// The vectors of rows of w, in panels of kPanelVectors.
template <class T>
struct Panels {
  static constexpr int64_t kWidth = kPanelVectors * kVector<T>;
  int64_t n, padded_rows;
  explicit Panels(int64_t n_rows)
      : n(ceil_div(n_rows, kWidth)), padded_rows(ceil_div(n_rows, kVector<T>) * kVector<T>) {}
  int64_t width(int64_t i) const { return std::min(kWidth, padded_rows - i * kWidth); }
};

template <class T>
int64_t packed_numel(const WindowShape& s) {
  return s.groups * Panels<T>(s.n_rows).padded_rows * s.n_channels * s.n_taps();
}

// The weights of one panel and some channels: (line of taps, tap, channel, row). After the last row
// it is repeated: what is made of it is not stored.
template <class T>
void pack_panel(const WindowSum<T>& s, int64_t group, int64_t row, int64_t width, int64_t channel,
                int64_t n_channels, T* to) {
  constexpr int64_t v = kVector<T>;
  int64_t n_kernel = ConvShape::product(s.kernel), n_w = s.taps[2].n, n_h = s.taps[1].n;
  // Where a number of the kernel comes to lie, if it is one of these taps.
  Scratch<int64_t> places(n_kernel);
  std::fill(places.data(), places.data() + n_kernel, int64_t{-1});
  for (int64_t i = 0; i < s.n_taps(); ++i) {
    Tap a = s.taps[0][i / n_w / n_h], b = s.taps[1][i / n_w % n_h], t = s.taps[2][i % n_w];
    int64_t from_left = s.taps[2].step.shift < 0 ? n_w - 1 - i % n_w : i % n_w;
    places.data()[(a.index * s.kernel[1] + b.index) * s.kernel[2] + t.index] =
        (i / n_w * n_w + from_left) * n_channels * width;
  }
  for (int64_t r = 0; r < width; r += v) {
    for (int64_t c = 0; c < n_channels; ++c) {
      const T* from = s.w_group(group) + (channel + c) * s.w_channel;
      T* place = to + c * width + r;
      for (int64_t k = 0; k < n_kernel; k += v) {
        int n = static_cast<int>(std::min(v, n_kernel - k));
        Vec<T> square[v];
        for (int64_t i = 0; i < v; ++i)
          square[i] = load_first(from + std::min(row + r + i, s.n_rows - 1) * s.w_row + k, n);
        transpose(square);
        for (int i = 0; i < n; ++i)
          if (places.data()[k + i] >= 0) square[i].store(place + places.data()[k + i]);
      }
    }
  }
}

template <class T>
void pack_all_panels(const WindowSum<T>& s, T* to) {
  Panels<T> panels(s.n_rows);
  int64_t slice_channels = line_slice_of(s), n_slices = ceil_div(s.n_channels, slice_channels);
  int64_t grain = ceil_div(tuning::kFillGrain, Panels<T>::kWidth * slice_channels * s.n_taps());
  parallel_for(s.groups * n_slices * panels.n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t panel = piece % panels.n, channel = piece / panels.n % n_slices * slice_channels;
      int64_t group = piece / panels.n / n_slices, row = panel * Panels<T>::kWidth;
      int64_t n_channels = std::min(slice_channels, s.n_channels - channel);
      int64_t place = ((group * s.n_channels + channel) * panels.padded_rows + row * n_channels);
      pack_panel(s, group, row, panels.width(panel), channel, n_channels, to + place * s.n_taps());
    }
  });
}

// Numbers that follow each other in the copied lines, of neighbours among the taps, for the first
// pixel of a block; and their weights.
template <class T>
struct Run {
  const T* x;
  const T* w;
};

// kM pixels from number `first` on, `step` numbers apart, by kN vectors of output channels.
template <int kM, int kN, class T>
void sum_tile(const Run<T>* runs, int64_t n_runs, int64_t depth, int64_t first, int64_t step,
              bool adds, T* c, int64_t ldc) {
  using V = Vec<T>;
  constexpr int64_t v = kVector<T>, line = 64 / sizeof(T);
  V sums[kM][kN];
#pragma GCC unroll 16
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kN; ++j) sums[i][j] = adds ? V::load(c + i * ldc + j * v) : V(T(0));
  }
  for (int64_t i = 0; i < n_runs; ++i) {
    const T *pixels = runs[i].x + first, *w = runs[i].w;
#pragma GCC unroll 1
    for (int64_t k = 0; k < depth; ++k, ++pixels, w += kN * v) {
      V columns[kN];
#pragma GCC unroll 2
      for (int j = 0; j < kN; ++j) {
        columns[j] = V::load(w + j * v);
        // With one vector, a load more for each pixel's would be too much.
        if (kN > 1 && j * v % line == 0) __builtin_prefetch(w + (tuning::kStepsAhead * kN + j) * v);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kM; ++i) {
        V pixel(pixels[i * step]);
#pragma GCC unroll 2
        for (int j = 0; j < kN; ++j) sums[i][j] = fma(pixel, columns[j], sums[i][j]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kN; ++j) sums[i][j].store(c + i * ldc + j * v);
  }
}

template <class T>
using SumTile = void (*)(const Run<T>*, int64_t, int64_t, int64_t, int64_t, bool, T*, int64_t);
template <class T, int... I>
constexpr std::array<SumTile<T>, sizeof...(I)> sum_tile_by_size(std::integer_sequence<int, I...>) {
  return {sum_tile<I / kPanelVectors + 1, I % kPanelVectors + 1, T>...};
}

// The transpose: row r, column p of `to` is row p, column r of `from` (with bias[r], if not null).
template <class T>
void copy_turned(const T* from, int64_t ld, int64_t n_p, int64_t n_r, const T* bias, T* to,
                 int64_t to_ld) {
  constexpr int64_t v = kVector<T>;
  for (int64_t r = 0; r < n_r; r += v) {
    int rows = static_cast<int>(std::min(v, n_r - r));
    Vec<T> start = bias ? Vec<T>::load(bias + r, rows) : Vec<T>(T(0));
    for (int64_t p = 0; p < n_p; p += v) {
      int64_t columns = std::min(v, n_p - p);
      Vec<T> square[v];
#pragma GCC unroll 16
      for (int64_t i = 0; i < v; ++i)
        square[i] = load_first(from + (p + std::min(i, columns - 1)) * ld + r, rows) + start;
      transpose(square);
      for (int i = 0; i < rows; ++i)
        store_first(to + (r + i) * to_ld + p, static_cast<int>(columns), square[i]);
    }
  }
}

// Without turning: the numbers of a pixel lie together on both sides.
template <class T>
void copy_pixels(const T* from, int64_t ld, int64_t n_pixels, int64_t n_rows, const T* bias, T* to,
                 int64_t to_ld) {
  constexpr int64_t v = kVector<T>;
  for (int64_t r = 0; r < n_rows; r += v) {
    int n = static_cast<int>(std::min(v, n_rows - r));
    Vec<T> start = bias ? Vec<T>::load(bias + r, n) : Vec<T>(T(0));
    for (int64_t p = 0; p < n_pixels; ++p)
      store_first(to + p * to_ld + r, n, load_first(from + p * ld + r, n) + start);
  }
}

// Cells [h, h + n_h) by [w, w + n_w) of one image, at depth d, and some panels of rows.
struct Block {
  int64_t image, group, d, h, n_h, w, n_w, first_panel, last_panel;
};

// Where the sums of a block are made: a number per row for each pixel, `ld` apart.
template <class T>
struct Sums {
  T* data;
  int64_t ld, line, plane;  // pixels of a line and of a plane
};

template <class T>
class LineSum {
 public:
  explicit LineSum(const std::vector<WindowSum<T>>& parts)
      : parts_(parts),
        s_(parts[0]),
        cut_(line_cut_of(parts)),
        panels_(s_.n_rows),
        slice_(line_slice_of(s_)),
        is_in_place_(s_.has_channels_last && s_.n_rows % kVector<T> == 0) {
    int64_t line = (cut_.reach[0] + 1) * line_size(), reach = cut_.reach[1] + 1;
    int64_t sums = cell_numel() * cut_.pixels * std::min(s_.n_rows, tuning::kLineRows);
    n_h_ = std::min((tuning::kMaxCopiedNumel / line - reach) / s_.x_step[1] + 1,
                    tuning::kMaxLineSums / sums);
    n_h_ = std::clamp<int64_t>(n_h_, 1, cut_.cells[1]);
    n_chunks_ = ceil_div(panels_.padded_rows, tuning::kLineRows);
    while (n_tasks() < tuning::kMinTasks && n_h_ > 1 &&
           n_h_ * cut_.pixels >= 2 * tuning::kMinLineCells)
      n_h_ = ceil_div(n_h_, 2);
    while (n_tasks() < tuning::kMinTasks && n_chunks_ < panels_.n) ++n_chunks_;
    n_h_ = ceil_div(cut_.cells[1], bands());
    height_ = (n_h_ - 1) * s_.x_step[1] + reach;
  }

  void run() const {
    int64_t pixels = n_h_ * cut_.pixels * cell_numel(), work = 0;
    int64_t rows = ceil_div(panels_.n, n_chunks_) * Panels<T>::kWidth;
    for (const WindowSum<T>& part : parts_)
      work += n_h_ * cut_.pixels * rows * s_.n_channels * part.n_taps();
    parallel_for(n_tasks(), ceil_div(tuning::kWindowWork, work), [&](int64_t begin, int64_t end) {
      Scratch<T> lines((cut_.reach[0] + 1) * plane_size()), sums(is_in_place_ ? 0 : pixels * rows);
      Scratch<Run<T>> runs(ConvShape::product(s_.kernel));
      for (int64_t task = begin; task < end; ++task)
        sum_block(block(task), lines.data(), runs.data(), sums.data());
    });
  }

 private:
  int64_t line_size() const { return cut_.width * s_.x_step[2] * slice_; }
  int64_t plane_size() const { return height_ * line_size(); }
  int64_t cell_numel() const { return ConvShape::product(s_.y_step); }
  int64_t bands() const { return ceil_div(cut_.cells[1], n_h_); }
  int64_t segments() const { return ceil_div(cut_.cells[2], cut_.pixels); }
  int64_t n_tasks() const {
    return s_.n_batch * s_.groups * cut_.cells[0] * bands() * segments() * n_chunks_;
  }

  // Of one image, chunks come last: they share lines.
  Block block(int64_t task) const {
    int64_t chunk = task % n_chunks_, rest = task / n_chunks_;
    int64_t w = rest % segments() * cut_.pixels;
    rest /= segments();
    int64_t h = rest % bands() * n_h_;
    rest /= bands();
    int64_t d = rest % cut_.cells[0], image = rest / cut_.cells[0];
    return {image / s_.groups,
            image % s_.groups,
            d,
            h,
            std::min(n_h_, cut_.cells[1] - h),
            w,
            std::min(cut_.pixels, cut_.cells[2] - w),
            panels_.n * chunk / n_chunks_,
            panels_.n * (chunk + 1) / n_chunks_};
  }

  // Lines outside of the image are not copied, as they are not read.
  void copy_lines(const Block& block, int64_t channel, int64_t n_channels, T* to) const {
    int64_t n_lines = (block.n_h - 1) * s_.x_step[1] + cut_.reach[1] + 1;
    int64_t first_d = block.d * s_.x_step[0] + cut_.low[0];
    int64_t first_h = block.h * s_.x_step[1] + cut_.low[1];
    for (int64_t i = 0; i <= cut_.reach[0]; ++i) {
      for (int64_t j = 0; j < n_lines; ++j) {
        int64_t d = first_d + i, h = first_h + j;
        if (d >= 0 && d < s_.x_sizes[0] && h >= 0 && h < s_.x_sizes[1])
          copy_line(block, d * s_.x_sizes[1] + h, block.group * s_.n_channels + channel, n_channels,
                    to + i * plane_size() + j * line_size());
      }
    }
  }

  void copy_line(const Block& block, int64_t line, int64_t channel, int64_t n_channels,
                 T* to) const {
    int64_t first = block.w * s_.x_step[2] + cut_.low[2], width = cut_.width * s_.x_step[2];
    int64_t begin = std::clamp<int64_t>(-first, 0, width);
    int64_t end = std::clamp(s_.x_sizes[2] - first, begin, width), n_pixels = end - begin;
    std::fill(to, to + begin * n_channels, T(0));
    std::fill(to + end * n_channels, to + width * n_channels, T(0));
    if (n_pixels == 0) return;
    to += begin * n_channels;
    int64_t all_channels = s_.groups * s_.n_channels, plane = s_.x_plane();
    int64_t pixel = line * s_.x_sizes[2] + first + begin;
    if (s_.has_channels_last) {
      const T* x = s_.x + (block.image * plane + pixel) * all_channels + channel;
      if (n_channels == all_channels) {
        std::copy(x, x + n_pixels * n_channels, to);
      } else {
        copy_pixels<T>(x, all_channels, n_pixels, n_channels, nullptr, to, n_channels);
      }
    } else {
      copy_turned<T>(s_.x + (block.image * all_channels + channel) * plane + pixel, plane,
                     n_channels, n_pixels, nullptr, to, n_channels);
    }
  }

  // The runs inside of the image that line h of cells meets; w are the weights of all.
  int64_t find_runs(const WindowSum<T>& part, const Block& block, int64_t h, int64_t n_channels,
                    const T* lines, const T* w, int64_t w_run, Run<T>* to) const {
    const Taps& taps = part.taps[2];
    int64_t n = 0, n_taps = is_joined(taps) ? 1 : taps.n, step = std::abs(taps.step.shift);
    for (Tap a : part.taps[0]) {
      int64_t x_d = block.d * s_.x_step[0] + a.shift;
      for (Tap b : part.taps[1]) {
        int64_t x_h = h * s_.x_step[1] + b.shift;
        bool is_inside = x_d >= 0 && x_d < s_.x_sizes[0] && x_h >= 0 && x_h < s_.x_sizes[1];
        int64_t line = (h - block.h) * s_.x_step[1] + b.shift - cut_.low[1];
        const T* x = lines + (a.shift - cut_.low[0]) * plane_size() + line * line_size();
        for (int64_t t = 0; t < n_taps; ++t, w += w_run)
          if (is_inside) to[n++] = {x + (taps.low() + t * step - cut_.low[2]) * n_channels, w};
      }
    }
    return n;
  }
  static bool is_joined(const Taps& taps) { return std::abs(taps.step.shift) == 1; }

  // Adds a slice of channels to the sums of one part and one panel.
  void sum_panel(const WindowSum<T>& part, const Block& block, int64_t panel, int64_t channel,
                 int64_t n_channels, bool adds, const T* lines, Run<T>* runs, Sums<T> sums) const {
    static constexpr auto kernels =
        sum_tile_by_size<T>(std::make_integer_sequence<int, kPixels * kPanelVectors>());
    int64_t width = panels_.width(panel), x_step = s_.x_step[2] * n_channels;
    int64_t depth = n_channels * (is_joined(part.taps[2]) ? part.taps[2].n : 1);
    const T* w = part.packed_w +
                 part.n_taps() * ((block.group * s_.n_channels + channel) * panels_.padded_rows +
                                  panel * Panels<T>::kWidth * n_channels);
    int64_t n_pixels = std::min(block.n_w, part.grid[2] - block.w);
    int64_t n_tiles = ceil_div(n_pixels, kPixels), y_step = s_.y_step[2] * sums.ld;
    if (block.d >= part.grid[0]) return;
    for (int64_t h = block.h; h < std::min(block.h + block.n_h, part.grid[1]); ++h) {
      int64_t n_runs = find_runs(part, block, h, n_channels, lines, w, depth * width, runs);
      int64_t line = part.y_first[0] * sums.plane +
                     ((h - block.h) * s_.y_step[1] + part.y_first[1]) * sums.line;
      T* to = sums.data + (line + part.y_first[2]) * sums.ld;
      for (int64_t i = 0; i < n_tiles; ++i) {
        int64_t first = n_pixels * i / n_tiles, n = n_pixels * (i + 1) / n_tiles - first;
        kernels[(n - 1) * kPanelVectors + width / kVector<T> - 1](
            runs, n_runs, depth, first * x_step, x_step, adds, to + first * y_step, y_step);
      }
    }
  }

  void sum_block(const Block& block, T* lines, Run<T>* runs, T* buffer) const {
    int64_t first_row = block.first_panel * Panels<T>::kWidth;
    int64_t last_row = std::min(block.last_panel * Panels<T>::kWidth, panels_.padded_rows);
    int64_t n_rows = std::min(last_row, s_.n_rows) - first_row, line = block.n_w * s_.y_step[2];
    Sums<T> sums{buffer, last_row - first_row, line, block.n_h * s_.y_step[1] * line};
    if (is_in_place_)
      sums = {place_in_y(block, first_row), s_.groups * s_.n_rows, s_.y_sizes[2],
              s_.y_sizes[1] * s_.y_sizes[2]};
    // There may be pixels that no part meets.
    bool is_filled =
        static_cast<int64_t>(parts_.size()) < cell_numel() || (is_in_place_ && s_.bias);
    if (is_filled) fill_block(block, sums, first_row, n_rows);
    for (int64_t channel = 0; channel < s_.n_channels; channel += slice_) {
      int64_t n_channels = std::min(slice_, s_.n_channels - channel);
      copy_lines(block, channel, n_channels, lines);
      for (int64_t panel = block.first_panel; panel < block.last_panel; ++panel) {
        Sums<T> some = sums;
        some.data += panel * Panels<T>::kWidth - first_row;
        for (const WindowSum<T>& part : parts_)
          sum_panel(part, block, panel, channel, n_channels, is_filled || channel > 0, lines, runs,
                    some);
      }
    }
    if (!is_in_place_) store_block(block, sums, first_row, n_rows);
  }

  // With channels last. A row's numbers lie `row` after those of the first one.
  T* place_in_y(const Block& block, int64_t row) const {
    int64_t plane = block.image * s_.y_sizes[0] + block.d * s_.y_step[0];
    int64_t line = plane * s_.y_sizes[1] + block.h * s_.y_step[1];
    int64_t pixel = line * s_.y_sizes[2] + block.w * s_.y_step[2];
    return s_.y + (pixel * s_.groups + block.group) * s_.n_rows + row;
  }

  // f(plane, line, n_pixels) for the lines of a block of y; whole lines are one stretch.
  template <class F>
  void for_each_stretch(const Block& block, F f) const {
    int64_t d = block.d * s_.y_step[0], h = block.h * s_.y_step[1], w = block.w * s_.y_step[2];
    int64_t n_d = std::min(s_.y_step[0], s_.y_sizes[0] - d);
    int64_t n_h = std::min(block.n_h * s_.y_step[1], s_.y_sizes[1] - h);
    int64_t line = block.n_w * s_.y_step[2], n_w = std::min(line, s_.y_sizes[2] - w);
    int64_t at_once = line == s_.y_sizes[2] ? n_h : 1;
    for (int64_t i = 0; i < n_d; ++i)
      for (int64_t j = 0; j < n_h; j += at_once) f(i, j, at_once * n_w);
  }

  void fill_block(const Block& block, Sums<T> sums, int64_t row, int64_t n_rows) const {
    const T* bias = is_in_place_ && s_.bias ? s_.bias + block.group * s_.n_rows + row : nullptr;
    int64_t n = is_in_place_ ? n_rows : sums.ld;
    for_each_stretch(block, [&](int64_t i, int64_t j, int64_t n_pixels) {
      T* to = sums.data + (i * sums.plane + j * sums.line) * sums.ld;
      for (int64_t p = 0; p < n_pixels; ++p, to += sums.ld) {
        if (bias) {
          std::copy(bias, bias + n, to);
        } else {
          std::fill(to, to + n, T(0));
        }
      }
    });
  }

  void store_block(const Block& block, Sums<T> sums, int64_t row, int64_t n_rows) const {
    const T* bias = s_.bias ? s_.bias + block.group * s_.n_rows + row : nullptr;
    int64_t all_rows = s_.groups * s_.n_rows, plane = s_.y_sizes[1] * s_.y_sizes[2];
    T* y = s_.has_channels_last ? place_in_y(block, row) : s_.y_row(block.image, block.group, row);
    int64_t first =
        s_.has_channels_last
            ? 0
            : (block.d * s_.y_step[0] * s_.y_sizes[1] + block.h * s_.y_step[1]) * s_.y_sizes[2] +
                  block.w * s_.y_step[2];
    for_each_stretch(block, [&](int64_t i, int64_t j, int64_t n_pixels) {
      const T* from = sums.data + (i * sums.plane + j * sums.line) * sums.ld;
      int64_t pixel = first + i * plane + j * s_.y_sizes[2];
      if (s_.has_channels_last) {
        copy_pixels(from, sums.ld, n_pixels, n_rows, bias, y + pixel * all_rows, all_rows);
      } else {
        copy_turned(from, sums.ld, n_pixels, n_rows, bias, y + pixel, s_.y_plane());
      }
    });
  }

  const std::vector<WindowSum<T>>& parts_;
  const WindowSum<T>& s_;  // what all parts have in common
  LineCut cut_;
  Panels<T> panels_;
  int64_t slice_;           // channels whose lines are copied at a time
  bool is_in_place_;        // the sums are made in y
  int64_t n_h_, n_chunks_;  // lines of cells, and parts of the panels, of tasks
  int64_t height_;          // of a copied plane
};

template <class T>
void sum_lines(const std::vector<WindowSum<T>>& parts) {
  LineSum<T>(parts).run();
}

}  // namespace

extern const LinesTable lines_table;
const LinesTable lines_table = {{sum_lines<float>, packed_numel<float>, pack_all_panels<float>},
                                {sum_lines<double>, packed_numel<double>, pack_all_panels<double>}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
