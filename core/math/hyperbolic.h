// Hyperbolic functions and their inverses. V is float, double or a vector of either, but for names
// that end in _in_double.
#pragma once
#include "math/exp_log.h"

namespace facula::math {
inline namespace FACULA_ISA {

// tanh(a) for a = |x| in float: fourteen pieces, two per power of two from 1/8 on, each a
// polynomial around a point where the tangent is all but a float. The tables hold that point, the
// tangent there and the coefficients, those of the first piece in column 7. Short, where the
// processor looks up a vector of numbers at once.
#if FACULA_HAS_LOOKUP
template <class V>
FACULA_FN V tanh_by_lookup(V a) {
  static constexpr float tables[8][16] = {
      {2.49993682f, 3.49993134f, 5.00009823f, 6.99980927f, 8.6003809f, 8.6003809f, 8.6003809f, 0,
       0.156254247f, 0.218745515f, 0.312489927f, 0.437508523f, 0.624986112f, 0.874995232f,
       1.25002086f, 1.74999332f},
      {0.986612618f, 0.998177648f, 0.999909222f, 0.999998331f, 0.99999994f, 0.99999994f,
       0.99999994f, 0, 0.154994875f, 0.215322062f, 0.302700579f, 0.411577135f, 0.554590106f,
       0.703903198f, 0.84828949f, 0.941374779f},
      {0.0265956391f, 0.00364145427f, 0.0001818132f, 3.32739501e-06f, 1.35439421e-07f,
       1.35439421e-07f, 1.35439421e-07f, 1, 0.975976586f, 0.953636408f, 0.908372343f, 0.830604255f,
       0.692429841f, 0.504520297f, 0.280404836f, 0.113813475f},
      {-0.0262393057f, -0.00363478693f, -0.000181711453f, -3.25904512e-06f, -4.9474454e-07f,
       -4.9474454e-07f, -4.9474454e-07f, -5.55357786e-08f, -0.151271537f, -0.20533897f,
       -0.274964869f, -0.341857731f, -0.384014755f, -0.355133474f, -0.237864569f, -0.107141115f},
      {0.017019622f, 0.00241206377f, 0.000118836826f, 2.20566335e-06f, 9.16761067e-08f,
       9.16761067e-08f, 9.16761067e-08f, -0.333328128f, -0.301879615f, -0.273664802f, -0.219558805f,
       -0.136167571f, -0.01784526f, 0.0818038508f, 0.108325057f, 0.0629288033f},
      {-0.00805255026f, -0.00119756174f, -5.9588423e-05f, -1.25556824e-06f, 2.53509506e-06f,
       2.53509506e-06f, 2.53509506e-06f, -0.000178256887f, 0.0976197794f, 0.127391264f,
       0.158137038f, 0.169995904f, 0.137904331f, 0.0608007833f, -0.0125877513f, -0.0235248003f},
      {0.00288724643f, 0.000490413455f, 2.84483722e-05f, 4.96745201e-07f, 1.35166465e-08f,
       1.35166465e-08f, 1.35166465e-08f, 0.136100039f, 0.107615709f, 0.0849731565f, 0.0455194041f,
       -0.00596546335f, -0.0543439128f, -0.0585513376f, -0.0196887087f, 0.00348283979f},
      {-0.000696605013f, -0.000157518225f, -9.34872241e-06f, -7.55232179e-08f, -4.71549583e-06f,
       -4.71549583e-06f, -4.71549583e-06f, -0.0198640022f, -0.315768093f, -0.0775564983f,
       -0.0759679079f, -0.0616749972f, -0.0242837835f, 0.0128135635f, 0.0151024722f,
       0.00209989678f},
  };
  a = at_most(a, V(9.1));  // from here on the result is 1 to the last bit
  // The exponent and the first bit of the mantissa, which count from 7 on, modulo 16, where those
  // of the last number below 1/8 are the first.
  Bits<V> piece = to_bits(at_least(a, V(0.09375))) >> 22;
  V d = a - lookup(tables[0], piece);
  V y = lookup(tables[7], piece);
  for (int i = 6; i >= 1; --i) y = fma(y, d, lookup(tables[i], piece));
  return y;
}
#endif

template <class V>
FACULA_FN V tanh(V x) {
  V a = abs(x);
#if FACULA_HAS_LOOKUP
  if constexpr (kIsFloat<V>) return with_sign_of(tanh_by_lookup(a), x);
#endif
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
  return with_sign_of(select(a < V(0.55), small, large), x);
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
FACULA_FN V atanh(V x) {
  V a = abs(x);
  V y;
  if constexpr (kIsFloat<V>) {
    // Up to 1/2 a polynomial; beyond, half the logarithm of (1 + a) / (1 - a), with what rounding
    // took from the quotient.
    V z = a * a;
    V small = fma(a * z,
                  poly(z, 0.333333333, 0.200000036, 0.142854192, 0.111203008, 0.0895177448,
                       0.088162408, 0.0181044732, 0.158654691),
                  a);
    V above = V(1) + a, below = V(1) - a;
    V quotient = above / below;
    V lost = (a - (above - V(1))) - product_error(quotient, below, above);
    V large = fma(lost / above, V(0.5), V(0.5) * log(quotient));
    y = select(a < V(0.5), small, select(a == V(1), infinity<V>(), large));
  } else {
    V twice = a + a;
    y = V(0.5) * log1p(twice + twice * a / (V(1) - a));
  }
  return copysign(select(a > V(1), nan<V>(), y), x);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
