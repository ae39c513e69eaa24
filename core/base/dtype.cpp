#include "base/dtype.h"

namespace facula {

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  // Now a < b in the order of the enumeration.
  if (a == DType::Bool) return b;
  if (is_complex(b)) {
    bool wide = b == DType::Complex128 || a == DType::Float64;
    return wide ? DType::Complex128 : DType::Complex64;
  }
  if (is_floating(b)) {
    if (is_integral(a)) return b;
    if (a == DType::Float16 && b == DType::BFloat16) return DType::Float32;
    return b;
  }
  // uint8 with a signed type: the signed type that holds 0..255.
  if (a == DType::UInt8) return b == DType::Int8 ? DType::Int16 : b;
  return b;
}

bool can_cast(DType from, DType to) {
  auto category = [](DType t) {
    if (t == DType::Bool) return 0;
    if (is_integral(t)) return 1;
    return is_floating(t) ? 2 : 3;
  };
  return category(from) <= category(to);
}

DType to_real_dtype(DType t) {
  if (t == DType::Complex64) return DType::Float32;
  if (t == DType::Complex128) return DType::Float64;
  return t;
}

DType to_complex_dtype(DType t) {
  if (is_complex(t)) return t;
  return t == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

namespace {
DType default_dtype = DType::Float32;
}
DType get_default_dtype() { return default_dtype; }
void set_default_dtype(DType t) {
  check_type(is_floating(t), "set_default_dtype: expected a floating-point dtype, got ", t, ".");
  default_dtype = t;
}

}  // namespace facula
