// Floating-point types of 8 bits, and complex numbers of two 16-bit parts: they are stored and
// converted, not computed with.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace facula {

// How a type of 8 bits spends them, and what it has beyond numbers.
enum class Float8Specials {
  Ieee,     // infinities and NaNs, with the largest exponent
  Finite,   // "fn": no infinity; NaN is all ones but the sign
  Unsigned  // "fnuz": no infinity, no negative zero, whose bits are the NaN
};

// kBias: of the exponent. The rest are mantissa bits.
template <int kExponent, int kBias, Float8Specials kSpecials>
struct Float8 {
  static constexpr int kMantissa = 7 - kExponent;
  static constexpr uint8_t kNaN = kSpecials == Float8Specials::Unsigned ? 0x80 : 0x7F;
  // The magnitude of the largest number.
  static constexpr uint8_t kLargest = kSpecials == Float8Specials::Ieee
                                          ? (((1 << kExponent) - 1) << kMantissa) - 1
                                          : (kSpecials == Float8Specials::Finite ? 0x7E : 0x7F);
  uint8_t bits;

  Float8() = default;
  Float8(float value) {
    bool is_negative = std::signbit(value);
    uint8_t sign = is_negative ? 0x80 : 0;
    float size = std::fabs(value);
    if (value != value) {
      bits = kSpecials == Float8Specials::Unsigned ? kNaN : static_cast<uint8_t>(sign | kNaN);
      return;
    }
    // Multiples of the unit of the exponent's last place, rounded to even.
    int exponent = size > 0 ? std::ilogb(std::fmin(size, 1e30f)) : 1 - kBias;
    if (exponent < 1 - kBias) exponent = 1 - kBias;
    float units = std::nearbyint(std::ldexp(std::fmin(size, 1e30f), kMantissa - exponent));
    // A number of units that needs a bit more carries into the exponent by itself.
    int64_t code =
        ((static_cast<int64_t>(exponent) + kBias - 1) << kMantissa) + static_cast<int64_t>(units);
    if (code > kLargest) {
      bits = kSpecials == Float8Specials::Ieee     ? static_cast<uint8_t>(sign | (kLargest + 1))
             : kSpecials == Float8Specials::Finite ? static_cast<uint8_t>(sign | kNaN)
                                                   : kNaN;
    } else {
      bool has_sign = kSpecials != Float8Specials::Unsigned || code != 0;
      bits = static_cast<uint8_t>((has_sign ? sign : 0) | code);
    }
  }
  operator float() const {
    int code = bits & 0x7F;
    bool is_nan = kSpecials == Float8Specials::Unsigned ? bits == kNaN
                  : kSpecials == Float8Specials::Finite ? code == kNaN
                                                        : code > kLargest + 1;
    if (is_nan) return std::nanf("");
    if (code > kLargest) return bits & 0x80 ? -HUGE_VALF : HUGE_VALF;
    int exponent = code >> kMantissa, mantissa = code & ((1 << kMantissa) - 1);
    if (exponent > 0) mantissa += 1 << kMantissa;
    float size =
        std::ldexp(static_cast<float>(mantissa), (exponent > 0 ? exponent : 1) - kBias - kMantissa);
    return bits & 0x80 ? -size : size;
  }
};
using Float8_e4m3fn = Float8<4, 7, Float8Specials::Finite>;
using Float8_e5m2 = Float8<5, 15, Float8Specials::Ieee>;
using Float8_e4m3fnuz = Float8<4, 8, Float8Specials::Unsigned>;
using Float8_e5m2fnuz = Float8<5, 16, Float8Specials::Unsigned>;

// A power of two, from 2^-127 on; 255 is NaN.
struct Float8_e8m0fnu {
  uint8_t bits;
  Float8_e8m0fnu() = default;
  Float8_e8m0fnu(float value) {
    uint32_t u;
    std::memcpy(&u, &value, 4);
    uint32_t exponent = u >> 23 & 0xFF, mantissa = u & 0x7FFFFF;
    if (exponent == 0xFF) {
      bits = 0xFF;
      return;
    }
    // To the nearest, halves to the even exponent; of a denormal number the bit before is missing.
    bool is_above = mantissa > 0x400000 || (mantissa == 0x400000 && exponent > 0);
    bits = static_cast<uint8_t>(exponent + is_above);
  }
  operator float() const {
    if (bits == 0xFF) return std::nanf("");
    return std::ldexp(1.0f, static_cast<int>(bits) - 127);
  }
};

struct Complex32 {
  Half re, im;
  Complex32() = default;
  Complex32(std::complex<float> value) : re(value.real()), im(value.imag()) {}
  operator std::complex<float>() const { return {re, im}; }
};

template <class T>
inline constexpr bool is_float8_v = false;
template <int kExponent, int kBias, Float8Specials kSpecials>
inline constexpr bool is_float8_v<Float8<kExponent, kBias, kSpecials>> = true;
template <>
inline constexpr bool is_float8_v<Float8_e8m0fnu> = true;

}  // namespace facula
