// Note [Convolution in pairs]
// Convolutions of bfloat16 add up products of pairs (pairs_tile.h) whose first factors are read
// from copies of the images' lines: no windows are written. Rows of a tile are pixels, and its
// lanes are rows of the result. A word has the numbers of two neighbouring channels in a pixel; of
// a channel that is left over, those that two taps meet. A sum is added up in floats along all
// channels and taps, so that a pixel has the same bits in any block, and is rounded once. The
// gradient of the weight sums along the pixels, of which words have two neighbours: rows of a tile
// are channels and taps. Its blocks are added up in floats, in their order.
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "products/conv_kernels.h"
#include "products/pairs_tile.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

namespace {

constexpr int64_t kHalves = 2 * kLanes;  // in a vector

uint64_t bits_between(int64_t first, int64_t last) {
  auto below = [](int64_t n) {
    return n <= 0 ? uint64_t{0} : n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  };
  return below(last) & ~below(first);
}

// ---- copies of lines

// How lines under a grid are copied. Taps of a dimension share copies unless they are far apart.
struct Copies {
  const WindowShape& s;
  std::array<bool, 3> is_shared;
  Spatial n, reach;
  int64_t n_cuts, pixels;  // of a line of the grid

  explicit Copies(const WindowShape& s) : s(s) {
    for (size_t d = 0; d < 3; ++d) {
      is_shared[d] = d > 0 && s.taps[d].reach() <= tuning::kMaxPairsReach;
      n[d] = is_shared[d] ? 1 : s.taps[d].n, reach[d] = is_shared[d] ? s.taps[d].reach() : 0;
    }
    n_cuts = ceil_div(s.grid[2], std::max<int64_t>(1, tuning::kPairsPixels / s.x_step[2]));
    pixels = ceil_div(s.grid[2], n_cuts);
  }
  int64_t n_units() const { return s.n_batch * s.n_pixels() / s.grid[2] * n_cuts; }
  int64_t width() const { return (pixels - 1) * s.x_step[2] + reach[2] + 1; }
  // Which copy a tap reads, of how far the first number is from a pixel, and where the tap's is.
  int64_t copy(const Spatial& tap) const {
    int64_t i = 0;
    for (size_t d = 0; d < 3; ++d) i = i * n[d] + (is_shared[d] ? 0 : tap[d]);
    return i;
  }
  int64_t first(size_t d, int64_t tap) const {
    return is_shared[d] ? s.taps[d].low() : s.taps[d][tap].shift;
  }
  int64_t place(size_t d, int64_t tap) const { return s.taps[d][tap].shift - first(d, tap); }
};

// Neighbouring lines of the grid of an image, or a part of one, and the lines under it.
struct Band {
  int64_t image, d, h, w;
  int64_t n_lines, n_pixels;
  int64_t first_row, n_rows;
};

// A line of a channel of the images, or null, and the number of it that is copied first.
struct CopiedLine {
  int64_t from, first;
  bool is_inside;
};

// Lines of the grids of all images, or parts of such.
struct Block {
  std::vector<Band> bands;
  std::vector<CopiedLine> copied;
  int64_t n_rows = 0, n_pixels = 0;

  Block(const Copies& copies, int64_t begin, int64_t end) {
    const WindowShape& s = copies.s;
    bool is_joined = copies.n_cuts == 1 && s.x_step[1] <= copies.reach[1] + 1;
    for (int64_t unit = begin, n = 1; unit < end; unit += n) {
      int64_t w = unit % copies.n_cuts * copies.pixels, line = unit / copies.n_cuts;
      int64_t h = line % s.grid[1], plane = line / s.grid[1];
      n = is_joined ? std::min(s.grid[1] - h, end - unit) : 1;
      Band band{plane / s.grid[0], plane % s.grid[0], h, w, n, 0, n_rows, 0};
      band.n_pixels = std::min(copies.pixels, s.grid[2] - w);
      band.n_rows = (n - 1) * s.x_step[1] + copies.reach[1] + 1;
      n_rows += band.n_rows, n_pixels += n * band.n_pixels;
      bands.push_back(band);
    }
    for (int64_t a = 0; a < copies.n[0]; ++a)
      for (int64_t b = 0; b < copies.n[1]; ++b)
        for (int64_t c = 0; c < copies.n[2]; ++c)
          for (const Band& band : bands) add_lines(copies, band, {a, b, c});
  }

 private:
  void add_lines(const Copies& copies, const Band& band, const Spatial& tap) {
    const WindowShape& s = copies.s;
    int64_t d = band.d * s.x_step[0] + copies.first(0, tap[0]);
    int64_t w = band.w * s.x_step[2] + copies.first(2, tap[2]);
    int64_t image = band.image * s.groups * s.n_channels * s.x_plane();
    for (int64_t i = 0; i < band.n_rows; ++i) {
      int64_t h = band.h * s.x_step[1] + copies.first(1, tap[1]) + i;
      bool is_inside = d >= 0 && d < s.x_sizes[0] && h >= 0 && h < s.x_sizes[1];
      copied.push_back({image + (d * s.x_sizes[1] + h) * s.x_sizes[2], w, is_inside});
    }
  }
};

// A vector from the number `at` of a line on; what is outside is 0.
__m512i load_inside(const BFloat16* line, int64_t at, int64_t size) {
  uint64_t mask = bits_between(-at, size - at);
  return mask ? _mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask), line + at) : __m512i{};
}

// Every vector is stored as a whole: what is too much of it is overwritten by the next line.
void copy_words(const WindowShape& s, const Block& block, const BFloat16* low, const BFloat16* high,
                int64_t high_shift, int64_t width, uint32_t* to) {
  auto words = [&](const BFloat16* x, int64_t at, uint64_t mask) FACULA_INLINE {
    __builtin_prefetch(x + at + tuning::kPlanesAhead * s.x_plane());
    if (mask == 0) return __m512i{};
    return widen(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), x + at));
  };
  for (const CopiedLine& line : block.copied) {
    for (int64_t j = 0; j < width; j += kLanes) {
      __m512i word{};
      if (line.is_inside) {
        int64_t at = line.first + j;
        uint64_t mask = bits_between(-at, s.x_sizes[2] - at);
        word = words(low + line.from, at, mask);
        if (high) {
          at += high_shift;
          if (high_shift != 0) mask = bits_between(-at, s.x_sizes[2] - at);
          word = _mm512_or_si512(word, _mm512_slli_epi32(words(high + line.from, at, mask), 16));
        }
      }
      _mm512_storeu_si512(to + j, word);
    }
    to += width;
  }
}

// Numbers `step` apart, of one residue after the other. Stored as above.
void copy_residues(const WindowShape& s, const Block& block, const BFloat16* x, int64_t n_residues,
                   int64_t width, BFloat16* to) {
  alignas(64) static constexpr auto evens = [] {
    std::array<uint16_t, kHalves> at{};
    for (size_t i = 0; i < kHalves; ++i) at[i] = static_cast<uint16_t>(2 * i);
    return at;
  }();
  int64_t step = s.x_step[2], size = s.x_sizes[2];
  for (const CopiedLine& line : block.copied) {
    for (int64_t residue = 0; residue < n_residues; ++residue, to += width) {
      const BFloat16* from = x + line.from;
      int64_t first = line.first + residue;
      if (!line.is_inside || step > 2) std::fill(to, to + width, BFloat16(0));
      if (!line.is_inside) continue;
      if (step > 2) {
        for (int64_t j = 0; j < width; ++j, first += step)
          if (first >= 0 && first < size) to[j] = from[first];
        continue;
      }
      for (int64_t j = 0; j < width; j += kHalves) {
        int64_t at = first + j * step;
        __builtin_prefetch(from + at + tuning::kPlanesAhead * s.x_plane());
        __m512i numbers = load_inside(from, at, size);
        if (step == 2)
          numbers = _mm512_permutex2var_epi16(numbers, _mm512_load_si512(evens.data()),
                                              load_inside(from, at + kHalves, size));
        _mm512_storeu_si512(to + j, numbers);
      }
    }
  }
}

// ---- sums over windows

// Copies of words: one for two channels each, and of a channel that is left over one for two taps
// each and one for the last tap.
struct WordCopies {
  int64_t n_pairs, n_tap_pairs, n_single, n_words;

  explicit WordCopies(const WindowShape& s) {
    int64_t left_over = s.n_channels % 2, n_columns = s.taps[2].n;
    n_pairs = s.n_channels / 2, n_tap_pairs = left_over * (n_columns / 2);
    n_single = left_over * (n_columns % 2);
    n_words = (n_pairs * n_columns + n_tap_pairs + n_single) * s.taps[0].n * s.taps[1].n;
  }
  int64_t n_copies() const { return n_pairs + (n_tap_pairs > 0) + n_single; }
};

// The weights of a row of the result, in the order in which words are met.
void copy_weights(const WindowSum<BFloat16>& s, const BFloat16* w, uint32_t* to) {
  WordCopies copies(s);
  auto word = [](BFloat16 low, BFloat16 high) {
    return static_cast<uint32_t>(low.bits) | static_cast<uint32_t>(high.bits) << 16;
  };
  auto tap_of = [&](Tap a, Tap b, Tap c) {
    return (a.index * s.kernel[1] + b.index) * s.kernel[2] + c.index;
  };
  bool has_all_taps = s.n_taps() == ConvShape::product(s.kernel);
  if (s.n_taps() == 1 && s.w_channel == 1) {
    to[copies.n_words - 1] = 0;
    std::memcpy(to, w, static_cast<size_t>(s.n_channels) * sizeof(*w));
    return;
  }
  for (int64_t i = 0; i < copies.n_pairs; ++i, w += 2 * s.w_channel) {
    if (has_all_taps) {
      for (int64_t tap = 0; tap < s.n_taps(); tap += kLanes) {
        int64_t n = std::min(kLanes, s.n_taps() - tap);
        __m512i low = widen(load_halves(w + tap, n));
        __m512i high = widen(load_halves(w + s.w_channel + tap, n));
        _mm512_storeu_si512(to + tap, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
      }
      to += s.n_taps();
      continue;
    }
    for (Tap a : s.taps[0])
      for (Tap b : s.taps[1])
        for (Tap c : s.taps[2]) {
          int64_t tap = tap_of(a, b, c);
          *to++ = word(w[tap], w[s.w_channel + tap]);
        }
  }
  for (Tap a : s.taps[0])
    for (Tap b : s.taps[1]) {
      for (int64_t c = 0; c < copies.n_tap_pairs; ++c)
        *to++ = word(w[tap_of(a, b, s.taps[2][2 * c])], w[tap_of(a, b, s.taps[2][2 * c + 1])]);
      if (copies.n_single) *to++ = word(w[tap_of(a, b, s.taps[2][s.taps[2].n - 1])], BFloat16(0));
    }
}

int64_t packed_numel(const WindowShape& s) {
  return s.groups * Panels{s.n_rows}.n_vectors * kLanes * WordCopies(s).n_words * 2;
}

// Panels of rows of the result, for one group after the other.
void pack_weights(const WindowSum<BFloat16>& s, BFloat16* to) {
  Panels panels{s.n_rows};
  int64_t n_words = WordCopies(s).n_words;
  int64_t per_task = ceil_div(tuning::kFillGrain, kColVectors * kLanes * n_words);
  parallel_for(s.groups * panels.n, per_task, [&](int64_t begin, int64_t end) {
    Scratch<uint32_t> rows(kColVectors * kLanes * n_words + kLanes);
    for (int64_t i = begin; i < end; ++i) {
      int64_t group = i / panels.n, first = panels.begin(i % panels.n);
      int64_t width = panels.width(i % panels.n);
      for (int64_t row = 0; row < width; ++row)
        copy_weights(s, s.w_group(group) + (first + row) * s.w_row, rows.data() + row * n_words);
      auto* halves = reinterpret_cast<const BFloat16*>(rows.data());
      int64_t at = (group * panels.n_vectors * kLanes + first) * n_words;
      turn_words({halves, 1, 2 * n_words}, 0, width, panels.vectors(i % panels.n) * kLanes,
                 2 * n_words, reinterpret_cast<uint32_t*>(to) + at);
    }
  });
}

// The words that a pixel meets, from where the first copy has the pixel.
std::vector<WordLine> lines_of_taps(const Copies& copies, int64_t n_rows) {
  const WindowShape& s = copies.s;
  WordCopies words(s);
  int64_t width = copies.width(), copy_numel = n_rows * width;
  int64_t set_numel = ConvShape::product(copies.n) * copy_numel, last = s.taps[2].n - 1;
  int64_t step = copies.is_shared[2] ? s.taps[2].step.shift : copy_numel;
  std::vector<WordLine> lines;
  auto add = [&](int64_t set, const Spatial& tap, int64_t n_words, int64_t word_step) {
    int64_t at = set * set_numel + copies.copy(tap) * copy_numel + copies.place(1, tap[1]) * width +
                 copies.place(2, tap[2]);
    if (n_words == 0) return;
    // Single words go on as one line, where they are evenly apart.
    if (n_words == 1 && !lines.empty()) {
      WordLine& last = lines.back();
      int64_t step = at * 4 - last.offset_bytes - (last.n_words - 1) * last.word_bytes;
      if (last.n_words == 1) last.word_bytes = step;
      if (last.word_bytes == step) return void(++last.n_words);
    }
    lines.push_back({at * 4, n_words, word_step * 4, false});
  };
  auto for_each_line = [&](auto f) {
    for (int64_t a = 0; a < s.taps[0].n; ++a)
      for (int64_t b = 0; b < s.taps[1].n; ++b) f(a, b);
  };
  for (int64_t i = 0; i < words.n_pairs; ++i)
    for_each_line([&](int64_t a, int64_t b) { add(i, {a, b, 0}, last + 1, step); });
  for_each_line([&](int64_t a, int64_t b) {
    add(words.n_pairs, {a, b, 0}, words.n_tap_pairs, 2 * step);
    add(words.n_copies() - 1, {a, b, last}, words.n_single, 0);
  });
  return lines;
}

// Copies of all channels of a group.
void copy_channels(const WindowSum<BFloat16>& s, const Copies& copies, const Block& block,
                   int64_t group, uint32_t* to) {
  WordCopies words(s);
  int64_t width = copies.width(), numel = static_cast<int64_t>(block.copied.size()) * width;
  const BFloat16* x = s.x + group * s.n_channels * s.x_plane();
  for (int64_t i = 0; i < words.n_pairs; ++i, x += 2 * s.x_plane(), to += numel)
    copy_words(s, block, x, x + s.x_plane(), 0, width, to);
  if (words.n_tap_pairs > 0) {
    copy_words(s, block, x, x, s.taps[2].step.shift, width, to);
    to += numel;
  }
  if (words.n_single) copy_words(s, block, x, nullptr, 0, width, to);
}

// Sums of a tile to lines of floats, or added to them.
struct StoreSums {
  float* to;
  int64_t ld;
  bool adds;

  template <size_t kTileRows, size_t kVectors>
  FACULA_FN void operator()(const __m512 (&sums)[kTileRows][kVectors]) const {
#pragma GCC unroll 12
    for (size_t i = 0; i < kTileRows; ++i)
#pragma GCC unroll 8
      for (size_t j = 0; j < kVectors; ++j) {
        float* place = to + static_cast<int64_t>(i) * ld + static_cast<int64_t>(j) * kLanes;
        __m512 old = adds ? _mm512_loadu_ps(place) : __m512{};
        _mm512_storeu_ps(place, adds ? old + sums[i][j] : sums[i][j]);
      }
  }
};

// Some of a vector's numbers: those with a bit in the mask are neighbours in a row of the result.
struct Run {
  int64_t to;  // the place of the first number of the vector, if it were a neighbour too
  uint32_t mask;
};

// The pixels of a block.
struct Pixels {
  std::vector<int64_t> from;      // where the first copy has them, in bytes
  std::vector<Run> runs;          // where vectors of them are stored
  std::vector<size_t> first_run;  // of each vector, and one after the last

  Pixels(const Copies& copies, const Block& block) {
    const WindowShape& s = copies.s;
    from.resize(static_cast<size_t>(block.n_pixels));
    int64_t pixel = 0;
    for (const Band& band : block.bands) {
      int64_t image = band.image * s.groups * s.n_rows * s.y_plane();
      int64_t d = band.d * s.y_step[0] + s.y_first[0];
      for (int64_t i = 0; i < band.n_lines; ++i) {
        int64_t h = (band.h + i) * s.y_step[1] + s.y_first[1];
        int64_t row = (band.first_row + i * s.x_step[1]) * copies.width();
        int64_t line = image + (d * s.y_sizes[1] + h) * s.y_sizes[2] + s.y_first[2];
        add_runs(line + band.w * s.y_step[2], s.y_step[2], pixel % kLanes, band.n_pixels);
        int64_t* places = &from[static_cast<size_t>(pixel)];
        for (int64_t w = 0; w < band.n_pixels; ++w) places[w] = (row + w * s.x_step[2]) * 4;
        pixel += band.n_pixels;
      }
    }
    first_run.push_back(runs.size());
  }

 private:
  // Of the next n pixels, which lie `step` apart, from a lane of a vector on.
  void add_runs(int64_t to, int64_t step, int64_t lane, int64_t n) {
    for (int64_t w = 0; w < n; lane = 0) {
      int64_t n_lanes = std::min(kLanes - lane, n - w), first = to + (w - lane) * step;
      if (lane == 0) first_run.push_back(runs.size());
      if (lane == 0 || runs.back().to != first) runs.push_back({first, 0});
      runs.back().mask |= ((1u << n_lanes) - 1) << lane;
      w += n_lanes;
    }
  }
};

// Not inlined: its loop would take the registers of the others.
[[gnu::noinline]] void store_apart(const Run* run, const Run* last, int64_t step, __m256i numbers,
                                   BFloat16* y) {
  alignas(32) uint16_t bits[kLanes];
  _mm256_store_si256(reinterpret_cast<__m256i*>(bits), numbers);
  for (; run < last; ++run)
    for (uint32_t left = run->mask; left != 0; left &= left - 1) {
      int i = __builtin_ctz(left);
      std::memcpy(y + run->to + i * step, bits + i, sizeof(bits[i]));
    }
}

void store_runs(const Run* run, const Run* last, int64_t step, __m256i numbers, BFloat16* y) {
  if (step > 2) return store_apart(run, last, step, numbers, y);
  for (; run < last; ++run) {
    auto mask = static_cast<__mmask16>(run->mask);
    if (step == 1) {
      _mm256_mask_storeu_epi16(y + run->to, mask, numbers);
    } else {
      __mmask32 evens = _mm512_movepi16_mask(_mm512_maskz_set1_epi32(mask, 0x8000));
      _mm512_mask_storeu_epi16(y + run->to, evens, widen(numbers));
    }
  }
}

// Sums of up to kLanes pixels, of which a line has those of n_rows rows of the result.
FACULA_PAIRS void store_pixels(const WindowSum<BFloat16>& s, int64_t group, int64_t first_row,
                               int64_t n_rows, const Run* runs, const Run* last_run,
                               const float* sums, int64_t ld) {
  for (int64_t j = 0; j < n_rows; j += kLanes) {
    Vec<float> square[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) square[i] = Vec<float>::load(sums + i * ld + j);
    transpose(square);
    int64_t row = group * s.n_rows + first_row + j, plane = s.y_plane(), step = s.y_step[2];
    BFloat16* y = s.y + row * plane;
    for (int64_t i = 0; i < std::min(kLanes, n_rows - j); ++i, y += plane) {
      // Sums have no denormals, which the conversion would lose. A bias may be one.
      __m256i numbers = (__m256i)_mm512_cvtneps_pbh(square[i].v);
      if (s.bias) {
        alignas(32) BFloat16 rounded[kLanes];
        (square[i] + Vec<float>(static_cast<float>(s.bias[row + i]))).store(rounded);
        numbers = _mm256_load_si256(reinterpret_cast<const __m256i*>(rounded));
      }
      store_runs(runs, last_run, step, numbers, y);
    }
  }
}

void sum_windows(const WindowSum<BFloat16>& s) {
  Copies copies(s);
  WordCopies words(s);
  Panels panels{s.n_rows};
  int64_t n_copies = words.n_copies() * ConvShape::product(copies.n), width = copies.width();
  int64_t line_numel = n_copies * std::min(s.x_step[1], copies.reach[1] + 1) * width;
  int64_t n_units = copies.n_units();
  int64_t most =
      std::clamp(tuning::kPairsNumel / line_numel, ceil_div(tuning::kMinPairsPixels, copies.pixels),
                 ceil_div(tuning::kPairsPixels, copies.pixels));
  int64_t n_blocks =
      std::clamp(ceil_div(n_units, most), std::min(n_units, tuning::kMinTasks / 2), n_units);
  parallel_for(s.groups * n_blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      int64_t group = task / n_blocks, i = task % n_blocks;
      Block block(copies, n_units * i / n_blocks, n_units * (i + 1) / n_blocks);
      Pixels pixels(copies, block);
      std::vector<WordLine> lines = lines_of_taps(copies, block.n_rows);
      Scratch<uint32_t> copied(n_copies * block.n_rows * width + kLanes);
      copy_channels(s, copies, block, group, copied.data());
      auto place_of = [&](int64_t pixel) {
        return reinterpret_cast<const char*>(copied.data()) +
               pixels.from[static_cast<size_t>(pixel)];
      };
      constexpr int64_t kPixels = 3 * kLanes, kWidth = kColVectors * kLanes;
      alignas(64) float sums[kPixels * kWidth];
      for (int64_t panel = 0; panel < panels.n; ++panel) {
        int64_t row = panels.begin(panel), n_vectors = panels.vectors(panel);
        auto* w = reinterpret_cast<const uint32_t*>(s.packed_w) +
                  (group * panels.n_vectors * kLanes + row) * words.n_words;
        for (int64_t begin = 0; begin < block.n_pixels; begin += kPixels) {
          int64_t end = std::min(begin + kPixels, block.n_pixels);
          auto store_at = [&](int64_t pixel) {
            return StoreSums{sums + (pixel - begin) * kWidth, kWidth, false};
          };
          multiply_rows(begin, end, n_vectors, lines.data(), static_cast<int64_t>(lines.size()), w,
                        place_of, store_at);
          for (int64_t p = begin; p < end; p += kLanes) {
            const size_t* run = &pixels.first_run[static_cast<size_t>(p / kLanes)];
            store_pixels(s, group, row, panels.width(panel), &pixels.runs[run[0]],
                         pixels.runs.data() + run[1], sums + (p - begin) * kWidth, kWidth);
          }
        }
      }
    }
  });
}

// ---- the gradient of the weight

// y of a block, as lines of words along pixels for panels of channels. Returns these as lines of x.
std::vector<WordLine> pack_outputs(const WindowShape& s, const Block& block, const BFloat16* y,
                                   int64_t row_bytes, const Panels& panels, int64_t n_words,
                                   uint32_t* to) {
  std::vector<WordLine> lines;
  int64_t done = 0;
  for (const Band& band : block.bands) {
    int64_t line = (band.d * s.grid[1] + band.h) * s.grid[2] + band.w, plane = s.n_pixels();
    const BFloat16* from = y + band.image * s.groups * s.n_rows * plane + line;
    // No pair has numbers of two lines, unless these are cut into pairs.
    int64_t k = band.n_pixels * (band.n_pixels % 2 == 0 ? band.n_lines : 1);
    for (int64_t p = 0; p < band.n_lines * band.n_pixels; p += k) {
      for (int64_t panel = 0; panel < panels.n; ++panel)
        pack_words({from + p, 1, plane}, panels.begin(panel), panels.width(panel),
                   panels.vectors(panel) * kLanes, k,
                   to + panels.begin(panel) * n_words + done * panels.vectors(panel) * kLanes);
      done += ceil_div(k, int64_t{2});
    }
    for (int64_t i = 0; i < band.n_lines; ++i)
      lines.push_back({(band.first_row + i * s.x_step[1]) * row_bytes, band.n_pixels / 2, 4,
                       band.n_pixels % 2 != 0});
  }
  return lines;
}

// w, of sums that have lines of out_channels, for each part of the pixels.
void add_parts(const ConvShape& s, const float* sums, int64_t n_parts, int64_t ld, BFloat16* w) {
  int64_t n_rows = s.weight_row(), n_squares = ceil_div(s.out_channels, kLanes);
  int64_t part_numel = s.groups * n_rows * ld;
  int64_t per_task = ceil_div(tuning::kCopyGrain, n_parts * n_rows * kLanes);
  parallel_for(s.groups * n_squares, per_task, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t group = task / n_squares, first = task % n_squares * kLanes;
      BFloat16* to = w + (group * s.out_channels + first) * n_rows;
      for (int64_t row = 0; row < n_rows; row += kLanes) {
        int64_t n = std::min(kLanes, n_rows - row);
        Vec<float> square[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) {
          const float* from = sums + (group * n_rows + std::min(row + i, n_rows - 1)) * ld + first;
          square[i] = Vec<float>::load(from);
          for (int64_t part = 1; part < n_parts; ++part)
            square[i] += Vec<float>::load(from + part * part_numel);
        }
        transpose(square);
        for (int64_t i = 0; i < std::min(kLanes, s.out_channels - first); ++i) {
          BFloat16* place = to + i * n_rows + row;
          n == kLanes ? square[i].store(place) : square[i].store(place, n);
        }
      }
    }
  });
}

void sum_pixels(const ConvShape& s, const BFloat16* x, const BFloat16* y, BFloat16* w) {
  WindowShape windows = windows_of_output(s);
  Copies copies(windows);
  Panels panels{s.out_channels};
  int64_t step = s.stride[2], taps = s.taps(), ld = panels.n_vectors * kLanes;
  int64_t n_residues = std::min(step, copies.reach[2] + 1);
  int64_t width = copies.pixels + copies.reach[2] / step, row_numel = n_residues * width;
  int64_t channels = std::clamp<int64_t>(tuning::kWeightRows / taps, 1, s.in_channels);
  int64_t n_chunks = ceil_div(s.in_channels, channels), n_units = copies.n_units();
  int64_t n_slices = ceil_div(n_units, ceil_div(tuning::kPairsPixels, copies.pixels));
  int64_t n_parts = std::min(n_slices, ceil_div(tuning::kMinTasks, s.groups * n_chunks));
  int64_t numel = s.groups * s.weight_row() * ld;
  Scratch<float> sums(n_parts * numel);
  parallel_for(s.groups * n_chunks * n_parts, 1, [&](int64_t first, int64_t last) {
    std::vector<int64_t> places(static_cast<size_t>(taps));
    for (int64_t task = first; task < last; ++task) {
      int64_t part = task % n_parts, chunk = task / n_parts % n_chunks;
      int64_t group = task / n_parts / n_chunks, channel = chunk * channels;
      int64_t n_channels = std::min(channels, s.in_channels - channel);
      int64_t first_slice = n_slices * part / n_parts;
      float* c = sums.data() + part * numel + (group * s.in_channels + channel) * taps * ld;
      for (int64_t i = first_slice; i < n_slices * (part + 1) / n_parts; ++i) {
        Block block(copies, n_units * i / n_slices, n_units * (i + 1) / n_slices);
        int64_t channel_numel = static_cast<int64_t>(block.copied.size()) * row_numel;
        Scratch<BFloat16> copied(n_channels * channel_numel + kHalves);
        for (int64_t j = 0; j < n_channels; ++j)
          copy_residues(windows, block, x + (group * s.in_channels + channel + j) * s.in_pixels(),
                        n_residues, width, copied.data() + j * channel_numel);
        for (int64_t tap = 0; tap < taps; ++tap) {
          Spatial at{tap / s.kernel[2] / s.kernel[1], tap / s.kernel[2] % s.kernel[1],
                     tap % s.kernel[2]};
          int64_t column = copies.place(2, at[2]);
          places[static_cast<size_t>(tap)] =
              (copies.copy(at) * block.n_rows + copies.place(1, at[1])) * row_numel +
              column % step * width + column / step;
        }
        int64_t n_words = 0;
        for (const Band& band : block.bands)
          n_words += band.n_lines * ceil_div(band.n_pixels, int64_t{2});
        Scratch<uint32_t> outputs(n_words * ld);
        std::vector<WordLine> lines =
            pack_outputs(windows, block, y + group * s.out_channels * s.out_pixels(), row_numel * 2,
                         panels, n_words, outputs.data());
        auto place_of = [&](int64_t row) {
          return reinterpret_cast<const char*>(copied.data() + row / taps * channel_numel +
                                               places[static_cast<size_t>(row % taps)]);
        };
        for (int64_t panel = 0; panel < panels.n; ++panel) {
          int64_t col = panels.begin(panel);
          auto store_at = [&](int64_t row) {
            return StoreSums{c + row * ld + col, ld, i > first_slice};
          };
          multiply_rows(0, n_channels * taps, panels.vectors(panel), lines.data(),
                        static_cast<int64_t>(lines.size()), outputs.data() + col * n_words,
                        place_of, store_at);
        }
      }
    }
  });
  add_parts(s, sums.data(), n_parts, ld, w);
}

}  // namespace

extern const PairsConvTable pairs_conv_table;
const PairsConvTable pairs_conv_table = {{sum_windows, sum_pixels, packed_numel, pack_weights}};

#else

extern const PairsConvTable pairs_conv_table;
const PairsConvTable pairs_conv_table = {};

#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
