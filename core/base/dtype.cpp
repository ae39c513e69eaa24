#include "base/dtype.h"

namespace facula {

namespace {
// b is one of those that are not computed with. PyTorch has few rules for them.
DType promote_stored(DType a, DType b) {
  bool is_half = b == DType::Complex32 && !is_stored_only(a);
  if (is_half && is_complex(a)) return a;
  if (is_half && is_floating(a) && a != DType::Float16)
    return a == DType::Float64 ? DType::Complex128 : DType::Complex64;
  if (is_half) return b;
  if (is_wide_unsigned(b) && is_floating(a)) return a;
  fail(ErrorKind::Runtime, "promote_types: no dtype is known to hold both ", a, " and ", b,
       ". Convert one of them with .to(dtype).");
}
}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  if (is_stored_only(b)) return promote_stored(a, b);
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
    if (is_complex_kind(t)) return 3;
    return is_floating_kind(t) ? 2 : 1;
  };
  return category(from) <= category(to);
}

DType to_real_dtype(DType t) {
  if (t == DType::Complex64) return DType::Float32;
  if (t == DType::Complex128) return DType::Float64;
  if (t == DType::Complex32) return DType::Float16;
  return t;
}

void refuse_stored_only(DType t) {
  fail(ErrorKind::NotImplemented, "not implemented for ", t,
       is_wide_unsigned(t)
           ? ", which few operations compute with. Convert it first, with .to(dtype)."
       : is_stored_only(t) ? ", which is stored and converted, but not computed with. Convert it "
                             "first, with .to(dtype)."
                           : ".");
}

DType to_complex_dtype(DType t) {
  if (is_complex_kind(t)) return t;
  if (t == DType::Float16) return DType::Complex32;
  return t == DType::Float64 ? DType::Complex128 : DType::Complex64;
}

namespace {
DType default_dtype = DType::Float32;
}
DType get_default_dtype() { return default_dtype; }
void set_default_dtype(DType t) {
  check_type(is_floating(t) && !is_stored_only(t),
             "set_default_dtype: expected a floating-point dtype, got ", t, ".");
  default_dtype = t;
}

}  // namespace facula
