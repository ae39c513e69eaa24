// The two 16-bit floating-point types. Arithmetic on them is done in float: kernels widen, compute,
// and round once.
#pragma once
#include <cstdint>
#include <cstring>

namespace facula {

// Inlined always: kernels are compiled once per instruction set, and the linker must not give the
// baseline the conversion that another one has left as a function.
#define FACULA_ALWAYS_INLINE __attribute__((always_inline))

#if defined(__aarch64__) || defined(__F16C__)

// What the compiler converts: GCC for aarch64 knows the first name in C++ from version 13 on.
#if defined(__aarch64__)
using Binary16 = __fp16;
#else
using Binary16 = _Float16;
#endif

FACULA_ALWAYS_INLINE inline uint16_t half_bits(float value) {
  Binary16 h = static_cast<Binary16>(value);
  uint16_t bits;
  std::memcpy(&bits, &h, 2);
  return bits;
}
FACULA_ALWAYS_INLINE inline float half_value(uint16_t bits) {
  Binary16 h;
  std::memcpy(&h, &bits, 2);
  return static_cast<float>(h);
}

#else

// In a few instructions, with the bits that the hardware gives: the compiler would call a function
// of its library, which takes 10 ns and more. Subnormal numbers are made by an addition of normal
// ones, so that no mode of the processor takes them for zero.
FACULA_ALWAYS_INLINE inline uint16_t half_bits(float value) {
  constexpr uint32_t kLeastNormal = 0x38800000, kInfinity = 0x7F800000, kTooLarge = 0x47800000;
  uint32_t u, magnitude;
  std::memcpy(&u, &value, 4);
  uint32_t sign = u >> 16 & 0x8000;
  magnitude = u & 0x7FFFFFFF;
  if (magnitude >= kTooLarge) {
    uint32_t payload = magnitude > kInfinity ? 0x200 | (magnitude >> 13 & 0x3FF) : 0;
    return static_cast<uint16_t>(sign | 0x7C00 | payload);
  }
  if (magnitude < kLeastNormal) {
    // The last bit of 0.5 + x is worth 2^-24, as that of a subnormal half is.
    float sum;
    std::memcpy(&sum, &magnitude, 4);
    sum += 0.5f;
    std::memcpy(&magnitude, &sum, 4);
    return static_cast<uint16_t>(sign | (magnitude - 0x3F000000));
  }
  // Round to nearest even; a carry goes on into the exponent, where it may make an infinity.
  magnitude += 0xFFF + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | (magnitude - 0x38000000) >> 13);
}
FACULA_ALWAYS_INLINE inline float half_value(uint16_t bits) {
  constexpr uint32_t kLeastNormal = 0x38800000;
  uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFF) << 13, exponent = bits & 0x7C00;
  uint32_t u;
  if (exponent == 0) {
    float sum, least;
    magnitude += kLeastNormal;
    std::memcpy(&sum, &magnitude, 4);
    std::memcpy(&least, &kLeastNormal, 4);
    sum -= least;
    std::memcpy(&u, &sum, 4);
  } else if (exponent == 0x7C00) {
    bool is_nan = (bits & 0x3FF) != 0;
    u = magnitude + 0x70000000;
    if (is_nan) u |= 0x400000;
  } else {
    u = magnitude + 0x38000000;
  }
  u |= static_cast<uint32_t>(bits & 0x8000) << 16;
  float value;
  std::memcpy(&value, &u, 4);
  return value;
}

#endif

struct Half {
  uint16_t bits;
  Half() = default;
  FACULA_ALWAYS_INLINE Half(float value) : bits(half_bits(value)) {}
  FACULA_ALWAYS_INLINE operator float() const { return half_value(bits); }
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
