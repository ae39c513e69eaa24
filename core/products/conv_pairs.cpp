// Note [Convolution in pairs]
// Convolutions of bfloat16 are products in pairs (matmul_pairs.cpp) with windows that are packed
// from the images, a block of pixels at a time. A sum is added up in floats along all channels and
// taps, so that a pixel has the same bits in any block, and is rounded once. The gradient of the
// weight sums along the pixels: its blocks are added up in floats, in their order.
#include <array>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "products/conv_kernels.h"
#include "products/matmul_pairs.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

namespace {

constexpr int64_t kLanes = kVector<float>;
constexpr int64_t kHalves = 2 * kLanes;  // in a vector

// Up to a vector of a row of windows: numbers of a line of the image, of which those whose bit is
// set are inside.
struct Piece {
  int64_t from;
  uint64_t mask;
  int64_t column;
};

uint64_t bits_between(int64_t first, int64_t last) {
  auto below = [](int64_t n) {
    return n <= 0 ? uint64_t{0} : n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  };
  return below(last) & ~below(first);
}

// Of the windows of one channel over the columns [begin, end), tap by tap, up to `most` pixels each
// and just one where steps are longer than two. Pixels of all images are columns.
std::vector<Piece> pieces_of(const WindowShape& s, int64_t begin, int64_t end, int64_t most) {
  struct Chunk {
    int64_t column, n, d, h, w;
    int64_t from;  // the pixel's place in the images
  };
  std::vector<Chunk> chunks;
  int64_t step = s.x_step[2], image_stride = s.groups * s.n_channels * s.x_plane();
  if (step > 2) most = 1;
  for_each_run(s, begin, end, [&](int64_t column, int64_t n, int64_t image, const Spatial& at) {
    int64_t d = at[0] * s.x_step[0], h = at[1] * s.x_step[1], w = at[2] * step;
    int64_t from = image * image_stride + (d * s.x_sizes[1] + h) * s.x_sizes[2] + w;
    for (int64_t i = 0; i < n; i += most)
      chunks.push_back({column + i, std::min(most, n - i), d, h, w + i * step, from + i * step});
  });
  std::vector<Piece> pieces(chunks.size() * static_cast<size_t>(s.n_taps()));
  Piece* to = pieces.data();
  for (Tap a : s.taps[0]) {
    for (Tap b : s.taps[1]) {
      for (Tap c : s.taps[2]) {
        for (const Chunk& chunk : chunks) {
          int64_t d = chunk.d + a.shift, h = chunk.h + b.shift, w = chunk.w + c.shift;
          bool is_inside = d >= 0 && d < s.x_sizes[0] && h >= 0 && h < s.x_sizes[1];
          int64_t last = std::min(s.x_sizes[2] - w, (chunk.n - 1) * std::min<int64_t>(step, 2) + 1);
          uint64_t mask = is_inside ? bits_between(-w, last) : 0;
          int64_t from = 0;
          if (mask) from = chunk.from + (a.shift * s.x_sizes[1] + b.shift) * s.x_sizes[2] + c.shift;
          *to++ = {from, mask, chunk.column};
        }
      }
    }
  }
  return pieces;
}

__m512i load_halves(const BFloat16* from, uint64_t mask) {
  return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask), from);
}

__m512i even_halves(const BFloat16* from, uint64_t mask) {
  alignas(64) static constexpr auto evens = [] {
    std::array<uint16_t, kHalves> at{};
    for (size_t i = 0; i < kHalves; ++i) at[i] = static_cast<uint16_t>(2 * i);
    return at;
  }();
  return _mm512_permutex2var_epi16(load_halves(from, mask), _mm512_load_si512(evens.data()),
                                   load_halves(from + kHalves, mask >> kHalves));
}

// Rows of windows, n_channels times taps, `width` apart. Every piece is stored as a full vector:
// what is too much of it is overwritten by the next one.
void copy_windows(const WindowSum<BFloat16>& s, const std::vector<Piece>& pieces, int64_t group,
                  int64_t channel, int64_t n_channels, int64_t width, BFloat16* to) {
  size_t per_tap = pieces.size() / static_cast<size_t>(s.n_taps());
  int64_t step = s.x_step[2];
  for (int64_t c = 0; c < n_channels; ++c) {
    const BFloat16* x = s.x + (group * s.n_channels + channel + c) * s.x_plane();
    const Piece* piece = pieces.data();
    for (int64_t tap = 0; tap < s.n_taps(); ++tap, to += width) {
      for (size_t i = 0; i < per_tap; ++i, ++piece) {
        const BFloat16* from = x + piece->from;
        __m512i* place = reinterpret_cast<__m512i*>(to + piece->column);
        if (step == 2) {
          _mm512_storeu_si512(place, even_halves(from, piece->mask));
        } else {  // longer steps have pieces of one number
          _mm512_storeu_si512(place, load_halves(from, piece->mask));
        }
      }
    }
  }
}

// One panel of windows as words: lines of `width`, for each pair of rows. Stored as above.
template <int kStep>
void pack_windows(const WindowSum<BFloat16>& s, int64_t group, const std::vector<Piece>& pieces,
                  int64_t width, uint32_t* to) {
  size_t n_taps = static_cast<size_t>(s.n_taps()), per_tap = pieces.size() / n_taps, next_tap = 0;
  const BFloat16* next_x = s.x + group * s.n_channels * s.x_plane();
  auto words = [](const BFloat16* x, const Piece& piece) FACULA_INLINE {
    // Of every second number, those between come to lie in the other halves of the words.
    if constexpr (kStep == 2) return load_halves(x + piece.from, piece.mask);
    auto mask = static_cast<__mmask16>(piece.mask);
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, x + piece.from));
  };
  int64_t n_rows = s.n_channels * s.n_taps();
  for (int64_t row = 0; row < n_rows; row += 2, to += width) {
    const BFloat16* x[2];
    const Piece* from[2];
    for (int i = 0; i < 2; ++i) {
      x[i] = next_x, from[i] = pieces.data() + next_tap * per_tap;
      if (++next_tap == n_taps) next_tap = 0, next_x += s.x_plane();
    }
    bool is_pair = row + 1 < n_rows;
    for (size_t i = 0; i < per_tap; ++i) {
      __m512i low = words(x[0], from[0][i]);
      __m512i high = is_pair ? words(x[1], from[1][i]) : __m512i{};
      if constexpr (kStep == 2) low = _mm512_and_si512(low, _mm512_set1_epi32(0xFFFF));
      _mm512_storeu_si512(to + from[0][i].column,
                          _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
  }
}

// The weights as rows along channels and taps: in place, or in the copy if these lie otherwise.
MatrixView<BFloat16> rows_of_weight(const WindowSum<BFloat16>& s, int64_t group,
                                    Scratch<BFloat16>& copy) {
  int64_t n_taps = s.n_taps(), k = s.n_channels * n_taps;
  const BFloat16* w = s.w_group(group);
  bool has_all_taps = n_taps == ConvShape::product(s.kernel);
  if (has_all_taps && s.w_channel == n_taps) return {w, s.w_row, 1};
  parallel_for(s.n_rows, ceil_div(tuning::kFillGrain, k), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      BFloat16* to = copy.data() + row * k;
      for (int64_t c = 0; c < s.n_channels; ++c) {
        const BFloat16* from = w + row * s.w_row + c * s.w_channel;
        if (has_all_taps) {
          for (int64_t tap = 0; tap < n_taps; tap += kHalves) {
            auto mask = static_cast<__mmask32>(bits_between(0, n_taps - tap));
            _mm512_mask_storeu_epi16(to + tap, mask, _mm512_maskz_loadu_epi16(mask, from + tap));
          }
          to += n_taps;
          continue;
        }
        for (Tap a : s.taps[0])
          for (Tap b : s.taps[1])
            for (Tap tap : s.taps[2])
              *to++ = from[(a.index * s.kernel[1] + b.index) * s.kernel[2] + tap.index];
      }
    }
  });
  return {copy.data(), k, 1};
}

// The results of the columns [begin, end), which are not neighbours in y.
void store_columns(const WindowSum<BFloat16>& s, int64_t begin, int64_t end, int64_t group,
                   const BFloat16* from) {
  for_each_run(s, begin, end, [&](int64_t column, int64_t n, int64_t image, const Spatial& at) {
    int64_t offset = 0, step = s.y_step[2];
    for (size_t d = 0; d < 3; ++d)
      offset = offset * s.y_sizes[d] + at[d] * s.y_step[d] + s.y_first[d];
    for (int64_t row = 0; row < s.n_rows; ++row) {
      BFloat16* to = s.y_row(image, group, row) + offset;
      const BFloat16* values = from + row * (end - begin) + column;
      if (step == 1) {
        std::copy(values, values + n, to);
      } else {
        for (int64_t i = 0; i < n; ++i) to[i * step] = values[i];
      }
    }
  });
}

void sum_windows(const WindowSum<BFloat16>& s) {
  int64_t k = s.n_channels * s.n_taps(), n_pixels = s.n_pixels(), n_columns = s.n_batch * n_pixels;
  int64_t n_pairs = ceil_div(k, int64_t{2});
  int64_t n_panels = std::clamp(tuning::kPairsNumel / k / kPairCols, tuning::kMinPairsPanels,
                                tuning::kMaxPairsPanels);
  int64_t block = n_panels * kPairCols;
  int64_t n_blocks = ceil_div(n_columns, block);
  Scratch<BFloat16> copy(s.n_rows * k);
  auto pack = s.x_step[2] == 2 ? pack_windows<2> : pack_windows<1>;
  for (int64_t group = 0; group < s.groups; ++group) {
    MatrixView<BFloat16> w = rows_of_weight(s, group, copy);
    parallel_for(n_blocks, 1, [&](int64_t first, int64_t last) {
      Scratch<uint32_t> windows(n_pairs * block + kLanes);
      Scratch<BFloat16> sums(s.n_rows * block);
      for (int64_t i = first; i < last; ++i) {
        int64_t begin = i * block, end = std::min(begin + block, n_columns), n = end - begin;
        for (int64_t col = 0; col < n; col += kPairCols) {
          int64_t n_cols = std::min(kPairCols, n - col), width = ceil_div(n_cols, kLanes) * kLanes;
          auto pieces = pieces_of(s, begin + col, begin + col + n_cols, kLanes);
          pack(s, group, pieces, width, windows.data() + col * n_pairs);
        }
        int64_t image = begin / n_pixels;
        bool is_together = s.is_dense() && (end - 1) / n_pixels == image;
        BFloat16* to = sums.data();
        if (is_together) to = s.y_row(image, group, 0) + begin % n_pixels;
        int64_t ld = is_together ? n_pixels : n;
        for (int64_t row = 0; s.bias && row < s.n_rows; ++row)
          std::fill(to + row * ld, to + row * ld + n, s.bias[group * s.n_rows + row]);
        multiply_packed_pairs({s.n_rows, n, k, 1, w, {}, s.bias ? 1.0f : 0.0f, to, nullptr, ld},
                              windows.data());
        if (!is_together) store_columns(s, begin, end, group, to);
      }
    });
  }
}

// y of the pixels [begin, end) of all images, channel by channel.
void copy_outputs(const ConvShape& s, const BFloat16* y, int64_t group, int64_t begin, int64_t end,
                  BFloat16* to) {
  int64_t plane = s.out_pixels();
  for (int64_t o = 0; o < s.out_channels; ++o) {
    for (int64_t q = begin; q < end;) {
      int64_t n = std::min(plane - q % plane, end - q), image = q / plane * s.groups + group;
      const BFloat16* from = y + (image * s.out_channels + o) * plane + q % plane;
      to = std::copy(from, from + n, to);
      q += n;
    }
  }
}

void sum_pixels(const ConvShape& s, const BFloat16* x, const BFloat16* y, BFloat16* w) {
  WindowSum<BFloat16> windows{windows_of_output(s), x, w, nullptr, nullptr};
  int64_t taps = s.taps(), ldc = s.weight_row(), n_pixels = s.n_batch * s.out_pixels();
  int64_t channels = std::clamp<int64_t>(tuning::kWeightRows / taps, 1, s.in_channels);
  int64_t n_chunks = ceil_div(s.in_channels, channels);
  int64_t slice = std::min(tuning::kPairsPixels, n_pixels), n_slices = ceil_div(n_pixels, slice);
  int64_t n_parts = std::min(n_slices, ceil_div(tuning::kMinTasks, s.groups * n_chunks));
  int64_t numel = s.groups * s.out_channels * ldc;
  Scratch<float> sums(n_parts * numel);
  parallel_for(s.groups * n_chunks * n_parts, 1, [&](int64_t first, int64_t last) {
    Scratch<BFloat16> rows(channels * taps * slice + kHalves), outputs(s.out_channels * slice);
    for (int64_t task = first; task < last; ++task) {
      int64_t part = task % n_parts, chunk = task / n_parts % n_chunks;
      int64_t group = task / n_parts / n_chunks, channel = chunk * channels;
      int64_t n_channels = std::min(channels, s.in_channels - channel);
      int64_t first_slice = n_slices * part / n_parts;
      float* c = sums.data() + part * numel + group * s.out_channels * ldc + channel * taps;
      for (int64_t i = first_slice; i < n_slices * (part + 1) / n_parts; ++i) {
        int64_t begin = i * slice, end = std::min(begin + slice, n_pixels), n = end - begin;
        copy_windows(windows, pieces_of(windows, begin, end, kHalves), group, channel, n_channels,
                     n, rows.data());
        copy_outputs(s, y, group, begin, end, outputs.data());
        get_pairs_table().multiply({s.out_channels,
                                    n_channels * taps,
                                    n,
                                    1,
                                    {outputs.data(), n, 1},
                                    {rows.data(), 1, n},
                                    i == first_slice ? 0.0f : 1.0f,
                                    nullptr,
                                    c,
                                    ldc});
      }
    }
  });
  parallel_for(numel, tuning::kCopyGrain, [&](int64_t begin, int64_t end) {
    constexpr int64_t lanes = kVector<float>;
    for (int64_t i = begin; i < end; i += lanes) {
      int64_t n = std::min(lanes, end - i);
      Vec<float> sum = Vec<float>::load(sums.data() + i, n);
      for (int64_t part = 1; part < n_parts; ++part)
        sum += Vec<float>::load(sums.data() + part * numel + i, n);
      n == lanes ? sum.store(w + i) : sum.store(w + i, n);
    }
  });
}

}  // namespace

extern const PairsConvTable pairs_conv_table;
const PairsConvTable pairs_conv_table = {{sum_windows, sum_pixels}};

#else

extern const PairsConvTable pairs_conv_table;
const PairsConvTable pairs_conv_table = {};

#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
