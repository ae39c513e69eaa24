// Transforms of a few points, which passes are made of. In and out in order, forward.
#pragma once
#include "cpu/fft/plan.h"
#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Complex numbers in each lane; V is a vector or one number.
template <class V>
struct Cx {
  V re, im;
  friend FACULA_FN Cx operator+(Cx a, Cx b) { return {a.re + b.re, a.im + b.im}; }
  friend FACULA_FN Cx operator-(Cx a, Cx b) { return {a.re - b.re, a.im - b.im}; }
};

// x * (c + i s)
template <class V>
FACULA_FN Cx<V> turned(Cx<V> x, V c, V s) {
  return {math::fma(x.re, c, -(x.im * s)), math::fma(x.re, s, x.im * c)};
}

template <class V>
FACULA_FN void butterfly2(Cx<V>& a, Cx<V>& b) {
  Cx<V> sum = a + b;
  b = a - b;
  a = sum;
}

template <class V>
FACULA_FN void butterfly4(Cx<V>& a, Cx<V>& b, Cx<V>& c, Cx<V>& d) {
  Cx<V> even = a + c, even_rest = a - c, odd = b + d, odd_rest = b - d;
  a = even + odd;
  c = even - odd;
  b = {even_rest.re + odd_rest.im, even_rest.im - odd_rest.re};
  d = {even_rest.re - odd_rest.im, even_rest.im + odd_rest.re};
}

template <int kRadix, class V>
struct Butterfly;

template <class V>
struct Butterfly<2, V> {
  static FACULA_FN void run(Cx<V> (&x)[2]) { butterfly2(x[0], x[1]); }
};

template <class V>
struct Butterfly<4, V> {
  static FACULA_FN void run(Cx<V> (&x)[4]) { butterfly4(x[0], x[1], x[2], x[3]); }
};

// a + h b and a - h b
template <class V>
FACULA_FN void butterfly2_scaled(Cx<V>& a, Cx<V>& b, V h) {
  Cx<V> scaled = b, first = a;
  a = {math::fma(scaled.re, h, first.re), math::fma(scaled.im, h, first.im)};
  b = {math::fma(-scaled.re, h, first.re), math::fma(-scaled.im, h, first.im)};
}

template <class V>
struct Butterfly<8, V> {
  static FACULA_FN void run(Cx<V> (&x)[8]) {
    const V h = V(static_cast<typename math::Traits<V>::Element>(0.70710678118654752440));
    Cx<V> e[4] = {x[0], x[2], x[4], x[6]}, o[4] = {x[1], x[3], x[5], x[7]};
    butterfly4(e[0], e[1], e[2], e[3]);
    butterfly4(o[0], o[1], o[2], o[3]);
    // Turned by eighths of a circle, without the factor h.
    o[1] = {o[1].re + o[1].im, o[1].im - o[1].re};
    o[2] = {o[2].im, -o[2].re};
    o[3] = {o[3].im - o[3].re, -(o[3].re + o[3].im)};
    butterfly2(e[0], o[0]);
    butterfly2_scaled(e[1], o[1], h);
    butterfly2(e[2], o[2]);
    butterfly2_scaled(e[3], o[3], h);
    for (int k = 0; k < 4; ++k) x[k] = e[k], x[k + 4] = o[k];
  }
};

template <class V>
struct Butterfly<16, V> {
  static FACULA_FN void run(Cx<V> (&x)[16]) {
    using T = typename math::Traits<V>::Element;
    const V h = V(T(0.70710678118654752440)), c = V(T(0.92387953251128675613)),
            s = V(T(0.38268343236508977173));
    for (int j = 0; j < 4; ++j) butterfly4(x[j], x[j + 4], x[j + 8], x[j + 12]);
    // Number k of transform j, in x[j + 4 k], is turned by jk sixteenths.
    x[5] = turned(x[5], c, -s);
    x[6] = {(x[6].re + x[6].im) * h, (x[6].im - x[6].re) * h};
    x[7] = turned(x[7], s, -c);
    x[9] = {(x[9].re + x[9].im) * h, (x[9].im - x[9].re) * h};
    x[10] = {x[10].im, -x[10].re};
    x[11] = {(x[11].im - x[11].re) * h, -(x[11].re + x[11].im) * h};
    x[13] = turned(x[13], s, -c);
    x[14] = {(x[14].im - x[14].re) * h, -(x[14].re + x[14].im) * h};
    x[15] = turned(x[15], -c, s);
    for (int k = 0; k < 4; ++k) butterfly4(x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]);
    // Number k + 4 l is in x[4 k + l].
    for (int k = 0; k < 4; ++k)
      for (int l = k + 1; l < 4; ++l) std::swap(x[4 * k + l], x[4 * l + k]);
  }
};

// Of an odd radix: x[0] + sum of x[j] e^(-2 pi i jk / radix). Inputs j and radix - j are added and
// subtracted first, since their roots are conjugates. `roots` are those of the pass.
template <class V, class T>
FACULA_FN void odd_butterfly(Cx<V>* x, int radix, const T* roots) {
  int half = radix / 2;
  Cx<V> total = x[0];
  for (int j = 1; j <= half; ++j) {
    butterfly2(x[j], x[radix - j]);
    total = total + x[j];
  }
  Cx<V> same[kMaxOddRadix / 2 + 1], crossed[kMaxOddRadix / 2 + 1];
  for (int k = 1; k <= half; ++k) {
    Cx<V> a = x[0], b = {V(T(0)), V(T(0))};
    for (int j = 1, at = k; j <= half; ++j) {
      V c = V(roots[2 * at]), s = V(roots[2 * at + 1]);
      a = {math::fma(x[j].re, c, a.re), math::fma(x[j].im, c, a.im)};
      b = {math::fma(x[radix - j].re, s, b.re), math::fma(x[radix - j].im, s, b.im)};
      at = at + k < radix ? at + k : at + k - radix;
    }
    same[k] = a;
    crossed[k] = b;
  }
  x[0] = total;
  for (int k = 1; k <= half; ++k) {
    x[k] = {same[k].re + crossed[k].im, same[k].im - crossed[k].re};
    x[radix - k] = {same[k].re - crossed[k].im, same[k].im + crossed[k].re};
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
