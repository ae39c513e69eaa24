// Hyperbolic functions and their inverses. V is float, double or a vector of either, but for names
// that end in _in_double.
#pragma once
#include "math/exp_log.h"

namespace facula::math {
inline namespace FACULA_ISA {

template <class V>
FACULA_FN V tanh(V x) {
  V a = abs(x);
  V z = a * a;
  V small;
  if constexpr (kIsFloat<V>) {
    small = fma(a * z,
                poly(z, -0.333333178, 0.133325946, -0.0538531462, 0.0210748036, -0.00627819944), a);
  } else {
    small = fma(a * z,
                poly(z, -0.33333333333333132, 0.13333333333300776, -0.053968253949812091,
                     0.021869488014535511, -0.0088632269372797244, 0.0035920386985689285,
                     -0.0014552223191405336, 0.00058721188018060822, -0.00023044587329406837,
                     7.9371788649378871e-05, -1.7208127362831878e-05),
                a);
  }
  // From the bound on, the result is 1 to the last bit.
  ExpParts<V> parts = exp_parts(at_most(a + a, V(kIsFloat<V> ? 18.2 : 40)));
  V large = V(1) - V(2) / fma(power_of_two(parts), exp_near_zero(parts.r), V(1));
  // Both are positive: the sign of x is all that is missing.
  V y = select(a < V(0.55), small, large);
  return from_bits(to_bits(y) | (to_bits(x) & Bits<V>(Ieee<V>::kSignBit)));
}

template <class V>
FACULA_FN V sinh_in_double(V x) {
  V a = abs(x);
  V z = x * x;
  V small = fma(a * z,
                poly(z, 0.16666666666666666, 0.0083333333333333332, 0.00019841269841269589,
                     2.7557319224120524e-06, 2.5052108345585994e-08, 1.605905071201547e-10,
                     7.646476002797676e-13, 2.8484068495975696e-15),
                a);
  V half = half_exp(a);
  return copysign(select(a < V(1), small, half - V(0.25) / half), x);
}
template <class V>
FACULA_FN V sinh(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return sinh_in_double(wide); }, x);
  } else {
    return sinh_in_double(x);
  }
}

template <class V>
FACULA_FN V cosh_in_double(V x) {
  V half = half_exp(abs(x));
  return half + V(0.25) / half;
}
template <class V>
FACULA_FN V cosh(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return cosh_in_double(wide); }, x);
  } else {
    return cosh_in_double(x);
  }
}

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
// From here on sqrt(x^2 + 1) is x to the last bit.
constexpr double kSquareDominates = 0x1p28;

template <class V>
FACULA_FN V asinh_in_double(V x) {
  V a = abs(x);
  V square = a * a;
  V y = log1p(a + square / (V(1) + sqrt(square + V(1))));
  return copysign(select(a > V(kSquareDominates), log(a) + V(kLn2), y), x);
}
template <class V>
FACULA_FN V asinh(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return asinh_in_double(wide); }, x);
  } else {
    return asinh_in_double(x);
  }
}

template <class V>
FACULA_FN V acosh_in_double(V x) {
  V t = x - V(1);
  // The root and the sum with what rounding took from them: near 1 it would be seen.
  V square = fma(t, t, t + t);
  V root = sqrt(square);
  V sum = root + t;
  V lost = t - (sum - root);
  V y = log1p(sum) + lost / (V(1) + sum);
  y = select(x > V(kSquareDominates), log(x) + V(kLn2), y);
  return select(x < V(1), nan<V>(), y);
}
template <class V>
FACULA_FN V acosh(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return acosh_in_double(wide); }, x);
  } else {
    return acosh_in_double(x);
  }
}

template <class V>
FACULA_FN V atanh_in_double(V x) {
  V a = abs(x);
  V twice = a + a;
  V y = V(0.5) * log1p(twice + twice * a / (V(1) - a));
  return copysign(select(a > V(1), nan<V>(), y), x);
}
template <class V>
FACULA_FN V atanh(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return atanh_in_double(wide); }, x);
  } else {
    return atanh_in_double(x);
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::math
