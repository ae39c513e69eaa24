// Orthogonal polynomials. V is double or a vector of doubles, but for the functions at the end of
// each part. The degree is cut to an integer; polynomials of negative degree are zero.
#pragma once
#include "math/special.h"

namespace facula::math {
inline namespace FACULA_ISA {

// The degree without its fraction, as PyTorch takes it.
template <class V>
FACULA_FN V degree(V n) {
  return select(n > V(-1), trunc(n), V(-1));
}

// By p(k+1) = step(k, p(k), p(k-1)). A value that is not a number stays so.
template <class V, class Step>
FACULA_FN V by_recurrence(V p0, V p1, V n, Step step) {
  V before = p0, last = p1;
  for (V k = V(1);; k = k + V(1)) {
    auto is_below = k < n && last == last;
    if (!any(is_below)) break;
    V next = step(k, last, before);
    before = select(is_below, last, before);
    last = select(is_below, next, last);
  }
  return select(n < V(0), V(0), select(n == V(0), p0, last));
}

// Chebyshev's four kinds have one recurrence, and differ in the polynomial of degree 1, 2x +
// `shift` (for the first kind, x). With x = cos(t) they are ratios of sines and cosines of
// multiples of t, which takes less time where n is large.
enum class Chebyshev { T, U, V, W };
template <Chebyshev kKind, class V>
FACULA_LANE_FN V chebyshev_inside(V x, V n) {
  V t = acos(x);
  if constexpr (kKind == Chebyshev::T) return cos(n * t);
  if constexpr (kKind == Chebyshev::U) return sin((n + V(1)) * t) / sin(t);
  if constexpr (kKind == Chebyshev::V) return cos((n + V(0.5)) * t) / cos(t * V(0.5));
  if constexpr (kKind == Chebyshev::W) return sin((n + V(0.5)) * t) / sin(t * V(0.5));
}
template <Chebyshev kKind, class V>
FACULA_FN V chebyshev_at_end(V x, V n) {
  V half = n * V(0.5);
  V sign = select(x > V(0) || trunc(half) == half, V(1), V(-1));
  V twice = n + n + V(1);
  if constexpr (kKind == Chebyshev::T) return sign;
  if constexpr (kKind == Chebyshev::U) return sign * (n + V(1));
  if constexpr (kKind == Chebyshev::V) return select(x > V(0), V(1), sign * twice);
  if constexpr (kKind == Chebyshev::W) return select(x > V(0), twice, sign);
}
template <Chebyshev kKind, class V>
FACULA_FN V chebyshev(V x, V degree_given) {
  V n = degree(degree_given);
  auto is_end = abs(x) == V(1) && n >= V(0);
  auto is_inside = n > V(8) && abs(x) < V(1);
  V p1 = kKind == Chebyshev::T ? x : x + x + V(kKind == Chebyshev::V ? -1 : kKind == Chebyshev::W);
  V y = by_recurrence(V(1), p1, select(is_end || is_inside, V(0), n),
                      [x](V, V p, V before) { return (x + x) * p - before; });
  if (any(is_inside)) y = select(is_inside, chebyshev_inside<kKind>(x, n), y);
  return any(is_end) ? select(is_end, chebyshev_at_end<kKind>(x, n), y) : y;
}
#define FACULA_CHEBYSHEV(name, kind)                                      \
  template <class V>                                                      \
  FACULA_FN V chebyshev_polynomial_##name##_in_double(V x, V n) {         \
    return chebyshev<Chebyshev::kind>(x, n);                              \
  }                                                                       \
  /* Shifted from [-1, 1] to [0, 1]. */                                   \
  template <class V>                                                      \
  FACULA_FN V shifted_chebyshev_polynomial_##name##_in_double(V x, V n) { \
    return chebyshev<Chebyshev::kind>(x + x - V(1), n);                   \
  }                                                                       \
  FACULA_BY_DOUBLE_OF_TWO(chebyshev_polynomial_##name)                    \
  FACULA_BY_DOUBLE_OF_TWO(shifted_chebyshev_polynomial_##name)
FACULA_CHEBYSHEV(t, T)
FACULA_CHEBYSHEV(u, U)
FACULA_CHEBYSHEV(v, V)
FACULA_CHEBYSHEV(w, W)
#undef FACULA_CHEBYSHEV

// Hermite's: past this degree they overflow at nearly every x, and PyTorch gives NaN.
constexpr double kMaxHermiteDegree = 512;
template <class V, class Step>
FACULA_FN V hermite(V p1, V degree_given, Step step) {
  V n = degree(degree_given);
  auto is_high = n > V(kMaxHermiteDegree);
  return select(is_high, nan<V>(), by_recurrence(V(1), p1, select(is_high, V(0), n), step));
}
template <class V>
FACULA_FN V hermite_polynomial_h_in_double(V x, V n) {
  return hermite(x + x, n, [x](V k, V p, V before) { return (x + x) * p - (k + k) * before; });
}
template <class V>
FACULA_FN V hermite_polynomial_he_in_double(V x, V n) {
  return hermite(x, n, [x](V k, V p, V before) { return x * p - k * before; });
}
FACULA_BY_DOUBLE_OF_TWO(hermite_polynomial_h)
FACULA_BY_DOUBLE_OF_TWO(hermite_polynomial_he)

// Past this degree the recurrences of the two below, which need not end by overflow, would take too
// long: limits for many degrees take their place.
constexpr double kMaxRecurrence = 0x1p22;

// For x below zero by the terms, which are all positive. Else the leading term of the expansion in
// Bessel functions that holds for 0 < x < 4n + 2; where it ends exp(x / 2) has long been infinite.
FACULA_LANE_FN double laguerre_of_high_degree(double x, double n) {
  if (x < 0) {
    double term = 1, sum = 1;
    for (double k = 0; k < n && term > sum * 1e-17 && sum < infinity<double>(); ++k) {
      term *= (n - k) / (k + 1) * (-x / (k + 1));
      sum += term;
    }
    return sum;
  }
  double scale = 4 * n + 2, u = x / scale;
  if (u >= 1) return ::fmod(n, 2) == 0 ? infinity<double>() : -infinity<double>();
  double phase = (::sqrt(u - u * u) + ::asin(::sqrt(u))) / 2;
  return ::exp(x / 2) * ::sqrt(phase / ::sqrt(u - u * u)) * ::j0(scale * phase);
}
template <class V>
FACULA_FN V laguerre_polynomial_l_in_double(V x, V degree_given) {
  V n = degree(degree_given);
  auto is_high = n > V(kMaxRecurrence) && (x < V(0) || x > V(0));
  V p1 = V(1) - x;
  V y = by_recurrence(
      V(1), p1, select(is_high || (x == V(0) && n > V(0)), V(0), n),
      [p1](V k, V p, V before) { return ((k + k + p1) * p - k * before) / (k + V(1)); });
  if (!any(is_high)) return y;
  V high =
      per_lane([](double lane,
                  double m) { return m > kMaxRecurrence ? laguerre_of_high_degree(lane, m) : 0; },
               x, n);
  return select(is_high, high, y);
}

FACULA_LANE_FN double legendre_of_high_degree(double x, double n) {
  double t = ::acos(::fabs(x));
  double y = ::sqrt(t / ::sin(t)) * ::j0((n + 0.5) * t);  // Hilb's formula
  return x < 0 && ::fmod(n, 2) == 1 ? -y : y;
}
template <class V>
FACULA_FN V legendre_polynomial_p_in_double(V x, V degree_given) {
  V n = degree(degree_given), half = n * V(0.5);
  auto is_end = abs(x) == V(1) && n >= V(0);
  auto is_high = n > V(kMaxRecurrence) && abs(x) < V(1);
  V y = by_recurrence(V(1), x, select(is_high || is_end, V(0), n), [x](V k, V p, V before) {
    return ((k + k + V(1)) * x * p - k * before) / (k + V(1));
  });
  y = select(is_end && x < V(0) && trunc(half) != half, V(-1), y);
  if (!any(is_high)) return y;
  V high =
      per_lane([](double lane,
                  double m) { return m > kMaxRecurrence ? legendre_of_high_degree(lane, m) : 0; },
               x, n);
  return select(is_high, high, y);
}
FACULA_BY_DOUBLE_OF_TWO(laguerre_polynomial_l)
FACULA_BY_DOUBLE_OF_TWO(legendre_polynomial_p)

}  // namespace FACULA_ISA
}  // namespace facula::math
