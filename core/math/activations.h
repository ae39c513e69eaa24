// Activation functions, in forms that neither overflow nor cancel. V is float, double or a vector
// of either.
#pragma once
#include "exp_log.h"
#include "hyperbolic.h"
#include "special.h"

namespace facula::math {
inline namespace FACULA_ISA {

template <class V>
FACULA_FN V sigmoid(V x) {
  V e = exp(-abs(x));
  V sum = V(1) + e;
  V y = select(x < V(0), e, V(1)) / sum;
  // What rounding took from the sum changes y by that times y / sum; 1 - e/2 is close to 1 / sum.
  V lost = e - (sum - V(1));
  return fma(-y * lost, fma(e, V(-0.5), V(1)), y);
}

template <class V>
FACULA_FN V silu(V x) {
  V e = exp(-abs(x));
  return select(x < V(0), x * e, x) / (V(1) + e);
}

// log(1 + exp(x)).
template <class V>
FACULA_FN V softplus(V x) {
  return at_least(x, V(0)) + log1p(exp(-abs(x)));
}

template <class V>
FACULA_FN V logsigmoid(V x) {
  return at_most(x, V(0)) - log1p(exp(-abs(x)));
}

// x tanh(softplus(x)): with e = exp(x), the tangent is e (e + 2) / (e (e + 2) + 2).
template <class V>
FACULA_FN V mish(V x) {
  V e = exp(at_most(x, V(30)));
  V n = e * (e + V(2));
  return select(x > V(30), x, x * (n / (n + V(2))));
}

// x times the normal distribution's cumulative probability of x.
template <class V>
FACULA_FN V gelu(V x) {
  // The probability beyond |x| keeps its relative accuracy, which 1 + erf(x) would lose.
  V a = at_most(abs(x), V(40));
  V square = a * a;
  V error = product_error(a, a, square);
  V tail;
  if constexpr (kIsFloat<V>) {
    V t = V(1) / (a + V(2.5));
    V e = exp(V(-0.5) * square);
    tail = e * (t * poly(t, 0.398939293, 0.997698235, 2.07964605, 3.57686957, -2.69680159,
                         29.5675207, -229.596449, 585.987478, -677.460641, 308.650585));
    tail = fma(V(-0.5) * error, tail, tail);
  } else {
    constexpr double sqrt_half = 0x1.6a09e667f3bcdp-1;
    tail = V(0.5) * erfc_tail_in_double(a * V(sqrt_half), V(0.5) * square, V(0.5) * error);
  }
  return at_least(x, V(0)) - a * tail;
}

// The approximation with tanh, as x sigmoid(2y).
template <class V>
FACULA_FN V gelu_tanh(V x) {
  constexpr double sqrt_8_over_pi = 1.5957691216057308;
  V twice_y = x * fma(x * x, V(sqrt_8_over_pi * 0.044715), V(sqrt_8_over_pi));
  V e = exp(-abs(twice_y));
  return select(x < V(0), x * e, x) / (V(1) + e);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
