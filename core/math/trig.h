// Trigonometric functions and their inverses. V is float, double or a vector of either, but for
// names that say otherwise.
#pragma once
#include "math/primitives.h"

namespace facula::math {
inline namespace FACULA_ISA {

// pi = kPi + kPiLow, for formulas in double; high_pi and low_pi give the two parts in V's
// precision.
constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr double kPiLow = 0x1.1a62633145c07p-53;
template <class V>
constexpr double kPiHigh = kIsFloat<V> ? 0x1.921fb6p+1 : kPi;
template <class V>
constexpr double kPiRest = kIsFloat<V> ? kPi - 0x1.921fb6p+1 : kPiLow;

// Up to here n below has 13 (float) or 20 bits (double), so that its products with parts of pi/2 of
// 11 and 33 bits are exact.
template <class V>
constexpr double kReducible = kIsFloat<V> ? 0x1p13 : 0x1p20;

// x = n pi/2 + r + r_low, |r| <= pi/4. The quadrant is in the last two bits of n_bits.
template <class V>
struct Reduced {
  Bits<V> n_bits;
  V r, r_low;
};

// With kForFloat the result will be rounded to float: double needs no r_low then, and shorter
// polynomials do below.
template <bool kForFloat, class V>
FACULA_FN Reduced<V> reduce_quadrant(V x) {
  V rounder = V(Ieee<V>::kRounder);
  V shifted = fma(x, V(0x1.45f306dc9c883p-1), rounder);
  V n = shifted - rounder;
  if constexpr (kIsFloat<V>) {
    V exact = fma(n, V(-0x1.fb4p-12), fma(n, V(-0x1.92p+0), x));
    V r = fma(n, V(-0x1.444p-24), exact);
    V lost = fma(n, V(-0x1.444p-24), exact - r);
    return {to_bits(shifted), r, fma(n, V(-0x1.68c234p-39), lost)};
  } else if constexpr (kForFloat) {
    V r = fma(n, V(-0x1.0b4611a626331p-34), fma(n, V(-0x1.921fb544p+0), x));
    return {to_bits(shifted), r, V(0)};
  } else {
    V a = fma(n, V(-0x1.921fb544p+0), x);
    V b = n * V(0x1.0b4611a6p-34);
    V r = a - b;
    V c = n * V(0x1.3198a2e037073p-69);
    V sum = r - c;
    return {to_bits(shifted), sum, difference_error(a, b, r) + difference_error(r, c, sum)};
  }
}

// In double, what is to be added to r for its sine, and to rough = 1 - r^2 / 2 for its cosine.
template <class V>
FACULA_FN V sin_rest_in_double(Reduced<V> reduced) {
  V r = reduced.r, z = r * r;
  return fma(r * z,
             poly(z, -0.1666666666666663, 0.0083333333333218216, -0.00019841269829325831,
                  2.7557313520763634e-06, -2.5050730663069779e-08, 1.5895166729483601e-10),
             fma(V(-0.5) * z, reduced.r_low, reduced.r_low));
}
template <class V>
FACULA_FN V cos_rest_in_double(Reduced<V> reduced, V rough) {
  V r = reduced.r, z = r * r;
  V rest = fma(z * z,
               poly(z, 0.041666666666666595, -0.0013888888888873374, 2.480158728900439e-05,
                    -2.7557314210858876e-07, 2.0875703548518922e-09, -1.1358600553284802e-11),
               -r * reduced.r_low);
  return ((V(1) - rough) - V(0.5) * z) + rest;
}

template <bool kForFloat, class V>
FACULA_FN V sin_near_zero(Reduced<V> reduced) {
  V r = reduced.r, z = r * r;
  if constexpr (kIsFloat<V>) {
    return r + fma(r * z, poly(z, -0.166666547, 0.00833216111, -0.000195147462), reduced.r_low);
  } else if constexpr (kForFloat) {
    return fma(r * z,
               poly(z, -0.16666666640490729, 0.0083333292574878527, -0.000198392944352881,
                    2.7179321046876945e-06),
               r);
  } else {
    return r + sin_rest_in_double(reduced);
  }
}
template <bool kForFloat, class V>
FACULA_FN V cos_near_zero(Reduced<V> reduced) {
  V r = reduced.r, z = r * r;
  if constexpr (kIsFloat<V>) {
    return fma(z * z, poly(z, 0.041666646, -0.00138873254, 2.44337282e-05), fma(z, V(-0.5), V(1)));
  } else if constexpr (kForFloat) {
    return fma(z * z, poly(z, 0.041666645981282446, -0.0013887325416058953, 2.4433728162801944e-05),
               fma(z, V(-0.5), V(1)));
  } else {
    V rough = V(1) - V(0.5) * z;
    return rough + cos_rest_in_double(reduced, rough);
  }
}

// sin(x + quarter_turns pi/2).
template <bool kForFloat, class V>
FACULA_FN V shifted_sin(V x, int quarter_turns) {
  Reduced<V> reduced = reduce_quadrant<kForFloat>(x);
  Bits<V> quadrant = reduced.n_bits + Bits<V>(quarter_turns);
  auto is_odd = (quadrant & Bits<V>(1)) != Bits<V>(0);
  V y = select(is_odd, cos_near_zero<kForFloat>(reduced), sin_near_zero<kForFloat>(reduced));
  return from_bits(to_bits(y) ^ ((quadrant & Bits<V>(2)) << (kIsFloat<V> ? 30 : 62)));
}

// Arguments beyond kReducible<double> are rare and go to the C library one by one.
template <bool kForFloat, class V>
FACULA_FN V sin_in_double(V x) {
  V y = select(x == V(0), x, shifted_sin<kForFloat>(x, 0));
  auto is_large = abs(x) > V(kReducible<V>);
  return per_lane_where(
      is_large, [](double lane) { return ::sin(lane); }, x, y);
}
template <bool kForFloat, class V>
FACULA_FN V cos_in_double(V x) {
  V y = shifted_sin<kForFloat>(x, 1);
  auto is_large = abs(x) > V(kReducible<V>);
  return per_lane_where(
      is_large, [](double lane) { return ::cos(lane); }, x, y);
}

// For float only: as a quotient of two rounded numbers it is too rough for double.
template <class V>
FACULA_FN V tan_for_float(V x) {
  Reduced<V> reduced = reduce_quadrant<true>(x);
  auto is_odd = (reduced.n_bits & Bits<V>(1)) != Bits<V>(0);
  V s = sin_near_zero<true>(reduced), c = cos_near_zero<true>(reduced);
  V y = select(is_odd, -c, s) / select(is_odd, s, c);
  y = select(x == V(0), x, y);
  auto is_large = abs(x) > V(kReducible<V>);
  return per_lane_where(
      is_large, [](double lane) { return ::tan(lane); }, x, y);
}

// The quotient of sine and cosine, with what rounding took from both and from itself.
template <class V>
FACULA_FN V tan_in_double(V x) {
  Reduced<V> reduced = reduce_quadrant<false>(x);
  V r = reduced.r, rough = V(1) - V(0.5) * (r * r);
  V sin_rest = sin_rest_in_double(reduced), cos_rest = cos_rest_in_double(reduced, rough);
  V s = r + sin_rest, c = rough + cos_rest;
  V s_low = sin_rest - (s - r), c_low = cos_rest - (c - rough);
  auto is_odd = (reduced.n_bits & Bits<V>(1)) != Bits<V>(0);
  V above = select(is_odd, -c, s), above_low = select(is_odd, -c_low, s_low);
  V below = select(is_odd, s, c), below_low = select(is_odd, s_low, c_low);
  V q = above / below;
  V lost = (above_low - q * below_low) - product_error(q, below, above);
  V y = select(x == V(0), x, q + lost / below);
  auto is_large = abs(x) > V(kReducible<V>);
  return per_lane_where(
      is_large, [](double lane) { return ::tan(lane); }, x, y);
}

template <class V>
FACULA_FN V sin(V x) {
  if constexpr (kIsFloat<V>) {
    V y = select(x == V(0), x, shifted_sin<true>(x, 0));
    auto is_large = abs(x) > V(kReducible<V>);
    if (!any(is_large)) return y;
    auto in_double = [](auto wide) { return sin_in_double<true>(wide); };
    return select(is_large, through_double(in_double, x), y);
  } else {
    return sin_in_double<false>(x);
  }
}

template <class V>
FACULA_FN V cos(V x) {
  if constexpr (kIsFloat<V>) {
    V y = shifted_sin<true>(x, 1);
    auto is_large = abs(x) > V(kReducible<V>);
    if (!any(is_large)) return y;
    auto in_double = [](auto wide) { return cos_in_double<true>(wide); };
    return select(is_large, through_double(in_double, x), y);
  } else {
    return cos_in_double<false>(x);
  }
}

template <class V>
FACULA_FN V tan(V x) {
  if constexpr (kIsFloat<V>) {
    Reduced<V> reduced = reduce_quadrant<true>(x);
    V r = reduced.r, z = r * r;
    V tail = fma(r * z,
                 poly(z, 0.333333531, 0.133325535, 0.0540719523, 0.0212216487, 0.0109895396,
                      -0.000102184965, 0.004469616),
                 fma(reduced.r_low, z, reduced.r_low));
    V t = r + tail;
    // A quarter turn on it is -1/t, corrected by what rounding took from t and from the quotient.
    V q = V(-1) / t;
    V lost = product_error(q, t, V(-1)) + q * (tail - (t - r));
    auto is_odd = (reduced.n_bits & Bits<V>(1)) != Bits<V>(0);
    V y = select(x == V(0), x, select(is_odd, fma(q, lost, q), t));
    auto is_large = abs(x) > V(kReducible<V>);
    if (!any(is_large)) return y;
    return select(is_large, through_double([](auto wide) { return tan_for_float(wide); }, x), y);
  } else {
    return tan_in_double(x);
  }
}

// sin(pi x), exact where the result is 0 or 1.
template <class V>
FACULA_FN V sin_pi_in_double(V x) {
  // Beyond 2^52 every number is an integer, beyond 2^53 an even one.
  V n = round(x);
  V r = x - n;
  V z = r * r;
  V y = r * poly(z, 3.1415926535897931, -5.1677127800499694, 2.5501640398773007,
                 -0.59926452931894703, 0.082145886573140217, -0.0073704305062354371,
                 0.00046629981769541077, -2.1903500780572972e-05, 7.6978638270435582e-07);
  auto is_odd = round(n * V(0.5)) != n * V(0.5);
  return select(is_odd, -y, y);
}

// sin(pi x) / (pi x).
template <class V>
FACULA_FN V sinc_in_double(V x) {
  // Zeros are positive.
  V y = sin_pi_in_double(x) / (V(kPi) * x) + V(0);
  return select(x == V(0), V(1), y);
}
template <class V>
FACULA_FN V sinc(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return sinc_in_double(wide); }, x);
  } else {
    return sinc_in_double(x);
  }
}

// asin(s) - s for 0 <= s <= 1/2, z = s^2.
template <class V>
FACULA_FN V asin_tail(V s, V z) {
  if constexpr (kIsFloat<V>) {
    return s * z * poly(z, 0.166667545, 0.0749523077, 0.0454779756, 0.0241445353, 0.0422222336);
  } else {
    return s * z *
           poly(z, 0.16666666666666763, 0.074999999999703748, 0.044642857175046548,
                0.030381942686293583, 0.022372215598188253, 0.017351601081006352,
                0.013980950414688617, 0.011397862511345501, 0.010786056655289289,
                0.0036847963042343878, 0.021759280563471838, -0.021071374380567141,
                0.032673214963953458);
  }
}

template <class V>
FACULA_FN V asin(V x) {
  // Above 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
  V a = abs(x);
  auto is_large = a > V(0.5);
  V z = select(is_large, (V(1) - a) * V(0.5), a * a);
  V s = select(is_large, sqrt(z), a);
  V tail = asin_tail(s, z);
  // pi/2 in two steps: the first difference is small, and so is its rounding.
  V quarter = V(kPiHigh<V> / 4);
  V large = quarter + ((quarter - (s + s)) - (tail + tail - V(kPiRest<V> / 2)));
  return copysign(select(is_large, large, s + tail), x);
}

template <class V>
FACULA_FN V acos(V x) {
  V a = abs(x);
  auto is_large = a > V(0.5);
  V z = select(is_large, (V(1) - a) * V(0.5), a * a);
  V s = select(is_large, sqrt(z), a);
  V y = s + asin_tail(s, z);
  V near_zero = V(kPiHigh<V> / 2) - (copysign(y, x) - V(kPiRest<V> / 2));
  V near_one = select(x > V(0), y + y, V(kPiHigh<V>) - (y + y - V(kPiRest<V>)));
  return select(is_large, near_one, near_zero);
}

// The angle of the point (x, y) in double, both at least 0 and not both infinite.
template <class V>
FACULA_FN V first_quadrant_angle(V y, V x) {
  // Around pi/2 and pi/4 the angle is that plus a small one, whose tangent is the quotient.
  auto is_steep = y > x * V(2.414213562373095);
  auto is_middle = y > x * V(0.41421356237309503);
  V numerator = select(is_steep, -x, select(is_middle, y - x, y));
  V denominator = select(is_steep, y, select(is_middle, y + x, x));
  auto is_origin = y == V(0) && x == V(0);
  V t = select(is_origin, V(0), numerator / denominator);
  V eighths = select(is_steep, V(1), select(is_middle, V(0.5), V(0)));
  V z = t * t;
  V tail =
      t * z *
      poly(z, -0.33333333333333198, 0.19999999999953585, -0.14285714280196349, 0.11111110783507033,
           -0.090908977607277272, 0.076920602897903076, -0.066631050498597758, 0.058478970836481785,
           -0.050393399892746146, 0.038065426860346828, -0.017908096276623028);
  // Around pi/4, what rounding took from the quotient and its two sides would add up.
  V lost = difference_error(y, x, numerator) - t * difference_error(y, -x, denominator);
  lost = (lost - product_error(t, denominator, numerator)) / denominator;
  tail = select(is_middle && !is_steep, tail + lost, tail);
  return fma(eighths, V(kPi / 2), fma(eighths, V(kPiLow / 2), tail) + t);
}

// half_turns pi + atan(t) in float, for |t| <= 1.
template <class V>
FACULA_FN V turned_atan(V half_turns, V t) {
  V z = t * t;
  V tail = fma(t * z,
               poly(z, -0.333333015, 0.199986269, -0.142651279, 0.10956985, -0.084177773,
                    0.0582063211, -0.031428002, 0.0110497523, -0.0018239627),
               half_turns * V(kPiRest<V>));
  return fma(half_turns, V(kPiHigh<V>), t + tail);
}

template <class V>
FACULA_FN V atan(V x) {
  V a = abs(x);
  if constexpr (kIsFloat<V>) {
    auto is_large = a > V(1);
    V t = select(is_large, V(-1), a) / select(is_large, a, V(1));
    return copysign(turned_atan(select(is_large, V(0.5), V(0)), t), x);
  } else {
    return copysign(first_quadrant_angle(a, V(1)), x);
  }
}

template <class V>
FACULA_FN V atan2(V y, V x) {
  V a = abs(y), b = abs(x);
  auto both_infinite = a == infinity<V>() && b == infinity<V>();
  auto is_left = copysign(V(1), x) < V(0);
  V angle;
  if constexpr (kIsFloat<V>) {
    auto is_steep = a > b;
    V t = select(is_steep, b, a) / select(is_steep, a, b);
    t = select(both_infinite, V(1), select(a == V(0) && b == V(0), V(0), t));
    t = select((is_steep && !is_left) || (!is_steep && is_left), -t, t);
    angle = turned_atan(select(is_steep, V(0.5), select(is_left, V(1), V(0))), t);
  } else {
    // Sums must not overflow, and the comparisons above need normal numbers.
    auto is_huge = a > V(0x1p1000) || b > V(0x1p1000);
    auto is_tiny = a < V(0x1p-900) && b < V(0x1p-900);
    V scale = select(is_huge, V(0x1p-100), select(is_tiny, V(0x1p100), V(1)));
    angle = first_quadrant_angle(select(both_infinite, V(1), a * scale),
                                 select(both_infinite, V(1), b * scale));
    angle = select(is_left, V(kPi) - (angle - V(kPiLow)), angle);
  }
  return copysign(angle, y);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
