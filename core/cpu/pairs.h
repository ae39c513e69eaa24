// Complex numbers in vectors: the real parts in one, the imaginary parts in another.
#pragma once
#include <algorithm>
#include <complex>

#include "cpu/formulas.h"
#include "cpu/vec_lanes.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

template <class R>
struct Pairs {
  static constexpr int64_t kLanes = Vec<R>::kLanes;
  using Element = std::complex<R>;
  Vec<R> real, imag;

  Pairs() = default;
  FACULA_FN Pairs(Vec<R> real, Vec<R> imag) : real(real), imag(imag) {}
  FACULA_FN Pairs(Element value) : real(value.real()), imag(value.imag()) {}

  static FACULA_FN Pairs load(const Element* from) {
    const R* parts = reinterpret_cast<const R*>(from);
    Vec<R> lower = Vec<R>::load(parts), upper = Vec<R>::load(parts + kLanes);
    return {evens(lower, upper), odds(lower, upper)};
  }
  // The first n; the others are `rest`.
  static FACULA_FN Pairs load(const Element* from, int64_t n, Element rest) {
    Element some[kLanes];
    std::fill_n(std::copy_n(from, n, some), kLanes - n, rest);
    return load(some);
  }
  FACULA_FN void store(Element* to) const {
    R* parts = reinterpret_cast<R*>(to);
    turns_of_lower(real, imag).store(parts);
    turns_of_upper(real, imag).store(parts + kLanes);
  }
  FACULA_FN Element operator[](int i) const { return {real[i], imag[i]}; }

  friend FACULA_FN Pairs mul(Pairs a, Pairs b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
  }
};

// y[i] = f(x[i]). Elements that are not dense, and the last ones, go through a block of one vector.
template <class R, class F>
[[gnu::noinline]] void map_pairs(char** data, const int64_t* strides, int64_t n, F f) {
  using E = std::complex<R>;
  constexpr int64_t L = Pairs<R>::kLanes, size = sizeof(E);
  const bool is_dense = strides[0] == size && strides[1] == size;
  const int64_t y_step = strides[0], x_step = strides[1];
  E some[L] = {};
  for (int64_t i = 0; i < n; i += L) {
    int64_t taken = std::min(L, n - i);
    bool is_whole = is_dense && taken == L;
    char *y = data[0] + i * y_step, *x = data[1] + i * x_step;
    if (!is_whole)
      for (int64_t k = 0; k < taken; ++k) some[k] = *reinterpret_cast<const E*>(x + k * x_step);
    f(Pairs<R>::load(is_whole ? reinterpret_cast<const E*>(x) : some))
        .store(is_whole ? reinterpret_cast<E*>(y) : some);
    if (!is_whole)
      for (int64_t k = 0; k < taken; ++k) *reinterpret_cast<E*>(y + k * y_step) = some[k];
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu

namespace facula::math {
inline namespace FACULA_ISA {

using cpu::Pairs;

template <class R>
FACULA_FN Pairs<R> exp(Pairs<R> x) {
  using V = Vec<R>;
  V size = exp(x.real);
  Pairs<R> y(size * cos(x.imag), size * sin(x.imag));
  // Beyond, the size alone may overflow, and C has special cases.
  auto is_plain = abs(x.real) < V(sizeof(R) == 4 ? 80 : 700) && abs(x.imag) < infinity<V>();
  if (__builtin_expect(!any(!is_plain), 1)) return y;
  for (int i = 0; i < Pairs<R>::kLanes; ++i) {
    if (is_plain[i]) continue;
    std::complex<R> lane = std::exp(x[i]);
    y.real.v[i] = lane.real();
    y.imag.v[i] = lane.imag();
  }
  return y;
}
// As of one number, in math/complex.h.
template <class R>
FACULA_FN Pairs<R> div(Pairs<R> a, Pairs<R> b) {
  using V = Vec<R>;
  auto is_real_larger = abs(b.real) >= abs(b.imag);
  V large = select(is_real_larger, b.real, b.imag), small = select(is_real_larger, b.imag, b.real);
  V along = select(is_real_larger, a.real, a.imag), across = select(is_real_larger, a.imag, a.real);
  auto is_zero = large == V(0) && small == V(0);
  V ratio = small / large;
  V divisor = select(is_zero, V(0), large + small * ratio);
  V real = along + select(is_zero, V(0), across * ratio);
  V imag = across - select(is_zero, V(0), along * ratio);
  return {real / divisor, select(is_real_larger, imag, -imag) / divisor};
}
template <class R>
FACULA_FN Pairs<R> one_plus_exp_of_minus(Pairs<R> x) {
  Pairs<R> y = exp(Pairs<R>(-x.real, -x.imag));
  return {Vec<R>(R(1)) + y.real, y.imag};
}
template <class R>
FACULA_FN Pairs<R> sigmoid(Pairs<R> x) {
  return div(Pairs<R>(std::complex<R>(1)), one_plus_exp_of_minus(x));
}
template <class R>
FACULA_FN Pairs<R> silu(Pairs<R> x) {
  return div(x, one_plus_exp_of_minus(x));
}

}  // namespace FACULA_ISA
}  // namespace facula::math
