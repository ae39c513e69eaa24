// Activation functions, in forms that neither overflow nor cancel. V is float, double or a vector
// of either.
#pragma once
#include "math/exp_log.h"
#include "math/hyperbolic.h"
#include "math/special.h"

namespace facula::math {
inline namespace FACULA_ISA {

// exp(-|x|).
template <class V>
FACULA_FN V exp_of_minus_abs(V x) {
  return exp_of_clamped(at_least(-abs(x), lowest_exponent<V>()));
}

template <class V>
FACULA_FN V sigmoid(V x) {
  V e = exp_of_minus_abs(x);
  V sum = V(1) + e;
  V y = select(x < V(0), e, V(1)) / sum;
  // What rounding took from the sum changes y by that times y / sum; 1 - e/2 is close to 1 / sum.
  V lost = e - (sum - V(1));
  return fma(-y * lost, fma(e, V(-0.5), V(1)), y);
}

// Of selu: its scale, and scale times alpha for negative x.
constexpr double kSeluScale = 1.0507009873554805, kSeluNegative = 1.7580993408473766;

template <class V>
FACULA_FN V silu(V x) {
  V e = exp_of_minus_abs(x);
  return select(x < V(0), x * e, x) / (V(1) + e);
}

// log(1 + exp(x)).
template <class V>
FACULA_FN V softplus(V x) {
  return at_least(x, V(0)) + log1p_of_unit(exp_of_minus_abs(x));
}

template <class V>
FACULA_FN V logsigmoid(V x) {
  return at_most(x, V(0)) - log1p_of_unit(exp_of_minus_abs(x));
}

// x tanh(softplus(x)): with e = exp(x), the tangent is e (e + 2) / (e (e + 2) + 2).
template <class V>
FACULA_FN V mish(V x) {
  V e = exp(at_most(x, V(30)));
  V n = fma(e, e, e + e);
  return select(x > V(30), x, x * (n / (n + V(2))));
}

// A line from 0 at -3 to 1 at 3.
template <class V>
FACULA_FN V hardsigmoid(V x) {
  return at_most(at_least(x + V(3), V(0)), V(6)) / V(6);
}

// The probability that a standard normal number is above a >= 0. It keeps its accuracy, which
// 1 - erf(a) would lose; beyond the bound it is less than the smallest number.
template <class V>
FACULA_FN V normal_bound() {
  return V(kIsFloat<V> ? 20 : 38.6);
}
template <class V>
FACULA_FN V normal_tail(V a) {
  if constexpr (kIsFloat<V>) {
    // Minus its logarithm is a polynomial, and then, where it is below 4e-9, taken for a line.
    V b = at_most(a, V(5.8));
    return exp_of_clamped(fma(b - a, V(6),
                              -poly(b, 0.693147167, 0.797885367, 0.318301929, 0.0363650983,
                                    -0.00483506102, 1.30833319e-05, 0.000189267839, -5.22051432e-05,
                                    7.56146255e-06, -6.00382034e-07, 2.05223619e-08)));
  } else {
    constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1;
    V square = a * a;
    V half_square = V(0.5) * square, scaled = a * V(sqrt_half);
    V half_error = V(0.5) * product_error(a, a, square);
    V tail = V(0.5) * erfc_tail_in_double(scaled, half_square, half_error);
    return select(a < V(1), fma(V(-0.5), erf_near_zero(scaled, half_square), V(0.5)), tail);
  }
}

#if FACULA_HAS_LOOKUP
// The same in float for a < kLookedUpTail, to the absolute accuracy that gelu needs: sixteen pieces
// around the multiples of 25/64, each a polynomial. Half the instructions of an exponential: 1M
// numbers take 219 us instead of 477 with AVX-512, 475 instead of 1013 with AVX2 (one thread).
// From there on gelu is -0, where other instruction sets have numbers of less than 5e-9.
constexpr double kLookedUpTail = 6.04;
template <class V>
FACULA_FN V normal_tail_by_lookup(V a) {
  static constexpr float tables[6][16] = {
      {0.5f, 0.348037213f, 0.217327744f, 0.120623626f, 0.0590851232f, 0.0254023895f, 0.0095454799f,
       0.00312494067f, 0.00088902557f, 0.000219360401f, 4.686994e-05f, 8.6612099e-06f,
       1.38283497e-06f, 1.90594207e-07f, 2.26620731e-08f, 2.32323472e-09f},
      {-0.398942262f, -0.369637489f, -0.294018f, -0.200772256f, -0.117697023f, -0.0592323691f,
       -0.0255908463f, -0.00949165784f, -0.00302225724f, -0.000826138305f, -0.000193868065f,
       -3.9056391e-05f, -6.75477122e-06f, -1.00291072e-06f, -1.27834383e-07f, -1.39883847e-08f},
      {-4.28681744e-07f, 0.0721926242f, 0.114848375f, 0.117639154f, 0.0919514969f, 0.0578452274f,
       0.0299899373f, 0.0129769938f, 0.00472214399f, 0.00145205134f, 0.000378566328f,
       8.38771957e-05f, 1.58213024e-05f, 2.5439449e-06f, 3.49045223e-07f, 4.08989074e-08f},
      {0.0664990768f, 0.0522048697f, 0.0190945733f, -0.0124904299f, -0.0282736216f, -0.027786389f,
       -0.0191641413f, -0.0102462023f, -0.00441544876f, -0.00156410877f, -0.000460695854f,
       -0.000113656664f, -2.36033902e-05f, -4.14095666e-06f, -6.15348767e-07f, -7.76089379e-08f},
      {-7.5864984e-05f, -0.0169766694f, -0.0227025952f, -0.0158882663f, -0.00433005579f,
       0.00384853408f, 0.00618421566f, 0.00483316276f, 0.00267186901f, 0.00114283408f,
       0.000392553105f, 0.000110420217f, 2.57353822e-05f, 5.00823626e-06f, 8.18160515e-07f,
       1.12638922e-07f},
      {-0.0097157266f, -0.00644643791f, 0.000679771765f, 0.00556404702f, 0.0055339369f,
       0.00262687402f, -3.15361722e-05f, -0.00109769276f, -0.000997427152f, -0.00056256901f,
       -0.00023473207f, -7.6859651e-05f, -2.03133532e-05f, -4.40340955e-06f, -7.90940874e-07f,
       -1.18540456e-07f},
  };
  V rounder = V(Ieee<V>::kRounder);
  V shifted = fma(a, V(2.56), rounder);
  V d = fma(shifted - rounder, V(-0.390625), a);
  V y = lookup(tables[5], to_bits(shifted));
  for (int i = 4; i >= 0; --i) y = fma(y, d, lookup(tables[i], to_bits(shifted)));
  return y;
}
#endif

// x times the probability that a standard normal number is below x.
template <class V>
FACULA_FN V gelu(V x) {
#if FACULA_HAS_LOOKUP
  if constexpr (kIsFloat<V>) {
    // What is cut off is less than 5e-9.
    V a = abs(x);
    return at_least(x, V(-0.0)) - select(a < V(kLookedUpTail), a * normal_tail_by_lookup(a), V(0));
  }
#endif
  V a = at_most(abs(x), normal_bound<V>());
  // Not +0: a result too small for its type is -0 then.
  return at_least(x, V(-0.0)) - a * normal_tail(a);
}

template <class V>
FACULA_FN V gelu_backward(V g, V x) {
  constexpr double inverse_sqrt_2pi = 0.3989422804014327;
  V a = at_most(abs(x), normal_bound<V>());
  V tail = normal_tail(a);
  V probability = select(x < V(0), tail, V(1) - tail);
  V density = exp_of_clamped(at_least(V(-0.5) * a * a, lowest_exponent<V>())) * V(inverse_sqrt_2pi);
  return g * fma(select(x < V(0), -a, a), density, probability);
}

// The approximation with tanh, as x sigmoid(2y).
template <class V>
FACULA_FN V gelu_tanh(V x) {
  constexpr double sqrt_8_over_pi = 1.5957691216057308;
  V twice_y = x * fma(x * x, V(sqrt_8_over_pi * 0.044715), V(sqrt_8_over_pi));
  V e = exp_of_minus_abs(twice_y);
  return select(x < V(0), x * e, x) / (V(1) + e);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
