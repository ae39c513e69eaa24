// Copies of lines, instead of memcpy: a call takes longer than the copy of a few bytes, and where
// `to` and `from` lie differently in their cache lines the instruction that it takes for long ones
// is slow (4 MB that move by 4 bytes: 1250 us against 110 us).
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/isa.h"
#include "cpu/vec.h"

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

// At least one vector; the stores in the middle are aligned. Four loads come before their stores:
// a load waits for stores to addresses of the same last 12 bits.
inline void copy_long(char* to, const char* from, int64_t nbytes) {
  constexpr int64_t step = kVecBytes;
  std::memcpy(to, from, step);
  int64_t at = step - static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % step);
  for (; at + 4 * step <= nbytes; at += 4 * step) {
    Native<uint8_t> vectors[4];
    for (int k = 0; k < 4; ++k) std::memcpy(&vectors[k], from + at + k * step, step);
    for (int k = 0; k < 4; ++k) std::memcpy(to + at + k * step, &vectors[k], step);
  }
  for (; at < nbytes - step; at += step) std::memcpy(to + at, from + at, step);
  std::memcpy(to + nbytes - step, from + nbytes - step, step);
}

inline void copy_line(char* to, const char* from, int64_t nbytes) {
  constexpr int64_t kLong = 256;
  if (nbytes > kLong) {
    copy_long(to, from, nbytes);
  } else if (nbytes > 0) {
    with_step(nbytes, [&](auto step) { copy_by<step>(to, from, nbytes); });
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
