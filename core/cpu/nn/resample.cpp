#include "cpu/nn/resample.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class S>
struct Resample {
  using T = Wide<S>;
  // Bytes are picked here, but not summed up.
  static constexpr bool kHasSums = std::is_floating_point_v<T>;
  using V = std::conditional_t<kHasSums, Vec<T>, Vec<float>>;

  // The weighted sum of four lines at a time, so that the sums are not stored in between.
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
      if (++n_held == 4) flush<4>();
    }
    template <int kLines>
    void flush() {
      for (int64_t i = 0; i < n; i += V::kLanes) {
        int64_t rest = n - i;
        V sum = line<0>(i, rest);
        if constexpr (kLines > 1) sum += line<1>(i, rest);
        if constexpr (kLines > 2) sum += line<2>(i, rest);
        if constexpr (kLines > 3) sum += line<3>(i, rest);
        if (is_begun) sum = V::load(sums + i) + sum;
        sum.store(sums + i);
      }
      is_begun = true;
      n_held = 0;
    }
    template <int k>
    FACULA_FN V line(int64_t i, int64_t rest) const {
      V x = rest >= V::kLanes ? V::load(from[k] + i) : V::load(from[k] + i, rest);
      return V(weights[k]) * x;
    }
    void finish() {
      if (n_held == 1) flush<1>();
      if (n_held == 2) flush<2>();
      if (n_held == 3) flush<3>();
      if (!is_begun) std::fill_n(sums, n, T(0));
    }
  };

  struct Row {
    const S* x;  // of the slice
    const ResampleShape& shape;
    int64_t d, h;

    // That of which the row is made where every result is one element.
    int64_t picked_line() const {
      const ResampleAxis &deep = shape.axes[0], &high = shape.axes[1];
      return int64_t(deep.index[d]) * high.in + high.index[h];
    }
    // f(line, weight) for each line that this row is made of.
    template <class F>
    void for_each_line(F f) const {
      const ResampleAxis &deep = shape.axes[0], &high = shape.axes[1];
      const T *w_deep = static_cast<const T*>(deep.weight),
              *w_high = static_cast<const T*>(high.weight);
      for (int64_t i = deep.begin[d]; i < deep.begin[d + 1]; ++i)
        for (int64_t j = high.begin[h]; j < high.begin[h + 1]; ++j)
          f(int64_t(deep.index[i]) * high.in + high.index[j], w_deep[i] * w_high[j]);
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
  static void sum_row(S* y, const Row& row, T* sums) {
    const ResampleAxis& axis = row.shape.axes[2];
    int64_t inner = row.shape.inner;
    const S* only = nullptr;
    int n_lines = 0;
    row.for_each_line([&](int64_t line, T weight) {
      const S* x = row.x + line * axis.in * inner;
      only = n_lines++ == 0 && weight == T(1) ? x : nullptr;
    });
    if (only) return along<S>(y, only, axis, inner);
    Sum sum = {sums, axis.in * inner};
    row.for_each_line(
        [&](int64_t line, T weight) { sum.hold(row.x + line * axis.in * inner, weight); });
    sum.finish();
    along<T>(y, sums, axis, inner);
  }
  template <class From>
  static void along(S* y, const From* line, const ResampleAxis& axis, int64_t inner) {
    if (inner > 1)
      along_channels(y, line, axis, inner);
    else if (axis.n_taps == 2)
      along_line<2>(y, line, axis);
    else if (axis.n_taps == 4)
      along_line<4>(y, line, axis);
    else
      along_line<0>(y, line, axis);
  }

  template <class From>
  static void along_channels(S* y, const From* line, const ResampleAxis& axis, int64_t inner) {
    const T* weights = static_cast<const T*>(axis.weight);
    for (int64_t o = 0; o < axis.out; ++o, y += inner) {
      int64_t begin = axis.begin[o], end = axis.begin[o + 1], c = 0;
      auto sum_from = [&](auto load) {
        V sum(T(0));
        for (int64_t k = begin; k < end; ++k)
          sum += V(weights[k]) * load(line + axis.index[k] * inner + c);
        return sum;
      };
      for (; c + V::kLanes <= inner; c += V::kLanes)
        sum_from([](const From* x) FACULA_INLINE { return V::load(x); }).store(y + c);
      int64_t rest = inner - c;
      if (rest > 0)
        sum_from([rest](const From* x) FACULA_INLINE {
          return V::load(x, rest);
        }).store(y + c, rest);
    }
  }

  static void copy(S* __restrict to, const S* __restrict from, int64_t n) {
    constexpr int64_t kWhole = kVecBytes / static_cast<int64_t>(sizeof(S));
    int64_t i = 0;
    for (; i + kWhole <= n; i += kWhole) __builtin_memcpy(to + i, from + i, kVecBytes);
    for (; i < n; ++i) to[i] = from[i];
  }

  static void pick_row(S* y, const Row& row) {
    const ResampleAxis& axis = row.shape.axes[2];
    int64_t inner = row.shape.inner;
    const S* line = row.x + row.picked_line() * axis.in * inner;
    if (inner == 1)
      for (int64_t o = 0; o < axis.out; ++o) y[o] = line[axis.index[o]];
    else
      for (int64_t o = 0; o < axis.out; ++o)
        copy(y + o * inner, line + axis.index[o] * inner, inner);
  }

  static void rows(char* to, const char* from, const ResampleShape& shape, int64_t begin,
                   int64_t end) {
    const auto& axes = shape.axes;
    int64_t n_row = axes[2].out * shape.inner;
    // Sums are stored by whole vectors.
    std::unique_ptr<T[]> sums(shape.is_pick ? nullptr
                                            : new T[axes[2].in * shape.inner + V::kLanes]);
    const S* picked = nullptr;
    for (int64_t r = begin; r < end; ++r) {
      int64_t outer = r / (axes[0].out * axes[1].out);
      Row row = {reinterpret_cast<const S*>(from) + outer * shape.n_in * shape.inner, shape,
                 r / axes[1].out % axes[0].out, r % axes[1].out};
      S* y = reinterpret_cast<S*>(to) + r * n_row;
      if (!shape.is_pick) {
        if constexpr (kHasSums) sum_row(y, row, sums.get());
        continue;
      }
      // Enlarged images have rows that are the ones before them.
      const S* line = row.x + row.picked_line() * axes[2].in * shape.inner;
      if (line == picked)
        std::copy_n(y - n_row, n_row, y);
      else
        pick_row(y, row);
      picked = line;
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

#if defined(FACULA_AVX2) || defined(FACULA_AVX512)
// Pixels of three or four bytes, of which the taps lie side by side: four taps of four channels are
// multiplied and added in pairs by one instruction.
class PixelTaps {
 public:
  static constexpr int64_t kRead = 16;  // bytes at a time; as many are written

  PixelTaps(const ResampleAxis& axis, int precision, int64_t inner)
      : precision_(precision), inner_(inner), n_out_((axis.out + 3) / 4 * 4), starts_(n_out_) {
    for (int64_t o = 0; o < axis.out; ++o)
      n_quads_ = std::max<int64_t>(n_quads_, (axis.begin[o + 1] - axis.begin[o] + 3) / 4);
    // Results after the last, which make up four, and taps, too, have no weight.
    weights_.resize(n_out_ * n_quads_ * 4);
    const int32_t* weights = static_cast<const int32_t*>(axis.weight);
    for (int64_t o = 0; o < axis.out; ++o) {
      starts_[o] = axis.index[axis.begin[o]] * static_cast<int32_t>(inner);
      for (int32_t k = axis.begin[o]; k < axis.begin[o + 1]; ++k)
        weights_[o * n_quads_ * 4 + k - axis.begin[o]] = static_cast<int16_t>(weights[k]);
      reach_ = std::max(reach_, starts_[o] + (n_quads_ - 1) * 4 * inner + kRead);
    }
  }

  // Bytes of a line that are read.
  int64_t reach() const { return reach_; }

  // One line of pixels. Up to kRead bytes after it may be written.
  void run(uint8_t* y, const uint8_t* x) const {
    if (n_quads_ == 1) return run_quads<1>(y, x);
    if (n_quads_ == 2) return run_quads<2>(y, x);
    if (n_quads_ == 3) return run_quads<3>(y, x);
    run_quads<0>(y, x);
  }

 private:
  template <int64_t kQuads>
  void run_quads(uint8_t* y, const uint8_t* x) const {
    const int64_t n_out = n_out_, inner = inner_, n_quads = kQuads ? kQuads : n_quads_;
    const int32_t* starts = starts_.data();
    const int16_t* weights = weights_.data();
    const __m256i half = _mm256_castsi128_si256(_mm_set1_epi32(half_of(precision_)));
    const __m128i shift = _mm_cvtsi32_si128(precision_);
    const __m256i order = pairs_of_taps();
    // The first two weights for every channel, and the other two above.
    const __m256i twice = _mm256_setr_epi32(0x03020100, 0x03020100, 0x03020100, 0x03020100,
                                            0x07060504, 0x07060504, 0x07060504, 0x07060504);
    const __m128i packed =
        inner == 4 ? _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
                   : _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    for (int64_t o = 0; o < n_out; o += 4, y += 4 * inner) {
      __m128i totals[4];
      for (int p = 0; p < 4; ++p) {
        const uint8_t* from = x + starts[o + p];
        __m256i sum = _mm256_inserti128_si256(half, _mm_setzero_si128(), 1);
        for (int64_t q = 0; q < n_quads; ++q, from += 4 * inner, weights += 4) {
          __m256i bytes =
              _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
          int64_t four;
          std::memcpy(&four, weights, sizeof(four));
          __m256i both = _mm256_shuffle_epi8(_mm256_set1_epi64x(four), twice);
          sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, order), both));
        }
        totals[p] = _mm_sra_epi32(
            _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)), shift);
      }
      __m128i pixels = _mm_packus_epi16(_mm_packs_epi32(totals[0], totals[1]),
                                        _mm_packs_epi32(totals[2], totals[3]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm_shuffle_epi8(pixels, packed));
    }
  }

  // The channels of the first two taps side by side, widened, and those of the next two above.
  __m256i pairs_of_taps() const {
    int8_t order[32];
    for (int i = 0; i < 32; ++i) {
      int64_t tap = i / 16 * 2 + i / 2 % 2, channel = i % 16 / 4;
      order[i] = i % 2 || channel >= inner_ ? -1 : static_cast<int8_t>(tap * inner_ + channel);
    }
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(order));
  }

  int precision_;
  int64_t inner_;
  int64_t n_out_;
  int64_t n_quads_ = 1;
  int64_t reach_ = 0;
  std::vector<int32_t> starts_;   // the bytes before the first tap of each result
  std::vector<int16_t> weights_;  // 4 * n_quads_ of each result
};

bool lie_side_by_side(const ResampleAxis& axis) {
  for (int64_t o = 0; o < axis.out; ++o) {
    if (axis.begin[o] == axis.begin[o + 1]) return false;
    for (int32_t k = axis.begin[o]; k < axis.begin[o + 1]; ++k)
      if (axis.index[k] != axis.index[axis.begin[o]] + k - axis.begin[o]) return false;
  }
  return true;
}

// fixed_axis for such pixels, of the lines that are wanted only.
bool fixed_pixels(uint8_t* y, const uint8_t* x, const ResampleShape& shape,
                  const std::vector<bool>& is_wanted) {
  const ResampleAxis& axis = shape.axes[2];
  if ((shape.inner != 3 && shape.inner != 4) || !lie_side_by_side(axis)) return false;
  PixelTaps taps(axis, shape.precision[2], shape.inner);
  int64_t n_in = axis.in * shape.inner, n_out = axis.out * shape.inner, n_lines = shape.axes[1].in;
  std::vector<uint8_t> last(std::max(taps.reach(), n_in));  // a line that ends with the image
  for (int64_t l = 0; l < n_lines; ++l) {
    if (!is_wanted[l]) continue;
    const uint8_t* line = x + l * n_in;
    if (taps.reach() > (n_lines - l) * n_in) {
      std::copy_n(line, n_in, last.data());
      line = last.data();
    }
    taps.run(y + l * n_out, line);
  }
  return true;
}
#else
bool fixed_pixels(uint8_t*, const uint8_t*, const ResampleShape&, const std::vector<bool>&) {
  return false;
}
#endif

constexpr int64_t kBytes = kVecBytes;  // summed up side by side, in four vectors

FACULA_FN Native<int32_t> load_bytes(const uint8_t* from) {
#if defined(FACULA_AVX512)
  return reinterpret_cast<Native<int32_t>>(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(FACULA_AVX2)
  return reinterpret_cast<Native<int32_t>>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  Native<uint8_t, kVecBytes / 4> bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return __builtin_convertvector(bytes, Native<int32_t>);
#endif
}

// kCount bytes of the result o, whose taps lie `step` apart.
template <int64_t kCount>
FACULA_FN void fixed_block(uint8_t* y, const uint8_t* x, const ResampleAxis& axis,
                           const int32_t* weights, int64_t o, int precision, int64_t step) {
  int32_t sums[kCount];
  int32_t begin = axis.begin[o], end = axis.begin[o + 1];
  if constexpr (kCount == kBytes) {
    constexpr int64_t kLanes = Vec<int32_t>::kLanes;
    Native<int32_t> vectors[4];
    for (auto& v : vectors) v = Native<int32_t>{} + half_of(precision);
    for (int32_t k = begin; k < end; ++k)
      for (int i = 0; i < 4; ++i)
        vectors[i] += load_bytes(x + axis.index[k] * step + i * kLanes) * weights[k];
    std::memcpy(sums, vectors, sizeof(vectors));
  } else {
    for (int64_t i = 0; i < kCount; ++i) {
      sums[i] = half_of(precision);
      for (int32_t k = begin; k < end; ++k) sums[i] += weights[k] * x[axis.index[k] * step + i];
    }
  }
  for (int64_t i = 0; i < kCount; ++i) y[i] = rounded(sums[i], precision);
}

// (n_lines, in, inner) to (n_lines, out, inner), rounded to bytes.
void fixed_axis(uint8_t* y, const uint8_t* x, const ResampleAxis& axis, int precision,
                int64_t n_lines, int64_t inner) {
  if (inner <= 4) return fixed_lines(y, x, axis, precision, n_lines, inner);
  const int32_t* weights = static_cast<const int32_t*>(axis.weight);
  for (int64_t l = 0; l < n_lines; ++l)
    for (int64_t o = 0; o < axis.out; ++o) {
      uint8_t* to = y + (l * axis.out + o) * inner;
      const uint8_t* from = x + l * axis.in * inner;
      // The last block overlaps the one before it.
      for (int64_t i = 0; i + kBytes < inner; i += kBytes)
        fixed_block<kBytes>(to + i, from + i, axis, weights, o, precision, inner);
      if (inner >= kBytes)
        fixed_block<kBytes>(to + inner - kBytes, from + inner - kBytes, axis, weights, o, precision,
                            inner);
      else
        for (int64_t i = 0; i < inner; ++i)
          fixed_block<1>(to + i, from + i, axis, weights, o, precision, inner);
    }
}

void fixed(char* to, const char* from, const ResampleShape& shape, int64_t begin, int64_t end) {
  const ResampleAxis &high = shape.axes[1], &wide = shape.axes[2];
  int64_t n_between = high.in * wide.out * shape.inner, n_out = high.out * wide.out * shape.inner;
  std::unique_ptr<uint8_t[]> between(new uint8_t[n_between + 64]);  // room for a last vector
  std::vector<bool> is_wanted(high.in);
  for (int32_t k = 0; k < high.begin[high.out]; ++k) is_wanted[high.index[k]] = true;
  for (int64_t s = begin; s < end; ++s) {
    const uint8_t* x = reinterpret_cast<const uint8_t*>(from) + s * shape.n_in * shape.inner;
    if (!fixed_pixels(between.get(), x, shape, is_wanted))
      fixed_axis(between.get(), x, wide, shape.precision[2], high.in, shape.inner);
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
