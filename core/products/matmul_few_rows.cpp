// Products that read a matrix once: with few rows of A, and with a B of one column. To pack panels
// would take longer than to multiply.
#include "products/matmul_few_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/vec_lanes.h"
#include "products/pack_panels.h"
#include "products/tile.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class T>
constexpr int kUnit = 16 / sizeof(T);  // numbers in 16 bytes
template <class T>
constexpr int kUnits = kVector<T> / kUnit<T>;

// C = alpha sum + beta C for n_cols numbers of a row.
template <class T>
void store_sums(T alpha, T beta, const T* sums, int64_t n_cols, T* c) {
  for (int64_t j = 0; j < n_cols; j += kVector<T>) {
    int64_t n = std::min<int64_t>(kVector<T>, n_cols - j);
    Vec<T> sum = Vec<T>(alpha) * Vec<T>::load(sums + j, n);
    if (beta != T(0)) sum = fma(Vec<T>(beta), Vec<T>::load(c + j, n), sum);
    sum.store(c + j, n);
  }
}

// ---- B by columns, a slice of k that goes to one sum
//
// The lanes of a vector are columns, and B is turned over on the way, in squares of 16 bytes a
// side: those take half the shuffles of larger ones.

// The 16 bytes at p of each of the rows 0, kUnit, 2 * kUnit ...
inline Vec<float> load_units(const float* p, int64_t ld) {
#if defined(FACULA_AVX512)
  __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(p));
  v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 4 * ld), 1);
  v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 8 * ld), 2);
  return _mm512_insertf32x4(v, _mm_loadu_ps(p + 12 * ld), 3);
#elif defined(FACULA_AVX2)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * ld), 1);
#else
  return Vec<float>::load(p);
#endif
}
inline Vec<double> load_units(const double* p, int64_t ld) {
#if defined(FACULA_AVX512)
  __m512d v = _mm512_castpd128_pd512(_mm_loadu_pd(p));
  v = _mm512_insertf64x2(v, _mm_loadu_pd(p + 2 * ld), 1);
  v = _mm512_insertf64x2(v, _mm_loadu_pd(p + 4 * ld), 2);
  return _mm512_insertf64x2(v, _mm_loadu_pd(p + 6 * ld), 3);
#elif defined(FACULA_AVX2)
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_loadu_pd(p + 2 * ld), 1);
#else
  return Vec<double>::load(p);
#endif
}

// Turns over the squares of 16 bytes a side.
FACULA_FN void turn_units(Vec<float> (&x)[4]) {
#if defined(__x86_64__)
  auto pairs = [](auto v) { return reinterpret_cast<Native<double>>(v); };
  auto numbers = [](auto v) { return reinterpret_cast<Native<float>>(v); };
  auto low = pairs(FACULA_SIMD(unpacklo_ps)(x[0].v, x[1].v));
  auto high = pairs(FACULA_SIMD(unpackhi_ps)(x[0].v, x[1].v));
  auto next_low = pairs(FACULA_SIMD(unpacklo_ps)(x[2].v, x[3].v));
  auto next_high = pairs(FACULA_SIMD(unpackhi_ps)(x[2].v, x[3].v));
  x[0] = numbers(FACULA_SIMD(unpacklo_pd)(low, next_low));
  x[1] = numbers(FACULA_SIMD(unpackhi_pd)(low, next_low));
  x[2] = numbers(FACULA_SIMD(unpacklo_pd)(high, next_high));
  x[3] = numbers(FACULA_SIMD(unpackhi_pd)(high, next_high));
#else
  transpose(x);
#endif
}
FACULA_FN void turn_units(Vec<double> (&x)[2]) {
#if defined(__x86_64__)
  Vec<double> low = FACULA_SIMD(unpacklo_pd)(x[0].v, x[1].v);
  x[1] = FACULA_SIMD(unpackhi_pd)(x[0].v, x[1].v);
  x[0] = low;
#else
  transpose(x);
#endif
}

// One lane of fma(), which is rounded once where the instruction set can.
template <class T>
T add_product(T a, T b, T sum) {
#if defined(FACULA_AVX512) || defined(FACULA_AVX2)
  return std::fma(a, b, sum);
#else
  return fma(Vec<T>(a), Vec<T>(b), Vec<T>(sum))[0];
#endif
}

// kM rows of A meet the n_cols columns of B from `b`, `ld` apart: a vector of them or fewer.
template <int kM, class T>
void sum_in_order(const T* a, int64_t lda, const T* b, int64_t ld, int64_t n_cols, int64_t depth,
                  T* result) {
  constexpr int v = kVector<T>, unit = kUnit<T>;
  if (n_cols < v) {
    for (int i = 0; i < kM; ++i) {
      for (int64_t c = 0; c < n_cols; ++c) {
        T sum = 0;
        for (int64_t p = 0; p < depth; ++p) sum = add_product(a[i * lda + p], b[c * ld + p], sum);
        result[i * v + c] = sum;
      }
    }
    return;
  }
  Vec<T> sums[kM];
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) sums[i] = Vec<T>(T(0));
  int64_t p = 0;
  for (; p + unit <= depth; p += unit) {
    Vec<T> columns[unit];
#pragma GCC unroll 4
    for (int s = 0; s < unit; ++s) columns[s] = load_units(b + s * ld + p, ld);
    turn_units(columns);
#pragma GCC unroll 4
    for (int s = 0; s < unit; ++s) {
#pragma GCC unroll 8
      for (int i = 0; i < kM; ++i) sums[i] = fma(Vec<T>(a[i * lda + p + s]), columns[s], sums[i]);
    }
  }
  for (; p < depth; ++p) {
    T column[v];
    for (int64_t r = 0; r < v; ++r) column[r] = b[r * ld + p];
    for (int i = 0; i < kM; ++i)
      sums[i] = fma(Vec<T>(a[i * lda + p]), Vec<T>::load(column), sums[i]);
  }
  for (int i = 0; i < kM; ++i) sums[i].store(result + i * v);
}

// ---- B by columns, a slice of k that goes to several sums in turns
//
// A vector holds the sums of kUnits columns, beside each other. Whole vectors of columns are read
// and exchange their units: to take units from memory would read every cache line several times,
// when it may be gone already, because columns often lie in the same sets of the cache.

// x[i] holds kUnits units of column i; afterwards, unit i of every column.
template <class T>
FACULA_FN void exchange_units(Vec<T> (&x)[kUnits<T>]) {
#if defined(FACULA_AVX512)
  auto take = [](Vec<T> a, Vec<T> b, auto which) -> Vec<T> {
    constexpr int kWhich = decltype(which)::value;
    if constexpr (sizeof(T) == 4) return _mm512_shuffle_f32x4(a.v, b.v, kWhich);
    if constexpr (sizeof(T) == 8) return _mm512_shuffle_f64x2(a.v, b.v, kWhich);
  };
  std::integral_constant<int, 0x44> low;
  std::integral_constant<int, 0xEE> high;
  std::integral_constant<int, 0x88> even;
  std::integral_constant<int, 0xDD> odd;
  Vec<T> lows[2] = {take(x[0], x[1], low), take(x[2], x[3], low)};
  Vec<T> highs[2] = {take(x[0], x[1], high), take(x[2], x[3], high)};
  x[0] = take(lows[0], lows[1], even), x[1] = take(lows[0], lows[1], odd);
  x[2] = take(highs[0], highs[1], even), x[3] = take(highs[0], highs[1], odd);
#else
  if constexpr (kUnits<T> == 2)
    exchange_lanes<kUnit<T>>(x[0], x[1], std::make_integer_sequence<int, kVector<T>>());
#endif
}

template <class T>
FACULA_FN Vec<T> repeat_unit(const T* unit) {
#if defined(FACULA_AVX512)
  if constexpr (sizeof(T) == 4) return _mm512_broadcast_f32x4(_mm_loadu_ps(unit));
  if constexpr (sizeof(T) == 8) return _mm512_broadcast_f64x2(_mm_loadu_pd(unit));
#elif defined(FACULA_AVX2)
  if constexpr (sizeof(T) == 4) return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(unit));
  if constexpr (sizeof(T) == 8) return _mm256_broadcast_pd(reinterpret_cast<const __m128d*>(unit));
#else
  return Vec<T>::load(unit);
#endif
}

// kM rows of A meet kN vectors of kUnits columns each. Rows of A are whole vectors, zero after
// `depth`. Those that come next lie `ahead`: columns are too short, and too many at once, for the
// processor to foresee them. One row of A times matrices of 384x1536 from memory: 12 GB/s without
// asking for them, 22 with, where a sum reads 28.
template <int kM, int kN, class T>
void sum_in_turns(const T* a, int64_t lda, const T* const (&columns)[kN * kUnits<T>], int64_t depth,
                  int64_t ahead, T* result) {
  constexpr int v = kVector<T>, unit = kUnit<T>, units = kUnits<T>;
  Vec<T> sums[kM][kN];
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kN; ++j) sums[i][j] = Vec<T>(T(0));
  }
  auto add_terms = [&](int64_t p, auto load_column) FACULA_INLINE {
#pragma GCC unroll 4
    for (int j = 0; j < kN; ++j) {
      Vec<T> x[units];
#pragma GCC unroll 4
      for (int u = 0; u < units; ++u) {
        const T* from = columns[j * units + u] + p;
        x[u] = load_column(from);
        __builtin_prefetch(from + ahead, 0, 2);
      }
      exchange_units<T>(x);
#pragma GCC unroll 4
      for (int u = 0; u < units; ++u) {
#pragma GCC unroll 8
        for (int i = 0; i < kM; ++i)
          sums[i][j] = fma(repeat_unit(a + i * lda + p + u * unit), x[u], sums[i][j]);
      }
    }
  };
  int64_t p = 0;
  for (; p + v <= depth; p += v) add_terms(p, [](const T* from) { return Vec<T>::load(from); });
  if (p < depth) add_terms(p, [&](const T* from) { return Vec<T>::load(from, depth - p); });
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      T numbers[v];
      sums[i][j].store(numbers);
      for (int u = 0; u < units; ++u) {
        T sum = numbers[u * unit];
        for (int s = 1; s < unit; ++s) sum += numbers[u * unit + s];
        result[(i * kN + j) * units + u] = sum;
      }
    }
  }
}

// ---- B by columns

// The columns from `first` to `last`, of a slice of k.
template <int kM, class T>
void multiply_columns(const GemmProblem<T>& x, int64_t first, int64_t last) {
  // Enough sums that none waits for its last term, and a few columns at once only: more might lie
  // in the same sets of the cache.
  constexpr int most = (kVecBytes == 64 ? 16 : 8) / kM;
  constexpr int n_vectors = std::min(8 / kUnits<T>, most);
  constexpr int v = kVector<T>, width = n_vectors * kUnits<T>;
  bool takes_turns = n_sums_of<T>(x.k) > 1;
  T sums[kM * std::max(v, width)];
  for (int64_t j = first, n; j < last; j += n) {
    n = std::min<int64_t>(takes_turns ? width : v, last - j);
    // Columns before these fill the vector.
    int64_t n_again = takes_turns || j + n < v ? 0 : v - n;
    const T* b = x.b.data + (j - n_again) * x.b.col_stride;
    if (takes_turns) {
      const T* columns[width];
      for (int64_t c = 0; c < width; ++c) columns[c] = b + std::min(c, n - 1) * x.b.col_stride;
      sum_in_turns<kM, n_vectors, T>(x.a.data, x.a.row_stride, columns, x.k, width * x.b.col_stride,
                                     sums);
    } else {
      sum_in_order<kM>(x.a.data, x.a.row_stride, b, x.b.col_stride, n_again + n, x.k, sums);
    }
    for (int i = 0; i < kM; ++i)
      store_sums(x.alpha, x.beta, sums + i * (takes_turns ? width : v) + n_again, n,
                 x.c + i * x.ldc + j);
  }
}

// Calls f(part) for the slices of k in order, each as a product that is added to C. Rows of A are
// contiguous there and, where there are several sums, zero up to a whole vector.
template <class T, class F>
void for_slices(const GemmProblem<T>& x, F f) {
  int64_t n_slices = ceil_div(x.k, tuning::kSliceOfK), depth = ceil_div(x.k, n_slices);
  int64_t padded = ceil_div(depth, kVector<T>) * kVector<T>;
  bool has_edge = depth % kVector<T> != 0 || x.k % kVector<T> != 0;
  bool is_copied = x.a.col_stride != 1 || (has_edge && n_sums_of<T>(depth) > 1);
  Scratch<T> rows(is_copied ? x.m * padded : 0);
  for (int64_t p = 0; p < x.k; p += depth) {
    GemmProblem<T> slice = x;
    slice.k = std::min(depth, x.k - p);
    slice.beta = p == 0 ? x.beta : T(1);
    slice.a.data += p * x.a.col_stride;
    slice.b.data += p * x.b.row_stride;
    if (is_copied) {
      for (int64_t i = 0; i < x.m; ++i) {
        T* row = rows.data() + i * padded;
        for (int64_t q = 0; q < slice.k; ++q)
          row[q] = slice.a.data[i * x.a.row_stride + q * x.a.col_stride];
        std::fill(row + slice.k, row + padded, T(0));
      }
      slice.a = {rows.data(), padded, 1};
    }
    f(slice);
  }
}

template <int kM, class T>
void multiply_by_columns(const GemmProblem<T>& x) {
  int64_t width = std::max<int64_t>(kVector<T>, 8);
  for_slices(x, [&](const GemmProblem<T>& slice) {
    int64_t grain = std::max<int64_t>(1, tuning::kVectorWork / (width * slice.k * kM));
    parallel_for(ceil_div(x.n, width), grain, [&](int64_t begin, int64_t end) {
      multiply_columns<kM>(slice, begin * width, std::min(x.n, end * width));
    });
  });
}

// ---- B by rows

// kN vectors of columns, or the first n_cols numbers of one.
template <int kSums, int kN, class T>
void multiply_row_part(const GemmProblem<T>& x, int64_t col, int64_t n_cols) {
  constexpr int v = kVector<T>;
  Vec<T> sums[kSums][kN];
#pragma GCC unroll 4
  for (int s = 0; s < kSums; ++s) {
#pragma GCC unroll 6
    for (int j = 0; j < kN; ++j) sums[s][j] = Vec<T>(T(0));
  }
  const T *a = x.a.data, *b = x.b.data + col;
  auto load_row = [&](const T* from) FACULA_INLINE {
    return kN > 1 || n_cols == v ? Vec<T>::load(from) : Vec<T>::load(from, n_cols);
  };
  int64_t p = 0;
  for (; p + kSums <= x.k; p += kSums) {
#pragma GCC unroll 4
    for (int s = 0; s < kSums; ++s, b += x.b.row_stride) {
#pragma GCC unroll 6
      for (int j = 0; j < kN; ++j)
        sums[s][j] = fma(Vec<T>(a[p + s]), load_row(b + j * v), sums[s][j]);
    }
  }
#pragma GCC unroll 4
  for (int s = 0; s < kSums - 1; ++s) {
    if (p + s >= x.k) break;
    for (int j = 0; j < kN; ++j)
      sums[s][j] = fma(Vec<T>(a[p + s]), load_row(b + s * x.b.row_stride + j * v), sums[s][j]);
  }
  T result[kN * v];
  for (int j = 0; j < kN; ++j) {
    Vec<T> sum = sums[0][j];
    for (int s = 1; s < kSums; ++s) sum = sum + sums[s][j];
    sum.store(result + j * v);
  }
  store_sums(x.alpha, x.beta, result, kN > 1 ? kN * v : n_cols, x.c + col);
}

template <int kSums, class T>
void multiply_row_slice(const GemmProblem<T>& x) {
#if defined(FACULA_AVX512)
  constexpr int n_vectors = 6;
#else
  constexpr int n_vectors = 3;
#endif
  constexpr int64_t v = kVector<T>, width = n_vectors * v;
  int64_t grain = std::max<int64_t>(1, tuning::kVectorWork / (width * x.k));
  parallel_for(ceil_div(x.n, width), grain, [&](int64_t begin, int64_t end) {
    int64_t col = begin * width, last = std::min(x.n, end * width);
    for (; col + width <= last; col += width) multiply_row_part<kSums, n_vectors>(x, col, width);
    for (; col < last; col += v) multiply_row_part<kSums, 1>(x, col, std::min(v, last - col));
  });
}

template <class T>
void multiply_row(const GemmProblem<T>& x) {
  for_slices(x, [](const GemmProblem<T>& slice) {
    if (n_sums_of<T>(slice.k) == 1) return multiply_row_slice<1>(slice);
    multiply_row_slice<kUnit<T>>(slice);
  });
}

// ---- B has one column, and k is long
//
// Each lane of kParts vectors adds every (kParts * lanes)-th term of a row. The order depends on k
// alone, not on how A lies, nor on the rows beside.

constexpr int kParts = 2;
template <class T>
constexpr int64_t kLanes = kParts* kVector<T>;

// Halves are added to each other until one lane is left.
template <class T>
T sum_of_lanes(const Vec<T> (&parts)[kParts]) {
  static_assert(kParts == 2);
  T numbers[kVector<T>];
  (parts[0] + parts[1]).store(numbers);
  for (int64_t n = kVector<T> / 2; n > 0; n /= 2) {
    for (int64_t i = 0; i < n; ++i) numbers[i] += numbers[i + n];
  }
  return numbers[0];
}

template <int kM, class T>
void dot_rows(const T* a, int64_t lda, const T* x, int64_t k, T* result) {
  constexpr int v = kVector<T>;
  Vec<T> sums[kM][kParts];
#pragma GCC unroll 4
  for (int i = 0; i < kM; ++i) {
    for (int s = 0; s < kParts; ++s) sums[i][s] = Vec<T>(T(0));
  }
  int64_t p = 0;
  for (; p + kParts * v <= k; p += kParts * v) {
#pragma GCC unroll 2
    for (int s = 0; s < kParts; ++s) {
      Vec<T> factor = Vec<T>::load(x + p + s * v);
#pragma GCC unroll 4
      for (int i = 0; i < kM; ++i)
        sums[i][s] = fma(Vec<T>::load(a + i * lda + p + s * v), factor, sums[i][s]);
    }
  }
#pragma GCC unroll 2
  for (int s = 0; s < kParts; ++s) {
    int64_t n = std::clamp<int64_t>(k - p - s * v, 0, v);
    Vec<T> factor = Vec<T>::load(x + p + s * v, n);
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i)
      sums[i][s] = fma(Vec<T>::load(a + i * lda + p + s * v, n), factor, sums[i][s]);
  }
  for (int i = 0; i < kM; ++i) result[i] = sum_of_lanes<T>(sums[i]);
}

// The same for up to kDotCols rows that lie by columns. The lanes of all rows are in memory, in L1.
constexpr int64_t kDotCols = 256;
template <class T>
void dot_columns(const T* a, int64_t lda, int64_t n_rows, const T* x, int64_t k, T* result) {
  constexpr int64_t v = kVector<T>;
  int64_t width = ceil_div(n_rows, v) * v;
  T lanes[kLanes<T> * kDotCols];
  std::fill(lanes, lanes + kLanes<T> * width, T(0));
  int64_t n_whole = n_rows / v * v;
  for (int64_t p = 0; p < k; ++p) {
    const T* column = a + p * lda;
    T* to = lanes + p % kLanes<T> * width;
    Vec<T> factor(x[p]);
    for (int64_t i = 0; i < n_whole; i += v)
      fma(Vec<T>::load(column + i), factor, Vec<T>::load(to + i)).store(to + i);
    if (n_whole < n_rows)
      fma(Vec<T>::load(column + n_whole, n_rows - n_whole), factor, Vec<T>::load(to + n_whole))
          .store(to + n_whole);
  }
  for (int64_t n = kLanes<T> / 2; n > 0; n /= 2) {
    for (int64_t i = 0; i < n * width; i += v)
      (Vec<T>::load(lanes + i) + Vec<T>::load(lanes + n * width + i)).store(lanes + i);
  }
  std::copy(lanes, lanes + n_rows, result);
}

// Sums of n_rows rows over one piece of k.
template <class T>
void sum_rows(MatrixView<T> a, int64_t n_rows, const T* x, int64_t k, T* sums) {
  int64_t i = 0;
  if (a.col_stride != 1) {
    for (; i < n_rows; i += kDotCols)
      dot_columns(a.data + i, a.col_stride, std::min(kDotCols, n_rows - i), x, k, sums + i);
    return;
  }
  constexpr int at_once = 4;
  for (; i + at_once <= n_rows; i += at_once)
    dot_rows<at_once>(a.data + i * a.row_stride, a.row_stride, x, k, sums + i);
  for (; i < n_rows; ++i) dot_rows<1>(a.data + i * a.row_stride, a.row_stride, x, k, sums + i);
}

// n numbers that lie `step` apart, put together.
template <class T>
void copy_steps(const T* from, int64_t step, int64_t n, T* to) {
  constexpr int64_t v = kVector<T>;
  int64_t i = 0;
  if (step == 2) {
    for (; i + v < n; i += v)
      evens(Vec<T>::load(from + 2 * i), Vec<T>::load(from + 2 * i + v)).store(to + i);
  }
  for (; i < n; ++i) to[i] = from[i * step];
}

// The product with roles exchanged: a row times a matrix.
template <class T>
void multiply_as_row(const GemmProblem<T>& x) {
  Scratch<T> row(x.ldc == 1 ? 0 : x.m);
  T* c = x.ldc == 1 ? x.c : row.data();
  if (x.ldc != 1 && x.beta != T(0)) {
    for (int64_t i = 0; i < x.m; ++i) c[i] = x.c[i * x.ldc];
  }
  MatrixView<T> a{x.b.data, 1, x.b.row_stride}, b{x.a.data, x.a.col_stride, x.a.row_stride};
  multiply_few_rows<T>({1, x.m, x.k, x.alpha, a, b, x.beta, c, x.m});
  if (x.ldc != 1) {
    for (int64_t i = 0; i < x.m; ++i) x.c[i * x.ldc] = c[i];
  }
}

}  // namespace

template <class T>
void multiply_few_rows(const GemmProblem<T>& x) {
  if (x.b.col_stride == 1 && x.b.row_stride != 1) return multiply_row(x);
  constexpr void (*by_rows[])(const GemmProblem<T>&) = {
      multiply_by_columns<1, T>, multiply_by_columns<2, T>, multiply_by_columns<3, T>,
      multiply_by_columns<4, T>, multiply_by_columns<5, T>, multiply_by_columns<6, T>,
      multiply_by_columns<7, T>, multiply_by_columns<8, T>};
  static_assert(std::size(by_rows) == tuning::kRowsByColumns);
  by_rows[x.m - 1](x);
}

template <class T>
void multiply_matrix_vector(const GemmProblem<T>& x) {
  if (x.k < tuning::kMinInterleaved) return multiply_as_row(x);
  int64_t n_pieces = ceil_div(x.k, tuning::kPieceOfK), piece = std::min(x.k, tuning::kPieceOfK);
  int64_t rows = ceil_div(tuning::kVectorWork / piece, kDotCols) * kDotCols;
  int64_t n_blocks = ceil_div(x.m, rows);
  // What only one block reads is put together as it comes.
  bool is_apart = x.b.row_stride != 1, is_read_once = n_blocks == 1;
  Scratch<T> copy(is_apart && !is_read_once ? x.k : 0), sums(n_pieces * x.m);
  if (is_apart && !is_read_once) copy_steps(x.b.data, x.b.row_stride, x.k, copy.data());
  int64_t grain = ceil_div(tuning::kVectorWork, std::min(rows, x.m) * piece);
  parallel_for(n_pieces * n_blocks, grain, [&](int64_t begin, int64_t end) {
    Scratch<T> part(is_apart && is_read_once ? piece : 0);
    for (int64_t task = begin; task < end; ++task) {
      int64_t p = task / n_blocks, first = task % n_blocks * rows;
      int64_t depth = std::min(piece, x.k - p * piece);
      MatrixView<T> a{x.a.data + p * piece * x.a.col_stride + first * x.a.row_stride,
                      x.a.row_stride, x.a.col_stride};
      const T* b = (is_apart ? copy.data() : x.b.data) + p * piece;
      if (is_apart && is_read_once) {
        copy_steps(x.b.data + p * piece * x.b.row_stride, x.b.row_stride, depth, part.data());
        b = part.data();
      }
      sum_rows(a, std::min(rows, x.m - first), b, depth, sums.data() + p * x.m + first);
    }
  });
  for (int64_t i = 0; i < x.m; ++i) {
    T& c = x.c[i * x.ldc];
    T sum = x.alpha * sums.data()[i];
    if (x.beta != T(0)) sum += x.beta * c;
    for (int64_t p = 1; p < n_pieces; ++p) sum += x.alpha * sums.data()[p * x.m + i];
    c = sum;
  }
}

template void multiply_few_rows(const GemmProblem<float>&);
template void multiply_few_rows(const GemmProblem<double>&);
template void multiply_matrix_vector(const GemmProblem<float>&);
template void multiply_matrix_vector(const GemmProblem<double>&);

}  // namespace FACULA_ISA
}  // namespace facula::cpu
