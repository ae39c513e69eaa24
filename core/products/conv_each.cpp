// Convolutions of each channel by itself, of images whose channels are last: vectors are neighbours
// among the channels, and every tap is a product of two of them. Tiles of pixels read the image
// where it lies; those whose windows reach over its edges read a copy with padding.
#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/conv_kernels.h"
#include "products/tile.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int kPixels = 8;  // of a tile: as many sums as the multipliers need to be busy

// Where the first window of a line of pixels has its number of a tap, and the weights.
template <class T>
struct TapPlace {
  const T* x;
  const T* w;
};

// The taps that a line of pixels meets: of windows in the image, and in a copy of those of a tile.
template <class T>
struct Line {
  TapPlace<T>*in_image, *in_copy;
  T* copy;
  int64_t n_lines = 0, n_taps = 0;
};

// The first n_pixels of a tile, whose pixels lie `x_step` and `y_step` apart, for n_channels, a
// vector or less. Its first window begins `from` after that of the line.
template <bool kMasked, class T>
void sum_tile(const TapPlace<T>* taps, int64_t n_taps, int64_t from, int64_t channel,
              int n_channels, int64_t x_step, Vec<T> bias, int64_t n_pixels, T* y, int64_t y_step) {
  auto load = [=](const T* p)
                  FACULA_INLINE { return kMasked ? Vec<T>::load(p, n_channels) : Vec<T>::load(p); };
  Vec<T> sums[kPixels];
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) sums[i] = bias;
  for (int64_t t = 0; t < n_taps; ++t) {
    const T* x = taps[t].x + from;
    Vec<T> factor = Vec<T>::load(taps[t].w + channel);
#pragma GCC unroll 16
    for (int i = 0; i < kPixels; ++i) sums[i] = fma(factor, load(x + i * x_step), sums[i]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) {
    if (i < n_pixels)
      kMasked ? sums[i].store(y + i * y_step, n_channels) : sums[i].store(y + i * y_step);
  }
}

template <class T>
class EachSum {
 public:
  explicit EachSum(const WindowSum<T>& s)
      : s_(s),
        taps_(s.taps[2]),
        padded_(ceil_div(s.groups, kLanes) * kLanes),
        width_((kPixels - 1) * s.x_step[2] + taps_.reach() + 1),
        weights_(s.n_taps() * padded_) {
    T* to = weights_.data();
    for (Tap a : s.taps[0]) {
      for (Tap b : s.taps[1]) {
        for (Tap t : taps_) {
          int64_t index = (a.index * s.kernel[1] + b.index) * s.kernel[2] + t.index;
          for (int64_t c = 0; c < padded_; ++c) *to++ = c < s.groups ? s.w_group(c)[index] : T(0);
        }
      }
    }
  }

  void run() const {
    int64_t work = s_.grid[2] * s_.groups * s_.n_taps(), n_lines = s_.taps[0].n * s_.taps[1].n;
    parallel_for(s_.n_batch * s_.grid[0] * s_.grid[1], ceil_div(tuning::kTaskWork, work),
                 [&](int64_t begin, int64_t end) {
                   Scratch<TapPlace<T>> places(2 * s_.n_taps());
                   Scratch<T> copy(n_lines * width_ * kLanes);
                   Line<T> line{places.data(), places.data() + s_.n_taps(), copy.data()};
                   for (int64_t i = begin; i < end; ++i) sum_line(i, line);
                 });
  }

 private:
  static constexpr int64_t kLanes = Vec<T>::kLanes;

  // Lines of taps outside of the image are left out.
  void find_taps(int64_t image, int64_t d, int64_t h, Line<T>& line) const {
    const T* w = weights_.data();
    line.n_lines = line.n_taps = 0;
    for (Tap a : s_.taps[0]) {
      int64_t x_d = d * s_.x_step[0] + a.shift;
      for (Tap b : s_.taps[1]) {
        int64_t x_h = h * s_.x_step[1] + b.shift;
        bool is_inside = x_d >= 0 && x_d < s_.x_sizes[0] && x_h >= 0 && x_h < s_.x_sizes[1];
        int64_t row = is_inside ? (image * s_.x_sizes[0] + x_d) * s_.x_sizes[1] + x_h : 0;
        for (Tap t : taps_) {
          int64_t shift = t.shift - taps_.low();
          if (is_inside) {
            line.in_image[line.n_taps] = {s_.x + (row * s_.x_sizes[2] + shift) * s_.groups, w};
            line.in_copy[line.n_taps++] = {line.copy + (line.n_lines * width_ + shift) * kLanes, w};
          }
          w += padded_;
        }
        line.n_lines += is_inside;
      }
    }
  }

  void sum_line(int64_t index, Line<T>& line) const {
    int64_t h = index % s_.grid[1], d = index / s_.grid[1] % s_.grid[0];
    int64_t image = index / s_.grid[1] / s_.grid[0];
    int64_t plane = image * s_.y_sizes[0] + d * s_.y_step[0] + s_.y_first[0];
    int64_t row = plane * s_.y_sizes[1] + h * s_.y_step[1] + s_.y_first[1];
    T* y = s_.y + (row * s_.y_sizes[2] + s_.y_first[2]) * s_.groups;
    find_taps(image, d, h, line);
    // The last tile may overlap the one before.
    for (int64_t w = 0; w < s_.grid[2]; w += kPixels)
      sum_channels(line, std::max<int64_t>(std::min(w, s_.grid[2] - kPixels), 0), y);
  }

  void sum_channels(const Line<T>& line, int64_t w, T* y) const {
    int64_t first = w * s_.x_step[2] + taps_.low(), y_step = s_.y_step[2] * s_.groups;
    int64_t n_pixels = std::min<int64_t>(kPixels, s_.grid[2] - w);
    bool is_inside = first >= 0 && first + width_ <= s_.x_sizes[2];
    const TapPlace<T>* taps = is_inside ? line.in_image : line.in_copy;
    int64_t x_step = s_.x_step[2] * (is_inside ? s_.groups : kLanes);
    for (int64_t c = 0; c < s_.groups; c += kLanes) {
      int n_channels = static_cast<int>(std::min(kLanes, s_.groups - c));
      Vec<T> bias = s_.bias ? load_first(s_.bias + c, n_channels) : Vec<T>(T(0));
      if (!is_inside) copy_windows(line, first, c, n_channels);
      (n_channels < kLanes
           ? sum_tile<true, T>
           : sum_tile<false, T>)(taps, line.n_taps, is_inside ? first * s_.groups + c : 0, c,
                                 n_channels, x_step, bias, n_pixels, y + w * y_step + c, y_step);
    }
  }

  // The pixels from `first` on that the windows of a tile reach over.
  void copy_windows(const Line<T>& line, int64_t first, int64_t channel, int n_channels) const {
    int64_t begin = std::clamp<int64_t>(-first, 0, width_), groups = s_.groups;
    int64_t end = std::clamp(s_.x_sizes[2] - first, begin, width_);
    // The tap that lies most to the left begins where the windows do.
    const TapPlace<T>* left = line.in_image + (taps_.step.shift < 0 ? taps_.n - 1 : 0);
    for (int64_t l = 0; l < line.n_lines; ++l, left += taps_.n) {
      T* to = line.copy + l * width_ * kLanes;
      const T* x = left->x + first * groups + channel;
      for (int64_t i = 0; i < begin; ++i) Vec<T>(T(0)).store(to + i * kLanes);
      for (int64_t i = begin; i < end; ++i)
        load_first(x + i * groups, n_channels).store(to + i * kLanes);
      for (int64_t i = end; i < width_; ++i) Vec<T>(T(0)).store(to + i * kLanes);
    }
  }

  const WindowSum<T>& s_;
  const Taps& taps_;    // of a line
  int64_t padded_;      // channels, to whole vectors
  int64_t width_;       // pixels that the windows of a tile reach over
  Scratch<T> weights_;  // (tap, channel)
};

template <class T>
void sum_each(const WindowSum<T>& s) {
  EachSum<T>(s).run();
}

}  // namespace

extern const ConvTable each_table;
const ConvTable each_table = {{sum_each<float>}, {sum_each<double>}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
