// The two 16-bit floating-point types. Arithmetic on them is done in float: kernels widen, compute,
// and round once.
#pragma once
#include <cstdint>
#include <cstring>

namespace facula {

// Inlined always: kernels are compiled once per instruction set, and the linker must not give the
// baseline the conversion that another one has left as a function.
#define FACULA_ALWAYS_INLINE __attribute__((always_inline))

// What the compiler converts: GCC for aarch64 knows the first name in C++ from version 13 on.
#if defined(__aarch64__)
using Binary16 = __fp16;
#else
using Binary16 = _Float16;
#endif

struct Half {
  uint16_t bits;
  Half() = default;
  FACULA_ALWAYS_INLINE Half(float value) {
    Binary16 h = static_cast<Binary16>(value);
    std::memcpy(&bits, &h, 2);
  }
  FACULA_ALWAYS_INLINE operator float() const {
    Binary16 h;
    std::memcpy(&h, &bits, 2);
    return static_cast<float>(h);
  }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  // Round to nearest even; a NaN stays a NaN.
  FACULA_ALWAYS_INLINE BFloat16(float value) {
    uint32_t u;
    std::memcpy(&u, &value, 4);
    if (value != value) {
      bits = 0x7FC0;
    } else {
      bits = static_cast<uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
    }
  }
  FACULA_ALWAYS_INLINE operator float() const {
    uint32_t u = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &u, 4);
    return value;
  }
};

#undef FACULA_ALWAYS_INLINE

}  // namespace facula
