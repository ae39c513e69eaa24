// Unsigned integers that sort as elements do: equal where those are, and NaN, all the same, last.
#pragma once
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dtype.h"

namespace facula::cpu {

template <int kBytes>
using Bits = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

template <class T>
using Key = Bits<sizeof(T)>;

template <class T>
inline constexpr Key<T> kNanKey = std::numeric_limits<Key<T>>::max();  // of no other float

template <class T>
Key<T> to_key(T value) {
  constexpr Key<T> sign = static_cast<Key<T>>(Key<T>{1} << (8 * sizeof(T) - 1));
  Key<T> bits;
  std::memcpy(&bits, &value, sizeof(T));
  if constexpr (is_floating_v<T>) {
    Wide<T> wide = value;
    if (wide != wide) return kNanKey<T>;
    if (bits == sign) bits = 0;  // -0 equals 0
    // All bits of a negative number turn around, of others the sign: without a branch.
    Key<T> is_negative = static_cast<Key<T>>(bits >> (8 * sizeof(T) - 1));
    return static_cast<Key<T>>(bits ^ (static_cast<Key<T>>(-is_negative) | sign));
  } else {
    return static_cast<Key<T>>(std::is_signed_v<T> ? bits ^ sign : bits);
  }
}

}  // namespace facula::cpu
