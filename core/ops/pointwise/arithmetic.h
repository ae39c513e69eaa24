// Addition and its kin, with broadcasting and type promotion.
#pragma once
#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace facula {

Tensor add(const Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor sub(const Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor rsub(const Tensor& a, const Tensor& b, Scalar alpha = 1);  // b - alpha * a
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b, const std::optional<std::string>& rounding_mode);
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor& add_(Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor& sub_(Tensor& a, const Tensor& b, Scalar alpha = 1);
Tensor& mul_(Tensor& a, const Tensor& b);
Tensor& div_(Tensor& a, const Tensor& b);
Tensor& floor_divide_(Tensor& a, const Tensor& b);
Tensor& remainder_(Tensor& a, const Tensor& b);
Tensor& pow_(Tensor& base, const Tensor& exponent);

// Whether an operation on a and b is to be recorded.
bool wants_history(const Tensor& a, const Tensor& b);

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
