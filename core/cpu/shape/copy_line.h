// Copies of a few bytes, for which a call of memcpy would take longer than the copy.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/isa.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// The last step overlaps the one before it.
template <int64_t step>
inline void copy_by(char* to, const char* from, int64_t nbytes) {
  for (int64_t at = 0; at < nbytes - step; at += step) std::memcpy(to + at, from + at, step);
  std::memcpy(to + nbytes - step, from + nbytes - step, step);
}

// f(step) with the longest step, as a constant, that is no longer than nbytes > 0.
template <class F>
inline void with_step(int64_t nbytes, F f) {
  if (nbytes >= 64) {
    f(std::integral_constant<int64_t, 64>());
  } else if (nbytes >= 32) {
    f(std::integral_constant<int64_t, 32>());
  } else if (nbytes >= 16) {
    f(std::integral_constant<int64_t, 16>());
  } else if (nbytes >= 8) {
    f(std::integral_constant<int64_t, 8>());
  } else if (nbytes >= 4) {
    f(std::integral_constant<int64_t, 4>());
  } else if (nbytes >= 2) {
    f(std::integral_constant<int64_t, 2>());
  } else {
    f(std::integral_constant<int64_t, 1>());
  }
}

inline void copy_line(char* to, const char* from, int64_t nbytes) {
  constexpr int64_t kLong = 256;
  if (nbytes > kLong) {
    std::memcpy(to, from, nbytes);
  } else if (nbytes > 0) {
    with_step(nbytes, [&](auto step) { copy_by<step>(to, from, nbytes); });
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
