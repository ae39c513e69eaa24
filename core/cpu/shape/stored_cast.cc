#include "cpu/shape/stored_cast.h"

#include <type_traits>

namespace facula::cpu {

namespace {

// Every conversion goes through one of these: no value of a dtype is lost in it.
template <class T>
auto widened(T x) {
  if constexpr (std::is_same_v<T, Complex32>) {
    return Complex128(Complex64(x));
  } else if constexpr (is_complex_v<T>) {
    return Complex128(x);
  } else if constexpr (is_float8_v<T> || is_floating_v<T>) {
    return static_cast<double>(
        static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(x));
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return x;
  } else {
    return static_cast<int64_t>(x);
  }
}

template <class T, class W>
T narrowed(W x) {
  if constexpr (std::is_same_v<W, Complex128>) {
    if constexpr (std::is_same_v<T, Complex32>) {
      return Complex32(Complex64(x));
    } else if constexpr (is_complex_v<T>) {
      return T(x);
    } else if constexpr (std::is_same_v<T, bool>) {
      return x != 0.0;
    } else {
      return narrowed<T>(x.real());
    }
  } else if constexpr (std::is_same_v<T, Complex32>) {
    return Complex32(Complex64(static_cast<float>(x)));
  } else if constexpr (is_complex_v<T>) {
    return T(static_cast<typename T::value_type>(x));
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != 0;
  } else if constexpr (is_float8_v<T> || is_reduced_float_v<T>) {
    return T(static_cast<float>(x));
  } else if constexpr (std::is_same_v<W, double> && std::is_integral_v<T>) {
    // Out of range is undefined in C++: numbers from 2^63 on are those of uint64, the others wrap.
    if (x >= 9223372036854775808.0 && x < 18446744073709551616.0)
      return static_cast<T>(static_cast<uint64_t>(x));
    // What is more, and NaN, becomes 0 in uint64, as by the instructions of x86.
    if (std::is_same_v<T, uint64_t> && !(x < 9223372036854775808.0)) return 0;
    bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
    return static_cast<T>(fits ? static_cast<int64_t>(x) : INT64_MIN);
  } else {
    return static_cast<T>(x);
  }
}

template <class From, class To>
void convert_line(char** data, const int64_t* strides, int64_t n, const void*) {
  for (int64_t i = 0; i < n; ++i) {
    From x;
    std::memcpy(&x, data[1] + i * strides[1], sizeof(From));
    To y = narrowed<To>(widened(x));
    std::memcpy(data[0] + i * strides[0], &y, sizeof(To));
  }
}

}  // namespace

Loop stored_cast(DType from, DType to) {
  return visit_any_dtype(from, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    return visit_any_dtype(to, [](auto to_tag) -> Loop {
      return convert_line<From, typename decltype(to_tag)::type>;
    });
  });
}

}  // namespace facula::cpu
