// Note [Blocked product]
// A is cut into panels of kRows rows and B into panels of kCols columns or fewer, which are copied
// ("packed") so that the inner loop reads them straight ahead; rows of A are so already. The inner
// loop keeps one kRows x kCols tile of C in registers: per step of k it takes three vectors of B
// and multiplies them by kRows numbers of A. k is cut into slices, so that a few panels of B fit
// into L2; every slice reads and writes all of C. Every element of C adds its terms in the same
// order, whatever the tiles and whoever computes them: the slices one after the other, and within a
// slice n_sums_of() sums, each in the order of k, the first to the last.
#include <algorithm>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/caches.h"
#include "products/matmul_few_rows.h"
#include "products/matmul_kernels.h"
#include "products/pack_panels.h"
#include "products/tile.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Where a panel of B begins, of n_panels that are about as wide: one of a single vector, beside
// wide ones, would spend its time on loading A.
template <class T>
int64_t first_col(int64_t panel, int64_t n_panels, int64_t n_cols) {
  constexpr int64_t v = kVector<T>;
  return std::min(ceil_div(n_cols, v) * panel / n_panels * v, n_cols);
}

// What of A and B is read where it lies, and what from a packed copy.
struct Packs {
  bool a, b;
};
template <class T>
Packs packs_of(const GemmProblem<T>& x) {
  bool meets_many_panels = ceil_div(x.n, kCols<T>) > tuning::kFewPanels;
#if defined(FACULA_AVX512)
  bool is_b_used_often = x.m > tuning::kRowsInPlace && x.n * x.k > cache_cuts().numel_in_place;
#else
  // A panel is a line wide or less: its rows may all lie in a few sets of the cache.
  bool is_b_used_often = x.m > 2 * kRows;
#endif
  // Vectors of 16 bytes have no masks: a part of one would be copied at every step.
  bool has_slow_edge = kVecBytes == 16 && x.n % kVector<T> != 0;
  return {x.a.col_stride != 1 && (meets_many_panels || x.k > tuning::kMaxSteps),
          x.b.col_stride != 1 || is_b_used_often || has_slow_edge};
}

template <class T>
void pack_block(const GemmProblem<T>& x, Packs packs, T* packed_a, T* packed_b) {
  constexpr int64_t v = kVector<T>, rows_of_piece = tuning::kPackedRows * kRows;
  int64_t b_panels = ceil_div(x.n, kCols<T>);
  int64_t a_pieces = packs.a ? ceil_div(x.m, rows_of_piece) : 0;
  int64_t b_pieces = packs.b ? ceil_div(b_panels, tuning::kPackedCols) : 0;
  int64_t pieces = a_pieces + b_pieces;
  int64_t numel = ((packs.a ? x.m : 0) + (packs.b ? x.n : 0)) * x.k;
  parallel_for(pieces, numel < tuning::kFillGrain ? pieces : 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      if (piece < a_pieces) {
        int64_t row = piece * rows_of_piece;
        MatrixView<T> rows{x.a.data + row * x.a.row_stride, x.a.row_stride, x.a.col_stride};
        pack(rows, std::min(rows_of_piece, x.m - row), kRows, 1, x.k, packed_a + row * x.k);
      } else {
        int64_t first = (piece - a_pieces) * tuning::kPackedCols;
        for (int64_t j = first; j < std::min(first + tuning::kPackedCols, b_panels); ++j) {
          int64_t col = first_col<T>(j, b_panels, x.n);
          MatrixView<T> columns{x.b.data + col * x.b.col_stride, x.b.col_stride, x.b.row_stride};
          pack(columns, first_col<T>(j + 1, b_panels, x.n) - col, kCols<T>, v, x.k,
               packed_b + col * x.k);
        }
      }
    }
  });
}

// One block of C, up to kSliceOfK of k.
template <class T>
void multiply_block(const GemmProblem<T>& x, Packs packs, T* packed_a, T* packed_b) {
  constexpr int64_t v = kVector<T>;
  if (packs.a || packs.b) pack_block(x, packs, packed_a, packed_b);
  int64_t a_panels = ceil_div(x.m, kRows), b_panels = ceil_div(x.n, kCols<T>);
  int64_t tile_rows = tuning::kBlockPanels;
  int64_t tiles_n = ceil_div(x.n, cache_cuts().tile_cols), tiles_m = ceil_div(a_panels, tile_rows);
  while (tiles_m * tiles_n < tuning::kMinBlockTasks && tile_rows > tuning::kMinBlockPanels) {
    tile_rows /= 2;
    tiles_m = ceil_div(a_panels, tile_rows);
  }
  int64_t work = ceil_div(x.m, tiles_m) * ceil_div(x.n, tiles_n) * x.k;
  parallel_for(
      tiles_m * tiles_n, ceil_div(tuning::kTaskWork, work), [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
          // Panels of B that fill L2 meet all of A before the next come. If all of B is there, a
          // thread gets whole rows of C, as it does from the operations that will read them.
          int64_t tile_m = packs.b ? index % tiles_m : index / tiles_n;
          int64_t tile_n = packs.b ? index / tiles_m : index % tiles_n;
          int64_t first_a = a_panels * tile_m / tiles_m, last_a = a_panels * (tile_m + 1) / tiles_m;
          int64_t first_b = b_panels * tile_n / tiles_n, last_b = b_panels * (tile_n + 1) / tiles_n;
          for (int64_t i = first_a; i < last_a; ++i) {
            int64_t n_rows = std::min(kRows, x.m - i * kRows);
            MatrixView<T> a = x.a;
            if (packs.a) a = {packed_a, 1, n_rows};
            int64_t panel = kRows * (packs.a ? x.k : a.row_stride);
            a.data += i * panel;
            for (int64_t j = first_b; j < last_b; ++j) {
              int64_t col = first_col<T>(j, b_panels, x.n);
              int64_t n_cols = first_col<T>(j + 1, b_panels, x.n) - col;
              const T* b = packs.b ? packed_b + col * x.k : x.b.data + col;
              int64_t step = packs.b ? ceil_div(n_cols, v) * v : x.b.row_stride;
              Tile<T> tile{a, b, step, x.k, x.c + i * kRows * x.ldc + col, x.ldc, x.alpha, x.beta};
              tile.n_sums = n_sums_of<T>(x.k);
              tile.is_padded = packs.b;
              if (x.bias) tile.bias = x.bias + i * kRows;
              if (j == last_b - 1) tile.next_a = a.data + panel;
              multiply_tile(tile, n_rows, n_cols);
            }
          }
        }
      });
}

// A small A: to pack B is much of the work, and more if what is packed goes through L3 or from one
// core to another. Here each thread packs a panel for itself, and all rows of A meet it there.
template <class T>
void multiply_small_a(const GemmProblem<T>& x) {
  constexpr int64_t v = kVector<T>;
  int64_t n_panels = ceil_div(x.n, 2 * kCols<T>) * 2;  // for two threads, or more
  int64_t n_slices = ceil_div(x.k, tuning::kSliceOfK), depth = ceil_div(x.k, n_slices);
  int64_t work = x.m * kCols<T> * x.k;
  parallel_for(n_panels, ceil_div(tuning::kTaskWork, work), [&](int64_t begin, int64_t end) {
    Scratch<T> packed(kCols<T> * depth);
    for (int64_t panel = begin; panel < end; ++panel) {
      int64_t first = first_col<T>(panel, n_panels, x.n);
      int64_t n_cols = first_col<T>(panel + 1, n_panels, x.n) - first;
      for (int64_t p = 0; p < x.k; p += depth) {
        int64_t n_steps = std::min(depth, x.k - p);
        MatrixView<T> columns{x.b.data + p * x.b.row_stride + first * x.b.col_stride,
                              x.b.col_stride, x.b.row_stride};
        pack(columns, n_cols, kCols<T>, v, n_steps, packed.data());
        for (int64_t i = 0; i < x.m; i += kRows) {
          MatrixView<T> a{x.a.data + i * x.a.row_stride + p, x.a.row_stride, 1};
          Tile<T> tile{a,       packed.data(),           ceil_div(n_cols, v) * v,
                       n_steps, x.c + i * x.ldc + first, x.ldc,
                       x.alpha, p == 0 ? x.beta : T(1)};
          tile.n_sums = n_sums_of<T>(n_steps);
          if (x.bias && p == 0) tile.bias = x.bias + i;
          tile.next_a = a.data + kRows * x.a.row_stride;
          multiply_tile(tile, std::min(kRows, x.m - i), n_cols);
        }
      }
    }
  });
}

// C = beta C + the product, which lies transposed.
template <class T>
void add_transposed(const GemmProblem<T>& x, T beta, const T* product) {
  constexpr int64_t v = kVector<T>;
  for (int64_t i = 0; i < x.m; i += v) {
    for (int64_t j = 0; j < x.n; j += v) {
      int64_t n_rows = std::min(v, x.m - i), n_cols = std::min(v, x.n - j);
      Vec<T> square[v];
      for (int64_t c = 0; c < v; ++c) {
        const T* column = product + std::min(j + c, x.n - 1) * x.m + i;
        square[c] = Vec<T>::load(column, n_rows);
      }
      transpose(square);
      for (int64_t r = 0; r < n_rows; ++r) {
        T* to = x.c + (i + r) * x.ldc + j;
        if (beta != 0) square[r] = fma(Vec<T>(beta), Vec<T>::load(to, n_cols), square[r]);
        square[r].store(to, n_cols);
      }
    }
  }
}

// A and B in each other's place give the product, transposed. One slice of k at a time, so that the
// sums are rounded as they are elsewhere.
template <class T>
void multiply_exchanged(const GemmProblem<T>& x) {
  int64_t n_slices = ceil_div(x.k, tuning::kSliceOfK), depth = ceil_div(x.k, n_slices);
  bool is_copied = x.b.row_stride != 1;
  Scratch<T> product(x.n * x.m), columns(is_copied ? x.n * depth : 0);
  for (int64_t p = 0; p < x.k; p += depth) {
    int64_t n_steps = std::min(depth, x.k - p);
    MatrixView<T> a{x.b.data + p * x.b.row_stride, x.b.col_stride, x.b.row_stride};
    MatrixView<T> b{x.a.data + p * x.a.col_stride, x.a.col_stride, x.a.row_stride};
    if (is_copied) {
      pack_transposed<T>({a.data, a.col_stride, 1}, n_steps, n_steps, x.n, columns.data());
      a = {columns.data(), n_steps, 1};
    }
    multiply_small_a<T>({x.n, x.m, n_steps, x.alpha, a, b, T(0), product.data(), x.m, nullptr});
    add_transposed(x, p == 0 ? x.beta : T(1), product.data());
  }
}

// So little that to cut it would take a good part of the time.
template <class T>
void multiply_at_once(const GemmProblem<T>& x) {
  for (int64_t j = 0; j < x.n; j += kCols<T>) {
    for (int64_t i = 0; i < x.m; i += kRows) {
      MatrixView<T> a{x.a.data + i * x.a.row_stride, x.a.row_stride, x.a.col_stride};
      Tile<T> tile{a,     x.b.data + j, x.b.row_stride, x.k, x.c + i * x.ldc + j,
                   x.ldc, x.alpha,      x.beta};
      tile.n_sums = n_sums_of<T>(x.k);
      tile.is_padded = false;
      if (x.bias) tile.bias = x.bias + i;
      multiply_tile(tile, std::min(kRows, x.m - i), std::min(kCols<T>, x.n - j));
    }
  }
}

template <class T>
void multiply_blocked(const GemmProblem<T>& x) {
  constexpr int64_t v = kVector<T>;
  bool is_small = x.k <= tuning::kSliceOfK && x.m * x.n * x.k <= tuning::kSmallWork;
  if (is_small && !packs_of(x).b) return multiply_at_once(x);
  int64_t block_m = cache_cuts().block_rows, block_n = cache_cuts().block_cols;
  int64_t n_slices = ceil_div(x.k, tuning::kSliceOfK), max_k = ceil_div(x.k, n_slices);
  int64_t max_m = std::min(x.m, block_m), max_n = std::min(ceil_div(x.n, v) * v, block_n);
  GemmProblem<T> first_block = x;
  first_block.m = max_m, first_block.n = std::min(x.n, block_n), first_block.k = max_k;
  Packs packs = packs_of(first_block);
  int64_t numel_b = packs.b ? max_n * max_k : 0;
  Scratch<T> scratch(numel_b + (packs.a ? max_m * max_k : 0));
  T *packed_b = scratch.data(), *packed_a = packed_b + numel_b;
  for (int64_t j = 0; j < x.n; j += block_n) {
    for (int64_t p = 0; p < x.k; p += max_k) {
      for (int64_t i = 0; i < x.m; i += block_m) {
        GemmProblem<T> block{
            std::min(block_m, x.m - i),
            std::min(block_n, x.n - j),
            std::min(max_k, x.k - p),
            x.alpha,
            {x.a.data + i * x.a.row_stride + p * x.a.col_stride, x.a.row_stride, x.a.col_stride},
            {x.b.data + p * x.b.row_stride + j * x.b.col_stride, x.b.row_stride, x.b.col_stride},
            p == 0 ? x.beta : T(1),
            x.c + i * x.ldc + j,
            x.ldc,
            x.bias && p == 0 ? x.bias + i : nullptr};
        multiply_block(block, packs, packed_a, packed_b);
      }
    }
  }
}

template <class T>
constexpr MatmulKernels<T> kernels{multiply_blocked<T>, multiply_small_a<T>, multiply_exchanged<T>,
                                   multiply_few_rows<T>, multiply_matrix_vector<T>};

}  // namespace

extern const BlockedTable blocked_table;
const BlockedTable blocked_table = {kernels<float>, kernels<double>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
