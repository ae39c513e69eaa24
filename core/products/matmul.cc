#include "products/matmul.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "math/arithmetic.h"
#include "products/matmul_kernels.h"
#include "products/openblas.h"
#include "products/plan.h"
#include "products/tuning.h"

namespace facula::products {
namespace {

int to_int(int64_t value) {
  check(value <= std::numeric_limits<int>::max(), "matmul: a dimension or stride of ", value,
        " elements is too large for the BLAS library of this processor.");
  return static_cast<int>(value);
}

template <class T>
constexpr bool is_library_type_v = std::is_floating_point_v<T> || is_complex_v<T>;

Transpose library_trans(Trans trans) { return trans == Trans::No ? kNoTrans : kTrans; }

// Element (i, j) of op(A): a[i * row + j * col].
struct Strides {
  int64_t row, col;
};
Strides strides_of(Trans trans, int64_t ld) {
  return trans == Trans::No ? Strides{ld, 1} : Strides{1, ld};
}

template <class T>
Gemm<T> at_batch(const Gemm<T>& x, int64_t i) {
  Gemm<T> one = x;
  one.a += i * x.stride_a;
  one.b += i * x.stride_b;
  one.c += i * x.stride_c;
  one.n_batch = 1;
  return one;
}

template <class T>
using Word = std::conditional_t<std::is_integral_v<T>, math::Wrapping<T>, Wide<T>>;

template <class T>
T scaled(Wide<T> beta, T value) {
  if (beta == Wide<T>(0)) return T(0);
  return static_cast<T>(static_cast<Word<T>>(beta) * static_cast<Word<T>>(value));
}

template <class T>
void scale(const Gemm<T>& x) {
  for (int64_t i = 0; i < x.m; ++i) {
    T* row = x.c + i * x.ldc;
    for (int64_t j = 0; j < x.n; ++j) row[j] = scaled<T>(x.beta, row[j]);
  }
}

// y = alpha op(A) x + beta y for the `n_out` x `n_in` matrix op(A); pieces of y are given to
// threads.
template <class T>
void gemv(Trans trans, int64_t n_out, int64_t n_in, T alpha, const T* a, int64_t lda, const T* x,
          int64_t incx, T beta, T* y, int64_t incy) {
  int64_t grain = ceil_div(std::max<int64_t>(tuning::kVectorWork / n_in, 1), tuning::kVectorUnit) *
                  tuning::kVectorUnit;
  int64_t step = strides_of(trans, lda).row;
  parallel_for(n_out, grain, [&](int64_t begin, int64_t end) {
    T* out = y + begin * incy;
    // Zero times NaN must not survive in y.
    if (beta == T(0)) {
      for (int64_t i = 0; i < end - begin; ++i) out[i * incy] = T(0);
    }
    int stored_rows = to_int(trans == Trans::No ? end - begin : n_in);
    int stored_cols = to_int(trans == Trans::No ? n_in : end - begin);
    library_gemv(library_trans(trans), stored_rows, stored_cols, alpha, a + begin * step,
                 to_int(lda), x, to_int(incx), beta == T(0) ? T(1) : beta, out, to_int(incy));
  });
}

// ---- the ways of one product, by the names in plan.h. Those that a type never takes do nothing.

template <class T>
cpu::MatmulKernels<T> kernels_of() {
  if constexpr (std::is_same_v<T, float>) return cpu::get_blocked_table().float32;
  if constexpr (std::is_same_v<T, double>) return cpu::get_blocked_table().float64;
  if constexpr (std::is_same_v<T, uint8_t>) return cpu::get_integers_table().uint8;
  if constexpr (std::is_same_v<T, int8_t>) return cpu::get_integers_table().int8;
  if constexpr (std::is_same_v<T, int16_t>) return cpu::get_integers_table().int16;
  if constexpr (std::is_same_v<T, int32_t>) return cpu::get_integers_table().int32;
  if constexpr (std::is_same_v<T, int64_t>) return cpu::get_integers_table().int64;
  return {};
}

// By a kernel of ours.
template <class T>
void multiply_by(typename cpu::MatmulKernels<T>::Kernel kernel, const Gemm<T>& x) {
  Strides a = strides_of(x.trans_a, x.lda), b = strides_of(x.trans_b, x.ldb);
  kernel({x.m, x.n, x.k, x.alpha, {x.a, a.row, a.col}, {x.b, b.row, b.col}, x.beta, x.c, x.ldc});
}

template <class T>
void multiply_matrix_vector(const Gemm<T>& x) {
  if constexpr (is_library_type_v<T>) {
    gemv(x.trans_a, x.m, x.k, x.alpha, x.a, x.lda, x.b, strides_of(x.trans_b, x.ldb).row, x.beta,
         x.c, x.ldc);
  } else {
    multiply_by(kernels_of<T>().matrix_vector, x);
  }
}

template <class T>
void multiply_vector_matrix(const Gemm<T>& x) {
  if constexpr (is_library_type_v<T>) {
    Trans trans = x.trans_b == Trans::No ? Trans::Yes : Trans::No;
    gemv(trans, x.n, x.k, x.alpha, x.b, x.ldb, x.a, strides_of(x.trans_a, x.lda).col, x.beta, x.c,
         int64_t{1});
  }
}

template <class T>
void multiply_by_library(const Gemm<T>& x) {
  if constexpr (is_library_type_v<T>) {
    int64_t tile_m = x.m, tile_n = x.n;
    while (tile_m * tile_n > tuning::kLibraryWork / x.k &&
           std::max(tile_m, tile_n) > tuning::kLibrarySide) {
      int64_t& side = tile_m > tile_n ? tile_m : tile_n;
      side = ceil_div(side, 32) * 16;
    }
    int64_t tiles_n = ceil_div(x.n, tile_n);
    Strides a = strides_of(x.trans_a, x.lda), b = strides_of(x.trans_b, x.ldb);
    parallel_for(ceil_div(x.m, tile_m) * tiles_n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        int64_t i = tile / tiles_n * tile_m, j = tile % tiles_n * tile_n;
        library_gemm(library_trans(x.trans_a), library_trans(x.trans_b),
                     to_int(std::min(tile_m, x.m - i)), to_int(std::min(tile_n, x.n - j)),
                     to_int(x.k), x.alpha, x.a + i * a.row, to_int(x.lda), x.b + j * b.col,
                     to_int(x.ldb), x.beta, x.c + i * x.ldc + j, to_int(x.ldc));
      }
    });
  }
}

// ---- the ways of whole problems

// A small C with a long k: pieces of k become a batch of products, which are then added in order.
template <class T>
void multiply_pieces_of_k(const Gemm<T>& x) {
  if constexpr (is_library_type_v<T>) {
    int64_t n_pieces = x.k / tuning::kPieceOfK, numel = x.m * x.n;
    Scratch<T> parts(n_pieces * numel);
    Gemm<T> piece = x;
    piece.k = tuning::kPieceOfK;
    piece.beta = T(0);
    piece.c = parts.data();
    piece.ldc = x.n;
    piece.n_batch = n_pieces;
    piece.stride_a = tuning::kPieceOfK * strides_of(x.trans_a, x.lda).col;
    piece.stride_b = tuning::kPieceOfK * strides_of(x.trans_b, x.ldb).row;
    piece.stride_c = numel;
    Gemm<T> rest = at_batch(piece, n_pieces - 1);
    rest.k += x.k - n_pieces * tuning::kPieceOfK;
    piece.n_batch = n_pieces - 1;
    gemm(piece);
    gemm(rest);
    for (int64_t i = 0; i < numel; ++i) {
      T sum = parts.data()[i];
      for (int64_t p = 1; p < n_pieces; ++p) sum += parts.data()[p * numel + i];
      T& place = x.c[i / x.n * x.ldc + i % x.n];
      place = x.beta == T(0) ? sum : sum + x.beta * place;
    }
  }
}

template <class T, class F>
void for_each_of_batch(const Gemm<T>& x, F multiply) {
  int64_t work = x.m * x.n * x.k;
  // Large products are cut inside, small ones are given whole to the threads.
  if (x.n_batch < 4 && work > tuning::kBatchWork) {
    for (int64_t i = 0; i < x.n_batch; ++i) multiply(at_batch(x, i));
    return;
  }
  parallel_for(x.n_batch, ceil_div(tuning::kBatchWork, work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) multiply(at_batch(x, i));
  });
}

void widen_row(const Half* from, int64_t n, float* to) {
  cpu::get_widen_table().widen_half(from, n, to);
}
void widen_row(const BFloat16* from, int64_t n, float* to) {
  cpu::get_widen_table().widen_bfloat16(from, n, to);
}
void narrow_row(const float* from, int64_t n, Half* to) {
  cpu::get_widen_table().narrow_half(from, n, to);
}
void narrow_row(const float* from, int64_t n, BFloat16* to) {
  cpu::get_widen_table().narrow_bfloat16(from, n, to);
}

// f(at, packed_at, n) for runs of n elements of a matrix and of its packed copy: rows, or long
// pieces where these follow each other, as the elements of a column may.
template <class F>
void for_runs(int64_t rows, int64_t cols, int64_t ld, F f) {
  if (ld == cols) {
    parallel_for(rows * cols, tuning::kCopyGrain,
                 [&](int64_t begin, int64_t end) { f(begin, begin, end - begin); });
  } else {
    parallel_for(rows, ceil_div(tuning::kCopyGrain, cols), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i * ld, i * cols, cols);
    });
  }
}

template <class T>
const float* widen(const T* from, int64_t rows, int64_t cols, int64_t ld, float* to) {
  for_runs(rows, cols, ld, [&](int64_t at, int64_t packed_at, int64_t n) {
    widen_row(from + at, n, to + packed_at);
  });
  return to;
}

// Widened as a whole: each element is converted once, not once per tile.
template <class T>
void multiply_widened(const Gemm<T>& x) {
  if constexpr (is_reduced_float_v<T>) {
    bool is_a_stored = x.trans_a == Trans::No, is_b_stored = x.trans_b == Trans::No;
    int64_t rows_a = is_a_stored ? x.m : x.k, cols_a = is_a_stored ? x.k : x.m;
    int64_t rows_b = is_b_stored ? x.k : x.n, cols_b = is_b_stored ? x.n : x.k;
    Scratch<float> a(x.m * x.k), b(x.k * x.n), c(x.m * x.n);
    for (int64_t i = 0; i < x.n_batch; ++i) {
      Gemm<T> one = at_batch(x, i);
      Gemm<float> wide;
      wide.trans_a = x.trans_a, wide.trans_b = x.trans_b;
      wide.m = x.m, wide.n = x.n, wide.k = x.k;
      wide.alpha = x.alpha, wide.beta = x.beta;
      wide.a = widen(one.a, rows_a, cols_a, x.lda, a.data()), wide.lda = cols_a;
      wide.b = widen(one.b, rows_b, cols_b, x.ldb, b.data()), wide.ldb = cols_b;
      wide.c = c.data(), wide.ldc = x.n;
      if (x.beta != 0) widen(one.c, x.m, x.n, x.ldc, c.data());
      gemm(wide);
      for_runs(x.m, x.n, x.ldc, [&](int64_t at, int64_t packed_at, int64_t n) {
        narrow_row(c.data() + packed_at, n, one.c + at);
      });
    }
  }
}

// The distance between rows means nothing where there is one row; the library wants it to be valid.
void fix_ld(int64_t rows, int64_t cols, int64_t& ld) {
  if (rows == 1) ld = cols;
}

}  // namespace

template <class T>
void gemm(const Gemm<T>& problem) {
  Gemm<T> x = problem;
  if (x.m == 0 || x.n == 0 || x.n_batch == 0) return;
  if (x.k == 0) {
    for (int64_t i = 0; i < x.n_batch; ++i) scale(at_batch(x, i));
    return;
  }
  bool is_a_stored = x.trans_a == Trans::No, is_b_stored = x.trans_b == Trans::No;
  fix_ld(is_a_stored ? x.m : x.k, is_a_stored ? x.k : x.m, x.lda);
  fix_ld(is_b_stored ? x.k : x.n, is_b_stored ? x.n : x.k, x.ldb);
  fix_ld(x.m, x.n, x.ldc);
  if constexpr (is_library_type_v<T>) keep_library_single_threaded();
  auto by = [&](auto kernel) {
    for_each_of_batch(x, [&](const Gemm<T>& one) { multiply_by(kernel, one); });
  };
  switch (plan_gemm(x, DTypeOf<T>::value, cpu::isa())) {
    case GemmWay::Widened:
      return multiply_widened(x);
    case GemmWay::PiecesOfK:
      return multiply_pieces_of_k(x);
    case GemmWay::MatrixVector:
      return for_each_of_batch(x, multiply_matrix_vector<T>);
    case GemmWay::VectorMatrix:
      return for_each_of_batch(x, multiply_vector_matrix<T>);
    case GemmWay::Library:
      return for_each_of_batch(x, multiply_by_library<T>);
    case GemmWay::Blocked:
      return by(kernels_of<T>().blocked);
    case GemmWay::SmallA:
      return by(kernels_of<T>().small_a);
    case GemmWay::Exchanged:
      return by(kernels_of<T>().exchanged);
  }
}

template void gemm(const Gemm<uint8_t>&);
template void gemm(const Gemm<int8_t>&);
template void gemm(const Gemm<int16_t>&);
template void gemm(const Gemm<int32_t>&);
template void gemm(const Gemm<int64_t>&);
template void gemm(const Gemm<Half>&);
template void gemm(const Gemm<BFloat16>&);
template void gemm(const Gemm<float>&);
template void gemm(const Gemm<double>&);
template void gemm(const Gemm<Complex64>&);
template void gemm(const Gemm<Complex128>&);

}  // namespace facula::products
