// A number from Python: bool, int, float or complex, each at its own precision.
#pragma once
#include <complex>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"

namespace facula {

class Scalar {
 public:
  // UInt: from 2^63 on, where Int ends.
  enum class Kind : uint8_t { Bool, Int, UInt, Float, Complex };

  Scalar() : Scalar(0) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::Bool;
      i_ = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ =
          std::is_same_v<T, uint64_t> && value > static_cast<T>(INT64_MAX) ? Kind::UInt : Kind::Int;
      i_ = static_cast<int64_t>(value);
    } else {
      kind_ = Kind::Float;
      re_ = value;
    }
  }
  Scalar(std::complex<double> value) : kind_(Kind::Complex), re_(value.real()), im_(value.imag()) {}

  Kind kind() const { return kind_; }
  bool is_complex() const { return kind_ == Kind::Complex; }
  bool is_floating() const { return kind_ == Kind::Float; }
  bool is_bool() const { return kind_ == Kind::Bool; }
  bool is_integral() const { return kind_ <= Kind::UInt; }

  double to_double() const {
    if (kind_ == Kind::UInt) return static_cast<double>(static_cast<uint64_t>(i_));
    return is_integral() ? static_cast<double>(i_) : re_;
  }
  // Numbers of UInt as the int64 of the same bits, as integers wrap around.
  int64_t to_int() const { return is_integral() ? i_ : static_cast<int64_t>(re_); }
  std::complex<double> to_complex() const { return {to_double(), is_complex() ? im_ : 0.0}; }
  bool to_bool() const {
    return is_integral() ? i_ != 0 : (re_ != 0 || (is_complex() && im_ != 0));
  }

  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      return to_bool();
    } else if constexpr (is_complex_v<T>) {
      return T(to_complex());
    } else if constexpr (is_floating_v<T>) {
      return static_cast<T>(
          static_cast<std::conditional_t<is_reduced_float_v<T>, float, T>>(to_double()));
    } else if constexpr (is_float8_v<T>) {
      return T(static_cast<float>(to_double()));
    } else if constexpr (std::is_same_v<T, Complex32>) {
      return T(Complex64(to_complex()));
    } else {
      return static_cast<T>(to_int());
    }
  }

  // The dtype that a tensor made from this number alone has.
  DType dtype() const {
    switch (kind_) {
      case Kind::Bool:
        return DType::Bool;
      case Kind::Int:
        return DType::Int64;
      case Kind::UInt:
        return DType::UInt64;
      case Kind::Float:
        return get_default_dtype();
      default:
        return to_complex_dtype(get_default_dtype());
    }
  }

 private:
  Kind kind_ = Kind::Int;
  union {
    int64_t i_;
    double re_;
  };
  double im_ = 0;
};

}  // namespace facula
