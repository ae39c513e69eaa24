// Element types and the rules that combine them.
#pragma once
#include <complex>
#include <cstdint>
#include <ostream>

#include "base/error.h"
#include "base/float8.h"
#include "base/half.h"

namespace facula {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
  // Stored, moved and converted. Tables of kernels have null for them, but where the results have
  // the bits of the signed dtype of the size, that dtype's kernels: see walk/kinds.h.
  UInt16,
  UInt32,
  UInt64,
  // Stored, moved and converted, but not computed with.
  Float8_e4m3fn,
  Float8_e5m2,
  Float8_e4m3fnuz,
  Float8_e5m2fnuz,
  Float8_e8m0fnu,
  Complex32,
};
constexpr int kNumDTypes = 21, kNumComputedDTypes = 12;

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

constexpr int64_t kItemSizes[kNumDTypes] = {1,  1, 1, 2, 4, 8, 2, 2, 4, 8, 8,
                                            16, 2, 4, 8, 1, 1, 1, 1, 1, 4};
constexpr const char* kDTypeNames[kNumDTypes] = {"bool",
                                                 "uint8",
                                                 "int8",
                                                 "int16",
                                                 "int32",
                                                 "int64",
                                                 "float16",
                                                 "bfloat16",
                                                 "float32",
                                                 "float64",
                                                 "complex64",
                                                 "complex128",
                                                 "uint16",
                                                 "uint32",
                                                 "uint64",
                                                 "float8_e4m3fn",
                                                 "float8_e5m2",
                                                 "float8_e4m3fnuz",
                                                 "float8_e5m2fnuz",
                                                 "float8_e8m0fnu",
                                                 "complex32"};

inline int64_t item_size(DType t) { return kItemSizes[static_cast<int>(t)]; }
inline const char* dtype_name(DType t) { return kDTypeNames[static_cast<int>(t)]; }
inline bool is_in(DType t, DType first, DType last) { return t >= first && t <= last; }
inline bool is_stored_only(DType t) { return t > DType::Complex128; }
// Of those that are computed with: kernels trust the answer.
inline bool is_complex(DType t) { return is_in(t, DType::Complex64, DType::Complex128); }
inline bool is_floating(DType t) { return is_in(t, DType::Float16, DType::Float64); }
// The 16-bit ones, whose arithmetic is done in float.
inline bool is_reduced_float(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
inline bool is_integral(DType t) { return is_in(t, DType::UInt8, DType::Int64); }  // without bool
inline bool is_differentiable(DType t) { return is_in(t, DType::Float16, DType::Complex128); }
// Of all.
inline bool is_complex_kind(DType t) { return is_complex(t) || t == DType::Complex32; }
inline bool is_floating_kind(DType t) {
  return is_floating(t) || is_in(t, DType::Float8_e4m3fn, DType::Float8_e8m0fnu);
}
// Without a sign, and of more than 8 bits.
constexpr bool is_wide_unsigned(DType t) { return t >= DType::UInt16 && t <= DType::UInt64; }
inline bool is_unsigned(DType t) { return t == DType::UInt8 || is_wide_unsigned(t); }
// A dtype of the same size that is computed with: elements are moved as if they had it.
constexpr DType carrier(DType t) {
  if (t <= DType::Complex128) return t;
  constexpr DType by_size[] = {DType::UInt8, DType::Int16, DType::Int32, DType::Int64};
  int64_t size = kItemSizes[static_cast<int>(t)];
  return by_size[(size > 1) + (size > 2) + (size > 4)];
}

inline std::ostream& operator<<(std::ostream& out, DType t) { return out << dtype_name(t); }

// The smallest type that holds both, as PyTorch's promote_types.
DType promote_types(DType a, DType b);
// Whether a value of type `from` may be stored in `to` (PyTorch's can_cast: the category may not go
// down).
bool can_cast(DType from, DType to);
// complex64 -> float32 and so on; other types are their own.
DType to_real_dtype(DType t);
DType to_complex_dtype(DType t);

[[noreturn]] void refuse_stored_only(DType t);
inline void check_computed(DType t) {
  if (is_stored_only(t)) refuse_stored_only(t);
}

DType get_default_dtype();
void set_default_dtype(DType t);  // floating types only

template <class T>
struct DTypeOf;
// Those that are computed with.
// clang-format off
#define FACULA_FORALL_DTYPES(_)                                                                 \
  _(bool, Bool) _(uint8_t, UInt8) _(int8_t, Int8) _(int16_t, Int16) _(int32_t, Int32)           \
  _(int64_t, Int64) _(Half, Float16) _(BFloat16, BFloat16) _(float, Float32) _(double, Float64) \
  _(Complex64, Complex64) _(Complex128, Complex128)
#define FACULA_FORALL_STORED_DTYPES(_)                                                          \
  _(uint16_t, UInt16) _(uint32_t, UInt32) _(uint64_t, UInt64)                                   \
  _(Float8_e4m3fn, Float8_e4m3fn) _(Float8_e5m2, Float8_e5m2)                                   \
  _(Float8_e4m3fnuz, Float8_e4m3fnuz) _(Float8_e5m2fnuz, Float8_e5m2fnuz)                       \
  _(Float8_e8m0fnu, Float8_e8m0fnu) _(Complex32, Complex32)
// clang-format on
#define FACULA_DTYPE_OF(T, Name)                \
  template <>                                   \
  struct DTypeOf<T> {                           \
    static constexpr DType value = DType::Name; \
  };
FACULA_FORALL_DTYPES(FACULA_DTYPE_OF)
FACULA_FORALL_STORED_DTYPES(FACULA_DTYPE_OF)
#undef FACULA_DTYPE_OF

template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>{}) with the C++ type of `t`: the body reads `using T = typename
// decltype(tag)::type;`.
#define FACULA_CASE(T, Name) \
  case DType::Name:          \
    return f(TypeTag<T>{});
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    FACULA_FORALL_DTYPES(FACULA_CASE)
    default:
      refuse_stored_only(t);
  }
}
template <class F>
decltype(auto) visit_any_dtype(DType t, F&& f) {
  switch (t) {
    FACULA_FORALL_DTYPES(FACULA_CASE)
    FACULA_FORALL_STORED_DTYPES(FACULA_CASE)
  }
  fail(ErrorKind::Runtime, "unknown dtype");
}
#undef FACULA_CASE

// The entry of a table by dtype. Raises where it is null.
template <class Row>
auto kernel_of(const Row& row, DType t) {
  auto kernel = row[static_cast<int>(t)];
  if (!kernel) refuse_stored_only(t);
  return kernel;
}

template <class T>
inline constexpr bool is_complex_v = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;
template <class T>
inline constexpr bool is_reduced_float_v = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_floating_v = std::is_floating_point_v<T> || is_reduced_float_v<T>;

// The type in which arithmetic on T is done: float for the 16-bit types, T itself otherwise.
template <class T>
using Wide = std::conditional_t<is_reduced_float_v<T>, float, T>;

}  // namespace facula
