// Sums of products of two vectors, read where they lie: 16-bit floats and complex numbers, which
// all other ways copy as floats first.
#include <utility>

#include "cpu/vec.h"
#include "products/matmul_kernels.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// As many sums hide the time that a multiplication takes.
constexpr int kSums = 4;

// add(j, at, n): adds the n numbers at `at`, a vector or fewer, to sum j.
template <class T, class F>
FACULA_FN void for_vectors(int64_t n, F add) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  int64_t i = 0;
  for (; i + kSums * lanes <= n; i += kSums * lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < kSums; ++j) add(j, i + j * lanes, lanes);
  }
  for (; i + lanes <= n; i += lanes) add(0, i, lanes);
  if (i < n) add(0, i, n - i);
}

template <class T>
FACULA_FN Vec<T> joined(const Vec<T> (&sums)[kSums]) {
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T, class From>
FACULA_FN Vec<T> load_some(const From* p, int64_t n) {
  return n == Vec<T>::kLanes ? Vec<T>::load(p) : Vec<T>::load(p, n);
}

template <class T>
float dot(const T* a, const T* b, int64_t n) {
  Vec<float> sums[kSums] = {Vec<float>(0), Vec<float>(0), Vec<float>(0), Vec<float>(0)};
  for_vectors<float>(n, [&](int j, int64_t at, int64_t some) FACULA_INLINE {
    sums[j] = fma(load_some<float>(a + at, some), load_some<float>(b + at, some), sums[j]);
  });
  Vec<float> lanes = joined(sums);
  float sum = 0;
  for (int i = 0; i < Vec<float>::kLanes; ++i) sum += lanes[i];
  return sum;
}

template <class T, int... kLane>
FACULA_FN Vec<T> with_swapped_pairs(Vec<T> x, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(x.v, x.v, (kLane ^ 1)...);
}

// Even lanes have real parts of a, odd ones imaginary parts. `same` adds products with the same
// part of b, `crossed` with the other one.
template <class R>
std::complex<R> dot_complex(const std::complex<R>* left, const std::complex<R>* right, int64_t n) {
  const R *a = reinterpret_cast<const R*>(left), *b = reinterpret_cast<const R*>(right);
  Vec<R> same[kSums] = {Vec<R>(0), Vec<R>(0), Vec<R>(0), Vec<R>(0)};
  Vec<R> crossed[kSums] = {Vec<R>(0), Vec<R>(0), Vec<R>(0), Vec<R>(0)};
  constexpr auto all = std::make_integer_sequence<int, Vec<R>::kLanes>();
  for_vectors<R>(2 * n, [&](int j, int64_t at, int64_t some) FACULA_INLINE {
    Vec<R> x = load_some<R>(a + at, some), y = load_some<R>(b + at, some);
    same[j] = fma(x, y, same[j]);
    crossed[j] = fma(x, with_swapped_pairs(y, all), crossed[j]);
  });
  Vec<R> squares = joined(same), others = joined(crossed);
  R re = 0, im = 0;
  for (int i = 0; i < Vec<R>::kLanes; i += 2) {
    re += squares[i] - squares[i + 1];
    im += others[i] + others[i + 1];
  }
  return {re, im};
}

}  // namespace

extern const DotsTable dots_table;
const DotsTable dots_table = {dot<Half>, dot<BFloat16>, dot_complex<float>, dot_complex<double>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
