// Products of bfloat16 matrices on processors that multiply pairs of them and add both products to
// a float, twice as fast as floats are multiplied. A word is such a pair, of neighbours along k.
// Every element of C adds its pairs in the order of k, whatever the tiles: rows and columns have
// the same bits among any number of others.
#include "products/matmul_pairs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/transpose.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

namespace {

#define FACULA_PAIRS __attribute__((target("avx512bf16")))

constexpr int64_t kLanes = 16;

// Words of a matrix: word (i, p) lies at data + i * row_bytes + p * pair_bytes.
struct Words {
  const char* data;
  int64_t row_bytes, pair_bytes;
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
      __m512i low = widen(load_halves(row + j, n));
      __m512i high = p + 1 < k ? widen(load_halves(row + x.row_stride + j, n)) : __m512i{};
      _mm512_storeu_si512(to + j, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
  }
}

// alpha * sums + beta * C, rounded once, of a tile whose sums are n_rows lines of `width`.
template <class Out>
void store_tile(const PairsProblem& x, Out* c, int64_t col, const float* sums, int64_t n_rows,
                int64_t width) {
  for (int64_t i = 0; i < n_rows; ++i, c += x.ldc) {
    for (int64_t j = 0; j < std::min(width, x.n - col); j += kLanes) {
      int64_t n = std::min(kLanes, x.n - col - j);
      Vec<float> value = Vec<float>::load(sums + i * width + j) * Vec<float>(x.alpha);
      if (n == kLanes) {
        if (x.beta != 0) value += Vec<float>(x.beta) * Vec<float>::load(c + col + j);
        value.store(c + col + j);
      } else {
        if (x.beta != 0) value += Vec<float>(x.beta) * Vec<float>::load(c + col + j, n);
        value.store(c + col + j, n);
      }
    }
  }
}

template <int kTileRows, int kVectors>
FACULA_PAIRS void multiply_words(const Words& a, const uint32_t* b, int64_t b_step, int64_t k,
                                 const PairsProblem& x, int64_t first_row, int64_t col) {
  __m512 sums[kTileRows][kVectors] = {};
  auto step = [&](int64_t p, auto word_of) __attribute__((always_inline, target("avx512bf16"))) {
    __m512bh columns[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j)
      columns[j] = (__m512bh)_mm512_loadu_si512(b + p * b_step + j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kTileRows; ++i) {
      auto row = (__m512bh)_mm512_set1_epi32(word_of(a.data + i * a.row_bytes + p * a.pair_bytes));
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], row, columns[j]);
    }
  };
  for (int64_t p = 0; p < k / 2; ++p)
    step(p, [](const char* from) FACULA_INLINE {
      int32_t word;
      std::memcpy(&word, from, 4);
      return word;
    });
  if (k % 2 != 0)  // after the last of a row there may be nothing to read
    step(k / 2, [](const char* from) FACULA_INLINE {
      uint16_t half;
      std::memcpy(&half, from, 2);
      return static_cast<int32_t>(half);
    });
  // Sums have no denormals, which the conversion would lose.
  if (x.c && x.alpha == 1 && x.beta == 0) {
#pragma GCC unroll 8
    for (int i = 0; i < kTileRows; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) {
        auto n = static_cast<uint32_t>(std::min(kLanes, x.n - col - j * kLanes));
        _mm256_mask_storeu_epi16(x.c + (first_row + i) * x.ldc + col + j * kLanes,
                                 static_cast<__mmask16>((1u << n) - 1),
                                 (__m256i)_mm512_cvtneps_pbh(sums[i][j]));
      }
    return;
  }
  constexpr int64_t width = kVectors * kLanes;
  float lines[kTileRows * width];
  for (int i = 0; i < kTileRows; ++i)
    for (int j = 0; j < kVectors; ++j) _mm512_storeu_ps(lines + i * width + j * kLanes, sums[i][j]);
  if (x.c) {
    store_tile(x, x.c + first_row * x.ldc, col, lines, kTileRows, width);
  } else {
    store_tile(x, x.wide_c + first_row * x.ldc, col, lines, kTileRows, width);
  }
}

// By the rows of a tile, then by its vectors.
using MultiplyWords = void (*)(const Words&, const uint32_t*, int64_t, int64_t, const PairsProblem&,
                               int64_t, int64_t);
template <int... I>
constexpr std::array<MultiplyWords, sizeof...(I)> words_by_size(std::integer_sequence<int, I...>) {
  return {multiply_words<I / kColVectors + 1, I % kColVectors + 1>...};
}
constexpr auto kMultiplyWords =
    words_by_size(std::make_integer_sequence<int, kRows * kColVectors>());

// All rows of A from first_row to last_row times one panel of B.
void multiply_panel(const Words& a, int64_t first_row, int64_t last_row, const uint32_t* b,
                    const PairsProblem& x, int64_t col) {
  int64_t n_vectors = ceil_div(std::min(kPairCols, x.n - col), kLanes);
  for (int64_t i = first_row; i < last_row; i += kRows) {
    int64_t n_rows = std::min(kRows, last_row - i);
    Words rows{a.data + i * a.row_bytes, a.row_bytes, a.pair_bytes};
    kMultiplyWords[static_cast<size_t>((n_rows - 1) * kColVectors + n_vectors - 1)](
        rows, b, n_vectors * kLanes, x.k, x, i, col);
  }
}

// B of all panels; only the last of them may be narrower.
void pack_panels(const PairsProblem& x, uint32_t* to) {
  int64_t n_pairs = ceil_div(x.k, int64_t{2}), n_panels = ceil_div(x.n, kPairCols);
  int64_t per_task = ceil_div(tuning::kFillGrain, kPairCols * n_pairs);
  parallel_for(n_panels, per_task, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t col = i * kPairCols, width = std::min(kPairCols, x.n - col);
      pack_words(x.b, col, width, ceil_div(width, kLanes) * kLanes, x.k, to + col * n_pairs);
    }
  });
}

void multiply_pairs(const PairsProblem& x) {
  int64_t n_cols = ceil_div(x.n, kPairCols) * kPairCols;
  Scratch<uint32_t> packed_b(n_cols * ceil_div(x.k, int64_t{2}));
  pack_panels(x, packed_b.data());
  multiply_packed_pairs(x, packed_b.data());
}

}  // namespace

void multiply_packed_pairs(const PairsProblem& x, const uint32_t* packed_b) {
  int64_t n_pairs = ceil_div(x.k, int64_t{2}), n_panels = ceil_div(x.n, kPairCols);
  // Rows of A whose pairs do not lie together are packed in panels of their own.
  bool packs_a = x.a.col_stride != 1;
  int64_t a_panels = packs_a ? ceil_div(x.m, kLanes) : 0;
  Scratch<uint32_t> packed_a(a_panels * kLanes * n_pairs);
  MatrixView<BFloat16> turned{x.a.data, x.a.col_stride, x.a.row_stride};  // along k by rows
  int64_t per_task = ceil_div(tuning::kFillGrain, kLanes * n_pairs);
  parallel_for(a_panels, per_task, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * kLanes; row < std::min(end * kLanes, x.m); row += kLanes)
      pack_words(turned, row, std::min(kLanes, x.m - row), kLanes, x.k,
                 packed_a.data() + row * n_pairs);
  });
  // A task has whole panels of A.
  int64_t task_rows = tuning::kPairRows, tasks_m = ceil_div(x.m, task_rows);
  int64_t work = std::min(task_rows, x.m) * kPairCols * x.k;
  parallel_for(
      tasks_m * n_panels, ceil_div(tuning::kTaskWork, work), [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
          int64_t col = index / tasks_m * kPairCols, first = index % tasks_m * task_rows;
          int64_t last = std::min(first + task_rows, x.m), step = packs_a ? kLanes : task_rows;
          for (int64_t i = first; i < last; i += step) {
            Words a{reinterpret_cast<const char*>(x.a.data), x.a.row_stride * 2, 4};
            if (packs_a) {
              auto* data = reinterpret_cast<const char*>(packed_a.data() + i * n_pairs);
              a = {data - i * 4, 4, kLanes * 4};  // row i is the first of its panel
            }
            multiply_panel(a, i, std::min(i + step, last), packed_b + col * n_pairs, x, col);
          }
        }
      });
}

extern const PairsTable pairs_table;
const PairsTable pairs_table = {multiply_pairs};

#else

extern const PairsTable pairs_table;
const PairsTable pairs_table = {nullptr};

#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
