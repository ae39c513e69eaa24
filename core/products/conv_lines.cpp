// Note [Convolution from lines]
// The product of Note [Convolution as a product], turned over: pixels are the rows, output channels
// the columns. A number of a window then stands alone, and is read from a copy of the image's lines
// with padding, which is much smaller than the windows and quicker to make. It meets vectors of
// weights, packed in the order of the sum: slices of channels, lines of taps, channels, taps.
// Lines of taps outside of the image are left out. The sums, pixels by channels, are turned over at
// the end.
//
// The gradient of the input of a convolution with strides has several parts (windows_of_input()). A
// task computes all of them from the same lines: each pixel is summed where it belongs, so that
// whole lines are stored. The pixels of all parts at one place of the grid are a cell.
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/conv_kernels.h"
#include "products/pack_panels.h"
#include "products/padded_line.h"
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

// The weights of one panel and some channels: (line of taps, channel, tap, row). After the last row
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
    places.data()[(a.index * s.kernel[1] + b.index) * s.kernel[2] + t.index] =
        (i / n_w * n_channels * n_w + i % n_w) * width;
  }
  for (int64_t r = 0; r < width; r += v) {
    for (int64_t c = 0; c < n_channels; ++c) {
      const T* from = s.w_group(group) + (channel + c) * s.w_channel;
      T* place = to + c * n_w * width + r;
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

// A line of taps: where it starts in the copied lines, and its weights.
template <class T>
struct TapLine {
  const T* x;
  const T* w;
};

// kM pixels that follow each other by kN vectors of output channels. `offsets` are those of the
// channels and taps of a line.
template <int kM, int kN, class T>
void sum_tile(const TapLine<T>* lines, int64_t n_lines, const int64_t* offsets, int64_t depth,
              int64_t first, bool adds, T* c, int64_t ldc) {
  using V = Vec<T>;
  constexpr int64_t v = kVector<T>, line = 64 / sizeof(T);
  V sums[kM][kN];
#pragma GCC unroll 16
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kN; ++j) sums[i][j] = adds ? V::load(c + i * ldc + j * v) : V(T(0));
  }
  for (int64_t l = 0; l < n_lines; ++l) {
    const T *x = lines[l].x + first, *w = lines[l].w;
#pragma GCC unroll 1
    for (int64_t k = 0; k < depth; ++k, w += kN * v) {
      const T* pixels = x + offsets[k];
      V columns[kN];
#pragma GCC unroll 2
      for (int j = 0; j < kN; ++j) {
        columns[j] = V::load(w + j * v);
        if (j * v % line == 0) __builtin_prefetch(w + (tuning::kStepsAhead * kN + j) * v);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kM; ++i) {
        V pixel(pixels[i]);
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
using SumTile = void (*)(const TapLine<T>*, int64_t, const int64_t*, int64_t, int64_t, bool, T*,
                         int64_t);
template <class T, int... I>
constexpr std::array<SumTile<T>, sizeof...(I)> sum_tile_by_size(std::integer_sequence<int, I...>) {
  return {sum_tile<I / kPanelVectors + 1, I % kPanelVectors + 1, T>...};
}

// Pixels that follow each other in y from their sums, which are (pixel, row).
template <class T>
void store_turned(const T* sums, int64_t ld, int64_t n_pixels, int64_t n_rows, const T* bias, T* y,
                  int64_t y_plane) {
  constexpr int64_t v = kVector<T>;
  for (int64_t r = 0; r < n_rows; r += v) {
    int64_t n_r = std::min(v, n_rows - r);
    Vec<T> start = bias ? Vec<T>::load(bias + r, n_r) : Vec<T>(T(0));
    for (int64_t p = 0; p < n_pixels; p += v) {
      int64_t n_p = std::min(v, n_pixels - p);
      Vec<T> square[v];
#pragma GCC unroll 16
      for (int64_t i = 0; i < v; ++i)
        square[i] = Vec<T>::load(sums + (p + std::min(i, n_p - 1)) * ld + r) + start;
      transpose(square);
      for (int64_t i = 0; i < n_r; ++i)
        store_first(y + (r + i) * y_plane + p, static_cast<int>(n_p), square[i]);
    }
  }
}

// Cells [h, h + n_h) by [w, w + n_w) of one image, at depth d, and some panels of rows.
struct Block {
  int64_t image, group, d, h, n_h, w, n_w, first_panel, last_panel;
};

template <class T>
class LineSum {
 public:
  explicit LineSum(const std::vector<WindowSum<T>>& parts)
      : parts_(parts),
        s_(parts[0]),
        cut_(line_cut_of(parts)),
        panels_(s_.n_rows),
        slice_(line_slice_of(s_)) {
    int64_t line = slice_ * (cut_.reach[0] + 1) * line_size(), reach = cut_.reach[1] + 1;
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
    offsets_.reserve(parts.size());
    for (const WindowSum<T>& part : parts) offsets_.push_back(offsets_of(part));
  }

  void run() const {
    int64_t pixels = n_h_ * cut_.pixels * cell_numel(), work = 0;
    int64_t rows = ceil_div(panels_.n, n_chunks_) * Panels<T>::kWidth;
    for (const WindowSum<T>& part : parts_)
      work += n_h_ * cut_.pixels * rows * s_.n_channels * part.n_taps();
    parallel_for(n_tasks(), ceil_div(tuning::kWindowWork, work), [&](int64_t begin, int64_t end) {
      Scratch<T> lines(slice_ * channel_size() + kVector<T>), sums(pixels * rows);
      Scratch<TapLine<T>> taps(s_.kernel[0] * s_.kernel[1]);
      for (int64_t task = begin; task < end; ++task)
        sum_block(block(task), lines.data(), taps.data(), sums.data());
    });
  }

 private:
  int64_t line_size() const { return cut_.width * s_.x_step[2]; }
  int64_t channel_size() const { return (cut_.reach[0] + 1) * height_ * line_size(); }
  int64_t cell_numel() const { return ConvShape::product(s_.y_step); }
  int64_t bands() const { return ceil_div(cut_.cells[1], n_h_); }
  int64_t segments() const { return ceil_div(cut_.cells[2], cut_.pixels); }
  int64_t n_tasks() const {
    return s_.n_batch * s_.groups * cut_.cells[0] * bands() * segments() * n_chunks_;
  }

  // From a pixel's place in a copied line to those of the channels and taps of a line of taps.
  std::vector<int64_t> offsets_of(const WindowSum<T>& part) const {
    std::vector<int64_t> offsets;
    for (int64_t c = 0; c < slice_; ++c) {
      for (Tap t : part.taps[2]) {
        int64_t at = t.shift - cut_.low[2], step = s_.x_step[2];
        offsets.push_back(c * channel_size() + at % step * cut_.width + at / step);
      }
    }
    return offsets;
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
    int64_t first_w = block.w * s_.x_step[2] + cut_.low[2];
    int64_t plane = (block.image * s_.groups + block.group) * s_.n_channels + channel;
    const T* x = s_.x + plane * s_.x_plane();
    for (int64_t c = 0; c < n_channels; ++c, x += s_.x_plane()) {
      for (int64_t i = 0; i <= cut_.reach[0]; ++i) {
        for (int64_t j = 0; j < n_lines; ++j) {
          int64_t d = first_d + i, h = first_h + j;
          if (d < 0 || d >= s_.x_sizes[0] || h < 0 || h >= s_.x_sizes[1]) continue;
          copy_padded_line(x + (d * s_.x_sizes[1] + h) * s_.x_sizes[2], s_.x_sizes[2], first_w,
                           s_.x_step[2], cut_.width,
                           to + (c * (cut_.reach[0] + 1) + i) * plane_size() + j * line_size());
        }
      }
    }
  }
  int64_t plane_size() const { return height_ * line_size(); }

  // The lines of taps inside of the image that line h of cells meets; w are the weights of all.
  int64_t find_taps(const WindowSum<T>& part, const Block& block, int64_t h, const T* lines,
                    const T* w, int64_t w_line, TapLine<T>* to) const {
    int64_t n = 0;
    for (Tap a : part.taps[0]) {
      int64_t x_d = block.d * s_.x_step[0] + a.shift;
      for (Tap b : part.taps[1]) {
        int64_t x_h = h * s_.x_step[1] + b.shift;
        if (x_d >= 0 && x_d < s_.x_sizes[0] && x_h >= 0 && x_h < s_.x_sizes[1]) {
          int64_t line = (h - block.h) * s_.x_step[1] + b.shift - cut_.low[1];
          to[n++] = {lines + (a.shift - cut_.low[0]) * plane_size() + line * line_size(), w};
        }
        w += w_line;
      }
    }
    return n;
  }

  // Adds a slice of channels to the sums of one part and one panel.
  void sum_panel(const WindowSum<T>& part, const int64_t* offsets, const Block& block,
                 int64_t panel, int64_t channel, int64_t n_channels, const T* lines,
                 TapLine<T>* taps, T* sums, int64_t ld) const {
    static constexpr auto kernels =
        sum_tile_by_size<T>(std::make_integer_sequence<int, kPixels * kPanelVectors>());
    int64_t width = panels_.width(panel), depth = n_channels * part.taps[2].n;
    const T* w = part.packed_w +
                 part.n_taps() * ((block.group * s_.n_channels + channel) * panels_.padded_rows +
                                  panel * Panels<T>::kWidth * n_channels);
    int64_t n_pixels = std::min(block.n_w, part.grid[2] - block.w);
    int64_t n_tiles = ceil_div(n_pixels, kPixels);
    if (block.d >= part.grid[0]) return;
    for (int64_t h = block.h; h < std::min(block.h + block.n_h, part.grid[1]); ++h) {
      int64_t n_lines = find_taps(part, block, h, lines, w, depth * width, taps);
      int64_t y_line = part.y_first[0] * block.n_h * s_.y_step[1] + (h - block.h) * s_.y_step[1] +
                       part.y_first[1];
      T* to = sums + (y_line * block.n_w * s_.y_step[2] + part.y_first[2]) * ld;
      for (int64_t i = 0; i < n_tiles; ++i) {
        int64_t first = n_pixels * i / n_tiles, n = n_pixels * (i + 1) / n_tiles - first;
        kernels[(n - 1) * kPanelVectors + width / kVector<T> - 1](
            taps, n_lines, offsets, depth, first, channel > 0, to + first * s_.y_step[2] * ld,
            s_.y_step[2] * ld);
      }
    }
  }

  void sum_block(const Block& block, T* lines, TapLine<T>* taps, T* sums) const {
    int64_t first_row = block.first_panel * Panels<T>::kWidth;
    int64_t last_row = std::min(block.last_panel * Panels<T>::kWidth, panels_.padded_rows);
    int64_t ld = last_row - first_row;
    // Pixels that no part meets.
    if (static_cast<int64_t>(parts_.size()) < cell_numel())
      std::fill(sums, sums + block.n_h * block.n_w * cell_numel() * ld, T(0));
    for (int64_t channel = 0; channel < s_.n_channels; channel += slice_) {
      int64_t n_channels = std::min(slice_, s_.n_channels - channel);
      copy_lines(block, channel, n_channels, lines);
      for (int64_t panel = block.first_panel; panel < block.last_panel; ++panel) {
        T* to = sums + panel * Panels<T>::kWidth - first_row;
        for (size_t i = 0; i < parts_.size(); ++i)
          sum_panel(parts_[i], offsets_[i].data(), block, panel, channel, n_channels, lines, taps,
                    to, ld);
      }
    }
    store_block(block, sums, ld, first_row, std::min(last_row, s_.n_rows) - first_row);
  }

  void store_block(const Block& block, const T* sums, int64_t ld, int64_t row,
                   int64_t n_rows) const {
    const T* bias = s_.bias ? s_.bias + block.group * s_.n_rows + row : nullptr;
    T* y = s_.y_row(block.image, block.group, row);
    int64_t d = block.d * s_.y_step[0], h = block.h * s_.y_step[1], w = block.w * s_.y_step[2];
    int64_t n_d = std::min(s_.y_step[0], s_.y_sizes[0] - d);
    int64_t n_h = std::min(block.n_h * s_.y_step[1], s_.y_sizes[1] - h);
    int64_t line = block.n_w * s_.y_step[2], n_w = std::min(line, s_.y_sizes[2] - w);
    // Whole lines are one stretch.
    int64_t at_once = line == s_.y_sizes[2] ? n_h : 1;
    for (int64_t i = 0; i < n_d; ++i) {
      for (int64_t j = 0; j < n_h; j += at_once) {
        int64_t from = i * block.n_h * s_.y_step[1] + j;
        store_turned(sums + from * line * ld, ld, at_once * n_w, n_rows, bias,
                     y + ((d + i) * s_.y_sizes[1] + h + j) * s_.y_sizes[2] + w, s_.y_plane());
      }
    }
  }

  const std::vector<WindowSum<T>>& parts_;
  const WindowSum<T>& s_;  // what all parts have in common
  LineCut cut_;
  Panels<T> panels_;
  int64_t slice_;                              // channels whose lines are copied at a time
  int64_t n_h_, n_chunks_;                     // lines of cells, and parts of the panels, of tasks
  int64_t height_;                             // of a copied plane
  std::vector<std::vector<int64_t>> offsets_;  // of each part
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
