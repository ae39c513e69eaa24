// Arithmetic of single numbers: integers wrap around, division rounds as in Python or C, and NaN
// goes where PyTorch lets it go. The functions over vectors are in core/cpu/formulas.h.
#pragma once
#ifndef __CUDACC_RTC__
#include <type_traits>
#endif
#include "math/special.h"

namespace facula::math {
inline namespace FACULA_ISA {

constexpr double kDegree = 0.017453292519943295;  // in radians

template <class T>
using IfInteger = std::enable_if_t<std::is_integral_v<T>, int>;
template <class T>
using IfFloat = std::enable_if_t<std::is_floating_point_v<T>, int>;
template <class T>
using IfNotInteger = std::enable_if_t<!std::is_integral_v<T>, int>;

template <class T>
FACULA_FN T select(bool condition, T a, T b) {
  return condition ? a : b;
}

// Overflow wraps around: the unsigned type has that by definition. Small types become int by
// themselves, so the unsigned type is at least that wide.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
FACULA_FN T add(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  } else {
    return a + b;
  }
}
template <class T>
FACULA_FN T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  } else {
    return a - b;
  }
}
template <class T>
FACULA_FN T mul(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  } else {
    return a * b;
  }
}
template <class T>
FACULA_FN T div(T a, T b) {
  return a / b;
}
template <class T>
FACULA_FN T neg(T x) {
  if constexpr (std::is_integral_v<T>) {
    return sub(T(0), x);
  } else {
    return -x;
  }
}

template <class T, IfInteger<T> = 0>
FACULA_FN T abs(T x) {
  return x < T(0) ? neg(x) : x;
}
template <class T, IfInteger<T> = 0>
FACULA_FN T min(T a, T b) {
  return a < b ? a : b;
}
template <class T, IfInteger<T> = 0>
FACULA_FN T max(T a, T b) {
  return a > b ? a : b;
}
template <class T, IfInteger<T> = 0>
FACULA_FN T at_least(T x, T low) {
  return max(x, low);
}
template <class T, IfInteger<T> = 0>
FACULA_FN T at_most(T x, T high) {
  return min(x, high);
}
// Without a choice, for which the compiler has no vectors of bool.
FACULA_FN bool min(bool a, bool b) { return a & b; }
FACULA_FN bool max(bool a, bool b) { return a | b; }
// A number against NaN gives the number.
template <class T>
FACULA_FN T fmin(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return min(a, b);
  } else {
    return select(a != a || b < a, b, a);
  }
}
template <class T>
FACULA_FN T fmax(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return max(a, b);
  } else {
    return select(a != a || b > a, b, a);
  }
}
#define FACULA_OF_INTEGER(name)        \
  template <class T, IfInteger<T> = 0> \
  FACULA_FN T name(T x) {              \
    return x;                          \
  }
FACULA_OF_INTEGER(floor)
FACULA_OF_INTEGER(ceil)
FACULA_OF_INTEGER(trunc)
FACULA_OF_INTEGER(round)
FACULA_OF_INTEGER(conj)
#undef FACULA_OF_INTEGER
template <class V>
FACULA_FN V sign(V x) {
  return select(x > V(0), V(1), select(x < V(0), neg(V(1)), V(0)));
}
template <>
FACULA_FN bool sign(bool x) {
  return x;
}

template <class T, IfInteger<T> = 0>
FACULA_FN T sgn(T x) {
  return sign(x);
}

// fmod of doubles whose quotient, rounded towards zero, is `whole`, and is so small that whole * b
// is exact or, with fma, need not be.
template <class V>
FACULA_FN V fmod_of_small_quotient(V a, V b, V whole) {
  V rest = kHasFma ? fma(-whole, b, a) : a - whole * b;
  // The quotient may have been rounded to the next integer before.
  V size = copysign(b, a);
  rest = select((rest < V(0) && a > V(0)) || (rest > V(0) && a < V(0)), rest + size, rest);
  return copysign(rest, a);
}
template <class T, IfFloat<T> = 0>
FACULA_FN T fmod(T a, T b) {
  if constexpr (sizeof(T) == 4) {
    return ::fmodf(a, b);
  } else {
    return ::fmod(a, b);
  }
}
// What rounds towards minus infinity, with the remainder that has the divisor's sign, also if it is
// zero. V is float, double or a vector of either.
template <class V, IfNotInteger<V> = 0>
FACULA_FN V remainder(V a, V b) {
  V rest = fmod(a, b);
  rest = select((rest < V(0) && b > V(0)) || (rest > V(0) && b < V(0)), rest + b, rest);
  return copysign(rest, b);
}
template <class V, IfNotInteger<V> = 0>
FACULA_FN V floor_divide(V a, V b) {
  V rest = fmod(a, b);
  V quotient = (a - rest) / b;
  quotient =
      select((rest < V(0) && b > V(0)) || (rest > V(0) && b < V(0)), quotient - V(1), quotient);
  // The quotient is close to an integer, on either side of it.
  V whole = floor(quotient);
  whole = select(quotient - whole > V(0.5), whole + V(1), whole);
  whole = select(quotient == V(0), copysign(V(0), a / b), whole);
  return select(b == V(0), a / b, whole);
}
template <class T, IfFloat<T> = 0>
FACULA_FN T trunc_divide(T a, T b) {
  return trunc(a / b);
}

// Whether a double holds x.
template <class T>
FACULA_FN bool fits_double(T x) {
  constexpr uint64_t limit = uint64_t(1) << 53;
  return sizeof(T) < 8 || static_cast<uint64_t>(x) + limit < 2 * limit;
}

// A divisor of zero is refused before the loop; here it must only not trap. Doubles are divided
// faster than integers, and no quotient of two integers is rounded to the next one. -1 is apart
// because the smallest integer divided by it traps.
template <class T, IfInteger<T> = 0>
FACULA_FN T trunc_divide(T a, T b) {
  if (b == T(0)) return T(0);
  if (fits_double(a) && fits_double(b))
    return static_cast<T>(static_cast<int64_t>(static_cast<double>(a) / static_cast<double>(b)));
  return b == T(-1) ? neg(a) : static_cast<T>(a / b);
}
template <class T, IfInteger<T> = 0>
FACULA_FN T fmod(T a, T b) {
  return sub(a, mul(trunc_divide(a, b), b));
}
// Without branches, which would be taken now and then.
template <class T, IfInteger<T> = 0>
FACULA_FN T remainder(T a, T b) {
  T rest = fmod(a, b);
  bool is_across = (rest != T(0)) & ((b < T(0)) != (rest < T(0)));
  return add(rest, mul(static_cast<T>(is_across), b));
}
template <class T, IfInteger<T> = 0>
FACULA_FN T floor_divide(T a, T b) {
  T quotient = trunc_divide(a, b);
  bool is_above = (sub(a, mul(quotient, b)) != T(0)) & ((a < T(0)) != (b < T(0)));
  return sub(quotient, static_cast<T>(is_above));
}

template <class T, IfInteger<T> = 0>
FACULA_FN T integer_pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < T(0)) {
      if (base == T(1)) return T(1);
      return base == T(-1) ? (exponent % 2 ? T(-1) : T(1)) : T(0);
    }
  }
  T result = 1;
  for (uint64_t rest = static_cast<uint64_t>(exponent); rest; rest >>= 1) {
    if (rest & 1) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}

FACULA_FN bool bitwise_not(bool x) { return !x; }
template <class T>
FACULA_FN T bitwise_not(T x) {
  return static_cast<T>(~x);
}

// In 32 bits as soon as both fit: such a division takes a fraction of one in 64 bits, and less than
// one of doubles with its conversions. The smallest number has no absolute value: it stays
// negative, and so may the result be, as in PyTorch.
template <class T>
FACULA_FN T gcd(T a, T b) {
  using Short = std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>;
  T x = abs(a), y = abs(b);
  if constexpr (sizeof(T) == 8) {
    while (x != static_cast<T>(static_cast<Short>(x)) ||
           y != static_cast<T>(static_cast<Short>(y))) {
      if (y == 0) return x;
      T rest = x % y;
      x = y;
      y = rest;
    }
  }
  auto m = static_cast<Short>(x), n = static_cast<Short>(y);
  while (n != 0) {
    Short rest = m % n;
    m = n;
    n = rest;
  }
  return static_cast<T>(m);
}
template <class T>
FACULA_FN T lcm(T a, T b) {
  // Small types are multiplied as int, and so wrap around last.
  using Product = std::conditional_t<(sizeof(T) < 4), int32_t, T>;
  Product divisor = gcd(a, b);
  return divisor == 0 ? T(0)
                      : static_cast<T>(abs(mul(trunc_divide<Product>(a, divisor), Product(b))));
}

// Shifts by a negative number, or by all bits and more, leave nothing but the sign.
template <class T>
FACULA_FN T left_shift(T a, T n) {
  constexpr int bits = 8 * sizeof(T);
  // Computed in any case: with a branch before it the compiler makes no vectors of the loop.
  T y = static_cast<T>(static_cast<Wrapping<T>>(a) << (n & T(bits - 1)));
  return (n < T(0)) | (n >= T(bits)) ? T(0) : y;
}
template <class T>
FACULA_FN T right_shift(T a, T n) {
  constexpr int bits = 8 * sizeof(T);
  // By all bits but one, nothing but the sign is left of signed numbers.
  bool is_outside = (n < T(0)) | (n >= T(bits));
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (is_outside ? T(bits - 1) : n));
  T y = static_cast<T>(a >> (n & T(bits - 1)));
  return is_outside ? T(0) : y;
}

// The square root of a^2 + b^2 without overflow: infinite where either is, even beside NaN.
template <class V>
FACULA_FN V hypot_in_double(V a, V b) {
  a = abs(a), b = abs(b);
  V high = max(a, b);
  V scale = select(high > V(0x1p500), V(0x1p-600), select(high < V(0x1p-450), V(0x1p600), V(1)));
  V inverse = select(high > V(0x1p500), V(0x1p600), select(high < V(0x1p-450), V(0x1p-600), V(1)));
  V x = a * scale, y = b * scale;
  V size = sqrt(fma(x, x, y * y)) * inverse;
  return select(a == infinity<V>() || b == infinity<V>(), infinity<V>(), size);
}
template <class V>
FACULA_FN V hypot(V a, V b) {
  if constexpr (kIsFloat<V>) {
    return through_double([](auto x, auto y) { return hypot_in_double(x, y); }, a, b);
  } else {
    return hypot_in_double(a, b);
  }
}

// Numbers of one sign are ordered as their bits.
template <class V>
FACULA_FN V nextafter(V a, V b) {
  using U = Bits<V>;
  auto is_up = (a < b && a > V(0)) || (a > b && a < V(0));
  U bits = to_bits(a);
  V next = from_bits(select(is_up, bits + U(1), bits - U(1)));
  next = select(a == V(0), copysign(from_bits(U(1)), b), next);
  return select(a == b, b, select(a != a || b != b, a + b, next));
}

// x = mantissa * 2^exponent, with mantissas from 0.5 on and below 1. Numbers that are too small for
// an exponent of their own are scaled before. What has no exponent is its own mantissa.
template <class V>
FACULA_FN auto has_exponent(V x) {
  return x != V(0) && abs(x) < infinity<V>();
}
template <class V>
FACULA_FN V mantissa(V x) {
  using I = Ieee<V>;
  using U = Bits<V>;
  V normal = select(abs(x) < V(I::kMinNormal), x * V(0x1p54), x);
  U others = to_bits(normal) & ~U(uint64_t(2 * I::kBias + 1) << I::kMantissaBits);
  return select(has_exponent(x), from_bits(others | to_bits(V(0.5))), x);
}
template <class V>
FACULA_FN V exponent(V x) {
  using I = Ieee<V>;
  auto is_small = abs(x) < V(I::kMinNormal);
  V normal = abs(select(is_small, x * V(0x1p54), x));
  V biased = from_bits((to_bits(normal) >> I::kMantissaBits) | to_bits(V(I::kRounder)));
  V zero = select(is_small, V(I::kRounder + I::kBias - 1 + 54), V(I::kRounder + I::kBias - 1));
  return select(has_exponent(x), biased - zero, V(0));
}

template <class V>
FACULA_FN V heaviside(V x, V at_zero) {
  return select(x == V(0), at_zero, select(x > V(0), V(1), V(0)));
}
template <class V>
FACULA_FN V xlogy(V x, V y) {
  return select(x == V(0) && y == y, V(0), x * log(y));
}
template <class V>
FACULA_FN V xlog1py(V x, V y) {
  return select(x == V(0) && y == y, V(0), x * log1p(y));
}
template <class V>
FACULA_FN V logaddexp(V a, V b) {
  V sum = max(a, b) + log1p(exp(-abs(a - b)));
  // Two equal infinities have no difference.
  return select(a == b && abs(a) == infinity<V>(), a, sum);
}
template <class V>
FACULA_FN V logaddexp2(V a, V b) {
  constexpr double inverse_ln2 = 0x1.71547652b82fep+0;
  V sum = max(a, b) + log1p(exp2(-abs(a - b))) * V(inverse_ln2);
  return select(a == b && abs(a) == infinity<V>(), a, sum);
}
// From the nearer end, so that weights 0 and 1 give the ends exactly.
template <class V>
FACULA_FN V lerp(V a, V b, V weight) {
  return select(abs(weight) < V(0.5), a + weight * (b - a), b - (b - a) * (V(1) - weight));
}

template <class V>
FACULA_FN V gelu_tanh_backward(V g, V x) {
  constexpr double sqrt_2_over_pi = 0.7978845608028654;
  V square = x * x;
  V inner = V(sqrt_2_over_pi) * x * fma(square, V(0.044715), V(1));
  V slope = V(sqrt_2_over_pi) * fma(square, V(3 * 0.044715), V(1));
  // (1 + tanh) / 2 as a sigmoid: it keeps its digits where tanh is close to -1.
  V e = exp(V(-2) * abs(inner));
  V half = select(inner < V(0), e, V(1)) / (V(1) + e);
  V rest = select(inner < V(0), V(1), e) / (V(1) + e);
  V bend = V(2) * half * rest;
  return g * (half + select(bend == V(0), V(0), x * slope * bend));
}
template <class V>
FACULA_FN V silu_backward(V g, V x) {
  V e = exp(-abs(x));
  V y = select(x < V(0), e, V(1)) / (V(1) + e);
  V rest = select(x < V(0), V(1), e) / (V(1) + e);
  return g * y * (V(1) + x * rest);
}

// With e = exp(x) and n = e (e + 2) the tangent of mish is n / (n + 2), and its derivative
// 4 e (e + 1) / (n + 2)^2.
template <class V>
FACULA_FN V mish_backward(V g, V x) {
  V e = exp(min(x, V(30)));
  V n = fma(e, e, e + e) + V(2);
  V bend = V(4) * e / n * ((e + V(1)) / n);
  return g * select(x > V(30), V(1), fma(x, bend, (n - V(2)) / n));
}
template <class V>
FACULA_FN V hardswish_backward(V g, V x) {
  return select(x <= V(-3), V(0), select(x < V(3), g * (x / V(3) + V(0.5)), g));
}

template <class T>
FACULA_FN T power(T base, T exponent) {
  if constexpr (std::is_integral_v<T>) {
    return integer_pow(base, exponent);
  } else {
    return math::pow(base, exponent);
  }
}

// Of any number: what only floating and complex ones can be.
template <class T>
FACULA_FN bool isnan(T x) {
  return x != x;
}
template <class T>
FACULA_FN bool isinf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return abs(x) == infinity<T>();
  } else if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return isinf(x.real()) || isinf(x.imag());
  }
}
template <class T>
FACULA_FN bool isfinite(T x) {
  return !isnan(x) && !isinf(x);
}
template <class T>
FACULA_FN bool signbit(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return (to_bits(x) & Bits<T>(Ieee<T>::kSignBit)) != 0;
  } else {
    return x < T(0);
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::math
