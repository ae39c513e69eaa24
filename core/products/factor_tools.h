// What the factorisations share: batches for the threads, and memory for LAPACK to work in.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/factor.h"

namespace facula::products {

// Columns of a large factorisation that the library does at once, between updates by all threads;
// and columns of the right side that one thread solves for.
constexpr int64_t kPanel = 64, kColumns = 64;
// Multiplications that are worth giving to a thread.
constexpr double kThreadWork = 3e4;

inline int to_int(int64_t n) {
  check(n <= std::numeric_limits<int>::max(), "linalg: a matrix of ", n,
        " rows or columns is too large for LAPACK.");
  return static_cast<int>(n);
}

// f(begin, end) for pieces of the batch, each matrix of about `work` multiplications. Others may
// have the interpreter meanwhile, for one large matrix too.
template <class F>
void for_batch(int64_t n_batch, double work, F f) {
  keep_library_single_threaded();
  auto grain = static_cast<int64_t>(std::max(1.0, kThreadWork / std::max(work, 1.0)));
  if (n_batch == 1) {
    if (work < kThreadWork) return f(0, 1);
    return run_blocking([&] { f(0, 1); });
  }
  parallel_for(n_batch, grain, f);
}

inline double cubed(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * n; }

// The size by which LAPACK chooses pivots.
template <class T>
RealOf<T> pivot_size(T x) {
  return std::abs(std::real(x)) + std::abs(std::imag(x));
}

template <class T>
T conj_of(T x) {
  if constexpr (is_complex_v<T>) return std::conj(x);
  return x;
}

// The product without the checks for infinities that the standard asks of complex numbers.
template <class T>
T times(T x, T y) {
  if constexpr (is_complex_v<T>)
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  return x * y;
}

// Memory for a routine, which is called twice: to ask how much it wants, then with it.
template <class T>
struct Memory {
  explicit Memory(int64_t n) : scratch(std::max<int64_t>(n, 1)), size(to_int(n)) {}
  Scratch<T> scratch;
  int size;
  T* data() const { return scratch.data(); }
};

template <class T>
int64_t length(T asked) {
  // float cannot hold large sizes, and may have rounded one down.
  return static_cast<int64_t>(std::ceil(std::real(asked) * (1 + 1e-6)));
}

}  // namespace facula::products
