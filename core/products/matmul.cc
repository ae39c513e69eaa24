#include "products/matmul.h"

#include <algorithm>
#include <complex>
#include <type_traits>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/shape/copy.h"
#include "math/arithmetic.h"
#include "products/matmul_kernels.h"
#include "products/plan.h"
#include "products/tuning.h"

namespace facula::products {
namespace {

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
  kernel({x.m,
          x.n,
          x.k,
          x.alpha,
          {x.a, a.row, a.col},
          {x.b, b.row, b.col},
          x.beta,
          x.c,
          x.ldc,
          x.bias});
}

// For the ways that add nothing but the old C.
template <class T>
Gemm<T> with_bias_in_c(const Gemm<T>& x) {
  int64_t grain = ceil_div(tuning::kFillGrain, x.n);
  parallel_for(x.n_batch * x.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::fill_n(x.c + i / x.m * x.stride_c + i % x.m * x.ldc, x.n, x.bias[i % x.m]);
  });
  Gemm<T> rest = x;
  rest.beta = 1, rest.bias = nullptr;
  return rest;
}

// ---- the ways of whole problems

// A small C with a long k: slices of k become a batch of products, which are then added in order.
// So do the other ways, one slice after the other.
template <class T>
void multiply_slices_of_k(const Gemm<T>& x) {
  if constexpr (std::is_floating_point_v<T>) {
    int64_t n_slices = ceil_div(x.k, tuning::kSliceOfK), depth = ceil_div(x.k, n_slices);
    int64_t numel = x.m * x.n;
    Scratch<T> parts(std::min(n_slices, tuning::kSlicesAtOnce) * numel);
    auto slices_at = [&](int64_t p) {
      Gemm<T> some = x;
      some.k = std::min(depth, x.k - p);
      some.stride_a = depth * strides_of(x.trans_a, x.lda).col;
      some.stride_b = depth * strides_of(x.trans_b, x.ldb).row;
      some.a += p / depth * some.stride_a;
      some.b += p / depth * some.stride_b;
      return some;
    };
    gemm(slices_at(0));
    for (int64_t p = depth; p < x.k;) {
      Gemm<T> some = slices_at(p);
      some.n_batch = std::clamp<int64_t>((x.k - p) / depth, 1, tuning::kSlicesAtOnce);
      some.beta = T(0);
      some.c = parts.data(), some.ldc = x.n, some.stride_c = numel;
      gemm(some);
      for (int64_t slice = 0; slice < some.n_batch; ++slice) {
        const T* part = parts.data() + slice * numel;
        for (int64_t i = 0; i < x.m; ++i)
          for (int64_t j = 0; j < x.n; ++j) x.c[i * x.ldc + j] += part[i * x.n + j];
      }
      p += some.n_batch * depth;
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

template <class T>
void multiply_pairs(const Gemm<T>& x) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    Strides a = strides_of(x.trans_a, x.lda), b = strides_of(x.trans_b, x.ldb);
    for_each_of_batch(x, [&](const Gemm<T>& one) {
      cpu::get_pairs_table().multiply({x.m,
                                       x.n,
                                       x.k,
                                       x.alpha,
                                       {one.a, a.row, a.col},
                                       {one.b, b.row, b.col},
                                       x.beta,
                                       one.c,
                                       nullptr,
                                       x.ldc});
    });
  }
}

// ---- rows times a vector

Wide<Half> dot(const Half* a, const Half* b, int64_t n) {
  return cpu::get_dots_table().half(a, b, n);
}
Wide<BFloat16> dot(const BFloat16* a, const BFloat16* b, int64_t n) {
  return cpu::get_dots_table().bfloat16(a, b, n);
}
Complex64 dot(const Complex64* a, const Complex64* b, int64_t n) {
  return cpu::get_dots_table().complex64(a, b, n);
}
Complex128 dot(const Complex128* a, const Complex128* b, int64_t n) {
  return cpu::get_dots_table().complex128(a, b, n);
}

// C = alpha product + beta C, without the checks for infinities that the standard asks of complex
// numbers.
template <class R>
void store_complex(const Gemm<std::complex<R>>& x, R re, R im, std::complex<R>& c) {
  R new_re = x.alpha.real() * re, new_im = x.alpha.real() * im;
  if (x.alpha.imag() != 0) new_re -= x.alpha.imag() * im, new_im += x.alpha.imag() * re;
  if (x.beta != R(0)) {
    new_re += x.beta.real() * c.real(), new_im += x.beta.real() * c.imag();
    if (x.beta.imag() != 0) new_re -= x.beta.imag() * c.imag(), new_im += x.beta.imag() * c.real();
  }
  c = {new_re, new_im};
}

// `n` columns of `n_rows` elements each, as rows.
template <class T>
void turn_columns(const T* from, int64_t ld, int64_t n_rows, int64_t n, T* to) {
  constexpr int64_t size = sizeof(T);
  auto copy = cpu::get_copy_table().by_size[__builtin_ctzll(size)];
  copy({reinterpret_cast<char*>(to), reinterpret_cast<const char*>(from), n, n_rows, size,
        ld * size, n * size, size});
}

template <class T>
void multiply_dots(const Gemm<T>& x) {
  if constexpr (is_reduced_float_v<T> || is_complex_v<T>) {
    int64_t b_step = strides_of(x.trans_b, x.ldb).row;
    Scratch<T> b_copy(b_step == 1 ? 0 : x.k);
    for (int64_t p = 0; p < x.k && b_step != 1; ++p) b_copy.data()[p] = x.b[p * b_step];
    const T* b = b_step == 1 ? x.b : b_copy.data();

    int64_t depth = std::min(x.k, tuning::kPieceOfK), n_pieces = ceil_div(x.k, depth);
    bool is_a_stored = x.trans_a == Trans::No;
    // Columns are turned into rows first: a row has the same bits in either layout. As many as a
    // cache line has, or L2 holds.
    constexpr int64_t line = 64 / sizeof(T);
    int64_t rows = std::max(line, std::min<int64_t>(tuning::kTurnedNumel / depth, 32));
    rows = is_a_stored ? 1 : std::min(rows, x.m);
    Scratch<Wide<T>> sums(x.m * n_pieces);
    auto multiply = [&](int64_t begin, int64_t end) {
      Scratch<T> turned(is_a_stored ? 0 : rows * depth);
      for (int64_t task = begin; task < end; ++task) {
        int64_t row = task / n_pieces * rows, piece = task % n_pieces, p = piece * depth;
        int64_t n = std::min(depth, x.k - p), n_rows = std::min(rows, x.m - row);
        const T* a = turned.data();
        if (is_a_stored)
          a = x.a + row * x.lda + p;
        else
          turn_columns(x.a + row + p * x.lda, x.lda, n_rows, n, turned.data());
        for (int64_t i = 0; i < n_rows; ++i)
          sums.data()[(row + i) * n_pieces + piece] = dot(a + i * n, b + p, n);
      }
    };
    parallel_for(ceil_div(x.m, rows) * n_pieces, ceil_div(tuning::kVectorWork, rows * depth),
                 multiply);
    for (int64_t i = 0; i < x.m; ++i) {
      Wide<T> sum = sums.data()[i * n_pieces];
      for (int64_t p = 1; p < n_pieces; ++p) sum += sums.data()[i * n_pieces + p];
      T& c = x.c[i * x.ldc];
      if constexpr (is_complex_v<T>) {
        store_complex(x, sum.real(), sum.imag(), c);
      } else {
        c = T(x.alpha * sum + (x.beta != 0 ? x.beta * static_cast<float>(c) : 0.0f));
      }
    }
  }
}

// ---- complex numbers
//
// A product of complex matrices is one of real matrices, where a row of A becomes two and B is read
// as it lies:
//   by rows,    (re, im) per column:   (a.re) times it and (a.im) times it, whose parts are added;
//   by columns, (re, im) along k:      (a.re, -a.im ...) and (a.im, a.re ...) times it.

// `n_rows` rows of op(A), as pairs of rows of real numbers.
template <class R>
void split_rows(const Gemm<std::complex<R>>& x, int64_t n_rows, R* to) {
  Strides a = strides_of(x.trans_a, x.lda);
  bool is_b_stored = x.trans_b == Trans::No;
  int64_t length = is_b_stored ? x.k : 2 * x.k;
  for (int64_t i = 0; i < n_rows; ++i) {
    const std::complex<R>* from = x.a + i * a.row;
    R *first = to + 2 * i * length, *second = first + length;
    for (int64_t p = 0; p < x.k; ++p) {
      R re = from[p * a.col].real(), im = from[p * a.col].imag();
      if (is_b_stored) {
        first[p] = re, second[p] = im;
      } else {
        first[2 * p] = second[2 * p + 1] = re;
        first[2 * p + 1] = -im, second[2 * p] = im;
      }
    }
  }
}

template <class R>
void multiply_complex_rows(const Gemm<std::complex<R>>& x) {
  bool is_b_stored = x.trans_b == Trans::No;
  Gemm<R> real;
  real.m = 2 * x.m;
  real.n = is_b_stored ? 2 * x.n : x.n;
  real.k = is_b_stored ? x.k : 2 * x.k;
  real.trans_b = x.trans_b;
  Scratch<R> rows(real.m * real.k), products(real.m * real.n);
  split_rows(x, x.m, rows.data());
  real.a = rows.data(), real.lda = real.k;
  real.b = reinterpret_cast<const R*>(x.b), real.ldb = 2 * x.ldb;
  real.c = products.data(), real.ldc = real.n;
  gemm(real);
  bool is_whole = x.alpha == R(1) && x.beta == R(0);
  for (int64_t i = 0; i < x.m; ++i) {
    const R *first = products.data() + 2 * i * real.n, *second = first + real.n;
    std::complex<R>* c = x.c + i * x.ldc;
    if (is_whole && is_b_stored) {  // most products, without the tests of each element
      R* to = reinterpret_cast<R*>(c);
      for (int64_t j = 0; j < real.n; j += 2) {
        to[j] = first[j] - second[j + 1];
        to[j + 1] = first[j + 1] + second[j];
      }
      continue;
    }
    for (int64_t j = 0; j < x.n; ++j) {
      if (is_b_stored) {
        store_complex(x, first[2 * j] - second[2 * j + 1], first[2 * j + 1] + second[2 * j], c[j]);
      } else {
        store_complex(x, first[j], second[j], c[j]);
      }
    }
  }
}

// Blocks of rows are given to the threads, or where there is one, the threads share it.
template <class T>
void multiply_complex(const Gemm<T>& x) {
  if constexpr (is_complex_v<T>) {
    int64_t rows = std::max<int64_t>(1, tuning::kComplexNumel / std::max(x.k, x.n));
    int64_t n_blocks = ceil_div(x.m, rows);
    int64_t work = std::min(rows, x.m) * x.n * x.k;
    parallel_for(x.n_batch * n_blocks, ceil_div(tuning::kTaskWork, work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     Gemm<T> block = at_batch(x, i / n_blocks);
                     int64_t row = i % n_blocks * rows;
                     block.m = std::min(rows, x.m - row);
                     block.a += row * strides_of(x.trans_a, x.lda).row;
                     block.c += row * x.ldc;
                     multiply_complex_rows(block);
                   }
                 });
  }
}

}  // namespace

template <class T>
void gemm(const Gemm<T>& x) {
  if (x.m == 0 || x.n == 0 || x.n_batch == 0) return;
  GemmWay way = plan_gemm(x, DTypeOf<T>::value, cpu::isa());
  bool takes_bias =
      std::is_floating_point_v<T> && (way == GemmWay::Blocked || way == GemmWay::SmallA);
  if (x.bias && (!takes_bias || x.k == 0)) return gemm(with_bias_in_c(x));
  if (x.k == 0) {
    for (int64_t i = 0; i < x.n_batch; ++i) scale(at_batch(x, i));
    return;
  }
  auto by = [&](auto kernel) {
    for_each_of_batch(x, [&](const Gemm<T>& one) { multiply_by(kernel, one); });
  };
  switch (way) {
    case GemmWay::Widened:
      return multiply_widened(x);
    case GemmWay::Pairs:
      return multiply_pairs(x);
    case GemmWay::Complex:
      return multiply_complex(x);
    case GemmWay::Dots:
      for_each_of_batch(x, [](const Gemm<T>& one) { multiply_dots(one); });
      return;
    case GemmWay::SlicesOfK:
      return multiply_slices_of_k(x);
    case GemmWay::MatrixVector:
      return by(kernels_of<T>().matrix_vector);
    case GemmWay::FewRows:
      return by(kernels_of<T>().few_rows);
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
