// Exponentials and logarithms. V is float, double or a vector of either; see primitives.h. The
// coefficients come from tools/fit_polynomials.py.
#pragma once
#include "math/primitives.h"

namespace facula::math {
inline namespace FACULA_ISA {

// exp(x) = 2^n exp(r), with n integral and |r| at most ln(2)/2. What rounding took from r is r_low.
// `shifted` holds n for power_of_two.
template <class V>
struct ExpParts {
  V shifted, n, r, r_low;
};

// 2^n, if that is a normal number.
template <class V>
FACULA_FN V power_of_two(ExpParts<V> parts) {
  return from_bits(to_bits(parts.shifted) << Ieee<V>::kMantissaBits);
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2.
template <class V>
FACULA_FN V exp_tail(V r) {
  if constexpr (kIsFloat<V>) {
    return poly(r, 0.500000009, 0.16666514, 0.0416662106, 0.00836949308, 0.00139502942);
  } else {
    return poly(r, 0.50000000000000144, 0.16666666666666693, 0.041666666666501338,
                0.0083333333333097566, 0.0013888888950897862, 0.00019841269912669376,
                2.4801485732618625e-05, 2.7557219954254977e-06, 2.7632843827157077e-07,
                2.5116845376117836e-08);
  }
}

// r means something where n fits the exponent's range twice; exp() and others see to that.
template <class V>
FACULA_FN ExpParts<V> exp_parts(V x) {
  constexpr bool is_float = kIsFloat<V>;
  // ln(2) in two parts; the first has zeros at its end, so that n times it is exact without fma.
  constexpr double ln2_high = is_float ? 0x1.63p-1 : 0x1.62e42feep-1;
  constexpr double ln2_low = 0x1.62e42fefa39efp-1 - ln2_high + 0x1.abc9e3b39803fp-56;
  V rounder = V(Ieee<V>::kRounder + Ieee<V>::kBias);
  V shifted = fma(x, V(0x1.71547652b82fep+0), rounder);
  V n = shifted - rounder;
  V high = fma(n, V(-ln2_high), x);
  V r = fma(n, V(-ln2_low), high);
  return {shifted, n, r, fma(n, V(-ln2_low), high - r)};
}

// exp(r).
template <class V>
FACULA_FN V exp_near_zero(V r) {
  return fma(fma(exp_tail(r), r, V(1)), r, V(1));
}

// 2^n exp(r) - 1 times `scale`, where 2^n scale does not overflow.
template <class V>
FACULA_FN V expm1_from_parts(ExpParts<V> parts, V scaled_power, V scale) {
  // r is added last but one, to what is largest: the rest is small, and so are its errors.
  V rest = fma(parts.r * parts.r, exp_tail(parts.r), parts.r_low);
  return fma(scaled_power, rest, fma(scaled_power, parts.r, scaled_power - scale));
}

// exp of this and of everything below is 0.
template <class V>
FACULA_FN V lowest_exponent() {
  return V(kIsFloat<V> ? -104 : -746);
}

template <class V>
FACULA_FN V exp_of_clamped(V x) {
  ExpParts<V> parts = exp_parts(x);
  return ldexp(exp_near_zero(parts.r), parts.n);
}

template <class V>
FACULA_FN V exp(V x) {
  if constexpr (Traits<V>::kScalesByAll) {
    // Far out of range n alone gives 0, infinity or NaN, as long as r, which means nothing there,
    // is small.
    ExpParts<V> parts = exp_parts(x);
    return ldexp(exp_near_zero(bounded(parts.r, 0.5)), parts.n);
  }
  return exp_of_clamped(clamp(x, lowest_exponent<V>(), V(kIsFloat<V> ? 89 : 710)));
}

// exp(x) / 2 without overflow where exp(x) overflows and its half does not.
template <class V>
FACULA_FN V half_exp(V x) {
  ExpParts<V> parts = exp_parts(clamp(x, V(-746), V(711)));
  return ldexp(exp_near_zero(parts.r), parts.n - V(1));
}

template <class V>
FACULA_FN V exp2(V x) {
  x = kIsFloat<V> ? clamp(x, V(-151), V(129)) : clamp(x, V(-1076), V(1025));
  V rounder = V(Ieee<V>::kRounder);
  V n = (x + rounder) - rounder;
  V r = (x - n) * V(0x1.62e42fefa39efp-1);
  return ldexp(exp_near_zero(r), n);
}

template <class V>
FACULA_FN V expm1(V x) {
  // Below the lower bound the result is -1 to the last bit.
  V clamped = kIsFloat<V> ? clamp(x, V(-20), V(89)) : clamp(x, V(-40), V(710));
  ExpParts<V> parts = exp_parts(clamped);
  // In halves: 2^n itself overflows before the result does.
  V y = expm1_from_parts(parts, pow2(parts.n - V(1)), V(0.5));
  return select(x == V(0), x, y + y);
}

// x = 2^k (1 + f), with 1 + f in [2/3, 4/3) for float and [sqrt(1/2), sqrt(2)) for double. For
// positive normal x.
template <class V>
struct LogParts {
  V k, f;
};
template <class V>
FACULA_FN LogParts<V> log_parts(V x) {
  using U = Bits<V>;
  using I = Ieee<V>;
  U lowest = kIsFloat<V> ? U(0x3f2aaaab) : U(0x3fe6a09e667f3bcd);
  // k + bias is positive, and stands in the mantissa of a number of known exponent.
  U biased = to_bits(x) - lowest + U(uint64_t(I::kBias) << I::kMantissaBits);
  U k = biased >> I::kMantissaBits;
  constexpr double base = kIsFloat<V> ? 0x1p23 : 0x1p52;
  V f = from_bits(to_bits(x) - (k << I::kMantissaBits) + U(uint64_t(I::kBias) << I::kMantissaBits));
  return {from_bits(k | to_bits(V(base))) - V(base + I::kBias), f - V(1)};
}

// log(1 + f) - y, for f as log_parts gives it and y close to that or 0.
template <class V>
FACULA_FN V log_of_one_plus_minus(V f, V y) {
  if constexpr (kIsFloat<V>) {
    return fma(f * f,
               poly(f, -0.500000027, 0.333332076, -0.249995163, 0.200107883, -0.166891036,
                    0.140005873, -0.120834306, 0.14007183, -0.132900006),
               f - y);
  } else {
    // With s = f / (2 + f) the logarithm is 2 atanh(s) = f - s (f - s^2 R); written as the small
    // difference from f - f^2/2.
    V s = f / (V(2) + f);
    V z = s * s;
    V half_square = V(0.5) * f * f;
    V r = z * poly(z, 0.66666666666667374, 0.39999999999391822, 0.28571428747770627,
                   0.22222197988859588, 0.18183596352425388, 0.15313189542250694,
                   0.14804970262574371);
    return (f - y) - (half_square - s * (half_square + r));
  }
}
template <class V>
FACULA_FN V log_of_one_plus(V f) {
  return log_of_one_plus_minus(f, V(0));
}

// k ln(2) + log(1 + f).
template <class V>
FACULA_FN V log_from_parts(LogParts<V> parts) {
  constexpr double ln2_high = kIsFloat<V> ? 0x1.63p-1 : 0x1.62e42feep-1;
  constexpr double ln2_low = 0x1.62e42fefa39efp-1 - ln2_high + 0x1.abc9e3b39803fp-56;
  return fma(parts.k, V(ln2_high), fma(parts.k, V(ln2_low), log_of_one_plus(parts.f)));
}

// from_parts(parts of x), with x of any size and sign.
template <class V, class F>
FACULA_FN V any_log(V x, F from_parts) {
  constexpr double scale_bits = Ieee<V>::kMantissaBits + 1;
  auto is_denormal = x < V(Ieee<V>::kMinNormal);
  V scaled = select(is_denormal, x * pow2(V(scale_bits)), x);
  LogParts<V> parts = log_parts(scaled);
  parts.k = select(is_denormal, parts.k - V(scale_bits), parts.k);
  V y = from_parts(parts);
  y = select(x > V(0) && x != infinity<V>(), y, select(x == V(0), -infinity<V>(), x));
  return select(x < V(0), nan<V>(), y);
}

template <class V>
FACULA_FN V log(V x) {
  return any_log(x, [](LogParts<V> parts) { return log_from_parts(parts); });
}

// The logarithm to another base: k times the logarithm of 2 to it, plus factor times log(1 + f).
// Both constants come in two parts, so that the products of the high ones are exact: log10(1000)
// is 3.
template <class V>
FACULA_FN V log_to_base(LogParts<V> parts, double log_2_high, double log_2_low, double factor_high,
                        double factor_low) {
  V y = log_of_one_plus(parts.f);
  V high = high_half(y);
  V low = log_of_one_plus_minus(parts.f, high);
  V whole = parts.k * V(log_2_high), fraction = high * V(factor_high);
  V sum = whole + fraction;
  V lost = fraction - (sum - whole);
  V small = fma(low, V(factor_high), fma(parts.k, V(log_2_low), y * V(factor_low)));
  return sum + (lost + small);
}

template <class V>
FACULA_FN V log2(V x) {
  return any_log(x, [](LogParts<V> parts) {
    constexpr double high = kIsFloat<V> ? 0x1.714p+0 : 0x1.7154764p+0;
    constexpr double low = 0x1.71547652b82fep+0 - high + 0x1.777d0ffda0d24p-56;
    return log_to_base(parts, 1, 0, high, low);
  });
}

template <class V>
FACULA_FN V log10(V x) {
  return any_log(x, [](LogParts<V> parts) {
    constexpr double log_2_high = kIsFloat<V> ? 0x1.344p-2 : 0x1.34413508p-2;
    constexpr double log_2_low = 0x1.34413509f79ffp-2 - log_2_high - 0x1.9dc1da994fd21p-59;
    constexpr double high = kIsFloat<V> ? 0x1.bccp-2 : 0x1.bcb7b1p-2;
    constexpr double low = 0x1.bcb7b1526e50ep-2 - high + 0x1.95355baaafad3p-57;
    return log_to_base(parts, log_2_high, log_2_low, high, low);
  });
}

template <class V>
FACULA_FN V log1p(V x) {
  // 1 + x is rounded to choose k only; f = (1 + x) 2^-k - 1 is then computed from x itself.
  LogParts<V> parts = log_parts(V(1) + x);
  // Where that makes no difference, 2^-k may be too small for pow2.
  V power = pow2(-parts.k);
  parts.f = select(parts.k < V(100), fma(x, power, power - V(1)), parts.f);
  V y = log_from_parts(parts);
  if constexpr (!kIsFloat<V>) {
    // What rounding took from f, times the slope of the logarithm there.
    V lost = difference_error(power - V(1), -x * power, parts.f);
    y = y + select(parts.k < V(100), lost * (V(1) - parts.f), V(0));
  }
  y = select(x > V(-1) && x != infinity<V>(), y, select(x == V(-1), -infinity<V>(), x));
  y = select(x == V(0), x, y);
  return select(x < V(-1), nan<V>(), y);
}

// For 0 <= x <= 1.
template <class V>
FACULA_FN V log1p_of_unit(V x) {
  if constexpr (kIsFloat<V>) {
    return fma(x * x,
               poly(x - V(0.5), -0.37813956, 0.179224861, -0.0932317881, 0.0510902955,
                    -0.0289078615, 0.0166432536, -0.0101473871, 0.00697205786, -0.00340767695),
               x);
  } else {
    return log1p(x);
  }
}

// log(x / (1 - x)). Near 1/2 the quotient is near 1, and its rounding would be most of the result.
template <class V>
FACULA_FN V logit(V x) {
  // The quotient is made of a power of two more, and so never denormal.
  constexpr int scale_bits = Ieee<V>::kMantissaBits + 1;
  V scaled = x * pow2(V(scale_bits));
  V rest = V(1) - x;
  V rest_low = (V(1) - rest) - x;
  V inverse = V(1) / rest;
  V quotient = scaled * inverse;
  V lost = inverse * (-product_error(quotient, rest, scaled) - quotient * rest_low);
  LogParts<V> parts = log_parts(quotient);
  parts.f = fma(lost, pow2(-parts.k), parts.f);
  parts.k = parts.k - V(scale_bits);
  V y = log_from_parts(parts);
  auto is_outside = !(x > V(0) && x < V(1));
  if (!any(is_outside)) return y;
  V edge = select(x == V(0), -infinity<V>(), select(x == V(1), infinity<V>(), nan<V>()));
  return select(is_outside, edge, y);
}

// The logarithm of a number above zero in two parts, to 2^-66 of its value: a power of a large
// exponent has all its bits.
template <class V>
struct LongLog {
  V high, low;
};
template <class V>
FACULA_FN LongLog<V> long_log_in_double(V x) {
  constexpr double scale_bits = Ieee<V>::kMantissaBits + 1;
  auto is_denormal = x < V(Ieee<V>::kMinNormal);
  LogParts<V> parts = log_parts(select(is_denormal, x * pow2(V(scale_bits)), x));
  V k = select(is_denormal, parts.k - V(scale_bits), parts.k), f = parts.f;
  // As in log_of_one_plus_minus(): 2 s + s^3 (2/3 + z R), with s and z = s^2 in two parts too.
  V sum = V(2) + f, sum_low = f - (sum - V(2));
  V s = f / sum;
  V s_low = -(product_error(s, sum, f) + s * sum_low) / sum;
  V z = s * s, z_low = fma(s + s, s_low, product_error(s, s, z));
  V t = z * poly(z, 0.40000000000000002, 0.2857142857142857, 0.22222222222222221,
                 0.18181818181818182, 0.15384615384615385, 0.13333333333333333, 0.11764705882352941,
                 0.10526315789473684, 0.095238095238095233, 0.086956521739130432);
  V factor = V(2. / 3) + t;
  V factor_low = (t - (factor - V(2. / 3))) + V(0x1.5555555555555p-55);
  V cube = s * z, cube_low = product_error(s, z, cube) + fma(s, z_low, s_low * z);
  V rest = cube * factor;
  V rest_low = product_error(cube, factor, rest) + fma(cube, factor_low, cube_low * factor);
  V twice = s + s;
  V y = twice + rest;
  V y_low = (rest - (y - twice)) + (s_low + s_low + rest_low);
  // ln(2) in two parts, of which k times the first is exact.
  constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  V whole = k * V(ln2_high);
  V joined = whole + y;
  V joined_low = select(k == V(0), y_low, (y - (joined - whole)) + fma(k, V(ln2_low), y_low));
  // k times the second part of ln(2) reaches into the first part of the sum.
  V high = joined + joined_low;
  return {high, joined_low - (high - joined)};
}

// x^y for finite x > 0.
template <class V>
FACULA_FN V long_pow_in_double(V x, V y) {
  LongLog<V> log_x = long_log_in_double(x);
  V product = y * log_x.high;
  V low = product_error(y, log_x.high, product) + y * log_x.low;
  low = select(abs(product) < V(800), low, V(0));  // beyond, it may be NaN
  ExpParts<V> parts = exp_parts(clamp(product, lowest_exponent<V>(), V(710)));
  // Before the exponential, so that powers of two are exact.
  return ldexp(exp_near_zero(parts.r + (parts.r_low + low)), parts.n);
}

// x^y for finite x > 0, to 2^-33 of it, for a result that is rounded to float.
template <class V>
FACULA_FN V short_pow_in_double(V x, V y) {
  // Log2(1 + f) is 2 atanh(s) / ln(2) with s = f / (2 + f).
  LogParts<V> parts = log_parts(x);
  V s = parts.f / (V(2) + parts.f);
  V log2_x = fma(s,
                 poly(s * s, 2.8853900817778473, 0.9617966941191378, 0.5770779405570725,
                      0.4122094463757404, 0.319897313506026, 0.2830255894356827),
                 parts.k);
  // Beyond these bounds floats are 0 and infinite.
  V product = clamp(y * log2_x, V(-1000), V(1000));
  V n = (product + V(Ieee<V>::kRounder)) - V(Ieee<V>::kRounder), r = product - n;
  V tail =
      poly(r, 0.6931471805406414, 0.24022651101345796, 0.05550410964965085, 0.009618032887129094,
           0.0013333428563466186, 0.00015468461756502105, 1.5315543779832626e-05);
  return fma(r, tail, V(1)) * pow2(n);
}

// x^y, from r = |x|^y for finite x > 0 with r = 1 for y = 0: C's special cases.
template <class V>
FACULA_FN V pow_of_any(V r, V x, V y) {
  V a = abs(x);
  auto is_integer = round(y) == y;
  auto is_odd = is_integer && round(y * V(0.5)) != y * V(0.5);
  V growth = select(a == V(0), -y, select(a == infinity<V>(), y, a + y));
  V edge = select(growth > V(0), infinity<V>(), select(growth < V(0), V(0), growth));
  r = select((a > V(0) && a < infinity<V>()) || y == V(0), r, edge);
  r = select(a == V(1) && y == y, V(1), r);
  r = select(is_odd, copysign(r, x), r);
  return select(x < V(0) && a != infinity<V>() && !is_integer, nan<V>(), r);
}
template <class V>
FACULA_FN V pow(V x, V y) {
  V r;
  if constexpr (kIsFloat<V>) {
    r = through_double([](auto a, auto b) { return short_pow_in_double(a, b); }, abs(x), y);
  } else {
    r = long_pow_in_double(abs(x), y);
  }
  r = select(y == V(0) || x == V(1), V(1), r);
  return any(!(x > V(0) && x < infinity<V>())) ? pow_of_any(r, x, y) : r;
}

template <class V>
FACULA_FN V rsqrt(V x) {
  return V(1) / sqrt(x);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
