// Whether a number may become an element of a dtype. The rules are PyTorch's.
#pragma once
#include <limits>
#include <type_traits>

#include "base/scalar.h"

namespace facula {

// The largest finite number of a floating dtype.
double largest(DType dtype);

// Of integer types. Unsigned ones take the negative numbers of their width too.
template <class T>
constexpr bool fits(int64_t value) {
  if (sizeof(T) == 8) return true;
  constexpr int64_t max = static_cast<int64_t>(std::numeric_limits<T>::max());
  constexpr int64_t min =
      std::is_unsigned_v<T> ? -max : static_cast<int64_t>(std::numeric_limits<T>::min());
  return value >= min && value <= max;
}
template <class T>
constexpr bool fits(double value) {
  // The largest int64 is no double: 2^63 is the first one beyond.
  return value >= static_cast<double>(std::numeric_limits<T>::min()) &&
         value <= static_cast<double>(std::numeric_limits<T>::max()) && value < 0x1p63;
}

// Everything is a bool; infinities and NaN are elements of every floating dtype.
bool fits(Scalar value, DType dtype);

// Raises unless the number fits. `what` names the argument.
void check_fits(const char* op, const char* what, Scalar value, DType dtype);

// The same for a number that 16-bit floats are multiplied with: they are float32 then.
void check_factor(const char* op, const char* what, Scalar value, DType dtype);

// The same for a number that becomes a tensor: what is too large for 16-bit floats is infinity.
void check_number(const char* op, Scalar value, DType dtype);

}  // namespace facula
