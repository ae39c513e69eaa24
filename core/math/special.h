// Special functions. V is float, double or a vector of either, but for names that end in
// _in_double.
#pragma once
#include "math/exp_log.h"
#include "math/trig.h"

namespace facula::math {
inline namespace FACULA_ISA {

// name(x), of any V, by name_in_double(): floats are rounded once, at the end.
#define FACULA_BY_DOUBLE(name)                                                    \
  template <class V>                                                              \
  FACULA_FN V name(V x) {                                                         \
    if constexpr (kIsFloat<V>) {                                                  \
      return through_double([](auto wide) { return name##_in_double(wide); }, x); \
    } else {                                                                      \
      return name##_in_double(x);                                                 \
    }                                                                             \
  }
#define FACULA_BY_DOUBLE_OF_TWO(name)                                                     \
  template <class V>                                                                      \
  FACULA_FN V name(V x, V y) {                                                            \
    if constexpr (kIsFloat<V>) {                                                          \
      return through_double([](auto a, auto b) { return name##_in_double(a, b); }, x, y); \
    } else {                                                                              \
      return name##_in_double(x, y);                                                      \
    }                                                                                     \
  }

// exp(x^2) erfc(x) (1 + 2x) for 0 <= x <= 28: nearly constant, so that a polynomial serves.
template <class V>
FACULA_FN V scaled_erfc_in_double(V x) {
  V q = (x - V(4)) / (x + V(4));
  return poly(q, 1.2329951186255526, -0.13962111684056253, 0.015379652102619653,
              0.068097054254695241, -0.1010390660362994, 0.09373283499825931, -0.066330365812323711,
              0.037167515538929302, -0.016197734056616425, 0.0050319699652780388,
              -0.00075777329652561699, -0.00019925662731866959, 0.000150621712020841,
              -2.4399437715608654e-05, -1.1222151494313603e-05, 5.7101917033904357e-06,
              2.9410523407075796e-07, -8.2596892016713308e-07, 7.4169237232740997e-08,
              1.1034694395377278e-07, -1.7510902459977337e-08, -1.4085809442799538e-08,
              1.6888697378600677e-09, 1.2038893051665214e-09);
}

// erfc(x) for 0 <= x, with square + square_error = x^2: the exponential would magnify the rounding
// of the square.
template <class V>
FACULA_FN V erfc_tail_in_double(V x, V square, V square_error) {
  V y = exp(-square) * (scaled_erfc_in_double(x) / (V(1) + x + x));
  return fma(-square_error, y, y);
}
template <class V>
FACULA_FN V erfc_tail_in_double(V x) {
  x = at_most(x, V(28));
  V square = x * x;
  return erfc_tail_in_double(x, square, product_error(x, x, square));
}

// erf(x) for |x| < 1, z = x^2.
template <class V>
FACULA_FN V erf_near_zero(V x, V z) {
  if constexpr (kIsFloat<V>) {
    return fma(x,
               poly(z, 0.128379166, -0.376126271, 0.112835996, -0.0268544222, 0.00518949248,
                    -0.000802046211, 7.88786054e-05),
               x);
  } else {
    return fma(x,
               poly(z, 0.12837916709551256, -0.37612638903183548, 0.11283791670945229,
                    -0.026866170643272312, 0.0052239776073926035, -0.00085483259882720357,
                    0.00012055295279443675, -1.4924743902954117e-05, 1.6447508622364551e-06,
                    -1.6209108898360983e-07, 1.3722695838901755e-08, -7.800681853166845e-10),
               x);
  }
}

template <class V>
FACULA_FN V erf(V x) {
  V a = abs(x);
  V large;
  if constexpr (kIsFloat<V>) {
    // erfc(a) = exp(-a P(a)) to the accuracy that is left of it in 1 - erfc(a).
    V b = at_most(a, V(3.95));
    ExpParts<V> parts = exp_parts(-b * poly(b, 1.12847577, 0.63584591, 0.10509701, -0.0227860514,
                                            0.00318301616, -0.000210159199));
    large = fma(-power_of_two(parts), exp_near_zero(parts.r), V(1));
  } else {
    large = V(1) - erfc_tail_in_double(a);
  }
  return copysign(select(a < V(1), erf_near_zero(a, a * a), large), x);
}

// For 0 <= x, where the result is rounded to float.
template <class V>
FACULA_FN V erfc_tail_for_float(V x) {
  x = at_most(x, V(10.5));
  // erfc(x) = exp(-x^2) t Q(t); the square of a float is exact.
  V t = V(1) / (x + V(3));
  V q = poly(t, 0.56420046889531039, 1.6916617136186836, 4.8293921152845956, 11.951223171141571,
             41.628385745928263, -39.932787733146618, 879.65655986726188, -3576.4371532716659,
             12875.701601476037, -28579.547138387443, 32007.686916698793, -14311.744978846447);
  ExpParts<V> parts = exp_parts(-x * x);
  V r = parts.r;
  V tail = poly(r, 0.50000000829587177, 0.16666666822348861, 0.041666253407562782,
                0.0083332724207949693, 0.0013947239154149102, 0.0001991431972725679);
  return power_of_two(parts) * fma(fma(tail, r, V(1)), r, V(1)) * (t * q);
}

template <class V>
FACULA_FN V erfc(V x) {
  if constexpr (kIsFloat<V>) {
    auto in_double = [](auto wide) {
      using W = decltype(wide);
      W tail = erfc_tail_for_float(abs(wide));
      return select(wide > W(0), tail, W(2) - tail);
    };
    return through_double(in_double, x);
  } else {
    V a = abs(x);
    V tail = erfc_tail_in_double(a);
    V far = select(x > V(0), tail, V(2) - tail);
    return select(a < V(0.5), V(1) - erf_near_zero(x, x * x), far);
  }
}

// exp(x^2) erfc(x).
template <class V>
FACULA_FN V erfcx_in_double(V x) {
  V a = abs(x), b = at_most(a, V(28));
  V r = V(1) / (a * a);
  constexpr double inverse_sqrt_pi = 0.56418958354775629;
  V far = V(inverse_sqrt_pi) / a * poly(r, 1, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875);
  V tail = select(a > V(28), far, scaled_erfc_in_double(b) / (V(1) + b + b));
  V square = b * b, grown = exp(square);
  // Infinite numbers have no error to mend.
  V mended = fma(product_error(b, b, square), grown, grown);
  grown = select(grown < infinity<V>(), mended, grown);
  return select(x != x, x, select(x < V(0), V(2) * grown - tail, tail));
}
FACULA_BY_DOUBLE(erfcx)

// The logarithm of the normal distribution's integral.
template <class V>
FACULA_FN V log_ndtr_in_double(V x) {
  V t = x * V(0.70710678118654752);
  V left = log(erfcx_in_double(-t) * V(0.5)) - t * t;
  return select(x < V(-1), left, log1p(erfc(t) * V(-0.5)));
}
FACULA_BY_DOUBLE(log_ndtr)

// -log(1 - a^2) for 0 <= a < 1.
template <class V>
FACULA_FN V erfinv_argument(V a) {
  return -log_from_parts(log_parts((V(1) - a) * (V(1) + a)));
}
// The result for |x| = a: y inside of (-1, 1).
template <class V>
FACULA_FN V erfinv_with_ends(V x, V a, V y) {
  auto is_inside = a < V(1);
  if (any(!is_inside)) y = select(is_inside, y, select(a == V(1), infinity<V>(), nan<V>()));
  return copysign(y, x);
}

template <class V>
FACULA_FN V erfinv_for_float(V x) {
  // erfinv(x) / x as a polynomial in w, or in its root for the few that are close to 1.
  V a = abs(x), w = erfinv_argument(a);
  V ratio = poly(w, 0.88622692604503561, 0.23201363344455558, 0.01154964719087858,
                 -0.0023361957330815526, -0.00012604394426435784, 4.4506667361744755e-05,
                 3.3642420818044365e-06, -1.5289354399141931e-06, 6.7166306555319967e-08,
                 2.0383692822682633e-08, -2.934392686367771e-09, 1.2255894468558898e-10);
  auto is_tail = w >= V(5);
  if (any(is_tail))
    ratio = select(is_tail,
                   poly(sqrt(w), -1.4773621616492294, 6.970914152209283, -8.0732940645207893,
                        4.6527629469613769, -0.58576925189440843, -0.82837367071967127,
                        0.59206939638472478, -0.20179103371027451, 0.041379179961707521,
                        -0.0052149750446565842, 0.0003746481757738113, -1.1808782489122772e-05),
                   ratio);
  return erfinv_with_ends(x, a, a * ratio);
}

template <class V>
FACULA_FN V erfinv_in_double(V x) {
  // A start to 20 bits as above, then one step of Halley's method, which triples their number.
  V a = abs(x), w = erfinv_argument(a);
  V ratio = poly(w, 0.88622679373083879, 0.23201793939831727, 0.011526585456750834,
                 -0.0022887925894226565, -0.0001744783068227252, 7.1825596144734771e-05,
                 -5.3028736566726312e-06, -1.3335648314557727e-07, 2.3809705841724176e-08);
  auto is_tail = w >= V(5);
  if (any(is_tail))
    ratio = select(is_tail,
                   poly(sqrt(w), -0.65423724773426084, 6.1823551592167405, -10.064333720886266,
                        9.5204454805283447, -5.4596447443277469, 2.0735189476830791,
                        -0.54194175310703341, 0.098436523123844211, -0.012249063861630608,
                        0.00099830140653794333, -4.8085581202023911e-05, 1.0389850808425901e-06),
                   ratio);
  V y = at_most(a * ratio, V(28));
  V square = y * y, grown = exp(square);
  grown = fma(product_error(y, y, square), grown, grown);
  V near_zero = (erf_near_zero(y, square) - a) * grown;
  V tail = (V(1) - a) * grown - scaled_erfc_in_double(y) / (V(1) + y + y);
  V step = select(a < V(0.75), near_zero, tail) * V(0x1.c5bf891b4ef6ap-1);
  y = y - step / fma(y, step, V(1));
  return erfinv_with_ends(x, a, y);
}
template <class V>
FACULA_FN V erfinv(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return erfinv_for_float(wide); }, x);
  } else {
    return erfinv_in_double(x);
  }
}

// Where the integral of the normal distribution is p: by erfinv in the middle, and towards the ends
// by Newton's method for its logarithm.
template <bool kForFloat, class V>
FACULA_FN V ndtri_in_double(V p) {
  auto is_outside = !(p > V(0) && p < V(1));
  if (!any(!is_outside))  // as all integers are
    return select(p == V(0), -infinity<V>(), select(p == V(1), infinity<V>(), nan<V>()));
  V middle = p + p - V(1);
  V y = V(1.4142135623730951) * (kForFloat ? erfinv_for_float(middle) : erfinv_in_double(middle));
  V tail = select(p < V(0.5), p, V(1) - p);
  auto is_end = tail > V(0) && tail <= V(0.02);
  if (any(is_end)) {
    V log_tail = log(tail), square = V(-2) * log_tail;
    V x = sqrt(square - log(V(2 * kPi) * (square - log(V(2 * kPi) * square))));
    for (int i = 0; i < 4; ++i) {
      V inverse_slope = erfcx_in_double(x * V(0.70710678118654752)) * V(1.2533141373155003);
      x = fma(log_ndtr_in_double(-x) - log_tail, inverse_slope, x);
    }
    y = select(is_end, select(p < V(0.5), -x, x), y);
  }
  return select(p >= V(0) && p <= V(1), y, nan<V>());
}
template <class V>
FACULA_FN V ndtri(V p) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return ndtri_in_double<true>(wide); }, p);
  } else {
    return ndtri_in_double<false>(p);
  }
}

// C's lgamma leaves the sign in a global, which threads would fight over; lgamma_r does not.
FACULA_FN double lgamma_of_lane(double x) {
#if defined(__CUDACC__) || !defined(__GLIBC__)
  return ::lgamma(x);
#else
  int sign;
  return ::lgamma_r(x, &sign);
#endif
}

// In double, for a result that is rounded to float.
template <class V>
FACULA_FN V lgamma_for_float(V x) {
  V a = abs(x);
  // Up to 2.5 from lgamma(2 + t), with Gamma(a + 1) = a Gamma(a); beyond, by Stirling's series.
  V t = select(a < V(0.5), a, select(a < V(1.5), a - V(1), a - V(2)));
  V log_a = log(select(a < V(0.5), a * (a + V(1)), a));
  V small = t * poly(t, 0.4227843351010051, 0.32246703367621798, -0.067352301676207926,
                     0.020580788370919867, -0.007385525582051751, 0.0028909556144732368,
                     -0.0011931404973342986, 0.00050566054657426068, -0.00022047838459015012,
                     0.00011499793313211233, -5.3412576311689163e-05);
  V r = V(1) / a;
  V series = r * poly(r * r, 0.083333333287959541, -0.0027777719254235824, 0.00079337152185006009,
                      -0.00058843102425322653, 0.00074491640848459563, -0.0010449155246422962,
                      0.00091203669373289672);
  constexpr double half_log_2pi = 0.91893853320467274;
  V large = fma(a - V(0.5), log_a - V(1), series + V(half_log_2pi - 0.5));
  V y = select(a < V(2.5), select(a < V(1.5), small - log_a, small), large);
  auto is_negative = x < V(0);
  if (!any(is_negative)) return y;
  // Gamma(-a) Gamma(a) = -pi / (a sin(pi a)).
  V reflected = -log(a * abs(sin_pi_in_double(a)) * V(1 / kPi)) - y;
  y = select(is_negative, select(a == infinity<V>(), a, reflected), y);
  // Close to its zeros that is the difference of two numbers that are not small.
  return per_lane_where(
      x < V(-2) && abs(y) < V(0x1p-6), [](double lane) { return lgamma_of_lane(lane); }, x, y);
}
template <class V>
FACULA_FN V lgamma(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return lgamma_for_float(wide); }, x);
  } else {
    return per_lane([](double lane) { return lgamma_of_lane(lane); }, x);
  }
}

// In double, close to its zeros, the absolute error is small but not the relative one.
template <class V>
FACULA_FN V digamma_in_double(V x) {
  // Below 1/2: psi(x) = psi(1 - x) - pi cot(pi x).
  auto is_reflected = x < V(0.5);
  V r = x - round(x);
  V cotangent = copysign(sin_pi_in_double(V(0.5) - abs(r)), r) / sin_pi_in_double(abs(r));
  V reflection = select(is_reflected, V(kPi) * cotangent, V(0));
  V y = select(is_reflected, V(1) - x, x);
  // psi(y) = psi(y + 1) - 1/y, up to where the asymptotic series has converged.
  V sum = V(0);
  for (int i = 0; i < 10; ++i) {
    auto is_small = y < V(10);
    sum = select(is_small, sum + V(1) / y, sum);
    y = select(is_small, y + V(1), y);
  }
  V z = V(1) / (y * y);
  V series = z * poly(z, 1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12);
  V result = ((log(y) - V(0.5) / y) - series) - sum - reflection;
  result = select(x == infinity<V>(), x, result);
  auto is_pole = x <= V(0) && r == V(0);
  return select(x == V(0), copysign(infinity<V>(), -x), select(is_pole, nan<V>(), result));
}
FACULA_BY_DOUBLE(digamma)

// The modified Bessel function of order 0, as it is or times exp(-|x|).
template <bool is_scaled, class V>
FACULA_FN V i0_in_double(V x) {
  V a = abs(x);
  V square = at_most(a * a, V(64));
  V z = square * V(0.25);
  V small = fma(z,
                poly(z, 1, 0.25000000000000006, 0.027777777777777592, 0.001736111111111353,
                     6.9444444444256755e-05, 1.9290123457742053e-06, 3.9367598858030184e-08,
                     6.1511874106627749e-10, 7.5940568827206711e-12, 7.5940795675729496e-14,
                     6.2758658279166498e-16, 4.3600189924139983e-18, 2.5699443985134691e-20,
                     1.3507673545147761e-22, 4.9438042251910292e-25, 3.6430987936443823e-27),
                V(1));
  // What rounding took from z, times the slope: about 1 / (1 + z/5) of the value.
  V lost = product_error(a, a, square) * V(0.25);
  small = select(a < V(8), fma(small, lost / fma(z, V(0.2), V(1)), small), small);
  V b = is_scaled ? at_least(a, V(8)) : clamp(a, V(8), V(720));
  V scaled =
      poly(V(8) / b, 0.39894228040143237, 0.0062334731313345429, 0.00043829107524186644,
           5.7069298229573786e-05, 1.0920664444727195e-05, 2.7901695957602802e-06,
           8.6830065507273361e-07, -2.6750923791933069e-06, 4.2891306431662447e-05,
           -0.00034925445970759449, 0.0019771892907001344, -0.0082638648343665091,
           0.026292018566953821, -0.064668598727638679, 0.12381518549611968, -0.18461339398196772,
           0.2132172448448075, -0.18849507600018933, 0.12497499743239014, -0.060080012747372083,
           0.019762034580417771, -0.003977478562216856, 0.0003694422016772425) /
      sqrt(b);
  if constexpr (is_scaled) {
    return select(a < V(8), small * exp(-a), scaled);
  } else {
    // The power of two last: the result overflows later than exp(b) does.
    ExpParts<V> parts = exp_parts(b);
    V large = ldexp(exp_near_zero(parts.r) * scaled, parts.n);
    return select(a < V(8), small, large);
  }
}
template <class V>
FACULA_FN V i0(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return i0_in_double<false>(wide); }, x);
  } else {
    return i0_in_double<false>(x);
  }
}
template <class V>
FACULA_FN V i0e(V x) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto wide) { return i0_in_double<true>(wide); }, x);
  } else {
    return i0_in_double<true>(x);
  }
}

// -x log(x), the part of the entropy that a probability has.
template <class V>
FACULA_FN V entr(V x) {
  V outside = select(x < V(0), -infinity<V>(), x + V(0));
  return select(x > V(0), -x * log(x), outside);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
