// Copies of a few bytes, for which a call of memcpy would take longer than the copy.
#pragma once
#include <cstdint>
#include <cstring>

#include "cpu/isa.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// The last step overlaps the one before it.
template <int64_t step>
inline void copy_by(char* to, const char* from, int64_t nbytes) {
  for (int64_t at = 0; at < nbytes - step; at += step) std::memcpy(to + at, from + at, step);
  std::memcpy(to + nbytes - step, from + nbytes - step, step);
}

inline void copy_line(char* to, const char* from, int64_t nbytes) {
  constexpr int64_t kLong = 256;
  if (nbytes > kLong) {
    std::memcpy(to, from, nbytes);
  } else if (nbytes >= 64) {
    copy_by<64>(to, from, nbytes);
  } else if (nbytes >= 32) {
    copy_by<32>(to, from, nbytes);
  } else if (nbytes >= 16) {
    copy_by<16>(to, from, nbytes);
  } else if (nbytes >= 8) {
    copy_by<8>(to, from, nbytes);
  } else if (nbytes >= 4) {
    copy_by<4>(to, from, nbytes);
  } else if (nbytes >= 2) {
    copy_by<2>(to, from, nbytes);
  } else if (nbytes == 1) {
    *to = *from;
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
