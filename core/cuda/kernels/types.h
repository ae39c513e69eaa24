// What kernels need of the C++ library and of core/base, as NVRTC brings neither.
#pragma once

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

__device__ __forceinline__ double huge_val() { return __longlong_as_double(0x7ff0000000000000); }
// The compilers of CPUs have these as builtins; CUDA's has the instructions under the names of the
// C library.
#define __builtin_huge_val ::huge_val
#define __builtin_nan ::nan
#define __builtin_fmaf ::fmaf
#define __builtin_fma ::fma
#define __builtin_fabsf ::fabsf
#define __builtin_fabs ::fabs
#define __builtin_sqrtf ::sqrtf
#define __builtin_sqrt ::sqrt
#define __builtin_floorf ::floorf
#define __builtin_floor ::floor
#define __builtin_ceilf ::ceilf
#define __builtin_ceil ::ceil
#define __builtin_truncf ::truncf
#define __builtin_trunc ::trunc
#define __builtin_rintf ::rintf
#define __builtin_rint ::rint
#define __builtin_memcpy ::memcpy

namespace std {

template <bool kCondition, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool kCondition, class A, class B>
using conditional_t = typename conditional<kCondition, A, B>::type;

template <bool kCondition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool kCondition, class T = void>
using enable_if_t = typename enable_if<kCondition, T>::type;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
inline constexpr bool is_integral_v =
    is_same_v<T, bool> || is_same_v<T, uint8_t> || is_same_v<T, int8_t> || is_same_v<T, int16_t> ||
    is_same_v<T, int32_t> || is_same_v<T, int64_t> || is_same_v<T, uint16_t> ||
    is_same_v<T, uint32_t> || is_same_v<T, uint64_t>;
template <class T>
inline constexpr bool is_signed_v = is_floating_point_v<T> || (is_integral_v<T> && T(-1) < T(0));

}  // namespace std

#include "cuda/kernels/complex.h"

namespace facula {

struct Half {
  uint16_t bits;
  Half() = default;
  __device__ Half(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
  __device__ operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  __device__ BFloat16(float value) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
  __device__ operator float() const { return __uint_as_float(static_cast<uint32_t>(bits) << 16); }
};

template <class T>
inline constexpr bool is_reduced_float_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_floating_v = std::is_floating_point_v<T> || is_reduced_float_v<T>;
template <class T>
using Wide = std::conditional_t<is_reduced_float_v<T>, float, T>;

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;
template <class T>
inline constexpr bool is_complex_v = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;

// Neighbours, loaded and stored as one.
template <class T, int n>
struct alignas(n * sizeof(T)) Pack {
  T values[n];
};

// A number that the host passes, in the first bytes.
struct Word {
  uint64_t bits[2];
};
template <class T>
__device__ __forceinline__ T from_word(const Word& word) {
  T value;
  memcpy(&value, &word, sizeof(T));
  return value;
}

// As core/cpu/shape/cast.cpp does it.
template <class To, class From>
__device__ __forceinline__ To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) {
      return To(x);
    } else if constexpr (std::is_same_v<To, bool>) {
      return x != From(0);
    } else {
      return convert<To>(x.real());
    }
  } else if constexpr (is_complex_v<To>) {
    return To(convert<typename To::value_type>(x));
  } else if constexpr (is_reduced_float_v<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_reduced_float_v<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x >= From(-9.2233720368547758e18) && x < From(9.2233720368547758e18))
      return static_cast<To>(static_cast<int64_t>(x));
    // As core/cpu/shape/stored_cast.cc does it.
    if (!std::is_signed_v<To> && sizeof(To) > 1 && x > From(0) && x < From(1.8446744073709552e19))
      return static_cast<To>(static_cast<uint64_t>(x));
    if (std::is_same_v<To, uint64_t> && !(x < From(0))) return 0;
    return static_cast<To>(static_cast<int64_t>(0x8000000000000000u));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace facula
