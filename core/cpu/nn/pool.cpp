#include "cpu/nn/pool.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/integers.h"
#include "cpu/vec_lanes.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Results that are computed side by side: a piece of a row, or channels of one result.
constexpr int64_t kLanes = 256;

// What is kept of the elements seen so far.
enum class Keep { Max, MaxIndex, Sum };

template <class T>
constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::lowest();
}

template <class S, Keep keep>
struct Pool {
  using T = Wide<S>;
  // Places are as wide as values, so that vectors of both have as many lanes.
  using Place = std::conditional_t<std::is_same_v<T, double>, int64_t, int32_t>;
  static constexpr Place kNowhere = std::numeric_limits<Place>::min();
  static constexpr bool kHasBlocks = std::is_floating_point_v<T>;
  static constexpr int64_t kBlock = kVecBytes / static_cast<int64_t>(sizeof(Place));
  // A window as long as this is reduced by vectors of its own elements.
  static constexpr int64_t kLong = 4 * kBlock;

  struct Best {
    T value = keep == Keep::Sum ? T(0) : lowest<T>();
    Place place = kNowhere;
  };

  // One element of each window, `stride` apart in x. A compiler that knows the stride makes
  // vectors of this loop. Not inlined: forward and backward would each have five copies.
  template <int64_t kStride>
  [[gnu::noinline]] static void add_each(T* __restrict values, Place* __restrict places,
                                         const S* __restrict x, int64_t stride, int64_t n,
                                         Place place) {
    if (kStride) stride = kStride;
    for (int64_t i = 0; i < n; ++i) {
      T v = static_cast<T>(x[i * stride]);
      if constexpr (keep == Keep::Sum) {
        values[i] += v;
      } else {
        bool is_better = (v > values[i]) | (v != v);  // a NaN stays
        if constexpr (keep == Keep::MaxIndex) {
          is_better |= places[i] == kNowhere;
          places[i] = is_better ? place : places[i];
        }
        values[i] = is_better ? v : values[i];
      }
    }
  }

  // The best of each lane.
  struct BestBlock {
    Native<T> values = Native<T>{} + Best().value;
    Native<Place> places = Native<Place>{} + kNowhere;

    FACULA_FN void load(const T* from, const Place* from_places) {
      __builtin_memcpy(&values, from, kVecBytes);
      if (keep == Keep::MaxIndex) __builtin_memcpy(&places, from_places, kVecBytes);
    }
    FACULA_FN void store(T* to, Place* to_places) const {
      __builtin_memcpy(to, &values, kVecBytes);
      if (keep == Keep::MaxIndex) __builtin_memcpy(to_places, &places, kVecBytes);
    }
    FACULA_FN void add(Native<T> v, Place place) {
      if constexpr (keep == Keep::Sum) {
        values += v;
      } else {
        Native<Place> is_better = (v > values) | (v != v);
        if constexpr (keep == Keep::MaxIndex) {
          is_better |= places == kNowhere;
          places = is_better ? Native<Place>{} + place : places;
        }
        values = is_better ? v : values;
      }
    }
  };

  // The same by blocks, of which the last may be read to its end: the compiler's own vectors of
  // elements two apart leave a rest to scalars, and most rows are short; and it has none of
  // float16.
  template <int64_t kStride>
  static void add_blocks(T* values, Place* places, const S* x, int64_t n, Place place) {
    for (int64_t i = 0; i < n; i += kBlock, x += kBlock * kStride) {
      Vec<T> v = Vec<T>::load(x);
      if (kStride == 2) v = evens(v, Vec<T>::load(x + kBlock));
      BestBlock best;
      best.load(values + i, places + i);
      BestBlock before = best;
      best.add(v.v, place);
      if (i + kBlock > n) {
        auto is_one = first_lanes<T>(n - i);
        best.values = select<T>(is_one, best.values, before.values).v;
        best.places = select<Place>(is_one, best.places, before.places).v;
      }
      best.store(values + i, places + i);
    }
  }

  // n elements `stride` apart, of as many windows. Nothing is read from `end` on.
  static void add(T* values, Place* places, const S* x, int64_t stride, int64_t n, Place place,
                  const S* end) {
    if constexpr (kHasBlocks) {
      int64_t n_read = ceil_div(n, kBlock) * kBlock;
      if (stride <= 2 && n_read * stride <= end - x)
        return stride == 1 ? add_blocks<1>(values, places, x, n, place)
                           : add_blocks<2>(values, places, x, n, place);
    }
    if (stride == 1)
      add_each<1>(values, places, x, 1, n, place);
    else if (stride == 2)
      add_each<2>(values, places, x, 2, n, place);
    else
      add_each<0>(values, places, x, stride, n, place);
  }

  // The better of two, lane by lane or of scalars: in the order of rows the first of the largest
  // counts, and the last NaN.
  template <class Values, class Places>
  static FACULA_FN void join(Values& value, Places& found, Values v, Places place) {
    if constexpr (keep == Keep::Sum) {
      value += v;
    } else if constexpr (keep == Keep::Max) {
      value = (v > value) | (v != v) ? v : value;
    } else {
      auto is_better = (v > value) | ((v == value) & (place < found)) |
                       ((v != v) & ((value == value) | (place > found))) | (found == kNowhere);
      found = is_better ? place : found;
      value = is_better ? v : value;
    }
  }

  // The best of n columns, whose places lack their own numbers.
  static Best best_of(const T* values, const Place* places, int64_t n) {
    Best best;
    int64_t i = 0;
    if constexpr (kHasBlocks) {
      if (n >= 2 * kBlock) {
        BestBlock block;
        Native<Place> lane;
        for (int k = 0; k < kBlock; ++k) lane[k] = k;
        for (; i + kBlock <= n; i += kBlock) {
          Native<Place> place = lane + static_cast<Place>(i);
          if constexpr (keep == Keep::MaxIndex) {
            Native<Place> seen;
            __builtin_memcpy(&seen, places + i, kVecBytes);
            place += seen;
          }
          join(block.values, block.places, Vec<T>::load(values + i).v, place);
        }
        for (int k = 0; k < kBlock; ++k)
          join<T, Place>(best.value, best.place, block.values[k], block.places[k]);
      }
    }
    for (; i < n; ++i)
      join<T, Place>(best.value, best.place, values[i],
                     keep == Keep::MaxIndex ? places[i] + static_cast<Place>(i) : Place(0));
    return best;
  }

  // What a sink gets: lane i is the result `at + i`, or channel `channel + i` of the result `at`.
  struct Lanes {
    T* values;
    const Place* places;  // less `place_step` a lane; kNowhere: an empty window
    int64_t place_step;
    int64_t at, channel, n;

    // The flat index of the element in its slice.
    int64_t place(int64_t i) const { return places[i] + i * place_step; }
  };

  struct Buffers {
    // Blocks may begin anywhere and be written as a whole.
    T values[kLanes + kBlock];
    Place places[kLanes + kBlock];

    void clear(int64_t n) {
      std::fill_n(values, n, Best().value);
      if (keep == Keep::MaxIndex) std::fill_n(places, n, kNowhere);
    }
  };

  struct Row {
    const S* x;    // of the slice
    const S* end;  // of the tensor
    const PoolShape& shape;
    int64_t outer, d, h;

    int64_t begin(int dim, int64_t o) const {
      const PoolAxis& axis = shape.axes[dim];
      return axis.begin[o + (axis.per_outer ? outer * axis.out : 0)];
    }
    bool has_lines() const { return shape.axes[0].count[d] > 0 && shape.axes[1].count[h] > 0; }
    // f(line) for each line of elements under the windows of this row.
    template <class F>
    void for_each_line(F f) const {
      const PoolAxis &deep = shape.axes[0], &high = shape.axes[1];
      for (int64_t i = 0; i < deep.count[d]; ++i)
        for (int64_t j = 0; j < high.count[h]; ++j)
          f((begin(0, d) + i * deep.step) * high.in + begin(1, h) + j * high.step);
    }
  };

  // Windows side by side along a line: lanes are the results of a row.
  template <class F>
  static void along_row(const Row& row, Buffers& buffers, F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    for (int64_t at = 0; at < axis.out; at += kLanes) {
      int64_t n = std::min(kLanes, axis.out - at), origin = at * axis.stride + axis.start;
      buffers.clear(n);
      row.for_each_line([&](int64_t line) {
        for (int64_t k = 0; k < axis.size; ++k) {
          int64_t low = std::max<int64_t>(axis.low[k] - at, 0);
          int64_t high = std::min(axis.high[k] - at, n);
          if (low >= high) continue;
          int64_t first = origin + k * axis.step;
          add(buffers.values + low, buffers.places + low,
              row.x + line * axis.in + first + low * axis.stride, axis.stride, high - low,
              static_cast<Place>(line * axis.in + first), row.end);
        }
      });
      sink(Lanes{buffers.values, buffers.places, axis.stride, at, 0, n});
    }
  }

  // n channels from number `first` on of the result `at`. One nest of loops, which keeps the best
  // in registers: compilers leave those in memory that a lambda of lambdas changes.
  template <int kBlocks>
  static void add_channels(Buffers& buffers, const Row& row, int64_t at, int64_t first, int64_t n) {
    const PoolAxis &deep = row.shape.axes[0], &high = row.shape.axes[1], &wide = row.shape.axes[2];
    int64_t inner = row.shape.inner, count = wide.count[at];
    int64_t d = row.begin(0, row.d), h = row.begin(1, row.h), w = row.begin(2, at);
    bool is_whole = n == kBlocks * kBlock;
    BestBlock best[kBlocks];
    for (int64_t i = 0; i < deep.count[row.d]; ++i)
      for (int64_t j = 0; j < high.count[row.h]; ++j) {
        int64_t place = ((d + i * deep.step) * high.in + h + j * high.step) * wide.in + w;
        const S* x = row.x + place * inner + first;
        for (int64_t k = 0; k < count; ++k, place += wide.step, x += wide.step * inner)
          for (int b = 0; b < kBlocks; ++b)
            best[b].add((is_whole ? Vec<T>::load(x + b * kBlock) : Vec<T>::load(x, n)).v,
                        static_cast<Place>(place));
      }
    for (int b = 0; b < kBlocks; ++b)
      best[b].store(buffers.values + b * kBlock, buffers.places + b * kBlock);
  }

  // One result at a time: lanes are its channels [c_begin, c_end).
  template <class F>
  static void along_channels(const Row& row, int64_t c_begin, int64_t c_end, Buffers& buffers,
                             F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    constexpr int kBlocks = 4;
    for (int64_t at = 0; at < axis.out; ++at)
      for (int64_t c = c_begin, n = 0; c < c_end; c += n) {
        n = std::min(kLanes, c_end - c);
        if constexpr (kHasBlocks) {
          n = std::min(kBlocks * kBlock, c_end - c);
          if (n < kBlocks * kBlock) n = std::min(kBlock, n);
          if (n > kBlock)
            add_channels<kBlocks>(buffers, row, at, c, n);
          else
            add_channels<1>(buffers, row, at, c, n);
        } else {
          buffers.clear(n);
          row.for_each_line([&](int64_t line) {
            for (int64_t k = 0; k < axis.count[at]; ++k) {
              int64_t place = line * axis.in + row.begin(2, at) + k * axis.step;
              add_each<1>(buffers.values, buffers.places, row.x + place * row.shape.inner + c, 1, n,
                          static_cast<Place>(place));
            }
          });
        }
        sink(Lanes{buffers.values, buffers.places, 0, at, c, n});
      }
  }

  // Windows of any places along a line: each column is reduced first, all of them side by side.
  template <class F>
  static void along_columns(const Row& row, Buffers& buffers, F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    buffers.clear(axis.in);
    row.for_each_line([&](int64_t line) {
      add(buffers.values, buffers.places, row.x + line * axis.in, 1, axis.in,
          static_cast<Place>(line * axis.in), row.end);
    });
    for (int64_t at = 0; at < axis.out; ++at) {
      int64_t begin = row.begin(2, at);
      Best best = best_of(buffers.values + begin, buffers.places + begin, axis.count[at]);
      if (best.place != kNowhere) best.place += static_cast<Place>(begin);
      sink(Lanes{&best.value, &best.place, 0, at, 0, 1});
    }
  }

  // Long windows one by one: their elements kLong apart are reduced side by side.
  template <class F>
  static void along_windows(const Row& row, Buffers& buffers, F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    for (int64_t at = 0; at < axis.out; ++at) {
      int64_t begin = row.begin(2, at), count = axis.count[at], n = std::min(count, kLong);
      buffers.clear(n);
      row.for_each_line([&](int64_t line) {
        for (int64_t i = 0; i < count; i += kLong) {
          int64_t first = line * axis.in + begin + i;
          add(buffers.values, buffers.places, row.x + first, 1, std::min(n, count - i),
              static_cast<Place>(first), row.end);
        }
      });
      Best best = best_of(buffers.values, buffers.places, n);
      sink(Lanes{&best.value, &best.place, 0, at, 0, 1});
    }
  }

  // The same for one channel, window by window.
  template <class F>
  static void one_by_one(const Row& row, F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    for (int64_t at = 0; at < axis.out; ++at) {
      Best best;
      int64_t begin = row.begin(2, at), end = begin + axis.count[at] * axis.step;
      row.for_each_line([&](int64_t line) {
        for (int64_t i = line * axis.in + begin; i < line * axis.in + end; i += axis.step) {
          T v = static_cast<T>(row.x[i]);
          if constexpr (keep == Keep::Sum) {
            best.value += v;
          } else {
            // Which one is larger is hard to predict: no branches.
            bool is_better =
                (v > best.value) | (v != v) | (keep == Keep::MaxIndex && best.place == kNowhere);
            best.value = is_better ? v : best.value;
            best.place = is_better ? static_cast<Place>(i) : best.place;
          }
        }
      });
      sink(Lanes{&best.value, &best.place, 0, at, 0, 1});
    }
  }

  // Whether most columns belong to a window.
  static bool covers_columns(const PoolAxis& axis) {
    return axis.out * axis.count[0] * 2 >= axis.in;
  }

  // Elements of a row of windows that lie farther apart are read one by one.
  static constexpr int64_t kMostApart = 4;

  template <class F>
  static void walk(const Row& row, int64_t c_begin, int64_t c_end, Buffers& buffers, F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    if (row.shape.inner > 1)
      along_channels(row, c_begin, c_end, buffers, sink);
    else if (axis.stride > 0 && axis.stride <= kMostApart && axis.out >= 4)
      along_row(row, buffers, sink);
    else if (axis.step == 1 && row.has_lines() && axis.in <= kLanes && covers_columns(axis))
      along_columns(row, buffers, sink);
    else if (axis.step == 1 && row.has_lines() && axis.count[0] >= kLong)
      along_windows(row, buffers, sink);
    else if (axis.stride > 0 && axis.out >= 4)
      along_row(row, buffers, sink);
    else
      one_by_one(row, sink);
  }

  static int64_t n_rows(const PoolShape& shape) { return shape.axes[0].out * shape.axes[1].out; }

  static Row row_of(const S* x, const PoolShape& shape, int64_t r) {
    int64_t outer = r / n_rows(shape), rest = r % n_rows(shape);
    const S* slice = x + outer * shape.n_in * shape.inner;
    return {slice,
            x + shape.n_outer * shape.n_in * shape.inner,
            shape,
            outer,
            rest / shape.axes[1].out,
            rest % shape.axes[1].out};
  }
  // Divisions for each row would take longer than a short row.
  static void advance(Row& row) {
    if (++row.h < row.shape.axes[1].out) return;
    row.h = 0;
    if (++row.d < row.shape.axes[0].out) return;
    row.d = 0;
    ++row.outer;
    row.x += row.shape.n_in * row.shape.inner;
  }

  static int64_t divisor_of(const Row& row, int64_t o) {
    if (row.shape.divisor) return row.shape.divisor;
    const auto& axes = row.shape.axes;
    return axes[0].divisor[row.d] * axes[1].divisor[row.h] * axes[2].divisor[o];
  }

  // A window of padding alone, or beyond it, has the sum 0.
  static void divide(const Lanes& lanes, const Row& row) {
    const auto& axes = row.shape.axes;
    if (lanes.place_step > 0 && row.shape.divisor == 0) {
      int64_t across = axes[0].divisor[row.d] * axes[1].divisor[row.h];
      const int64_t* along = axes[2].divisor + lanes.at;
      for (int64_t i = 0; i < lanes.n; ++i) {
        int64_t divisor = across * along[i];
        T quotient = lanes.values[i] / static_cast<T>(divisor ? divisor : 1);
        lanes.values[i] = divisor ? quotient : T(0);
      }
      return;
    }
    int64_t divisor = divisor_of(row, lanes.at);
    if (divisor == 0) std::fill_n(lanes.values, lanes.n, T(0));
    T divided_by = static_cast<T>(divisor ? divisor : 1), inverse = T(1) / divided_by;
    // The product with a power of two has the bits of the quotient, in a quarter of the time.
    if (kHasBlocks && (divisor & (divisor - 1)) == 0)
      for (int64_t i = 0; i < lanes.n; ++i) lanes.values[i] *= inverse;
    else
      for (int64_t i = 0; i < lanes.n; ++i) lanes.values[i] /= divided_by;
  }

  static void store_places(int64_t* __restrict to, const Place* __restrict places, int64_t step,
                           int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = places[i] == kNowhere ? -1 : places[i] + i * step;
  }

  static void round_to(S* y, const T* values, int64_t n) {
    if constexpr (kHasBlocks) {
      int64_t i = 0;
      for (; i + kBlock <= n; i += kBlock) Vec<T>::load(values + i).store(y + i);
      if (n - i == 1)
        y[i] = static_cast<S>(values[i]);
      else if (i < n)
        Vec<T>::load(values + i, n - i).store(y + i, n - i);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = static_cast<S>(values[i]);
    }
  }

  static void forward(char* to, int64_t* indices, const char* from, const PoolShape& shape,
                      int64_t begin, int64_t end) {
    Buffers buffers;
    Row row = row_of(reinterpret_cast<const S*>(from), shape, begin);
    for (int64_t r = begin; r < end; ++r, advance(row)) {
      int64_t offset = r * shape.axes[2].out * shape.inner;
      S* y = reinterpret_cast<S*>(to) + offset;
      walk(row, 0, shape.inner, buffers, [&](const Lanes& lanes) {
        int64_t first = lanes.at * shape.inner + lanes.channel;
        if constexpr (keep == Keep::Sum) divide(lanes, row);
        round_to(y + first, lanes.values, lanes.n);
        if constexpr (keep == Keep::MaxIndex)
          store_places(indices + offset + first, lanes.places, lanes.place_step, lanes.n);
      });
    }
  }

  // f(slice, c, c_end) for blocks of channels of slices.
  template <class F>
  static void for_each_slice(const PoolShape& shape, int64_t begin, int64_t end, F f) {
    int64_t n_blocks = ceil_div(shape.inner, kPoolBlock);
    for (int64_t b = begin; b < end; ++b) {
      int64_t c = b % n_blocks * kPoolBlock;
      f(b / n_blocks, c, std::min(c + kPoolBlock, shape.inner));
    }
  }

  static void clear(S* gx, const PoolShape& shape, int64_t c, int64_t c_end) {
    if (shape.inner == 1) {
      std::fill_n(gx, shape.n_in, S(0));
      return;
    }
    for (int64_t i = 0; i < shape.n_in; ++i) std::fill_n(gx + i * shape.inner + c, c_end - c, S(0));
  }

  // Whether windows lie beside each other, without padding, and are two elements wide.
  static bool is_tiled(const PoolShape& shape) {
    if (shape.inner > 1 || shape.axes[2].size != 2) return false;
    for (const PoolAxis& axis : shape.axes)
      if (axis.stride != axis.size || axis.step != 1 || axis.start != 0 ||
          axis.out * axis.size > axis.in)
        return false;
    int64_t n_lines = shape.axes[0].size * shape.axes[1].size;
    return n_lines == 1 || n_lines == 2 || n_lines == 4;
  }

  // The gradient of kTiles such windows side by side. Every element belongs to one of them and is
  // written once: nothing has to be cleared before, and the loop becomes vectors.
  template <int kLines, int kTiles>
  static FACULA_FN void tile_block(S* const* to, const S* const* from, const S* g, int64_t first) {
    S gx[kLines][2 * kTiles];
    for (int o = 0; o < kTiles; ++o) {
      bool is_better[2 * kLines];
      S best = from[0][2 * (first + o)];
      for (int e = 1; e < 2 * kLines; ++e) {
        S v = from[e / 2][2 * (first + o) + e % 2];
        is_better[e] = (v > best) | (v != v);  // a NaN stays
        best = is_better[e] ? v : best;
      }
      S left = g[first + o] + S(0);  // -0 as a sum that begins with 0
      for (int e = 2 * kLines - 1; e > 0; --e) {
        gx[e / 2][2 * o + e % 2] = is_better[e] ? left : S(0);
        left = is_better[e] ? S(0) : left;
      }
      gx[0][2 * o] = left;
    }
    for (int l = 0; l < kLines; ++l) __builtin_memcpy(to[l] + 2 * first, gx[l], sizeof(gx[l]));
  }

  // A row of them; the last block overlaps the one before it.
  template <int kLines>
  static void tile_row(S* gx, const S* x, const S* g, const Row& row) {
    const S* from[kLines];
    S* to[kLines];
    int n_lines = 0;
    row.for_each_line([&](int64_t line) {
      from[n_lines] = x + line * row.shape.axes[2].in;
      to[n_lines++] = gx + line * row.shape.axes[2].in;
    });
    constexpr int kMany = kBlock, kFew = 4;
    int64_t n = row.shape.axes[2].out, o = 0;
    if (n >= kMany) {
      for (; o < n - kMany; o += kMany) tile_block<kLines, kMany>(to, from, g, o);
      tile_block<kLines, kMany>(to, from, g, n - kMany);
    } else if (n >= kFew) {
      for (; o < n - kFew; o += kFew) tile_block<kLines, kFew>(to, from, g, o);
      tile_block<kLines, kFew>(to, from, g, n - kFew);
    } else {
      for (; o < n; ++o) tile_block<kLines, 1>(to, from, g, o);
    }
  }

  static void tile_slice(S* gx, const S* x, const S* g, const PoolShape& shape) {
    const auto& axes = shape.axes;
    int64_t n_lines = axes[0].size * axes[1].size;
    Row row = row_of(x, shape, 0);
    if (n_rows(shape) * n_lines * axes[2].out * 2 < shape.n_in) std::fill_n(gx, shape.n_in, S(0));
    for (int64_t r = 0; r < n_rows(shape); ++r, advance(row), g += axes[2].out) {
      if (n_lines == 1) tile_row<1>(gx, x, g, row);
      if (n_lines == 2) tile_row<2>(gx, x, g, row);
      if (n_lines == 4) tile_row<4>(gx, x, g, row);
    }
  }

  // The places of the largest elements are found again: saving them would cost twice the memory of
  // the result, and more time than this.
  static void max_backward(char* to, const char* grad, const char* from, const PoolShape& shape,
                           int64_t begin, int64_t end) {
    Buffers buffers;
    for_each_slice(shape, begin, end, [&](int64_t outer, int64_t c, int64_t c_end) {
      S* gx = reinterpret_cast<S*>(to) + outer * shape.n_in * shape.inner;
      int64_t first = outer * n_rows(shape);
      if (is_tiled(shape))
        return tile_slice(gx, reinterpret_cast<const S*>(from) + outer * shape.n_in,
                          reinterpret_cast<const S*>(grad) + first * shape.axes[2].out, shape);
      clear(gx, shape, c, c_end);
      Row row = row_of(reinterpret_cast<const S*>(from), shape, first);
      for (int64_t r = first; r < first + n_rows(shape); ++r, advance(row)) {
        const S* g = reinterpret_cast<const S*>(grad) + r * shape.axes[2].out * shape.inner;
        walk(row, c, c_end, buffers, [&](const Lanes& lanes) {
          int64_t channel_step = lanes.place_step ? 0 : 1;
          const S* from_lane = g + lanes.at * shape.inner + lanes.channel;
          for (int64_t i = 0; i < lanes.n; ++i)
            if (lanes.places[i] != kNowhere)
              gx[lanes.place(i) * shape.inner + lanes.channel + i * channel_step] += from_lane[i];
        });
      }
    });
  }

  static void mean_backward(char* to, const char* grad, const char*, const PoolShape& shape,
                            int64_t begin, int64_t end) {
    const PoolAxis& axis = shape.axes[2];
    std::unique_ptr<S[]> line(new S[shape.inner == 1 ? axis.in : kPoolBlock]);
    for_each_slice(shape, begin, end, [&](int64_t outer, int64_t c, int64_t c_end) {
      S* gx = reinterpret_cast<S*>(to) + outer * shape.n_in * shape.inner;
      clear(gx, shape, c, c_end);
      int64_t first = outer * n_rows(shape);
      Row row = row_of(reinterpret_cast<S*>(to), shape, first);
      for (int64_t r = first; r < first + n_rows(shape); ++r, advance(row)) {
        const S* g = reinterpret_cast<const S*>(grad) + r * axis.out * shape.inner;
        if (shape.inner == 1)
          spread_row(gx, g, row, line.get());
        else
          spread_channels(gx, g, row, c, c_end, line.get());
      }
    });
  }

  // All lines under a row of windows get the same gradient.
  static void spread_row(S* gx, const S* g, const Row& row, S* line) {
    const PoolAxis& axis = row.shape.axes[2];
    std::fill_n(line, axis.in, S(0));
    for (int64_t o = 0; o < axis.out; ++o) {
      int64_t divisor = divisor_of(row, o);
      if (divisor == 0) continue;
      S part = g[o] / static_cast<S>(divisor);
      for (int64_t k = 0; k < axis.count[o]; ++k) line[axis.begin[o] + k * axis.step] += part;
    }
    row.for_each_line([&](int64_t l) {
      S* __restrict to = gx + l * axis.in;
      for (int64_t i = 0; i < axis.in; ++i) to[i] += line[i];
    });
  }

  static void spread_channels(S* gx, const S* g, const Row& row, int64_t c, int64_t c_end,
                              S* parts) {
    const PoolAxis& axis = row.shape.axes[2];
    int64_t inner = row.shape.inner;
    for (int64_t o = 0; o < axis.out; ++o) {
      int64_t divisor = divisor_of(row, o);
      if (divisor == 0) continue;
      for (int64_t i = 0; i < c_end - c; ++i)
        parts[i] = g[o * inner + c + i] / static_cast<S>(divisor);
      row.for_each_line([&](int64_t l) {
        for (int64_t k = 0; k < axis.count[o]; ++k) {
          S* __restrict to = gx + (l * axis.in + axis.begin[o] + k * axis.step) * inner + c;
          for (int64_t i = 0; i < c_end - c; ++i) to[i] += parts[i];
        }
      });
    }
  }
};

template <class S>
void max_forward(char* y, int64_t* indices, const char* x, const PoolShape& shape, int64_t begin,
                 int64_t end) {
  if (indices)
    Pool<S, Keep::MaxIndex>::forward(y, indices, x, shape, begin, end);
  else
    Pool<S, Keep::Max>::forward(y, nullptr, x, shape, begin, end);
}

template <class S>
bool unpool(char* to, const char* from, const int64_t* indices, int64_t n_out, int64_t n_in,
            int64_t inner, int64_t begin, int64_t end) {
  bool is_inside = true;
  for (int64_t slice = begin; slice < end; ++slice) {
    S* y = reinterpret_cast<S*>(to) + slice * n_out * inner;
    const S* x = reinterpret_cast<const S*>(from) + slice * n_in * inner;
    const int64_t* index = indices + slice * n_in * inner;
    std::fill_n(y, n_out * inner, S(0));
    for (int64_t i = 0; i < n_in; ++i, x += inner, index += inner)
      for (int64_t c = 0; c < inner; ++c) {
        bool fits = static_cast<uint64_t>(index[c]) < static_cast<uint64_t>(n_out);
        is_inside &= fits;
        if (fits) y[index[c] * inner + c] = x[c];
      }
  }
  return is_inside;
}

constexpr PoolTable make_table() {
  PoolTable table = {};
#define FACULA_MAX(T) table.max[static_cast<int>(DTypeOf<T>::value)] = max_forward<T>;
  FACULA_MAX(uint8_t)
  FACULA_MAX(int8_t)
  FACULA_MAX(int16_t)
  FACULA_MAX(int32_t)
  FACULA_MAX(int64_t)
  FACULA_MAX(Half)
  FACULA_MAX(BFloat16)
  FACULA_MAX(float)
  FACULA_MAX(double)
#undef FACULA_MAX
#define FACULA_MEAN(T) \
  table.mean[static_cast<int>(DTypeOf<T>::value)] = Pool<T, Keep::Sum>::forward;
  FACULA_MEAN(int64_t)
  FACULA_MEAN(Half)
  FACULA_MEAN(BFloat16)
  FACULA_MEAN(float)
  FACULA_MEAN(double)
#undef FACULA_MEAN
#define FACULA_BACKWARD(T)                                                                         \
  table.max_backward[static_cast<int>(DTypeOf<T>::value)] = Pool<T, Keep::MaxIndex>::max_backward; \
  table.mean_backward[static_cast<int>(DTypeOf<T>::value)] = Pool<T, Keep::Sum>::mean_backward;
  FACULA_BACKWARD(float)
  FACULA_BACKWARD(double)
#undef FACULA_BACKWARD
#define FACULA_UNPOOL(T) table.unpool[static_cast<int>(DTypeOf<T>::value)] = unpool<T>;
  FACULA_UNPOOL(Half)
  FACULA_UNPOOL(BFloat16)
  FACULA_UNPOOL(float)
  FACULA_UNPOOL(double)
#undef FACULA_UNPOOL
  return table;
}

}  // namespace

extern const PoolTable pool_table;
const PoolTable pool_table = make_table();

}  // namespace FACULA_ISA
}  // namespace facula::cpu
