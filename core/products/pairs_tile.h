// The inner loop that products of bfloat16 in pairs and such convolutions share. A word is a pair
// of numbers, along k or whatever a sum goes along. Included by kernels.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/integers.h"
#include "cpu/transpose.h"
#include "products/matmul_kernels.h"
#include "products/tile.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

namespace {

#define FACULA_PAIRS __attribute__((target("avx512bf16")))

constexpr int64_t kLanes = 16;

// Words that a row of A has one after the other, from where the row begins. The last one may have a
// half only, after which there may be nothing to read.
struct WordLine {
  int64_t offset_bytes, n_words, word_bytes;
  bool has_half;
};

// Panels of B have two or three vectors, so that there are enough sums to keep the multipliers
// busy. A panel has a line of words for each pair of rows.
struct Panels {
  int64_t n_cols, n_vectors = ceil_div(n_cols, kLanes), n = ceil_div(n_vectors, kColVectors);

  int64_t begin(int64_t panel) const { return n_vectors * panel / n * kLanes; }
  int64_t vectors(int64_t panel) const { return (begin(panel + 1) - begin(panel)) / kLanes; }
  int64_t width(int64_t panel) const { return std::min(begin(panel + 1), n_cols) - begin(panel); }
};

__m512i widen(__m256i words) { return _mm512_cvtepu16_epi32(words); }
__m256i load_halves(const BFloat16* from, int64_t n) {
  return _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), from);
}

__m512 load_words(const BFloat16* from, int64_t n_halves) {
  auto mask = static_cast<__mmask32>((uint64_t{1} << n_halves) - 1);
  return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, from));
}

// Columns of x that lie along k, where pairs are together: squares of words are turned over.
void turn_words(const MatrixView<BFloat16>& x, int64_t first, int64_t width, int64_t padded,
                int64_t k, uint32_t* to) {
  for (int64_t p = 0; p < k; p += 2 * kLanes) {
    int64_t n_halves = std::min(2 * kLanes, k - p), n_lines = ceil_div(n_halves, int64_t{2});
    for (int64_t j = 0; j < padded; j += kLanes) {
      Vec<float> lines[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        int64_t column = std::min(first + j + i, first + width - 1);
        lines[i] = load_words(x.data + column * x.col_stride + p, j + i < width ? n_halves : 0);
      }
      transpose(lines);
      uint32_t* square = to + p / 2 * padded + j;
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i)
        if (i < n_lines) _mm512_storeu_ps(square + i * padded, lines[i].v);
    }
  }
}

// Of x, whose rows are along k: `width` columns beginning at `first`, as lines of `padded` words
// for one pair of rows after the other. What is missing is 0.
void pack_words(const MatrixView<BFloat16>& x, int64_t first, int64_t width, int64_t padded,
                int64_t k, uint32_t* to) {
  if (x.col_stride != 1) return turn_words(x, first, width, padded, k, to);
  for (int64_t p = 0; p < k; p += 2, to += padded) {
    const BFloat16* row = x.data + p * x.row_stride + first;
    for (int64_t j = 0; j < padded; j += kLanes) {
      int64_t n = std::clamp<int64_t>(width - j, 0, kLanes);
      for (int64_t ahead : {tuning::kRowsAhead, tuning::kRowsAhead + 1})
        __builtin_prefetch(row + ahead * x.row_stride + j);
      __m512i low = widen(load_halves(row + j, n));
      __m512i high = p + 1 < k ? widen(load_halves(row + x.row_stride + j, n)) : __m512i{};
      _mm512_storeu_si512(to + j, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
  }
}

// Rows of a tile. Those of a single vector need more, to have enough sums.
constexpr int64_t kSingleRows = 12;
constexpr int64_t pair_rows(int64_t n_vectors) { return n_vectors == 1 ? kSingleRows : kRows; }

// Rows of A times a panel of B, whose words come in the order of the lines; store(sums) follows.
template <int kTileRows, int kVectors, class Store>
FACULA_PAIRS void multiply_words(const char* const* first, const WordLine* lines, int64_t n_lines,
                                 const uint32_t* b, const Store& store) {
  __m512 sums[kTileRows][kVectors] = {};
  const char* rows[kTileRows];
#pragma GCC unroll 12
  for (int i = 0; i < kTileRows; ++i) rows[i] = first[i];
  auto step = [&](int64_t at, auto word_of) __attribute__((always_inline, target("avx512bf16"))) {
    __m512bh columns[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) columns[j] = (__m512bh)_mm512_loadu_si512(b + j * kLanes);
    b += kVectors * kLanes;
#pragma GCC unroll 12
    for (int i = 0; i < kTileRows; ++i) {
      auto row = (__m512bh)_mm512_set1_epi32(word_of(rows[i] + at));
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], row, columns[j]);
    }
  };
  for (const WordLine* line = lines; line < lines + n_lines; ++line) {
    int64_t at = line->offset_bytes;
    for (int64_t p = 0; p < line->n_words; ++p, at += line->word_bytes)
      step(at, [](const char* from) FACULA_INLINE {
        int32_t word;
        std::memcpy(&word, from, 4);
        return word;
      });
    if (line->has_half)
      step(at, [](const char* from) FACULA_INLINE {
        uint16_t half;
        std::memcpy(&half, from, 2);
        return static_cast<int32_t>(half);
      });
  }
  store(sums);
}

// By the vectors of a panel, then by the rows of a tile.
template <class Store>
using MultiplyWords = void (*)(const char* const*, const WordLine*, int64_t, const uint32_t*,
                               const Store&);
template <int kVectors, class Store, int... I>
constexpr std::array<MultiplyWords<Store>, kSingleRows> words_by_rows(
    std::integer_sequence<int, I...>) {
  return {multiply_words<I + 1, kVectors, Store>...};
}

// Rows [begin, end) of A, whose first words are at place_of(row), times a panel of `n_vectors`.
// store_at(row) is what stores the sums of a tile.
template <class PlaceOf, class StoreAt>
void multiply_rows(int64_t begin, int64_t end, int64_t n_vectors, const WordLine* lines,
                   int64_t n_lines, const uint32_t* b, PlaceOf place_of, StoreAt store_at) {
  using Store = decltype(store_at(begin));
  using Tall = std::make_integer_sequence<int, kSingleRows>;
  using Short = std::make_integer_sequence<int, kRows>;
  static constexpr std::array<MultiplyWords<Store>, kSingleRows> kernels[kColVectors] = {
      words_by_rows<1, Store>(Tall()), words_by_rows<2, Store>(Short()),
      words_by_rows<3, Store>(Short())};
  int64_t n_rows = end - begin, n_tiles = ceil_div(n_rows, pair_rows(n_vectors));
  for (int64_t tile = 0; tile < n_tiles; ++tile) {
    int64_t row = begin + n_rows * tile / n_tiles;
    int64_t n = begin + n_rows * (tile + 1) / n_tiles - row;
    const char* rows[kSingleRows];
    for (int64_t i = 0; i < n; ++i) rows[i] = place_of(row + i);
    kernels[n_vectors - 1][static_cast<size_t>(n - 1)](rows, lines, n_lines, b, store_at(row));
  }
}

}  // namespace

#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
