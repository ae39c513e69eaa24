// Rows as vectors, the last of which may be in part, and what joins their lanes.
#pragma once
#include "cpu/formulas.h"
#include "cpu/isa.h"
#include "math/reductions.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// f(i, n) for the vectors of n lanes from element i. f should be FACULA_INLINE: the first call then
// knows that its vectors are whole.
template <class V, class F>
FACULA_FN void walk_row(int64_t size, F f) {
  constexpr int64_t L = V::kLanes;
  int64_t i = 0;
  for (; i + L <= size; i += L) f(i, L);
  if (i < size) f(i, size - i);
}

// n lanes of a vector; the others are loaded as zero, and not stored.
template <class V, class S>
FACULA_FN V load_lanes(const S* x, int64_t n) {
  return n == V::kLanes ? V::load(x) : V::load(x, n);
}
template <class V, class S>
FACULA_FN void store_lanes(V v, S* y, int64_t n) {
  n == V::kLanes ? v.store(y) : v.store(y, n);
}
// Lanes from n on become `other`.
template <class T>
FACULA_FN Vec<T> keep_lanes(Vec<T> v, int64_t n, T other) {
  return n == Vec<T>::kLanes ? v : select(first_lanes<T>(n), v, Vec<T>(other));
}

using math::Add;
using math::Multiply;

// In every lane all lanes of x together.
template <class Join, class T, int kHalf = Vec<T>::kLanes / 2>
FACULA_FN Vec<T> join_lanes(Vec<T> x) {
  x = Join::join(x, rotated<kHalf>(x));
  if constexpr (kHalf > 1) x = join_lanes<Join, T, kHalf / 2>(x);
  return x;
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
