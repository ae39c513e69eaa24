// Unsigned integers that sort as elements do: equal where those are, and NaN, all the same, last;
// and their order in short rows.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

template <int kBytes>
using Bits = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

template <class T>
using Key = Bits<sizeof(T)>;

template <class T>
inline constexpr Key<T> kNanKey = std::numeric_limits<Key<T>>::max();  // of no other float

template <class T>
inline constexpr int kFractionBits = std::is_same_v<T, Half>       ? 10
                                     : std::is_same_v<T, BFloat16> ? 7
                                     : std::is_same_v<T, float>    ? 23
                                                                   : 52;

template <class T>
Key<T> to_key(T value) {
  constexpr Key<T> sign = static_cast<Key<T>>(Key<T>{1} << (8 * sizeof(T) - 1));
  Key<T> bits;
  std::memcpy(&bits, &value, sizeof(T));
  if constexpr (is_floating_v<T>) {
    constexpr Key<T> infinity = static_cast<Key<T>>(sign - (Key<T>{1} << kFractionBits<T>));
    // Without a branch, so that loops over keys become vectors.
    bool is_nan = static_cast<Key<T>>(bits & (sign - 1)) > infinity;
    bits = bits == sign ? 0 : bits;  // -0 equals 0
    // All bits of a negative number turn around, of others the sign.
    Key<T> is_negative = static_cast<Key<T>>(bits >> (8 * sizeof(T) - 1));
    Key<T> key = static_cast<Key<T>>(bits ^ (static_cast<Key<T>>(-is_negative) | sign));
    return is_nan ? kNanKey<T> : key;
  } else {
    return static_cast<Key<T>>(std::is_signed_v<T> ? bits ^ sign : bits);
  }
}

constexpr int64_t kMaxRanked = 32;

// order[p] is the place of the p-th smallest of n <= kMaxRanked keys; equal ones keep their order.
// Every pair is compared, with one key against all others at a time: without branches, that is
// quicker than comparing fewer.
template <class K>
inline void order_by_rank(const K* given, int64_t n, int32_t* order) {
  K keys[kMaxRanked] = {}, places[kMaxRanked], ranks[kMaxRanked] = {};
  for (int64_t i = 0; i < kMaxRanked; ++i) places[i] = static_cast<K>(i);
  std::copy_n(given, n, keys);
  for (int64_t j = 0; j < n; ++j) {
    K key = keys[j], place = places[j];
    for (int64_t i = 0; i < kMaxRanked; ++i)
      ranks[i] += (key < keys[i]) | ((key == keys[i]) & (place < places[i]));
  }
  for (int64_t i = 0; i < n; ++i) order[ranks[i]] = static_cast<int32_t>(i);
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
