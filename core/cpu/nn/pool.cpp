#include "cpu/nn/pool.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/integers.h"
#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Results that are computed side by side: a piece of a row, or channels of one result.
constexpr int64_t kLanes = 256;

constexpr int32_t kNowhere = std::numeric_limits<int32_t>::min();

// What is kept of the elements seen so far.
enum class Keep { Max, MaxIndex, Sum };

template <class T>
constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::lowest();
}

constexpr int64_t kBlock = kVecBytes / 4;
using Floats = Native<float>;
using Ints = Native<int32_t>;

template <class V>
FACULA_FN V load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}
template <class V>
FACULA_FN void store(void* to, V v) {
  __builtin_memcpy(to, &v, sizeof(V));
}

template <class S, Keep keep>
struct Pool {
  using T = Wide<S>;

  // One element of each window, `stride` apart in x. A compiler that knows the stride makes
  // vectors of this loop. Not inlined: forward and backward would each have five copies.
  template <int64_t kStride>
  [[gnu::noinline]] static void add(T* __restrict values, int32_t* __restrict places,
                                    const S* __restrict x, int64_t stride, int64_t n,
                                    int32_t place) {
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

  // The same for whole blocks of float32: the compiler's own vectors of elements two apart leave a
  // rest to scalars, and most rows are short.
  template <int64_t kStride>
  static void add_blocks(T* values, int32_t* places, const S* x, int64_t n, int32_t place) {
    Ints evens = {};
    for (int i = 0; i < kBlock; ++i) evens[i] = 2 * i;
    for (int64_t i = 0; i < n; i += kBlock, x += kBlock * kStride) {
      Floats v = load<Floats>(x), before = load<Floats>(values + i);
      if (kStride == 2) v = __builtin_shuffle(v, load<Floats>(x + kBlock), evens);
      if constexpr (keep == Keep::Sum) {
        store(values + i, before + v);
      } else {
        Ints is_better = (v > before) | (v != v);
        if constexpr (keep == Keep::MaxIndex) {
          Ints old = load<Ints>(places + i);
          is_better |= old == kNowhere;
          store(places + i, is_better ? Ints{} + place : old);
        }
        store(values + i, is_better ? v : before);
      }
    }
  }

  // What a sink gets: lane i is the result `at + i`, or channel `channel + i` of the result `at`.
  struct Lanes {
    const T* values;
    const int32_t* places;  // less `place_step` a lane; kNowhere: an empty window
    int64_t place_step;
    int64_t at, channel, n;

    // The flat index of the element in its slice.
    int64_t place(int64_t i) const { return places[i] + i * place_step; }
  };

  struct Buffers {
    // Blocks may begin anywhere and be written as a whole.
    T values[kLanes + kBlock];
    int32_t places[kLanes + kBlock];

    void clear(int64_t n) {
      std::fill_n(values, n, keep == Keep::Sum ? T(0) : lowest<T>());
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
          int32_t place = static_cast<int32_t>(line * axis.in + first);
          const S* from = row.x + line * axis.in + first + low * axis.stride;
          T* values = buffers.values + low;
          int32_t* places = buffers.places + low;
          int64_t n_left = high - low, n_whole = 0;
          if (std::is_same_v<S, float> && axis.stride <= 2) {
            // Lanes after the last may be written, but not those that this element is no part of.
            n_whole = (high == n ? n_left + kBlock - 1 : n_left) / kBlock * kBlock;
            if (from + n_whole * axis.stride > row.end) n_whole = 0;
          }
          if (n_whole > 0) {
            if (axis.stride == 1)
              add_blocks<1>(values, places, from, n_whole, place);
            else
              add_blocks<2>(values, places, from, n_whole, place);
            if (n_whole >= n_left) continue;
            values += n_whole;
            places += n_whole;
            from += n_whole * axis.stride;
            n_left -= n_whole;
          }
          if (axis.stride == 1)
            add<1>(values, places, from, 1, n_left, place);
          else if (axis.stride == 2)
            add<2>(values, places, from, 2, n_left, place);
          else
            add<0>(values, places, from, axis.stride, n_left, place);
        }
      });
      sink(Lanes{buffers.values, buffers.places, axis.stride, at, 0, n});
    }
  }

  // One result at a time: lanes are its channels [c_begin, c_end).
  template <class F>
  static void along_channels(const Row& row, int64_t c_begin, int64_t c_end, Buffers& buffers,
                             F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    int64_t inner = row.shape.inner;
    for (int64_t at = 0; at < axis.out; ++at)
      for (int64_t c = c_begin; c < c_end; c += kLanes) {
        int64_t n = std::min(kLanes, c_end - c), begin = row.begin(2, at);
        buffers.clear(n);
        row.for_each_line([&](int64_t line) {
          for (int64_t k = 0; k < axis.count[at]; ++k) {
            int64_t place = line * axis.in + begin + k * axis.step;
            add<1>(buffers.values, buffers.places, row.x + place * inner + c, 1, n,
                   static_cast<int32_t>(place));
          }
        });
        sink(Lanes{buffers.values, buffers.places, 0, at, c, n});
      }
  }

  // Windows of any places along a line: each column is reduced first, all of them side by side.
  template <class F>
  static void along_columns(const Row& row, Buffers& buffers, F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    int64_t n_whole = ceil_div(axis.in, kBlock) * kBlock;
    buffers.clear(n_whole);
    row.for_each_line([&](int64_t line) {
      const S* from = row.x + line * axis.in;
      int32_t place = static_cast<int32_t>(line * axis.in);
      if (std::is_same_v<S, float> && from + n_whole <= row.end)
        add_blocks<1>(buffers.values, buffers.places, from, n_whole, place);
      else
        add<1>(buffers.values, buffers.places, from, 1, axis.in, place);
    });
    for (int64_t at = 0; at < axis.out; ++at) {
      T value = keep == Keep::Sum ? T(0) : lowest<T>();
      int32_t found = kNowhere;
      int64_t begin = row.begin(2, at);
      for (int64_t i = begin; i < begin + axis.count[at]; ++i) {
        T v = buffers.values[i];
        if constexpr (keep == Keep::Sum) {
          value += v;
        } else {
          bool is_better = (v > value) | (v != v);
          if constexpr (keep == Keep::MaxIndex) {
            // In the order of rows the first of the largest counts, and the last NaN.
            int32_t place = buffers.places[i] + static_cast<int32_t>(i);
            is_better = (v > value) | ((v == value) & (place < found)) |
                        ((v != v) & ((value == value) | (place > found))) | (found == kNowhere);
            found = is_better ? place : found;
          }
          value = is_better ? v : value;
        }
      }
      sink(Lanes{&value, &found, 0, at, 0, 1});
    }
  }

  // The same for one channel, window by window.
  template <class F>
  static void one_by_one(const Row& row, F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    for (int64_t at = 0; at < axis.out; ++at) {
      T value = keep == Keep::Sum ? T(0) : lowest<T>();
      int32_t found = kNowhere;
      int64_t begin = row.begin(2, at), end = begin + axis.count[at] * axis.step;
      row.for_each_line([&](int64_t line) {
        for (int64_t i = line * axis.in + begin; i < line * axis.in + end; i += axis.step) {
          T v = static_cast<T>(row.x[i]);
          if constexpr (keep == Keep::Sum) {
            value += v;
          } else {
            // Which one is larger is hard to predict: no branches.
            bool is_better = (v > value) | (v != v) | (keep == Keep::MaxIndex && found == kNowhere);
            value = is_better ? v : value;
            found = is_better ? static_cast<int32_t>(i) : found;
          }
        }
      });
      sink(Lanes{&value, &found, 0, at, 0, 1});
    }
  }

  template <class F>
  static void walk(const Row& row, int64_t c_begin, int64_t c_end, Buffers& buffers, F sink) {
    const PoolAxis& axis = row.shape.axes[2];
    if (row.shape.inner > 1)
      along_channels(row, c_begin, c_end, buffers, sink);
    else if (axis.stride > 0 && axis.out >= 4)
      along_row(row, buffers, sink);
    else if (axis.in <= kLanes && axis.step == 1 && row.has_lines())
      along_columns(row, buffers, sink);
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

  static void forward(char* to, int64_t* indices, const char* from, const PoolShape& shape,
                      int64_t begin, int64_t end) {
    Buffers buffers;
    Row row = row_of(reinterpret_cast<const S*>(from), shape, begin);
    for (int64_t r = begin; r < end; ++r, advance(row)) {
      int64_t offset = r * shape.axes[2].out * shape.inner;
      S* y = reinterpret_cast<S*>(to) + offset;
      walk(row, 0, shape.inner, buffers, [&](const Lanes& lanes) {
        int64_t first = lanes.at * shape.inner + lanes.channel;
        if constexpr (keep == Keep::Sum) {
          for (int64_t i = 0; i < lanes.n; ++i) {
            int64_t divisor = divisor_of(row, lanes.at + (lanes.place_step ? i : 0));
            // A window of padding alone, or beyond it, has the sum 0.
            y[first + i] =
                divisor ? static_cast<S>(lanes.values[i] / static_cast<T>(divisor)) : S(0);
          }
        } else {
          for (int64_t i = 0; i < lanes.n; ++i) y[first + i] = static_cast<S>(lanes.values[i]);
        }
        if constexpr (keep == Keep::MaxIndex)
          for (int64_t i = 0; i < lanes.n; ++i)
            indices[offset + first + i] = lanes.places[i] == kNowhere ? -1 : lanes.place(i);
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
  return table;
}

}  // namespace

extern const PoolTable pool_table;
const PoolTable pool_table = make_table();

}  // namespace FACULA_ISA
}  // namespace facula::cpu
