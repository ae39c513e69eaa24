// Rows as vectors, the last of which may be in part, and what joins their lanes.
#pragma once
#include "base/integers.h"
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

// f(begin, end) of blocks of a row, joined in a tree: rounding errors grow with its height, not
// with the length of the row. It has one call of f, whose code may be long.
template <class Join, class F>
[[gnu::noinline]] auto join_tree(int64_t begin, int64_t end, int64_t block, F f)
    -> decltype(f(begin, end)) {
  if (end - begin <= block) return f(begin, end);
  int64_t middle = begin + ceil_div(end - begin, 2 * block) * block;
  auto first = join_tree<Join>(begin, middle, block, f);
  return Join::join(first, join_tree<Join>(middle, end, block, f));
}
template <class Join, class F>
FACULA_FN auto join_blocks(int64_t size, int64_t block, F f) {
  return size <= block ? f(0, size) : join_tree<Join>(0, size, block, f);
}

// f(0), f(1) and so on, n of them, a power of two, joined in a tree.
template <class Join, int n, class F>
FACULA_FN auto join_some(F f, int64_t first = 0) {
  if constexpr (n == 1) {
    return f(first);
  } else {
    auto low = join_some<Join, n / 2>(f, first);
    return Join::join(low, join_some<Join, n / 2>(f, first + n / 2));
  }
}

// The values f(i, n) of the vectors of a row, joined lane by lane; f gives Join::first() in the
// lanes from n on. Four sums side by side hide the latency of a join; each takes up kAtOnce / 4
// vectors as one.
template <class Join, class V, int kAtOnce, class F>
inline V fold_row(int64_t size, F f) {
  constexpr int64_t L = V::kLanes, kStep = kAtOnce * L;
  return join_blocks<Join>(size, 16 * kStep, [f](int64_t i, int64_t end) FACULA_INLINE {
    auto whole = [&](int64_t k) FACULA_INLINE { return f(i + k * L, L); };
    V all = V(Join::template first<typename V::Element>());
    if (i + kStep <= end) {
      V sums[4] = {all, all, all, all};
      for (; i + kStep <= end; i += kStep)
        for (int k = 0; k < 4; ++k)
          sums[k] = Join::join(sums[k], join_some<Join, kAtOnce / 4>(whole, k * kAtOnce / 4));
      all = join_some<Join, 4>([&](int64_t k) FACULA_INLINE { return sums[k]; });
    }
    for (; kAtOnce > 4 && i + 4 * L <= end; i += 4 * L)
      all = Join::join(all, join_some<Join, 4>(whole));
    for (; i + L <= end; i += L) all = Join::join(all, whole(0));
    return i < end ? Join::join(all, f(i, end - i)) : all;
  });
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
