// Orthogonal polynomials, for one number in double precision. The degree is cut to an integer;
// polynomials of negative degree are zero.
#pragma once
#include "math/special.h"

namespace facula::math {
inline namespace FACULA_ISA {

// The degree as a number that a loop can count to: without its fraction, as PyTorch takes it.
FACULA_FN int64_t degree(double n) { return n > -1 ? static_cast<int64_t>(at_most(n, 9e18)) : -1; }

// By p(k+1) = (rise(k) p(k) - fall(k) p(k-1)) / scale(k). A value that is not a number stays so.
template <class Step>
FACULA_FN double by_recurrence(double p0, double p1, int64_t n, Step step) {
  if (n < 0) return 0;
  if (n == 0) return p0;
  double before = p0, last = p1;
  for (int64_t k = 1; k < n && last == last; ++k) {
    double next = step(static_cast<double>(k), last, before);
    before = last;
    last = next;
  }
  return last;
}

// Chebyshev's four kinds have one recurrence, and differ in the polynomial of degree 1, 2x +
// `shift` (for the first kind, x). With x = cos(t) they are ratios of sines and cosines of
// multiples of t, which takes less time where n is large.
enum class Chebyshev { T, U, V, W };
FACULA_FN double chebyshev_inside(Chebyshev kind, double x, double n) {
  double t = ::acos(x);
  switch (kind) {
    case Chebyshev::T:
      return ::cos(n * t);
    case Chebyshev::U:
      return ::sin((n + 1) * t) / ::sin(t);
    case Chebyshev::V:
      return ::cos((n + 0.5) * t) / ::cos(t / 2);
    case Chebyshev::W:
      return ::sin((n + 0.5) * t) / ::sin(t / 2);
  }
  return 0;
}
FACULA_FN double chebyshev_at_end(Chebyshev kind, bool is_right, double n) {
  double sign = is_right || ::fmod(n, 2) == 0 ? 1 : -1;
  switch (kind) {
    case Chebyshev::T:
      return sign;
    case Chebyshev::U:
      return sign * (n + 1);
    case Chebyshev::V:
      return is_right ? 1 : sign * (2 * n + 1);
    case Chebyshev::W:
      return is_right ? 2 * n + 1 : sign;
  }
  return 0;
}
FACULA_FN double chebyshev(Chebyshev kind, double x, double degree_given) {
  int64_t n = degree(degree_given);
  if (n < 0) return 0;
  if (x == 1 || x == -1) return chebyshev_at_end(kind, x == 1, static_cast<double>(n));
  if (n > 8 && ::fabs(x) < 1) return chebyshev_inside(kind, x, static_cast<double>(n));
  constexpr double shifts[] = {0, 0, -1, 1};
  double p1 = kind == Chebyshev::T ? x : 2 * x + shifts[static_cast<int>(kind)];
  return by_recurrence(1, p1, n,
                       [x](double, double p, double before) { return 2 * x * p - before; });
}
FACULA_LANE_FN double chebyshev_polynomial_t_of_lane(double x, double n) {
  return chebyshev(Chebyshev::T, x, n);
}
FACULA_LANE_FN double chebyshev_polynomial_u_of_lane(double x, double n) {
  return chebyshev(Chebyshev::U, x, n);
}
FACULA_LANE_FN double chebyshev_polynomial_v_of_lane(double x, double n) {
  return chebyshev(Chebyshev::V, x, n);
}
FACULA_LANE_FN double chebyshev_polynomial_w_of_lane(double x, double n) {
  return chebyshev(Chebyshev::W, x, n);
}
// Shifted from [-1, 1] to [0, 1].
FACULA_LANE_FN double shifted_chebyshev_polynomial_t_of_lane(double x, double n) {
  return chebyshev(Chebyshev::T, 2 * x - 1, n);
}
FACULA_LANE_FN double shifted_chebyshev_polynomial_u_of_lane(double x, double n) {
  return chebyshev(Chebyshev::U, 2 * x - 1, n);
}
FACULA_LANE_FN double shifted_chebyshev_polynomial_v_of_lane(double x, double n) {
  return chebyshev(Chebyshev::V, 2 * x - 1, n);
}
FACULA_LANE_FN double shifted_chebyshev_polynomial_w_of_lane(double x, double n) {
  return chebyshev(Chebyshev::W, 2 * x - 1, n);
}

// Hermite's: past this degree they overflow at nearly every x, and PyTorch gives NaN.
constexpr int64_t kMaxHermiteDegree = 512;
FACULA_LANE_FN double hermite_polynomial_h_of_lane(double x, double n) {
  if (degree(n) > kMaxHermiteDegree) return nan<double>();
  return by_recurrence(1, 2 * x, degree(n), [x](double k, double p, double before) {
    return 2 * x * p - 2 * k * before;
  });
}
FACULA_LANE_FN double hermite_polynomial_he_of_lane(double x, double n) {
  if (degree(n) > kMaxHermiteDegree) return nan<double>();
  return by_recurrence(1, x, degree(n),
                       [x](double k, double p, double before) { return x * p - k * before; });
}

// Past this degree the recurrences of the two below, which need not end by overflow, would take too
// long: limits for many degrees take their place.
constexpr int64_t kMaxRecurrence = int64_t(1) << 22;

// By its terms, which are all positive.
FACULA_FN double laguerre_below_zero(double x, double n) {
  double term = 1, sum = 1;
  for (double k = 0; k < n && term > sum * 1e-17 && sum < infinity<double>(); ++k) {
    term *= (n - k) / (k + 1) * (-x / (k + 1));
    sum += term;
  }
  return sum;
}
// The leading term of the expansion in Bessel functions that holds for 0 < x < 4n + 2; where it
// ends exp(x / 2) has long been infinite.
FACULA_FN double laguerre_of_high_degree(double x, double n) {
  double scale = 4 * n + 2, u = x / scale;
  if (u >= 1) return ::fmod(n, 2) == 0 ? infinity<double>() : -infinity<double>();
  double phase = (::sqrt(u - u * u) + ::asin(::sqrt(u))) / 2;
  return ::exp(x / 2) * ::sqrt(phase / ::sqrt(u - u * u)) * ::j0(scale * phase);
}
FACULA_LANE_FN double laguerre_polynomial_l_of_lane(double x, double degree_given) {
  int64_t n = degree(degree_given);
  if (x == 0) return n < 0 ? 0 : 1;
  if (n > kMaxRecurrence && x < 0) return laguerre_below_zero(x, static_cast<double>(n));
  if (n > kMaxRecurrence && x > 0) return laguerre_of_high_degree(x, static_cast<double>(n));
  return by_recurrence(1, 1 - x, n, [x](double k, double p, double before) {
    return ((2 * k + 1 - x) * p - k * before) / (k + 1);
  });
}
FACULA_LANE_FN double legendre_polynomial_p_of_lane(double x, double degree_given) {
  int64_t n = degree(degree_given);
  double sign = n % 2 == 0 ? 1 : -1;
  if (x == 1 || x == -1) return n < 0 ? 0 : x == 1 ? 1 : sign;
  if (n > kMaxRecurrence && ::fabs(x) < 1) {
    double t = ::acos(::fabs(x));
    double y = ::sqrt(t / ::sin(t)) * ::j0((static_cast<double>(n) + 0.5) * t);  // Hilb's formula
    return x < 0 ? sign * y : y;
  }
  return by_recurrence(1, x, n, [x](double k, double p, double before) {
    return ((2 * k + 1) * x * p - k * before) / (k + 1);
  });
}

}  // namespace FACULA_ISA
}  // namespace facula::math
