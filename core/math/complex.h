// The functions of complex numbers, with the principal values and branch cuts of C99.
#pragma once
#ifndef __CUDACC_RTC__
#include <complex>
#endif

#include "math/arithmetic.h"

namespace facula::math {
inline namespace FACULA_ISA {

#define FACULA_OF_COMPLEX(name)                       \
  template <class R>                                  \
  FACULA_FN std::complex<R> name(std::complex<R> x) { \
    return std::name(x);                              \
  }
FACULA_OF_COMPLEX(exp)
FACULA_OF_COMPLEX(log)
FACULA_OF_COMPLEX(log10)
FACULA_OF_COMPLEX(sqrt)
FACULA_OF_COMPLEX(sin)
FACULA_OF_COMPLEX(cos)
FACULA_OF_COMPLEX(tan)
FACULA_OF_COMPLEX(asin)
FACULA_OF_COMPLEX(acos)
FACULA_OF_COMPLEX(atan)
FACULA_OF_COMPLEX(sinh)
FACULA_OF_COMPLEX(cosh)
FACULA_OF_COMPLEX(tanh)
FACULA_OF_COMPLEX(asinh)
FACULA_OF_COMPLEX(acosh)
FACULA_OF_COMPLEX(atanh)
FACULA_OF_COMPLEX(conj)
#undef FACULA_OF_COMPLEX

// As written: C's multiplication looks for NaN after each product and is several times slower.
template <class R>
FACULA_FN std::complex<R> mul(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
// The part of b that is larger is divided by first, so that no square overflows. Without branches,
// so that the compiler makes vectors of it.
template <class R>
FACULA_FN std::complex<R> div(std::complex<R> a, std::complex<R> b) {
  bool is_real_larger = std::abs(b.real()) >= std::abs(b.imag());
  R large = is_real_larger ? b.real() : b.imag(), small = is_real_larger ? b.imag() : b.real();
  R along = is_real_larger ? a.real() : a.imag(), across = is_real_larger ? a.imag() : a.real();
  // By 0 the parts of a are divided each for itself.
  bool is_zero = (large == R(0)) & (small == R(0));
  R ratio = small / large;
  R divisor = is_zero ? R(0) : large + small * ratio;
  R real = along + (is_zero ? R(0) : across * ratio);
  R imag = across - (is_zero ? R(0) : along * ratio);
  return {real / divisor, (is_real_larger ? imag : -imag) / divisor};
}

constexpr double kLn2OfComplex = 0x1.62e42fefa39efp-1;
template <class R>
FACULA_FN std::complex<R> exp2(std::complex<R> x) {
  return std::exp(x * R(kLn2OfComplex));
}
template <class R>
FACULA_FN std::complex<R> log2(std::complex<R> x) {
  return std::log(x) / R(kLn2OfComplex);
}
template <class R>
FACULA_FN std::complex<R> expm1(std::complex<R> x) {
  // exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin(b/2)^2, where nothing cancels for small x.
  R s = std::sin(x.imag() / 2);
  R real = std::expm1(x.real()) * std::cos(x.imag()) - 2 * s * s;
  return {real, std::exp(x.real()) * std::sin(x.imag())};
}
template <class R>
FACULA_FN std::complex<R> log1p(std::complex<R> x) {
  R a = x.real(), b = x.imag();
  R square = a * (2 + a) + b * b;
  R real = std::abs(a) < R(0.5) && std::abs(b) < R(0.5) ? std::log1p(square) / 2
                                                        : std::log(std::hypot(1 + a, b));
  return {real, std::atan2(b, 1 + a)};
}
template <class R>
FACULA_FN std::complex<R> rsqrt(std::complex<R> x) {
  return div(std::complex<R>(1), std::sqrt(x));
}
template <class R>
FACULA_FN std::complex<R> sigmoid(std::complex<R> x) {
  return div(std::complex<R>(1), R(1) + std::exp(-x));
}
template <class R>
FACULA_FN std::complex<R> silu(std::complex<R> x) {
  return div(x, R(1) + std::exp(-x));
}
template <class R>
FACULA_FN std::complex<R> sinc(std::complex<R> x) {
  if (x == std::complex<R>(0)) return R(1);
  std::complex<R> turned = x * R(kPi);
  return div(std::sin(turned), turned);
}
template <class R>
FACULA_FN std::complex<R> sgn(std::complex<R> x) {
  // Without branches, so that the compiler makes vectors of it.
  double a = x.real(), b = x.imag();
  if constexpr (sizeof(R) == 8) {
    // Scaled by a power of two, so that no square overflows or vanishes.
    double large = std::abs(a) > std::abs(b) ? std::abs(a) : std::abs(b);
    double scale = large > 0x1p500 ? 0x1p-600 : large < 0x1p-450 ? 0x1p600 : 1;
    a *= scale;
    b *= scale;
  }
  double size = std::sqrt(a * a + b * b);
  double divisor = size == 0 ? 1 : size;
  return {static_cast<R>(a / divisor), static_cast<R>(b / divisor)};
}
template <class R>
FACULA_FN std::complex<R> pow(std::complex<R> a, std::complex<R> b) {
  if (b == std::complex<R>(0)) return R(1);
  return std::pow(a, b);
}
template <class R>
FACULA_FN std::complex<R> power(std::complex<R> a, std::complex<R> b) {
  return math::pow(a, b);
}
template <class R>
FACULA_FN std::complex<R> logaddexp(std::complex<R> a, std::complex<R> b) {
  if (a.real() < b.real()) std::swap(a, b);
  if (std::isinf(a.real()) && a == b) return a;
  return a + log1p(std::exp(b - a));
}
template <class R>
FACULA_FN std::complex<R> lerp(std::complex<R> a, std::complex<R> b, std::complex<R> weight) {
  // Without branches, so that the compiler makes vectors of it.
  R size = weight.real() * weight.real() + weight.imag() * weight.imag();
  bool is_near = size < R(0.25);
  std::complex<R> step = mul(b - a, is_near ? weight : R(1) - weight);
  return is_near ? a + step : b - step;
}

}  // namespace FACULA_ISA
}  // namespace facula::math
