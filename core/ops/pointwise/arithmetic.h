// Addition and its kin, with broadcasting and type promotion. Operations without arguments of their
// own are rows of binary.def.
#pragma once
#include <optional>
#include <string>

#include "ops/pointwise/binary.h"

namespace facula {

using RoundingMode = std::optional<std::string>;

Tensor add(const Tensor& a, const Tensor& b, Scalar alpha = 1, const Into& into = {});
Tensor sub(const Tensor& a, const Tensor& b, Scalar alpha = 1, const Into& into = {});
Tensor rsub(const Tensor& a, const Tensor& b, Scalar alpha = 1);  // b - alpha * a
Tensor div(const Tensor& a, const Tensor& b, const Into& into);
inline Tensor div(const Tensor& a, const Tensor& b) { return div(a, b, Into{}); }
Tensor div(const Tensor& a, const Tensor& b, const RoundingMode& rounding_mode,
           const Into& into = {});
Tensor pow(const Tensor& base, const Tensor& exponent, const Into& into);
inline Tensor pow(const Tensor& base, const Tensor& exponent) {
  return pow(base, exponent, Into{});
}
Tensor square(const Tensor& x, const Into& into);
inline Tensor square(const Tensor& x) { return square(x, Into{}); }
Tensor positive(const Tensor& x);
Tensor& add_(Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor& sub_(Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor& div_(Tensor& a, const Tensor& b);
Tensor& pow_(Tensor& base, const Tensor& exponent);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, wrapped_number(b)); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, wrapped_number(b)); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, wrapped_number(b)); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, wrapped_number(b)); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(wrapped_number(a), b); }
inline Tensor operator-(Scalar a, const Tensor& b) { return sub(wrapped_number(a), b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(wrapped_number(a), b); }
inline Tensor operator/(Scalar a, const Tensor& b) { return div(wrapped_number(a), b); }

}  // namespace facula
