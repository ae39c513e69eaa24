#include "base/number.h"

#include <cmath>
#include <sstream>

#include "base/error.h"

namespace facula {

double largest(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 65504.0;
    case DType::BFloat16:
      return 3.3895313892515355e38;
    case DType::Float32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

bool fits(Scalar value, DType dtype) {
  if (dtype == DType::Bool) return true;
  std::complex<double> parts = value.to_complex();
  if (is_complex_kind(dtype)) {
    DType part = to_real_dtype(dtype);
    return fits(parts.real(), part) && fits(parts.imag(), part);
  }
  if (value.is_complex()) return parts.imag() == 0 && fits(parts.real(), dtype);
  if (is_floating_kind(dtype) && is_stored_only(dtype))
    return true;  // what is too large has a value
  if (is_floating(dtype))
    return std::isinf(parts.real()) || !(std::abs(parts.real()) > largest(dtype));
  if (value.kind() == Scalar::Kind::UInt) return dtype == DType::UInt64;
  return visit_any_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>)
      return value.is_integral() ? fits<T>(value.to_int()) : fits<T>(value.to_double());
    return true;
  });
}

void check_fits(const char* op, const char* what, Scalar value, DType dtype) {
  if (fits(value, dtype)) return;
  std::ostringstream text;
  if (value.kind() == Scalar::Kind::UInt) {
    text << static_cast<uint64_t>(value.to_int());
  } else if (value.is_integral()) {
    text << value.to_int();
  } else {
    text << value.to_complex().real();
    if (value.is_complex()) text << std::showpos << value.to_complex().imag() << 'j';
  }
  fail(ErrorKind::Runtime, op, ": the ", what, " ", text.str(), " does not fit into ", dtype,
       ". (value cannot be converted to type ", dtype, " without overflow)");
}

void check_factor(const char* op, const char* what, Scalar value, DType dtype) {
  check_fits(op, what, value, is_reduced_float(dtype) ? DType::Float32 : dtype);
}

void check_number(const char* op, Scalar value, DType dtype) {
  check_fits(op, "number", value, is_reduced_float(dtype) ? DType::Float64 : dtype);
}

}  // namespace facula
