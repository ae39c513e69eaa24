// The incomplete gamma functions, and sums of powers, for one number.
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

// The lower function, by its power series; for x up to about a.
FACULA_FN double igamma_by_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < 100000 && term > sum * 1e-17; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gamma_density(a, x);
}

// The upper function, by its continued fraction (Lentz's method); for larger x.
FACULA_FN double igammac_by_fraction(double a, double x) {
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
    if (::fabs(factor - 1) < 1e-16) break;
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

// `is_upper`: Q(a, x), else P(a, x) = 1 - Q(a, x).
FACULA_FN double igamma_of_lane(double a, double x, bool is_upper) {
  double all = is_upper ? 0 : 1, none = is_upper ? 1 : 0;
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0)) return nan<double>();
  if (a == infinity<double>()) return x == a ? nan<double>() : none;
  if (a == 0 || x == infinity<double>()) return all;
  if (x == 0) return none;
  if (a < 1e-300) return all;
  if (a > 1e7) return igamma_by_distance(a, x, is_upper);
  bool by_series = x < a + 1;
  double found = by_series ? igamma_by_series(a, x) : igammac_by_fraction(a, x);
  return by_series == is_upper ? 1 - found : found;
}

FACULA_FN double igamma(double a, double x) { return igamma_of_lane(a, x, false); }
FACULA_FN double igammac(double a, double x) { return igamma_of_lane(a, x, true); }
FACULA_FN float igamma(float a, float x) { return static_cast<float>(igamma_of_lane(a, x, false)); }
FACULA_FN float igammac(float a, float x) { return static_cast<float>(igamma_of_lane(a, x, true)); }

// The sum of (x + k)^-s over k >= 0, for s > 1 and x > 0, by Euler and Maclaurin: the first terms,
// then an integral and its corrections.
FACULA_FN double zeta_of_positive(double s, double x) {
  constexpr double bernoulli[] = {1. / 6,  -1. / 30,     1. / 42, -1. / 30,
                                  5. / 66, -691. / 2730, 7. / 6,  -3617. / 510};
  double sum = 0;
  // For large s each term is a small part of the one before: few are needed.
  for (; x < 9 + s; x += 1) {
    double term = ::pow(x, -s);
    sum += term;
    if (term <= sum * 1e-18) return sum;
  }
  sum += ::pow(x, 1 - s) / (s - 1) + 0.5 * ::pow(x, -s);
  double term = s / 2 * ::pow(x, -s - 1);
  for (int j = 0; j < 8; ++j) {
    sum += bernoulli[j] * term;
    double k = 2 * j + 1;
    term *= (s + k) * (s + k + 1) / ((k + 2) * (k + 3)) / (x * x);
  }
  return sum;
}

// Hurwitz's zeta function, the sum of (x + k)^-s over k >= 0.
FACULA_LANE_FN double zeta_of_lane(double s, double x) {
  if (s == 1) return infinity<double>();
  if (!(s > 1) || x != x) return nan<double>();
  if (x > 0) return zeta_of_positive(s, x);
  if (x == ::floor(x)) return infinity<double>();
  if (s != ::floor(s)) return nan<double>();
  // Terms of negative numbers, which are positive numbers but for the sign, are those of two sums
  // that begin at 1 - rest and end at 1 - x.
  double rest = x - ::floor(x), sign = ::fmod(s, 2) == 0 ? 1 : -1;
  double below = zeta_of_positive(s, 1 - rest) - zeta_of_positive(s, 1 - x);
  return zeta_of_positive(s, rest) + sign * below;
}

// The derivative of order n > 0 of digamma.
FACULA_LANE_FN double polygamma_of_lane(double n, double x) {
  double sign = ::fmod(n, 2) == 1 ? 1 : -1;
  if (x <= 0 && x == ::floor(x)) return sign * infinity<double>();
  return sign * ::tgamma(n + 1) * zeta_of_lane(n + 1, x);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
