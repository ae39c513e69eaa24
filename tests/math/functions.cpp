// The formulas of core/math as a C library, so that Python can sweep them: each over vectors and
// over single elements, and its error in units in the last place against the C library in wider
// precision. Compiled once per instruction set by test_math.py.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu/vec.h"
#include "math/activations.h"
#include "math/arithmetic.h"
#include "math/bessel.h"

namespace math = facula::math;
using facula::BFloat16;
using facula::Half;
using facula::cpu::Vec;

namespace {

template <class R>
R reference_digamma(R x) {
  constexpr R pi = 3.14159265358979323846264338327950288L;
  if (x == 0) return std::copysign(std::numeric_limits<R>::infinity(), -x);
  if (x < 0 && std::round(x) == x) return std::numeric_limits<R>::quiet_NaN();
  if (x < R(0.5)) {
    R r = x - std::round(x);
    return reference_digamma(1 - x) - pi / std::tan(pi * r);
  }
  R sum = 0;
  for (; x < 40; x += 1) sum += 1 / x;
  R z = 1 / (x * x);
  R series = z * (R(1) / 12 - z * (R(1) / 120 - z * (R(1) / 252 - z * (R(1) / 240 - z / 132))));
  return std::log(x) - R(0.5) / x - series - sum;
}

template <class R>
R reference_erfinv(R x) {
  R a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? x * std::numeric_limits<R>::infinity() : R(0) / R(0);
  if (x == 0) return x;
  R w = -std::log((1 - a) * (1 + a));
  // Winitzki's start, then Newton's method.
  R c = R(4.3307) + w / -2;
  R y = std::sqrt(std::sqrt(c * c + w / R(0.147)) - c);
  for (int i = 0; i < 60; ++i) {
    R error = a < R(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    R step = error * std::sqrt(R(3.14159265358979323846264338327950288L)) / 2 * std::exp(y * y);
    y -= step / (1 + y * step);
    if (std::fabs(step) < std::numeric_limits<R>::epsilon() * y) break;
  }
  return std::copysign(y, x);
}

template <class R>
R reference_sinc(R x) {
  constexpr R pi = 3.14159265358979323846264338327950288L;
  if (x == 0) return 1;
  R r = std::remainder(x, R(2));
  // sin(pi r) by symmetry from the half of the range where pi r is accurate.
  if (std::fabs(r) > R(0.5)) r = std::copysign(1 - std::fabs(r), r);
  return std::sin(pi * r) / (pi * x) + 0;
}

template <class R>
R reference_i0(R x) {
  x = std::fabs(x);
  if (x > 800) return std::isnan(x) ? x : std::numeric_limits<R>::infinity();
  R term = 1, sum = 1;
  for (int k = 1; k < 2000 && term > sum * std::numeric_limits<R>::epsilon() / 8; ++k) {
    term *= (x / 2 / k) * (x / 2 / k);
    sum += term;
  }
  return std::isnan(x) ? x : sum;
}

template <class R>
R reference_i1(R x) {
  R a = std::fabs(x);
  if (a > 800) return std::isnan(x) ? x : std::copysign(std::numeric_limits<R>::infinity(), x);
  R term = x / 2, sum = term;
  for (int k = 1; k < 2000 && std::fabs(term) > std::fabs(sum) * 1e-22L; ++k) {
    term *= (a / 2 / k) * (a / 2 / (k + 1));
    sum += term;
  }
  return std::isnan(x) ? x : sum + 0;  // zeros are positive
}

// Of the C library, for double and long double; at infinity and below zero as PyTorch.
#define REFERENCE_BESSEL(name, outside)                                                          \
  double reference_##name(double x) { return std::isfinite(x) && !(outside) ? ::name(x) : NAN; } \
  long double reference_##name(long double x) {                                                  \
    return std::isfinite(x) && !(outside) ? ::name##l(x) : NAN;                                  \
  }
REFERENCE_BESSEL(j0, false)
REFERENCE_BESSEL(j1, false)
REFERENCE_BESSEL(y0, x < 0)
REFERENCE_BESSEL(y1, x < 0)
#undef REFERENCE_BESSEL

template <class R>
R reference_softplus(R x) {
  return std::fmax(x, R(0)) + std::log1p(std::exp(-std::fabs(x))) + (std::isnan(x) ? x : 0);
}

template <class R>
R reference_logsigmoid(R x) {
  return std::fmin(x, R(0)) - std::log1p(std::exp(-std::fabs(x))) + (std::isnan(x) ? x : 0);
}

template <class R>
R reference_logit(R x) {
  return x < R(0.25) ? std::log(x) - std::log1p(-x) : 2 * std::atanh(2 * x - 1);
}

template <class R>
R reference_gelu(R x) {
  return x / 2 * std::erfc(-x / std::sqrt(R(2)));
}

template <class R>
R reference_gelu_tanh(R x) {
  R y =
      std::sqrt(R(8) / R(3.14159265358979323846264338327950288L)) * (x + R(0.044715L) * x * x * x);
  return x / (1 + std::exp(-y));
}

// name, value by the C library for x (and y), in the type R
#define FOR_EACH_UNARY(F)                      \
  F(exp, std::exp(x))                          \
  F(exp2, std::exp2(x))                        \
  F(expm1, std::expm1(x))                      \
  F(log, std::log(x))                          \
  F(log2, std::log2(x))                        \
  F(log10, std::log10(x))                      \
  F(log1p, std::log1p(x))                      \
  F(logit, reference_logit(x))                 \
  F(sqrt, std::sqrt(x))                        \
  F(rsqrt, 1 / std::sqrt(x))                   \
  F(sin, std::sin(x))                          \
  F(cos, std::cos(x))                          \
  F(tan, std::tan(x))                          \
  F(sinc, reference_sinc(x))                   \
  F(asin, std::asin(x))                        \
  F(acos, std::acos(x))                        \
  F(atan, std::atan(x))                        \
  F(sinh, std::sinh(x))                        \
  F(cosh, std::cosh(x))                        \
  F(tanh, std::tanh(x))                        \
  F(asinh, std::asinh(x))                      \
  F(acosh, std::acosh(x))                      \
  F(atanh, std::atanh(x))                      \
  F(erf, std::erf(x))                          \
  F(erfc, std::erfc(x))                        \
  F(erfinv, reference_erfinv(x))               \
  F(lgamma, std::lgamma(x))                    \
  F(digamma, reference_digamma(x))             \
  F(i0, reference_i0(x))                       \
  F(i1, reference_i1(x))                       \
  F(bessel_j0, reference_j0(x))                \
  F(bessel_j1, reference_j1(x))                \
  F(bessel_y0, reference_y0(x))                \
  F(bessel_y1, reference_y1(x))                \
  F(sigmoid, 1 / (1 + std::exp(-x)))           \
  F(silu, x / (1 + std::exp(-x)))              \
  F(softplus, reference_softplus(x))           \
  F(logsigmoid, reference_logsigmoid(x))       \
  F(mish, x* std::tanh(reference_softplus(x))) \
  F(gelu, reference_gelu(x))                   \
  F(gelu_tanh, reference_gelu_tanh(x))         \
  F(floor, std::floor(x))                      \
  F(ceil, std::ceil(x))                        \
  F(trunc, std::trunc(x))                      \
  F(round, std::nearbyint(x))                  \
  F(abs, std::fabs(x))
#define FOR_EACH_BINARY(F)               \
  F(pow, std::pow(x, y))                 \
  F(atan2, std::atan2(x, y))             \
  F(min, x < y || std::isnan(x) ? x : y) \
  F(max, x > y || std::isnan(x) ? x : y)

enum Path { kVector, kScalar };

// f over n elements, by vectors with a shorter last one, or one by one.
template <class T, class F>
void apply(Path path, F f, const T* x, T* out, int64_t n) {
  if (path == kScalar) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
    return;
  }
  int64_t i = 0;
  for (; i + Vec<T>::kLanes <= n; i += Vec<T>::kLanes) f(Vec<T>::load(x + i)).store(out + i);
  if (i < n) f(Vec<T>::load(x + i, n - i)).store(out + i, n - i);
}
template <class T, class F>
void apply(Path path, F f, const T* x, const T* y, T* out, int64_t n) {
  if (path == kScalar) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
    return;
  }
  int64_t i = 0;
  for (; i + Vec<T>::kLanes <= n; i += Vec<T>::kLanes) {
    f(Vec<T>::load(x + i), Vec<T>::load(y + i)).store(out + i);
  }
  if (i < n) f(Vec<T>::load(x + i, n - i), Vec<T>::load(y + i, n - i)).store(out + i, n - i);
}

// |got - exact| in units of the last place that exact has as a T, or `floor` if exact is smaller.
// Infinite if one is NaN and the other not, or if a zero has the wrong sign.
template <class T, class R>
double ulp_error(T got, R exact, double floor) {
  using Limits = std::numeric_limits<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : wrong;
  if (std::isinf(exact)) return got == exact ? 0 : wrong;
  if (exact == 0 && got == 0) return std::signbit(got) == std::signbit(exact) ? 0 : wrong;
  int exponent = exact == 0 ? Limits::min_exponent : std::ilogb(exact) + 1;
  // Beyond the largest T, infinity is the right answer, and stands for the next power of two.
  exponent = exponent > Limits::max_exponent ? Limits::max_exponent : exponent;
  int lowest = floor > 0 ? std::ilogb(floor) + 1 : Limits::min_exponent;
  R unit = std::ldexp(R(1), (exponent < lowest ? lowest : exponent) - Limits::digits);
  R top = std::ldexp(R(1), Limits::max_exponent);
  R seen = std::isinf(got) ? std::copysign(top, R(got)) : R(got);
  R limited = std::fabs(exact) > top ? std::copysign(top, exact) : exact;
  return static_cast<double>(std::fabs(seen - limited) / unit);
}

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

// The largest error over n elements, and the index where it is.
template <class T, class F>
double largest_error(F exact_at, const T* got, int64_t n, double floor, int64_t* where) {
  double worst = -1;
  for (int64_t i = 0; i < n; ++i) {
    double error = ulp_error(got[i], exact_at(i), floor);
    if (error > worst) {
      worst = error;
      *where = i;
    }
  }
  return worst;
}

}  // namespace

#define UNARY_OF(name, suffix, T, value)                                                    \
  extern "C" void name##_##suffix(int path, const T* x, const T*, T* out, int64_t n) {      \
    apply(                                                                                  \
        Path(path), [](auto v) { return math::name(v); }, x, out, n);                       \
  }                                                                                         \
  extern "C" double name##_##suffix##_error(const T* in, const T*, const T* got, int64_t n, \
                                            double floor, int64_t* where) {                 \
    auto exact = [&](int64_t i) {                                                           \
      Wider<T> x = in[i];                                                                   \
      return Wider<T>(value);                                                               \
    };                                                                                      \
    return largest_error(exact, got, n, floor, where);                                      \
  }
#define BINARY_OF(name, suffix, T, value)                                                       \
  extern "C" void name##_##suffix(int path, const T* x, const T* y, T* out, int64_t n) {        \
    apply(                                                                                      \
        Path(path), [](auto v, auto w) { return math::name(v, w); }, x, y, out, n);             \
  }                                                                                             \
  extern "C" double name##_##suffix##_error(const T* in, const T* in2, const T* got, int64_t n, \
                                            double floor, int64_t* where) {                     \
    auto exact = [&](int64_t i) {                                                               \
      Wider<T> x = in[i], y = in2[i];                                                           \
      return Wider<T>(value);                                                                   \
    };                                                                                          \
    return largest_error(exact, got, n, floor, where);                                          \
  }
#define UNARY(name, value) UNARY_OF(name, f32, float, value) UNARY_OF(name, f64, double, value)
#define BINARY(name, value) BINARY_OF(name, f32, float, value) BINARY_OF(name, f64, double, value)
FOR_EACH_UNARY(UNARY)
FOR_EACH_BINARY(BINARY)

// There and back: the 16-bit types through a vector of floats.
template <class S>
static void round_to(const float* x, S* out, int64_t n) {
  for (int64_t i = 0; i < n; i += Vec<float>::kLanes) {
    int64_t count = n - i < Vec<float>::kLanes ? n - i : Vec<float>::kLanes;
    Vec<float>::load(x + i, count).store(out + i, count);
  }
}
template <class S>
static void widen_from(const S* x, float* out, int64_t n) {
  for (int64_t i = 0; i < n; i += Vec<float>::kLanes) {
    int64_t count = n - i < Vec<float>::kLanes ? n - i : Vec<float>::kLanes;
    Vec<float>::load(x + i, count).store(out + i, count);
  }
}
extern "C" void to_half(const float* x, Half* out, int64_t n) { round_to(x, out, n); }
extern "C" void from_half(const Half* x, float* out, int64_t n) { widen_from(x, out, n); }
extern "C" void to_bfloat16(const float* x, BFloat16* out, int64_t n) { round_to(x, out, n); }
extern "C" void from_bfloat16(const BFloat16* x, float* out, int64_t n) { widen_from(x, out, n); }
extern "C" int n_lanes() { return Vec<float>::kLanes; }
