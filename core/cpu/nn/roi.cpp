#include "cpu/nn/roi.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Note [Separable bins]
// The points of a bin are a grid, and the weight of an element at a point is one number for its row
// times one for its column. So the average over a bin is the sum over rows, by the summed weights
// of each, of the sums over columns: points are visited along each dimension alone.

// The bins along one dimension: elements and their weights, those of bin b at first[b] and on.
template <class T>
struct Bins {
  struct Tap {
    int64_t index;
    T weight;
  };
  std::vector<Tap> taps;
  std::vector<size_t> first;
  int64_t low, high;  // the range of all elements
  double n_points;    // of a bin; for whole elements it is counted per bin

  size_t n_taps(int64_t bin) const { return first[bin + 1] - first[bin]; }
};

// A number of elements as an integer, whatever it is: NaN and what is far outside any image become
// places outside too.
template <class T>
int64_t as_index(T value) {
  constexpr T limit = T(1 << 30);
  return value >= -limit ? static_cast<int64_t>(std::min(value, limit)) : -(1 << 30);
}

template <class T>
class RoiAxis {
 public:
  RoiAxis(const RoiShape& shape, bool is_row)
      : shape_(shape),
        n_bins_(is_row ? shape.n_rows : shape.n_columns),
        size_(is_row ? shape.height : shape.width),
        weights_(static_cast<size_t>(size_)) {}

  // The bins between the coordinates `start` and `end` of a roi.
  const Bins<T>& find(T start, T end) {
    bins_.taps.clear();
    bins_.first.assign(1, 0);
    bins_.low = size_;
    bins_.high = 0;
    T scale = static_cast<T>(shape_.spatial_scale);
    if (shape_.kind == RoiKind::PoolChannels || shape_.kind == RoiKind::Max) {
      whole_elements(std::round(start * scale), std::round(end * scale));
    } else {
      T offset = shape_.is_aligned ? T(0.5) : T(0);
      points(start * scale - offset, end * scale - offset);
    }
    return bins_;
  }

 private:
  void whole_elements(T start, T end) {
    int64_t first = as_index(start), last = as_index(end);
    int64_t length = std::max<int64_t>(last - first + (shape_.kind == RoiKind::Max ? 1 : 0), 1);
    T bin = static_cast<T>(length) / static_cast<T>(n_bins_);
    for (int64_t b = 0; b < n_bins_; ++b) {
      int64_t begin = as_index(std::floor(static_cast<T>(b) * bin)) + first;
      int64_t stop = as_index(std::ceil(static_cast<T>(b + 1) * bin)) + first;
      begin = std::clamp<int64_t>(begin, 0, size_);
      stop = std::clamp<int64_t>(stop, 0, size_);
      for (int64_t i = begin; i < stop; ++i) bins_.taps.push_back({i, T(1)});
      close_bin();
    }
  }

  void points(T start, T end) {
    T length = end - start;
    if (shape_.kind == RoiKind::Align && !shape_.is_aligned) length = std::max(length, T(1));
    T bin = length / static_cast<T>(n_bins_);
    T n = shape_.sampling_ratio > 0 ? static_cast<T>(shape_.sampling_ratio) : std::ceil(bin);
    bins_.n_points = static_cast<double>(n);
    for (int64_t b = 0; b < n_bins_; ++b) {
      T base = start + static_cast<T>(b) * bin;
      int64_t low = size_, high = 0;
      for_points_inside(base, bin, n, [&](T at) { add_point(at, low, high); });
      for (int64_t i = low; i < high; ++i) {
        if (weights_[i] != T(0)) bins_.taps.push_back({i, weights_[i]});
        weights_[i] = T(0);
      }
      close_bin();
    }
  }

  // Of a box that is far larger than the image only the points in the image are visited.
  template <class F>
  void for_points_inside(T base, T bin, T n, F f) {
    double step = static_cast<double>(bin) / n, count = static_cast<double>(n);
    bool is_finite = std::isfinite(base) && std::isfinite(bin);
    if (!(is_finite && count >= 1 && count < double(1 << 30))) return;
    double first = 0, last = count;
    if (step != 0) {
      double a = (-1 - base) / step, b = (static_cast<double>(size_) - base) / step;
      first = std::clamp(std::floor(std::min(a, b)) - 2, 0.0, count);
      last = std::clamp(std::ceil(std::max(a, b)) + 2, 0.0, count);
    }
    for (int64_t k = static_cast<int64_t>(first); k < static_cast<int64_t>(last); ++k)
      f(base + (static_cast<T>(k) + T(0.5)) * bin / n);
  }

  void add_point(T at, int64_t& low, int64_t& high) {
    if (!(at >= T(-1) && at <= static_cast<T>(size_)) || size_ == 0) return;
    at = std::max(at, T(0));
    int64_t i = std::min(static_cast<int64_t>(at), size_ - 1), next = std::min(i + 1, size_ - 1);
    T part = i == size_ - 1 ? T(0) : at - static_cast<T>(i);
    weights_[i] += T(1) - part;
    weights_[next] += part;
    low = std::min(low, i);
    high = std::max(high, next + 1);
  }

  void close_bin() {
    size_t begin = bins_.first.back(), end = bins_.taps.size();
    if (begin < end) {
      bins_.low = std::min(bins_.low, bins_.taps[begin].index);
      bins_.high = std::max(bins_.high, bins_.taps[end - 1].index + 1);
    }
    bins_.first.push_back(end);
  }

  const RoiShape& shape_;
  int64_t n_bins_, size_;
  std::vector<T> weights_;
  Bins<T> bins_;
};

template <class T>
struct Roi {
  using V = Vec<T>;
  using Int = LaneInt<sizeof(T)>;
  static constexpr int64_t L = V::kLanes;

  // Calls f(channel of the result, row of bins, column of bins, place in the result) for each bin.
  template <class F>
  static FACULA_FN void for_bins(const RoiShape& s, int64_t roi, int64_t c_begin, int64_t c_end,
                                 F f) {
    int64_t at = (roi * s.n_result_channels + c_begin) * s.n_rows * s.n_columns;
    for (int64_t c = c_begin; c < c_end; ++c)
      for (int64_t r = 0; r < s.n_rows; ++r)
        for (int64_t q = 0; q < s.n_columns; ++q, ++at) f(c, r, q, at);
  }

  // What the sum over a bin is divided by.
  static T divisor(const RoiShape& s, const Bins<T>& rows, const Bins<T>& columns, int64_t r,
                   int64_t q) {
    if (s.kind == RoiKind::PoolChannels)
      return static_cast<T>(std::max<size_t>(1, rows.n_taps(r) * columns.n_taps(q)));
    double n = rows.n_points * columns.n_points;
    return static_cast<T>(s.kind == RoiKind::Align ? std::max(1.0, n) : n);
  }

  // Lines have room for whole vectors and are written by them: a load that covers several smaller
  // stores would wait for all of them.
  static std::vector<T> make_line(const RoiShape& s) {
    return std::vector<T>(static_cast<size_t>(s.width + L));
  }
  template <class E>
  static FACULA_FN void fill(E* line, E value, int64_t n) {
    for (int64_t i = 0; i < n; i += L) Vec<E>(value).store(line + i);
  }

  static FACULA_FN void add_row(T* line, const T* x, T weight, int64_t n) {
    for (int64_t i = 0; i < n; i += L)
      fma(V::load(x + i, std::min(L, n - i)), V(weight), V::load(line + i)).store(line + i);
  }
  static FACULA_FN void add_to_row(T* gx, const T* line, T weight, int64_t n) {
    for (int64_t i = 0; i < n; i += L) {
      int64_t m = std::min(L, n - i);
      fma(V::load(line + i), V(weight), V::load(gx + i, m)).store(gx + i, m);
    }
  }

  static void align(T* y, const T* image, const RoiShape& s, const Bins<T>& rows,
                    const Bins<T>& columns, int64_t roi, int64_t c_begin, int64_t c_end,
                    std::vector<T>& line) {
    int64_t low = columns.low, n = std::max<int64_t>(columns.high - low, 0);
    T scale = divisor(s, rows, columns, 0, 0);
    T* to = y + (roi * s.n_channels + c_begin) * s.n_rows * s.n_columns;
    for (int64_t c = c_begin; c < c_end; ++c) {
      const T* x = image + c * s.height * s.width;
      for (int64_t r = 0; r < s.n_rows; ++r) {
        fill(line.data(), T(0), n);
        for (size_t t = rows.first[r]; t < rows.first[r + 1]; ++t)
          add_row(line.data(), x + rows.taps[t].index * s.width + low, rows.taps[t].weight, n);
        for (int64_t q = 0; q < s.n_columns; ++q) {
          T sum = T(0);
          for (size_t t = columns.first[q]; t < columns.first[q + 1]; ++t)
            sum += columns.taps[t].weight * line[columns.taps[t].index - low];
          *to++ = sum / scale;
        }
      }
    }
  }

  static void align_backward(T* image, const T* g, const RoiShape& s, const Bins<T>& rows,
                             const Bins<T>& columns, int64_t roi, int64_t c_begin, int64_t c_end,
                             std::vector<T>& line) {
    int64_t low = columns.low, n = std::max<int64_t>(columns.high - low, 0);
    T scale = divisor(s, rows, columns, 0, 0);
    const T* from = g + (roi * s.n_channels + c_begin) * s.n_rows * s.n_columns;
    for (int64_t c = c_begin; c < c_end; ++c) {
      T* gx = image + c * s.height * s.width;
      for (int64_t r = 0; r < s.n_rows; ++r) {
        fill(line.data(), T(0), n);
        for (int64_t q = 0; q < s.n_columns; ++q) {
          T up = *from++ / scale;
          for (size_t t = columns.first[q]; t < columns.first[q + 1]; ++t)
            line[columns.taps[t].index - low] += columns.taps[t].weight * up;
        }
        for (size_t t = rows.first[r]; t < rows.first[r + 1]; ++t)
          add_to_row(gx + rows.taps[t].index * s.width + low, line.data(), rows.taps[t].weight, n);
      }
    }
  }

  // The largest of each column first, then the largest of those: of equal elements the first one
  // of the first row counts.
  static void max(T* y, int32_t* argmax, const T* image, const RoiShape& s, const Bins<T>& rows,
                  const Bins<T>& columns, int64_t roi, int64_t c_begin, int64_t c_end,
                  std::vector<T>& line, std::vector<Int>& line_rows) {
    constexpr T lowest = static_cast<T>(std::numeric_limits<float>::lowest());
    int64_t low = columns.low, n = std::max<int64_t>(columns.high - low, 0);
    int64_t at = (roi * s.n_channels + c_begin) * s.n_rows * s.n_columns;
    T* best = line.data();
    Int* best_row = line_rows.data();
    for (int64_t c = c_begin; c < c_end; ++c) {
      for (int64_t r = 0; r < s.n_rows; ++r) {
        fill(best, lowest, n);
        fill(best_row, Int(-1), n);
        for (size_t t = rows.first[r]; t < rows.first[r + 1]; ++t) {
          Int row = static_cast<Int>(rows.taps[t].index);
          const T* x = image + (c * s.height + row) * s.width + low;
          for (int64_t i = 0; i < n; i += L) {
            V element = V::load(x + i, std::min(L, n - i)), high = V::load(best + i);
            auto is_larger = element > high;
            select(is_larger, element, high).store(best + i);
            select(is_larger, Vec<Int>(row), Vec<Int>::load(best_row + i)).store(best_row + i);
          }
        }
        for (int64_t q = 0; q < s.n_columns; ++q, ++at) {
          y[at] = T(0);
          argmax[at] = -1;
          if (rows.n_taps(r) == 0 || columns.n_taps(q) == 0) continue;
          int64_t begin = columns.taps[columns.first[q]].index - low;
          int64_t end = begin + static_cast<int64_t>(columns.n_taps(q));
          // Without branches, which no processor would foresee.
          T top = lowest;
          for (int64_t i = begin; i < end; ++i) top = best[i] > top ? best[i] : top;
          int64_t place = INT64_MAX;
          for (int64_t i = begin; i < end; ++i)
            place = std::min(place, best[i] == top ? best_row[i] * s.width + low + i : INT64_MAX);
          y[at] = top;
          argmax[at] = place < 0 ? -1 : static_cast<int32_t>(place);
        }
      }
    }
  }

  // Calls f(tap of the row, tap of the column, place in the channel) for each element of a bin.
  template <class F>
  static FACULA_FN void for_elements(const RoiShape& s, const Bins<T>& rows, const Bins<T>& columns,
                                     int64_t r, int64_t q, F f) {
    for (size_t i = rows.first[r]; i < rows.first[r + 1]; ++i)
      for (size_t j = columns.first[q]; j < columns.first[q + 1]; ++j)
        f(rows.taps[i].weight, columns.taps[j].weight,
          rows.taps[i].index * s.width + columns.taps[j].index);
  }

  static int64_t own_channel(const RoiShape& s, int64_t c, int64_t r, int64_t q) {
    return (c * s.n_rows + r) * s.n_columns + q;
  }

  static void forward(char* to, int32_t* argmax, const char* from, const char* boxes,
                      const RoiShape& s, int64_t begin, int64_t end) {
    RoiAxis<T> row_axis(s, true), column_axis(s, false);
    std::vector<T> line = make_line(s);
    std::vector<Int> line_rows(line.size());
    T* y = reinterpret_cast<T*>(to);
    for (int64_t task = begin; task < end; ++task) {
      int64_t roi = task % s.n_rois, c_begin = task / s.n_rois * kRoiChannels;
      int64_t c_end = std::min(c_begin + kRoiChannels, s.n_result_channels);
      const T* box = reinterpret_cast<const T*>(boxes) + roi * 5;
      const T* image = reinterpret_cast<const T*>(from) +
                       static_cast<int64_t>(box[0]) * s.n_channels * s.height * s.width;
      const Bins<T>&columns = column_axis.find(box[1], box[3]),
            &rows = row_axis.find(box[2], box[4]);
      if (s.kind == RoiKind::Align) {
        align(y, image, s, rows, columns, roi, c_begin, c_end, line);
      } else if (s.kind == RoiKind::Max) {
        max(y, argmax, image, s, rows, columns, roi, c_begin, c_end, line, line_rows);
      } else {
        for_bins(s, roi, c_begin, c_end, [&](int64_t c, int64_t r, int64_t q, int64_t at) {
          const T* x = image + own_channel(s, c, r, q) * s.height * s.width;
          T sum = T(0);
          for_elements(s, rows, columns, r, q,
                       [&](T u, T v, int64_t place) { sum += u * v * x[place]; });
          y[at] = sum / divisor(s, rows, columns, r, q);
        });
      }
    }
  }

  static void backward(char* to, const char* grad, const int32_t* argmax, const char* boxes,
                       const RoiShape& s, int64_t begin, int64_t end) {
    RoiAxis<T> row_axis(s, true), column_axis(s, false);
    std::vector<T> line = make_line(s);
    const T* g = reinterpret_cast<const T*>(grad);
    for (int64_t task = begin; task < end; ++task) {
      int64_t n = task / s.n_blocks(), c_begin = task % s.n_blocks() * kRoiChannels;
      int64_t c_end = std::min(c_begin + kRoiChannels, s.n_result_channels);
      T* image = reinterpret_cast<T*>(to) + n * s.n_channels * s.height * s.width;
      for (int64_t roi = 0; roi < s.n_rois; ++roi) {
        const T* box = reinterpret_cast<const T*>(boxes) + roi * 5;
        if (static_cast<int64_t>(box[0]) != n) continue;
        if (s.kind == RoiKind::Max) {
          for_bins(s, roi, c_begin, c_end, [&](int64_t c, int64_t, int64_t, int64_t at) {
            if (argmax[at] >= 0) image[c * s.height * s.width + argmax[at]] += g[at];
          });
          continue;
        }
        const Bins<T>&columns = column_axis.find(box[1], box[3]),
              &rows = row_axis.find(box[2], box[4]);
        if (s.kind == RoiKind::Align) {
          align_backward(image, g, s, rows, columns, roi, c_begin, c_end, line);
          continue;
        }
        for_bins(s, roi, c_begin, c_end, [&](int64_t c, int64_t r, int64_t q, int64_t at) {
          T* gx = image + own_channel(s, c, r, q) * s.height * s.width;
          T up = g[at] / divisor(s, rows, columns, r, q);
          for_elements(s, rows, columns, r, q,
                       [&](T u, T v, int64_t place) { gx[place] += u * v * up; });
        });
      }
    }
  }

  // The threshold is a double: the largest T that is not above it gives the same answers.
  static T rounded_down(double threshold) {
    T t = static_cast<T>(threshold);
    return t > threshold ? std::nextafter(t, -std::numeric_limits<T>::infinity()) : t;
  }

  static void suppress(char* to, const char* from, int64_t stride, int64_t i, int64_t begin,
                       int64_t end, double threshold) {
    T* is_dead = reinterpret_cast<T*>(to);
    const T *x1 = reinterpret_cast<const T*>(from), *y1 = x1 + stride, *x2 = y1 + stride,
            *y2 = x2 + stride, *area = y2 + stride;
    V left = V(x1[i]), top = V(y1[i]), right = V(x2[i]), bottom = V(y2[i]), own = V(area[i]);
    V zero = V(T(0)), one = V(T(1)), limit = V(rounded_down(threshold));
    for (int64_t j = begin; j < end; j += L) {
      V xa = V::load(x1 + j), ya = V::load(y1 + j), xb = V::load(x2 + j), yb = V::load(y2 + j);
      V w = select(xb < right, xb, right) - select(left < xa, xa, left);
      V h = select(yb < bottom, yb, bottom) - select(top < ya, ya, top);
      V common = select(zero < w, w, zero) * select(zero < h, h, zero);
      V ratio = common / (own + V::load(area + j) - common);
      select(ratio > limit, one, V::load(is_dead + j)).store(is_dead + j);
    }
  }
};

constexpr RoiTable make_table() {
  RoiTable table = {};
#define FACULA_ROI(T)                                                     \
  table.forward[static_cast<int>(DTypeOf<T>::value)] = Roi<T>::forward;   \
  table.backward[static_cast<int>(DTypeOf<T>::value)] = Roi<T>::backward; \
  table.suppress[static_cast<int>(DTypeOf<T>::value)] = Roi<T>::suppress;
  FACULA_ROI(float)
  FACULA_ROI(double)
#undef FACULA_ROI
  return table;
}

}  // namespace

extern const RoiTable roi_table;
const RoiTable roi_table = make_table();

}  // namespace FACULA_ISA
}  // namespace facula::cpu
