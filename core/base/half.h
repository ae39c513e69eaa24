// The two 16-bit floating-point types. Arithmetic on them is done in float: kernels widen, compute, and round once.
#pragma once
#include <cstdint>
#include <cstring>

namespace facula {

struct Half {
  uint16_t bits;
  Half() = default;
  Half(float value) {
    _Float16 h = static_cast<_Float16>(value);
    std::memcpy(&bits, &h, 2);
  }
  operator float() const {
    _Float16 h;
    std::memcpy(&h, &bits, 2);
    return static_cast<float>(h);
  }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  // Round to nearest even; a NaN stays a NaN.
  BFloat16(float value) {
    uint32_t u;
    std::memcpy(&u, &value, 4);
    if (value != value) {
      bits = 0x7FC0;
    } else {
      bits = static_cast<uint16_t>((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
    }
  }
  operator float() const {
    uint32_t u = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &u, 4);
    return value;
  }
};

}  // namespace facula
