// Bessel functions and their kin, for one number in double precision.
#pragma once
#include "math/special.h"

namespace facula::math {
inline namespace FACULA_ISA {

constexpr double kEuler = 0.57721566490153286;

// ---- of the first and second kind: those of the C library, which CUDA has too. At infinity
// PyTorch has no value.

FACULA_LANE_FN double bessel_j0_of_lane(double x) { return x - x == 0 ? ::j0(x) : x - x; }
FACULA_LANE_FN double bessel_j1_of_lane(double x) { return x - x == 0 ? ::j1(x) : x - x; }
FACULA_LANE_FN double bessel_y0_of_lane(double x) {
  if (x == 0) return -infinity<double>();
  return x > 0 && x - x == 0 ? ::y0(x) : nan<double>();
}
FACULA_LANE_FN double bessel_y1_of_lane(double x) {
  if (x == 0) return -infinity<double>();
  return x > 0 && x - x == 0 ? ::y1(x) : nan<double>();
}
FACULA_LANE_FN double spherical_bessel_j0_of_lane(double x) {
  if (::fabs(x) == infinity<double>()) return 0;
  return x == 0 ? 1 : ::sin(x) / x;
}

// ---- modified, of the first kind: the series, all of one sign, then the expansion at infinity

// I1(x) exp(-|x|) without the exponential where `is_series` says so.
struct ModifiedI1 {
  double value;
  bool is_series;
};
FACULA_FN ModifiedI1 i1_parts(double a) {
  double sum = 0;
  if (a < 25) {
    double z = a * a / 4, term = a / 2;
    for (int k = 1; sum + term != sum; ++k) {
      sum += term;
      term *= z / (static_cast<double>(k) * (k + 1));
    }
    return {sum, true};
  }
  double term = 1;
  for (int k = 1; k < 24; ++k) {
    sum += term;
    double odd = 2 * k - 1;
    term *= (odd * odd - 4) / (8 * a * k);
  }
  return {sum / ::sqrt(2 * kPi * a), false};
}
FACULA_LANE_FN double i1_of_lane(double x) {
  if (x != x) return x;
  double a = ::fabs(x);
  ModifiedI1 parts = i1_parts(a);
  // In two factors: the result overflows later than exp(a) does.
  double half = ::exp(a / 2);
  double y = parts.is_series ? parts.value : half * parts.value * half;
  return x < 0 ? -y : y;
}
FACULA_LANE_FN double i1e_of_lane(double x) {
  if (x != x) return x;
  double a = ::fabs(x);
  ModifiedI1 parts = i1_parts(a);
  double y = parts.is_series ? parts.value * ::exp(-a) : parts.value;
  return x < 0 ? -y : y;
}

// ---- modified, of the second kind

// exp(x) K(x) sqrt(2 x / pi) of order `order`, and that of the next order, for x from about 2 on:
// Steed's evaluation of the continued fraction for the ratio of two solutions that decay and grow,
// together with the sum that normalises them (Temme).
struct ModifiedK {
  double own, next;
};
FACULA_FN ModifiedK scaled_k_by_fraction(double order, double x) {
  double first = 0.25 - order * order;
  double b = 2 * (1 + x), d = 1 / b, step = d, fraction = d;
  double before = 0, last = 1, c = first, weight = first, a = -first;
  double sum = 1 + weight * step;
  for (int k = 2; k < 500; ++k) {
    a -= 2 * (k - 1);
    c = -a * c / k;
    double now = (before - b * last) / a;
    before = last;
    last = now;
    weight += c * now;
    b += 2;
    d = 1 / (b + a * d);
    step = (b * d - 1) * step;
    fraction += step;
    double change = weight * step;
    sum += change;
    if (::fabs(change) < 1e-17 * ::fabs(sum)) break;
  }
  double own = 1 / sum;
  return {own, own * (order + x + 0.5 - first * fraction) / x};
}

// Up to 2, by the series with logarithms.
FACULA_FN double k0_by_series(double x) {
  double z = x * x / 4, log_half = ::log(x / 2) + kEuler, term = 1, harmonic = 0, sum = -log_half;
  for (int k = 1; k < 30; ++k) {
    term *= z / (static_cast<double>(k) * k);
    harmonic += 1. / k;
    sum += term * (harmonic - log_half);
  }
  return sum;
}
FACULA_FN double k1_by_series(double x) {
  double z = x * x / 4, log_half = ::log(x / 2) + kEuler, term = x / 2, harmonic = 0;
  double sum = 1 / x;
  for (int k = 0; k < 30; ++k) {
    double next = harmonic + 1. / (k + 1);
    sum += term * (log_half - (harmonic + next) / 2);
    harmonic = next;
    term *= z / ((k + 1.) * (k + 2));
  }
  return sum;
}

FACULA_FN double modified_k(bool is_first_order, bool is_scaled, double x) {
  if (x == 0) return infinity<double>();
  if (!(x > 0)) return nan<double>();
  if (x <= 2) {
    double y = is_first_order ? k1_by_series(x) : k0_by_series(x);
    return is_scaled ? y * ::exp(x) : y;
  }
  if (x == infinity<double>()) return 0;
  ModifiedK k = scaled_k_by_fraction(0, x);
  double y = (is_first_order ? k.next : k.own) * ::sqrt(kPi / (2 * x));
  return is_scaled ? y : y * ::exp(-x);
}
FACULA_LANE_FN double modified_bessel_k0_of_lane(double x) { return modified_k(false, false, x); }
FACULA_LANE_FN double modified_bessel_k1_of_lane(double x) { return modified_k(true, false, x); }
FACULA_LANE_FN double scaled_modified_bessel_k0_of_lane(double x) {
  return modified_k(false, true, x);
}
FACULA_LANE_FN double scaled_modified_bessel_k1_of_lane(double x) {
  return modified_k(true, true, x);
}

// ---- Airy's function: its series near zero, K of order 1/3 where it decays, its expansion at
// infinity where it oscillates

FACULA_FN double airy_by_series(double x) {
  constexpr double value = 0.35502805388781724, slope = 0.25881940379280680;  // at 0
  double cube = x * x * x, even = value, odd = slope * x, sum = even - odd;
  for (int k = 3; k < 150; k += 3) {
    even *= cube / (static_cast<double>(k) * (k - 1));
    odd *= cube / (static_cast<double>(k) * (k + 1));
    if (sum + even == sum && sum - odd == sum) break;
    sum += even - odd;
  }
  return sum;
}
FACULA_FN double airy_by_expansion(double x) {
  double z = -x, phase = z * ::sqrt(z) * (2. / 3), term = 1, parts[2] = {1, 0};
  for (int k = 1; k < 60; ++k) {
    double next =
        term * ((6. * k - 5) * (6 * k - 3) * (6 * k - 1)) / (216. * k * (2 * k - 1)) / phase;
    if (!(next < term) || next < 1e-18) break;  // from its smallest term on the expansion diverges
    term = next;
    parts[k % 2] += k % 4 < 2 ? term : -term;
  }
  double angle = phase - kPi / 4;
  return (::cos(angle) * parts[0] + ::sin(angle) * parts[1]) / (::sqrt(kPi) * ::sqrt(::sqrt(z)));
}
FACULA_LANE_FN double airy_ai_of_lane(double x) {
  if (x - x != 0) return nan<double>();
  if (x < -7) return airy_by_expansion(x);
  if (x < 2.1) return airy_by_series(x);
  double zeta = x * ::sqrt(x) * (2. / 3);
  double scale = 2 * ::sqrt(kPi) * ::sqrt(::sqrt(x));
  return ::exp(-zeta) * scaled_k_by_fraction(1. / 3, zeta).own / scale;
}

}  // namespace FACULA_ISA
}  // namespace facula::math
