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

// x times the probability that a standard normal number is below x.
template <class V>
FACULA_FN V gelu(V x) {
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
