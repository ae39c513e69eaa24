// How a gamma or beta number moves with its parameter while its quantile stays: the derivative of
// a sample, -(dF/da) / (dF/dx) for the distribution function F. All terms of the sums below have
// one sign, so nothing cancels.
#pragma once
#include "math/special.h"

namespace facula::math {
inline namespace FACULA_ISA {

// A sum ends with the first term below `precision` of it: that of T, with digits to spare.
template <class T>
constexpr double kSlopePrecision = sizeof(T) == 4 ? 1e-10 : 1e-17;
// Sums of more terms than this belong to parameters beyond 1e9.
constexpr int64_t kMaxSlopeTerms = 1000000;

// From F(a, x) = x^a exp(-x) sum of x^n / Gamma(a + n + 1), for x up to about a.
FACULA_FN double gamma_slope_by_series(double a, double x, double precision) {
  double term = 1 / a, factor = digamma(a + 1) - ::log(x), sum = term * factor;
  for (int64_t n = 1; n < kMaxSlopeTerms; ++n) {
    double inverse = 1 / (a + n);
    term *= x * inverse;
    factor += inverse;
    sum += term * factor;
    if (term * factor < sum * precision) break;
  }
  return x * sum;
}

// From 1 - F(a, x) = x^a exp(-x) / Gamma(a) h(a, x), where h is a continued fraction (evaluated by
// Lentz's method together with its derivative by a), for larger x.
FACULA_FN double gamma_slope_by_fraction(double a, double x, double precision) {
  // b, c, d and the factors of h as in Lentz's method; d_b and so on are their derivatives by a.
  double b = x + 1 - a, d_b = -1;
  double d = 1 / b, d_d = d * d;
  double c = 0, d_c = 0, inverse_c = 0;
  double h = d, d_log_h = d_d / d;
  for (int64_t n = 1; n < kMaxSlopeTerms; ++n) {
    double numerator = n * (a - n), d_numerator = static_cast<double>(n);
    b += 2;
    double e = numerator * d + b, d_e = d_numerator * d + numerator * d_d + d_b;
    d = 1 / e;
    d_d = -d_e * d * d;
    d_c = d_b + d_numerator * inverse_c - numerator * inverse_c * inverse_c * d_c;
    c = b + numerator * inverse_c;
    inverse_c = 1 / c;
    double factor = c * d, d_log_factor = d_c * inverse_c + d_d / d;
    h *= factor;
    d_log_h += d_log_factor;
    if (::fabs(factor - 1) <= 10 * precision &&
        ::fabs(d_log_factor) <= 10 * precision * ::fabs(d_log_h))
      break;
  }
  return x * h * (::log(x) - digamma(a) + d_log_h);
}

// For large a: x = a + z sqrt(a) + (z^2 - 1) / 3 + (z^3 - 7 z) / (36 sqrt(a)) + ... (Cornish and
// Fisher), where z is the normal number of the same quantile (here by Wilson and Hilferty).
FACULA_FN double gamma_slope_by_quantile(double a, double x) {
  double root = ::sqrt(a);
  double z = 3 * root * (::cbrt(x / a) - 1 + 1 / (9 * a));
  return 1 + z / (2 * root) - z * (z * z - 7) / (72 * a * root);
}

// dx/da for x of the gamma distribution of shape a and rate 1.
FACULA_FN double gamma_slope(double a, double x, double precision) {
  if (!(a > 0) || !(x >= 0 && x < infinity<double>())) return nan<double>();
  if (x == 0) return 0;
  if (a > 1e5) return gamma_slope_by_quantile(a, x);
  return x < a + 0.5 ? gamma_slope_by_series(a, x, precision)
                     : gamma_slope_by_fraction(a, x, precision);
}

// dx/da / (1 - x) for x of the beta distribution of a and b; total: a + b.
FACULA_FN double beta_slope(double x, double a, double total, double precision) {
  double b = total - a;
  if (!(a > 0) || !(b >= 0 && b < infinity<double>()) || !(x >= 0 && x <= 1)) return nan<double>();
  // Without b, lost in the rounding of the total or not there at all, x is 1 whatever a is.
  if (x == 0 || x == 1 || b == 0) return 0;
  double log_x = ::log(x), psi_a = digamma(a), psi_total = digamma(total);
  // Up to exp(psi_a + 1/a - psi_total) all terms of the sum from below are positive, from
  // exp(psi_a - psi_total) on those of the sum from above. Between the two the nearest to 1/2, for
  // fewest terms.
  double highest = psi_a + 1 / a - psi_total, lowest = psi_a - psi_total;
  double split = ::fmin(::fmax(::log(0.5), lowest), highest);
  bool is_low = log_x < split;
  // F(x) = x^a (1-x)^b Gamma(total) / (Gamma(a+1) Gamma(b)) sum of (total)_n / (a+1)_n x^n, or
  // 1 - F(x) by the same of 1 - x and b.
  double power = is_low ? x : 1 - x, below = is_low ? a : b;
  double factor = is_low ? highest - log_x : log_x - lowest;
  double term = x / below, sum = term * factor;
  for (int64_t n = 0; n < kMaxSlopeTerms; ++n) {
    double inverse = 1 / (below + 1 + n), inverse_total = 1 / (total + n);
    term *= power * (total + n) * inverse;
    factor += is_low ? inverse - inverse_total : inverse_total;
    sum += term * factor;
    if (term * factor < sum * precision) break;
  }
  return sum;
}

}  // namespace FACULA_ISA
}  // namespace facula::math
