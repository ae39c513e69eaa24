// The incomplete gamma functions, for one number, and sums of powers.
#pragma once
#include "math/special.h"

namespace facula::math {
inline namespace FACULA_ISA {

// x^a exp(-x) / Gamma(a), for a, x > 0.
FACULA_FN double gamma_density(double a, double x) {
  if (a < 20) return ::exp(a * ::log(x) - x - lgamma_of_lane(a));
  // Gamma by Stirling's series: large logarithms that would cancel are never formed.
  double u = (x - a) / a, b = 1 / (a * a);
  double correction = (1. / 12 - b * (1. / 360 - b * (1. / 1260))) / a;
  return ::sqrt(a / (2 * kPi)) * ::exp(a * (::log1p(u) - u) - correction);
}

// The lower function, by its power series; for x up to about a. `tolerance`: the relative error
// that may be left, in this function and the next.
FACULA_FN double igamma_by_series(double a, double x, double tolerance) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < 100000 && term > sum * tolerance; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gamma_density(a, x);
}

// The upper function, by its continued fraction (Lentz's method); for larger x.
FACULA_FN double igammac_by_fraction(double a, double x, double tolerance) {
  const double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, product = d;
  for (int n = 1; n < 100000; ++n) {
    double numerator = n * (a - n);
    b += 2;
    d = numerator * d + b;
    c = b + numerator / c;
    d = 1 / (::fabs(d) < tiny ? tiny : d);
    c = ::fabs(c) < tiny ? tiny : c;
    double factor = c * d;
    product *= factor;
    if (::fabs(factor - 1) < tolerance) break;
  }
  return product * gamma_density(a, x);
}

// For large a, where the series would be long: Temme's expansion by the distance of x from a, whose
// first two terms suffice.
FACULA_FN double igamma_by_distance(double a, double x, bool is_upper) {
  double u = (x - a) / a;
  // eta^2 / 2 = u - log(1 + u).
  double half = ::fabs(u) < 1e-2 ? u * u * (0.5 - u * (1. / 3 - u * (0.25 - u * (0.2 - u / 6))))
                                 : u - ::log1p(u);
  double eta = ::copysign(::sqrt(2 * half), u);
  double first = ::fabs(eta) < 1e-2
                     ? -1. / 3 + eta * (1. / 12 - eta * (2. / 135 - eta * (1. / 864)))
                     : 1 / u - 1 / eta;
  double rest = ::exp(-a * half) / ::sqrt(2 * kPi * a) * first;
  double sign = is_upper ? 1 : -1;
  return 0.5 * ::erfc(sign * eta * ::sqrt(a / 2)) + sign * rest;
}

// `is_upper`: Q(a, x), else P(a, x) = 1 - Q(a, x). For a float, fewer terms are enough, but where
// the difference takes the first digits away.
FACULA_FN double igamma_of_lane(double a, double x, bool is_upper, bool is_for_float) {
  double all = is_upper ? 0 : 1, none = is_upper ? 1 : 0;
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0)) return nan<double>();
  if (a == infinity<double>()) return x == a ? nan<double>() : none;
  if (a == 0 || x == infinity<double>()) return all;
  if (x == 0) return none;
  if (a < 1e-300) return all;
  if (a > 1e7) return igamma_by_distance(a, x, is_upper);
  bool by_series = x < a + 1;
  double found = by_series ? igamma_by_series(a, x, is_for_float && !is_upper ? 1e-11 : 1e-17)
                           : igammac_by_fraction(a, x, is_for_float ? 1e-11 : 1e-16);
  return by_series == is_upper ? 1 - found : found;
}

// The lower function for floats, by its power series: that of all lanes at once, each of which ends
// by itself. For a < 20.
template <class V>
FACULA_FN V igamma_by_series_of_lanes(V a, V x) {
  V term = V(1) / a, sum = term;
  for (int n = 1;; n += 2) {
    auto is_open = term > sum * V(1e-11);
    if (!any(is_open)) break;
    // One division for two terms.
    V low = a + V(n), high = low + V(1);
    V factor = select(is_open, x / (low * high), V(0));
    V next = term * (high * factor);
    term = next * (low * factor);
    sum = sum + (next + term);
  }
  return sum * exp(a * log(x) - x - lgamma_for_float(a));
}

template <class V>
FACULA_FN V igamma_of(V a, V x, bool is_upper, bool is_for_float) {
  return per_lane([=](double b, double y) { return igamma_of_lane(b, y, is_upper, is_for_float); },
                  a, x);
}
template <class V>
FACULA_LANE_FN V igamma_for_float(V a, V x, bool is_upper) {
  auto is_series = a > V(0) && a < V(20) && x > V(0) && x < a + V(1);
  V found = V(0);
  if (any(is_series)) {
    found = igamma_by_series_of_lanes(select(is_series, a, V(1)), select(is_series, x, V(1)));
    if (is_upper) {
      // What lgamma_for_float leaves of an error is too much for a small difference.
      is_series = is_series && found < V(0.98);
      found = V(1) - found;
    }
    if (all(is_series)) return found;
  }
  // NaN takes no time.
  return select(is_series, found, igamma_of(select(is_series, nan<V>(), a), x, is_upper, true));
}
#define FACULA_IGAMMA(name, is_upper)                                                           \
  template <class V>                                                                            \
  FACULA_FN V name(V a, V x) {                                                                  \
    if constexpr (kIsFloat<V>) {                                                                \
      return through_double([](auto b, auto y) { return igamma_for_float(b, y, is_upper); }, a, \
                            x);                                                                 \
    } else {                                                                                    \
      return igamma_of(a, x, is_upper, false);                                                  \
    }                                                                                           \
  }
FACULA_IGAMMA(igamma, false)
FACULA_IGAMMA(igammac, true)
#undef FACULA_IGAMMA

// The sum of (x + k)^-s over k >= 0, for s > 1 and x > 0, by Euler and Maclaurin: the first terms,
// then an integral and its corrections. For other s, where no sum would end, anything.
template <class V>
FACULA_LANE_FN V zeta_of_positive(V s, V x) {
  constexpr double bernoulli[] = {1. / 6,  -1. / 30,     1. / 42, -1. / 30,
                                  5. / 66, -691. / 2730, 7. / 6,  -3617. / 510};
  V sum = V(0);
  auto is_ended = !(s > V(1));
  if (!any(s > V(1))) return sum;
  // For large s each term is a small part of the one before: few are needed.
  for (;;) {
    auto is_open = x < V(9) + s && !is_ended;
    if (!any(is_open)) break;
    V term = pow(x, -s);
    sum = select(is_open, sum + term, sum);
    x = select(is_open, x + V(1), x);
    is_ended = is_ended || (is_open && term <= sum * V(1e-18));
  }
  V power = pow(x, -s);
  V rest = power * (x / (s - V(1)) + V(0.5));
  V term = s * V(0.5) * power / x, inverse = V(1) / (x * x);
  for (int j = 0; j < 8; ++j) {
    rest = fma(V(bernoulli[j]), term, rest);
    double k = 2 * j + 1;
    term = term * ((s + V(k)) * (s + V(k + 1)) * V(1 / ((k + 2) * (k + 3))) * inverse);
  }
  return select(is_ended, sum, sum + rest);
}

// Hurwitz's zeta function, the sum of (x + k)^-s over k >= 0.
template <class V>
FACULA_FN V zeta_in_double(V s, V x) {
  auto is_below = x <= V(0);
  V y = zeta_of_positive(s, select(is_below, V(1), x));
  if (any(is_below)) {
    // Terms of negative numbers, which are positive numbers but for the sign, are those of two
    // sums that begin at 1 - rest and end at 1 - x.
    V below = select(is_below, x, V(0));  // a sum that begins far below zero would never end
    V whole = floor(below), rest = below - whole, half = s * V(0.5);
    V between = zeta_of_positive(s, V(1) - rest) - zeta_of_positive(s, V(1) - below);
    V sum = zeta_of_positive(s, rest) + select(floor(half) == half, between, -between);
    sum = select(floor(s) == s, sum, nan<V>());
    y = select(is_below, select(x == whole, infinity<V>(), sum), y);
  }
  y = select(x == infinity<V>(), V(0), y);
  return select(s == V(1), infinity<V>(), select(s > V(1) && x == x, y, nan<V>()));
}
FACULA_BY_DOUBLE_OF_TWO(zeta)

// The derivative of digamma, as digamma itself is made.
template <class V>
FACULA_FN V trigamma_in_double(V x) {
  // Below 1/2: psi'(x) = (pi / sin(pi x))^2 - psi'(1 - x).
  auto is_reflected = x < V(0.5);
  V y = select(is_reflected, V(1) - x, x);
  V sum = V(0);
  for (int i = 0; i < 10; ++i) {
    auto is_small = y < V(10);
    sum = select(is_small, sum + V(1) / (y * y), sum);
    y = select(is_small, y + V(1), y);
  }
  V r = V(1) / y, z = r * r;
  V series = r * z * poly(z, 1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66, -691. / 2730, 7. / 6);
  V result = sum + (r + (V(0.5) * z + series));
  if (!any(is_reflected)) return result;
  V turned = V(kPi) / sin_pi_in_double(x);
  result = select(is_reflected, turned * turned - result, result);
  return select(x <= V(0) && floor(x) == x, infinity<V>(), result);
}

FACULA_BY_DOUBLE(trigamma)

// The derivative of order n > 0 of digamma. All lanes have one order.
FACULA_LANE_FN double polygamma_of_lane(double n, double x) {
  double sign = ::fmod(n, 2) == 1 ? 1 : -1;
  if (x <= 0 && x == ::floor(x)) return sign * infinity<double>();
  return sign * ::tgamma(n + 1) * zeta_in_double(n + 1, x);
}
template <class V>
FACULA_FN V polygamma(V n, V x) {
  if (!any(n != V(1))) return trigamma(x);
  auto of_lane = [](double order, double lane) { return polygamma_of_lane(order, lane); };
  return static_cast<V>(per_lane(of_lane, n, x));
}

}  // namespace FACULA_ISA
}  // namespace facula::math
