// Products of bfloat16 matrices on processors that multiply pairs of them and add both products to
// a float, twice as fast as floats are multiplied. A word (pairs_tile.h) is such a pair.
// Every element of C adds its pairs in the order of k, whatever the tiles: rows and columns have
// the same bits among any number of others.
#include "products/pairs_tile.h"

#include "base/parallel.h"
#include "base/scratch.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#if defined(FACULA_AVX512)

namespace {

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

template <class Out>
struct StoreTile {
  const PairsProblem& x;
  Out* c;
  int64_t row, col;

  // Inlined, so that the sums stay in registers.
  template <size_t kTileRows, size_t kVectors>
  __attribute__((always_inline)) FACULA_PAIRS void operator()(
      const __m512 (&sums)[kTileRows][kVectors]) const {
    constexpr int64_t width = kVectors * kLanes;
    // Sums have no denormals, which the conversion would lose.
    if constexpr (std::is_same_v<Out, BFloat16>) {
      if (x.alpha == 1 && x.beta == 0) {
        __mmask16 masks[kVectors];
#pragma GCC unroll 8
        for (size_t j = 0; j < kVectors; ++j) {
          int64_t n = std::min(kLanes, x.n - col - static_cast<int64_t>(j) * kLanes);
          masks[j] = static_cast<__mmask16>((1u << n) - 1);
        }
        BFloat16* to = c + row * x.ldc + col;
        int64_t ldc = x.ldc;
#pragma GCC unroll 12
        for (size_t i = 0; i < kTileRows; ++i, to += ldc)
#pragma GCC unroll 8
          for (size_t j = 0; j < kVectors; ++j)
            _mm256_mask_storeu_epi16(to + j * kLanes, masks[j],
                                     (__m256i)_mm512_cvtneps_pbh(sums[i][j]));
        return;
      }
    }
    float lines[kTileRows * width];
#pragma GCC unroll 12
    for (size_t i = 0; i < kTileRows; ++i)
#pragma GCC unroll 8
      for (size_t j = 0; j < kVectors; ++j)
        _mm512_storeu_ps(lines + i * width + j * kLanes, sums[i][j]);
    store_tile(x, c + row * x.ldc, col, lines, kTileRows, width);
  }
};

// A task has the rows from first_row to last_row and one panel of B. Rows of A whose pairs do not
// lie together are in panels of kLanes rows.
template <class Out>
void multiply_panel(const PairsProblem& x, Out* c, const uint32_t* packed_a, int64_t first_row,
                    int64_t last_row, const uint32_t* b, int64_t col, int64_t n_vectors) {
  int64_t n_pairs = ceil_div(x.k, int64_t{2});
  WordLine line{0, x.k / 2, 4, x.k % 2 != 0};
  if (packed_a) line = {0, n_pairs, kLanes * 4, false};
  auto place_of = [&](int64_t i) {
    if (!packed_a) return reinterpret_cast<const char*>(x.a.data + i * x.a.row_stride);
    return reinterpret_cast<const char*>(packed_a + i / kLanes * kLanes * n_pairs + i % kLanes);
  };
  auto store_at = [&](int64_t row) { return StoreTile<Out>{x, c, row, col}; };
  multiply_rows(first_row, last_row, n_vectors, &line, 1, b, place_of, store_at);
}

void multiply_pairs(const PairsProblem& x) {
  int64_t n_pairs = ceil_div(x.k, int64_t{2});
  Panels panels{x.n};
  Scratch<uint32_t> packed_b(panels.n_vectors * kLanes * n_pairs);
  int64_t per_task = ceil_div(tuning::kFillGrain, kColVectors * kLanes * n_pairs);
  parallel_for(panels.n, per_task, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pack_words(x.b, panels.begin(i), panels.width(i), panels.vectors(i) * kLanes, x.k,
                 packed_b.data() + panels.begin(i) * n_pairs);
  });
  bool packs_a = x.a.col_stride != 1;
  int64_t a_panels = packs_a ? ceil_div(x.m, kLanes) : 0;
  Scratch<uint32_t> packed_a(a_panels * kLanes * n_pairs);
  MatrixView<BFloat16> turned{x.a.data, x.a.col_stride, x.a.row_stride};  // along k by rows
  per_task = ceil_div(tuning::kFillGrain, kLanes * n_pairs);
  parallel_for(a_panels, per_task, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * kLanes; row < std::min(end * kLanes, x.m); row += kLanes)
      pack_words(turned, row, std::min(kLanes, x.m - row), kLanes, x.k,
                 packed_a.data() + row * n_pairs);
  });
  const uint32_t* a = packs_a ? packed_a.data() : nullptr;
  int64_t task_rows = tuning::kPairRows, tasks_m = ceil_div(x.m, task_rows);
  int64_t work = std::min(task_rows, x.m) * kColVectors * kLanes * x.k;
  parallel_for(tasks_m * panels.n, ceil_div(tuning::kTaskWork, work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t index = begin; index < end; ++index) {
                   int64_t panel = index / tasks_m, first = index % tasks_m * task_rows;
                   int64_t last = std::min(first + task_rows, x.m), col = panels.begin(panel);
                   const uint32_t* b = packed_b.data() + col * n_pairs;
                   int64_t n_vectors = panels.vectors(panel);
                   if (x.c) {
                     multiply_panel(x, x.c, a, first, last, b, col, n_vectors);
                   } else {
                     multiply_panel(x, x.wide_c, a, first, last, b, col, n_vectors);
                   }
                 }
               });
}

}  // namespace

extern const PairsTable pairs_table;
const PairsTable pairs_table = {multiply_pairs};

#else

extern const PairsTable pairs_table;
const PairsTable pairs_table = {nullptr};

#endif

}  // namespace FACULA_ISA
}  // namespace facula::cpu
