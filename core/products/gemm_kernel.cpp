// Note [Blocked product]
// A is cut into panels of kRows rows and B into panels of kCols columns or fewer, which are copied
// ("packed") so that the inner loop reads them straight ahead; rows of A are so already. The inner
// loop keeps one kRows x kCols tile of C in registers: per step of k it takes three vectors of B
// and multiplies them by kRows numbers of A. k is cut into slices, so that a few panels of B fit
// into L2; every slice reads and writes all of C. Every element of C adds its terms in the order of
// k, whatever the tiles and whoever computes them.
#include "products/gemm_kernel.h"

#include <algorithm>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "math/arithmetic.h"
#include "products/gemm_tile.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int64_t kMinWork = int64_t{1} << 17;  // multiplications that are worth giving to a thread

#if defined(FACULA_AVX512)

constexpr int64_t kDepth = 1024;   // of a slice of k: shorter ones touch C more often
constexpr int64_t kMaxM = 2304;    // rows of a block, 9 MB of A,
constexpr int64_t kMaxN = 3840;    // and columns, 16 MB of B, in L3
constexpr int64_t kTileRows = 16;  // panels of A in a tile, a thread's unit of work
constexpr int64_t kTileCols = 4;   // panels of B in a tile: they fill 790 kB of L2
constexpr int64_t kMinTiles = 32;  // smaller tiles rather than fewer, to keep the threads even
constexpr int64_t kMinTileRows = 2;
constexpr int64_t kFewPanels = 4;
constexpr int64_t kMaxDirect = 98304;  // numbers of B that stay in L2 beside A and C
constexpr int64_t kMaxSteps = 128;
constexpr int64_t kSmallA = 163840;    // numbers of a slice of A that stay in L2 while B passes by
constexpr int64_t kTurnTime = 16;      // multiplications while a number of C is transposed
constexpr int64_t kPackedRows = 24;    // panels of A
constexpr int64_t kPackedCols = 4;     // or of B that a thread packs
constexpr int64_t kMinPacked = 32768;  // numbers whose packing is worth a second thread

// Rows of a small B come from L2 as fast as packed ones.
template <class T>
bool reads_in_place(const MatrixView<T>& b, int64_t n, int64_t k) {
  return b.col_stride == 1 && n * k <= kMaxDirect;
}

// Where a panel of B begins, of n_panels that are about as wide: one of a single vector, beside
// wide ones, would spend its time on loading A.
template <class T>
int64_t first_col(int64_t panel, int64_t n_panels, int64_t n_cols) {
  constexpr int64_t v = kVector<T>;
  return std::min(ceil_div(n_cols, v) * panel / n_panels * v, n_cols);
}

// One block: up to kMaxM x kMaxN of C, up to kDepth of k.
template <class T>
void multiply_block(const GemmProblem<T>& x, T* packed_a, T* packed_b) {
  constexpr int64_t v = kVector<T>;
  int64_t a_panels = ceil_div(x.m, kRows), b_panels = ceil_div(x.n, kCols<T>);

  // Rows of A are read where they are. So are columns that meet few panels of B, unless every step
  // of a long way along k would be on another page.
  bool packs_a = x.a.col_stride != 1 && (b_panels > kFewPanels || x.k > kMaxSteps);
  bool packs_b = !reads_in_place(x.b, x.n, x.k);
  int64_t a_pieces = packs_a ? ceil_div(a_panels, kPackedRows) : 0;
  int64_t b_pieces = packs_b ? ceil_div(b_panels, kPackedCols) : 0;
  int64_t pieces = a_pieces + b_pieces;
  int64_t numel = (packs_a ? x.m : 0) * x.k + (packs_b ? x.n : 0) * x.k;
  parallel_for(pieces, numel < kMinPacked ? pieces : 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      if (piece < a_pieces) {
        int64_t row = piece * kPackedRows * kRows;
        MatrixView<T> rows{x.a.data + row * x.a.row_stride, x.a.row_stride, x.a.col_stride};
        pack(rows, std::min(kPackedRows * kRows, x.m - row), kRows, 1, x.k, packed_a + row * x.k);
      } else {
        int64_t first = (piece - a_pieces) * kPackedCols;
        for (int64_t j = first; j < std::min(first + kPackedCols, b_panels); ++j) {
          int64_t col = first_col<T>(j, b_panels, x.n);
          MatrixView<T> columns{x.b.data + col * x.b.col_stride, x.b.col_stride, x.b.row_stride};
          pack(columns, first_col<T>(j + 1, b_panels, x.n) - col, kCols<T>, v, x.k,
               packed_b + col * x.k);
        }
      }
    }
  });

  int64_t tile_rows = kTileRows;
  int64_t tiles_n = ceil_div(b_panels, kTileCols), tiles_m = ceil_div(a_panels, tile_rows);
  while (tiles_m * tiles_n < kMinTiles && tile_rows > kMinTileRows) {
    tile_rows /= 2;
    tiles_m = ceil_div(a_panels, tile_rows);
  }
  int64_t work = ceil_div(x.m, tiles_m) * ceil_div(x.n, tiles_n) * x.k;
  parallel_for(tiles_m * tiles_n, ceil_div(kMinWork, work), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      // Panels of B that fill L2 meet all of A before the next come. If all of B is there, a thread
      // gets whole rows of C, as it does from the operations that will read them.
      int64_t tile_m = packs_b ? index % tiles_m : index / tiles_n;
      int64_t tile_n = packs_b ? index / tiles_m : index % tiles_n;
      int64_t first_a = a_panels * tile_m / tiles_m, last_a = a_panels * (tile_m + 1) / tiles_m;
      int64_t first_b = b_panels * tile_n / tiles_n, last_b = b_panels * (tile_n + 1) / tiles_n;
      for (int64_t i = first_a; i < last_a; ++i) {
        int64_t n_rows = std::min(kRows, x.m - i * kRows);
        MatrixView<T> a = x.a;
        if (packs_a) a = {packed_a, 1, n_rows};
        int64_t panel = kRows * (packs_a ? x.k : a.row_stride);
        a.data += i * panel;
        for (int64_t j = first_b; j < last_b; ++j) {
          int64_t col = first_col<T>(j, b_panels, x.n);
          int64_t n_cols = first_col<T>(j + 1, b_panels, x.n) - col;
          const T* b = packs_b ? packed_b + col * x.k : x.b.data + col;
          int64_t step = packs_b ? ceil_div(n_cols, v) * v : x.b.row_stride;
          Tile<T> tile{a, b, step, x.k, x.c + i * kRows * x.ldc + col, x.ldc, x.alpha, x.beta};
          tile.is_padded = packs_b;
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
  int64_t n_slices = ceil_div(x.k, kDepth), depth = ceil_div(x.k, n_slices);
  int64_t work = x.m * kCols<T> * x.k;
  parallel_for(n_panels, ceil_div(kMinWork, work), [&](int64_t begin, int64_t end) {
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
          tile.next_a = a.data + kRows * x.a.row_stride;
          multiply_tile(tile, std::min(kRows, x.m - i), n_cols);
        }
      }
    }
  });
}

// Multiplications that take as long as multiply_small_a, whose panels are shared out to two
// threads.
template <class T>
int64_t time_of_small_a(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t unit = 2 * kVector<T>;
  return m * ceil_div(n, unit) * unit * k;
}

// A and B in each other's place give the product, transposed: worth it if the rows of A fill
// vectors better than the columns of B, and the way along k is long enough. Not for two slices of
// k, whose sums would be rounded in another order than those of the other ways.
template <class T>
bool gains_by_exchange(const GemmProblem<T>& x) {
  return x.b.row_stride == 1 && x.m > kCols<T> && x.k <= kDepth && x.n * x.k <= kSmallA &&
         time_of_small_a<T>(x.n, x.m, x.k) + x.m * x.n * kTurnTime <
             time_of_small_a<T>(x.m, x.n, x.k);
}
template <class T>
void multiply_exchanged(const GemmProblem<T>& x) {
  constexpr int64_t v = kVector<T>;
  Scratch<T> product(x.n * x.m);
  MatrixView<T> a{x.b.data, x.b.col_stride, x.b.row_stride};
  MatrixView<T> b{x.a.data, x.a.col_stride, x.a.row_stride};
  multiply_small_a<T>({x.n, x.m, x.k, x.alpha, a, b, T(0), product.data(), x.m});
  for (int64_t i = 0; i < x.m; i += v) {
    for (int64_t j = 0; j < x.n; j += v) {
      int64_t n_rows = std::min(v, x.m - i), n_cols = std::min(v, x.n - j);
      Vec<T> square[v];
      for (int64_t c = 0; c < v; ++c) {
        const T* column = product.data() + std::min(j + c, x.n - 1) * x.m + i;
        square[c] = Vec<T>::load(column, n_rows);
      }
      transpose(square);
      for (int64_t r = 0; r < n_rows; ++r) {
        T* to = x.c + (i + r) * x.ldc + j;
        if (x.beta != 0) square[r] = fma(Vec<T>(x.beta), Vec<T>::load(to, n_cols), square[r]);
        square[r].store(to, n_cols);
      }
    }
  }
}

template <class T>
void gemm(const GemmProblem<T>& x) {
  constexpr int64_t v = kVector<T>;
  if (x.m * std::min(x.k, kDepth) <= kSmallA && x.n > kCols<T> && x.a.col_stride == 1 &&
      !reads_in_place(x.b, x.n, x.k))
    return gains_by_exchange(x) ? multiply_exchanged(x) : multiply_small_a(x);
  int64_t n_slices = ceil_div(x.k, kDepth), max_k = ceil_div(x.k, n_slices);
  int64_t max_m = std::min(x.m, kMaxM), max_n = std::min(ceil_div(x.n, v) * v, kMaxN);
  Scratch<T> scratch((max_m + max_n) * max_k);
  T* packed_b = scratch.data();
  T* packed_a = packed_b + max_n * max_k;
  for (int64_t j = 0; j < x.n; j += kMaxN) {
    for (int64_t p = 0; p < x.k; p += max_k) {
      for (int64_t i = 0; i < x.m; i += kMaxM) {
        GemmProblem<T> block{
            std::min(kMaxM, x.m - i),
            std::min(kMaxN, x.n - j),
            std::min(max_k, x.k - p),
            x.alpha,
            {x.a.data + i * x.a.row_stride + p * x.a.col_stride, x.a.row_stride, x.a.col_stride},
            {x.b.data + p * x.b.row_stride + j * x.b.col_stride, x.b.row_stride, x.b.col_stride},
            p == 0 ? x.beta : T(1),
            x.c + i * x.ldc + j,
            x.ldc};
        multiply_block(block, packed_a, packed_b);
      }
    }
  }
}

constexpr auto gemm_float32 = gemm<float>;
constexpr auto gemm_float64 = gemm<double>;

#else

constexpr void (*gemm_float32)(const GemmProblem<float>&) = nullptr;
constexpr void (*gemm_float64)(const GemmProblem<double>&) = nullptr;

#endif

// A matrix and a vector: with panels of B all lanes but one would be idle.
template <class T>
void gemv_integers(const GemmProblem<T>& x) {
  using Word = math::Wrapping<T>;
  int64_t a_step = x.a.col_stride, b_step = x.b.row_stride;
  parallel_for(x.m, ceil_div(kMinWork, x.k), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T *a = x.a.data + i * x.a.row_stride, *b = x.b.data;
      Word sum = 0;
      if (a_step == 1 && b_step == 1) {
        for (int64_t p = 0; p < x.k; ++p) sum += static_cast<Word>(a[p]) * static_cast<Word>(b[p]);
      } else {
        for (int64_t p = 0; p < x.k; ++p)
          sum += static_cast<Word>(a[p * a_step]) * static_cast<Word>(b[p * b_step]);
      }
      T& c = x.c[i * x.ldc];
      Word before = x.beta == 0 ? 0 : static_cast<Word>(x.beta) * static_cast<Word>(c);
      c = static_cast<T>(before + static_cast<Word>(x.alpha) * sum);
    }
  });
}

// Panels of B are widened to words.
template <class T>
void gemm_integers(const GemmProblem<T>& x) {
  if (x.n == 1) return gemv_integers(x);
  using Word = math::Wrapping<T>;
  constexpr int64_t lanes = Vec<Word>::kLanes, n_vectors = 4, width = n_vectors * lanes;
  constexpr int64_t depth = 128, height = 64;
  int64_t tiles_m = ceil_div(x.m, height), tiles_n = ceil_div(x.n, width);
  int64_t work = std::min(height, x.m) * width * x.k;
  parallel_for(tiles_m * tiles_n, ceil_div(kMinWork, work), [&](int64_t begin, int64_t end) {
    Word panel[depth * width], sums[width];
    for (int64_t tile = begin; tile < end; ++tile) {
      int64_t first_row = tile / tiles_n * height, first_col = tile % tiles_n * width;
      int64_t last_row = std::min(first_row + height, x.m);
      int64_t n_cols = std::min(width, x.n - first_col);
      for (int64_t first = 0; first < x.k; first += depth) {
        int64_t n = std::min(depth, x.k - first);
        for (int64_t p = 0; p < n; ++p) {
          const T* b = x.b.data + (first + p) * x.b.row_stride + first_col * x.b.col_stride;
          for (int64_t j = 0; j < width; ++j)
            panel[p * width + j] = j < n_cols ? static_cast<Word>(b[j * x.b.col_stride]) : 0;
        }
        for (int64_t i = first_row; i < last_row; ++i) {
          const T* a = x.a.data + i * x.a.row_stride + first * x.a.col_stride;
          Vec<Word> parts[n_vectors] = {Word(0), Word(0), Word(0), Word(0)};
          for (int64_t p = 0; p < n; ++p) {
            Vec<Word> factor(static_cast<Word>(a[p * x.a.col_stride]));
            for (int64_t v = 0; v < n_vectors; ++v)
              parts[v] += factor * Vec<Word>::load(panel + p * width + v * lanes);
          }
          for (int64_t v = 0; v < n_vectors; ++v) parts[v].store(sums + v * lanes);
          T* c = x.c + i * x.ldc + first_col;
          Word beta = first == 0 ? static_cast<Word>(x.beta) : 1;
          for (int64_t j = 0; j < n_cols; ++j) {
            Word before = beta == 0 ? 0 : beta * static_cast<Word>(c[j]);
            c[j] = static_cast<T>(before + static_cast<Word>(x.alpha) * sums[j]);
          }
        }
      }
    }
  });
}

template <class To, class From>
void convert(const From* from, int64_t n, To* to) {
  constexpr int64_t lanes = Vec<float>::kLanes;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) Vec<float>::load(from + i).store(to + i);
  Vec<float>::load(from + i, n - i).store(to + i, n - i);
}

}  // namespace

extern const GemmTable gemm_table;
const GemmTable gemm_table = {gemm_float32,
                              gemm_float64,
                              gemm_integers<uint8_t>,
                              gemm_integers<int8_t>,
                              gemm_integers<int16_t>,
                              gemm_integers<int32_t>,
                              gemm_integers<int64_t>,
                              convert<float, Half>,
                              convert<float, BFloat16>,
                              convert<Half, float>,
                              convert<BFloat16, float>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
