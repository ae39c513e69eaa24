#include "cpu/nn/resample.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int64_t kChannels = 256;  // summed up side by side

template <class S>
struct Resample {
  using T = Wide<S>;

  static void add(T* __restrict sums, const S* __restrict x, T weight, int64_t n) {
    for (int64_t i = 0; i < n; ++i) sums[i] += weight * static_cast<T>(x[i]);
  }

  // Four at a time, so that the sums are not stored in between.
  struct Sum {
    T* sums;
    int64_t n;
    const S* from[4] = {};
    T weights[4] = {};
    int n_held = 0;
    bool is_begun = false;

    void hold(const S* x, T weight) {
      from[n_held] = x;
      weights[n_held] = weight;
      if (++n_held == 4) is_begun ? flush<true>() : flush<false>();
    }
    template <bool kAdds>
    void flush() {
      T* __restrict to = sums;
      const S *a = from[0], *b = from[1], *c = from[2], *d = from[3];
      T u = weights[0], v = weights[1], w = weights[2], z = weights[3];
      for (int64_t i = 0; i < n; ++i) {
        T four = u * static_cast<T>(a[i]) + v * static_cast<T>(b[i]) + w * static_cast<T>(c[i]) +
                 z * static_cast<T>(d[i]);
        to[i] = kAdds ? to[i] + four : four;
      }
      is_begun = true;
      n_held = 0;
    }
    void finish() {
      if (!is_begun) std::fill_n(sums, n, T(0));
      for (int k = 0; k < n_held; ++k) add(sums, from[k], weights[k], n);
    }
  };

  struct Row {
    const S* x;  // of the slice
    const ResampleShape& shape;
    int64_t d, h;

    // f(line, weight) for each line that this row is made of.
    template <class F>
    void for_each_line(F f) const {
      const ResampleAxis &deep = shape.axes[0], &high = shape.axes[1];
      const T *w_deep = static_cast<const T*>(deep.weight),
              *w_high = static_cast<const T*>(high.weight);
      for (int64_t i = deep.begin[d]; i < deep.begin[d + 1]; ++i)
        for (int64_t j = high.begin[h]; j < high.begin[h + 1]; ++j)
          f(int64_t(deep.index[i]) * high.in + high.index[j],
            shape.is_pick ? T(1) : w_deep[i] * w_high[j]);
    }
  };

  template <int64_t kTaps, class From>
  static void along_line(S* __restrict y, const From* __restrict line, const ResampleAxis& axis) {
    const T* __restrict weight = static_cast<const T*>(axis.weight);
    const int32_t* __restrict index = axis.index, * __restrict begin = axis.begin;
    int64_t out = axis.out;
    for (int64_t o = 0; o < out; ++o) {
      T sum = T(0);
      if constexpr (kTaps > 0)
        for (int64_t k = 0; k < kTaps; ++k)
          sum += weight[kTaps * o + k] * static_cast<T>(line[index[kTaps * o + k]]);
      else
        for (int64_t k = begin[o]; k < begin[o + 1]; ++k)
          sum += weight[k] * static_cast<T>(line[index[k]]);
      y[o] = static_cast<S>(sum);
    }
  }

  // The lines under a row are summed up, then the elements of the sum.
  static void one_channel(S* y, const Row& row, T* sums) {
    const ResampleAxis& axis = row.shape.axes[2];
    const S* only = nullptr;
    int n_lines = 0;
    row.for_each_line([&](int64_t line, T weight) {
      const S* x = row.x + line * axis.in;
      only = n_lines++ == 0 && weight == T(1) ? x : nullptr;
    });
    if (row.shape.is_pick) {
      for (int64_t o = 0; o < axis.out; ++o) y[o] = only[axis.index[o]];
      return;
    }
    if (only) return along<S>(y, only, axis);
    Sum sum = {sums, axis.in};
    row.for_each_line([&](int64_t line, T weight) { sum.hold(row.x + line * axis.in, weight); });
    sum.finish();
    along<T>(y, sums, axis);
  }
  template <class From>
  static void along(S* y, const From* line, const ResampleAxis& axis) {
    if (axis.n_taps == 2)
      along_line<2>(y, line, axis);
    else if (axis.n_taps == 4)
      along_line<4>(y, line, axis);
    else
      along_line<0>(y, line, axis);
  }

  static void all_channels(S* y, const Row& row, T* sums) {
    const ResampleAxis& axis = row.shape.axes[2];
    const T* weights = static_cast<const T*>(axis.weight);
    int64_t inner = row.shape.inner;
    for (int64_t o = 0; o < axis.out; ++o)
      for (int64_t c = 0; c < inner; c += kChannels) {
        int64_t n = std::min(kChannels, inner - c);
        Sum sum = {sums, n};
        row.for_each_line([&](int64_t line, T weight) {
          for (int64_t k = axis.begin[o]; k < axis.begin[o + 1]; ++k) {
            const S* x = row.x + (line * axis.in + axis.index[k]) * inner + c;
            if (row.shape.is_pick)
              std::copy_n(x, n, y + o * inner + c);
            else
              sum.hold(x, weight * weights[k]);
          }
        });
        if (row.shape.is_pick) continue;
        sum.finish();
        for (int64_t i = 0; i < n; ++i) y[o * inner + c + i] = static_cast<S>(sums[i]);
      }
  }

  static void rows(char* to, const char* from, const ResampleShape& shape, int64_t begin,
                   int64_t end) {
    const auto& axes = shape.axes;
    std::unique_ptr<T[]> sums(new T[std::max(axes[2].in, kChannels)]);
    for (int64_t r = begin; r < end; ++r) {
      int64_t outer = r / (axes[0].out * axes[1].out);
      Row row = {reinterpret_cast<const S*>(from) + outer * shape.n_in * shape.inner, shape,
                 r / axes[1].out % axes[0].out, r % axes[1].out};
      S* y = reinterpret_cast<S*>(to) + r * axes[2].out * shape.inner;
      if (shape.inner == 1)
        one_channel(y, row, sums.get());
      else
        all_channels(y, row, sums.get());
    }
  }
};

int32_t half_of(int precision) { return precision > 0 ? 1 << (precision - 1) : 0; }

uint8_t rounded(int32_t sum, int precision) {
  return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255));
}

using Bytes = uint8_t __attribute__((vector_size(16)));

// A square of bytes, turned over: each round moves a bit of the row's number to the column's.
void transpose(Bytes (&rows)[16]) {
  for (int round = 0; round < 4; ++round) {
    Bytes next[16];
    for (int i = 0; i < 8; ++i) {
      next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                12, 28, 13, 29, 14, 30, 15, 31);
    }
    std::copy_n(next, 16, rows);
  }
}

// (n_rows, n) at `from` to (n, 16) at `to` or, with kBack, (n, 16) to (n_rows, n); n_rows <= 16.
template <bool kBack>
void turn_over(uint8_t* to, const uint8_t* from, int64_t n_rows, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    int64_t count = std::min<int64_t>(16, n - i);
    Bytes rows[16] = {};
    for (int64_t r = 0; r < (kBack ? count : n_rows); ++r)
      std::memcpy(&rows[r], kBack ? from + (i + r) * 16 : from + r * n + i, kBack ? 16 : count);
    transpose(rows);
    for (int64_t r = 0; r < (kBack ? n_rows : count); ++r)
      std::memcpy(kBack ? to + r * n + i : to + (i + r) * 16, &rows[r], kBack ? count : 16);
  }
}

// Few channels: sixteen lines side by side are the lanes of a vector.
void fixed_lines(uint8_t* y, const uint8_t* x, const ResampleAxis& axis, int precision,
                 int64_t n_lines, int64_t inner) {
  const int32_t* weights = static_cast<const int32_t*>(axis.weight);
  int64_t n_in = axis.in * inner, n_out = axis.out * inner;
  std::unique_ptr<uint8_t[]> from(new uint8_t[n_in * 16]), to(new uint8_t[n_out * 16]);
  for (int64_t l = 0; l < n_lines; l += 16) {
    int64_t n = std::min<int64_t>(16, n_lines - l);
    turn_over<false>(from.get(), x + l * n_in, n, n_in);
    for (int64_t i = 0; i < n_out; ++i) {
      int64_t o = i / inner, c = i % inner;
      int32_t sums[16];
      std::fill_n(sums, 16, half_of(precision));
      for (int64_t k = axis.begin[o]; k < axis.begin[o + 1]; ++k) {
        const uint8_t* pixels = from.get() + (axis.index[k] * inner + c) * 16;
        for (int j = 0; j < 16; ++j) sums[j] += weights[k] * pixels[j];
      }
      for (int j = 0; j < 16; ++j) to[i * 16 + j] = rounded(sums[j], precision);
    }
    turn_over<true>(y + l * n_out, to.get(), n, n_out);
  }
}

// (n_lines, in, inner) to (n_lines, out, inner), rounded to bytes.
void fixed_axis(uint8_t* y, const uint8_t* x, const ResampleAxis& axis, int precision,
                int64_t n_lines, int64_t inner) {
  if (inner <= 4) return fixed_lines(y, x, axis, precision, n_lines, inner);
  const int32_t* weights = static_cast<const int32_t*>(axis.weight);
  int32_t sums[kChannels];
  for (int64_t l = 0; l < n_lines; ++l)
    for (int64_t o = 0; o < axis.out; ++o)
      for (int64_t c = 0; c < inner; c += kChannels) {
        int64_t n = std::min(kChannels, inner - c), k = axis.begin[o], end = axis.begin[o + 1];
        std::fill_n(sums, n, half_of(precision));
        auto line = [&](int64_t tap) { return x + (l * axis.in + axis.index[tap]) * inner + c; };
        // Two at a time, so that the sums are read and written half as often.
        for (; k + 2 <= end; k += 2) {
          const uint8_t* __restrict a = line(k), * __restrict b = line(k + 1);
          int32_t u = weights[k], v = weights[k + 1];
          for (int64_t i = 0; i < n; ++i) sums[i] += u * a[i] + v * b[i];
        }
        if (k < end) {
          const uint8_t* __restrict a = line(k);
          for (int64_t i = 0; i < n; ++i) sums[i] += weights[k] * a[i];
        }
        uint8_t* to = y + (l * axis.out + o) * inner + c;
        for (int64_t i = 0; i < n; ++i) to[i] = rounded(sums[i], precision);
      }
}

void fixed(char* to, const char* from, const ResampleShape& shape, int64_t begin, int64_t end) {
  const ResampleAxis &high = shape.axes[1], &wide = shape.axes[2];
  int64_t n_between = high.in * wide.out * shape.inner, n_out = high.out * wide.out * shape.inner;
  std::unique_ptr<uint8_t[]> between(new uint8_t[n_between]);
  for (int64_t s = begin; s < end; ++s) {
    fixed_axis(between.get(), reinterpret_cast<const uint8_t*>(from) + s * shape.n_in * shape.inner,
               wide, shape.precision[2], high.in, shape.inner);
    fixed_axis(reinterpret_cast<uint8_t*>(to) + s * n_out, between.get(), high, shape.precision[1],
               1, wide.out * shape.inner);
  }
}

constexpr ResampleTable make_table() {
  ResampleTable table = {};
#define FACULA_RESAMPLE(T) table.rows[static_cast<int>(DTypeOf<T>::value)] = Resample<T>::rows;
  FACULA_RESAMPLE(uint8_t)
  FACULA_RESAMPLE(Half)
  FACULA_RESAMPLE(BFloat16)
  FACULA_RESAMPLE(float)
  FACULA_RESAMPLE(double)
#undef FACULA_RESAMPLE
  table.fixed = fixed;
  return table;
}

}  // namespace

extern const ResampleTable resample_table;
const ResampleTable resample_table = make_table();

}  // namespace FACULA_ISA
}  // namespace facula::cpu
