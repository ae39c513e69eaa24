// Transforms of real lines from those of complex ones of half their length, and back.
#pragma once
#include "cpu/fft/plan.h"
#include "cpu/fft/points.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// cos and sin of 2 pi k / n, for the lanes from k on or for one number.
template <class V, class T>
FACULA_FN Cx<V> real_turn(const RealTurns<T>& turns, int64_t k) {
  constexpr int64_t n_fine = 1 << kFineBits;
  auto load = [&](const T* from) FACULA_INLINE {
    if constexpr (std::is_same_v<V, T>) {
      return *from;
    } else {
      return V::load(from);
    }
  };
  V c = load(turns.fine_cos.data() + k % n_fine), s = load(turns.fine_sin.data() + k % n_fine);
  if (k < n_fine) return {c, s};
  const T* coarse = turns.coarse.data() + 2 * (k / n_fine);
  return turned(Cx<V>{c, s}, V(coarse[0]), V(coarse[1]));
}

// Number k of the transform of the real line, from k and m - k of that of the complex one of m
// points, x[2j] + i x[2j + 1]: of the even points, and the turned one of the odd points.
template <class V>
FACULA_FN Cx<V> number_of_real(Cx<V> z, Cx<V> mirror, Cx<V> turn, V half) {
  Cx<V> even = {(z.re + mirror.re) * half, (z.im - mirror.im) * half};
  Cx<V> odd = {(z.im + mirror.im) * half, (z.re - mirror.re) * half};  // i times its conjugate
  return {math::fma(odd.re, turn.re, math::fma(-odd.im, turn.im, even.re)),
          even.im - math::fma(odd.re, turn.im, odd.im * turn.re)};
}

// Number k of the complex line's transform, from k and m - k of the real one's. Real and imaginary
// part are exchanged, since its inverse follows.
template <class V>
FACULA_FN Cx<V> number_of_pairs(Cx<V> x, Cx<V> mirror, Cx<V> turn) {
  Cx<V> sum = {x.re + mirror.re, x.im - mirror.im}, rest = {x.re - mirror.re, x.im + mirror.im};
  V re = sum.re - math::fma(rest.re, turn.im, rest.im * turn.re);
  V im = sum.im + math::fma(rest.re, turn.re, -(rest.im * turn.im));
  return {im, re};
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
