#include "cpu/pointwise/binary_kernel.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

#define BINARY FACULA_BINARY_ROW
#define BINARY_KERNEL FACULA_BINARY_KERNEL
#define BINARY_FLOAT(...)
#define BINARY_FLOAT_KERNEL(...)
#include "tables/binary.def"

// Powers of integers, some at a time: as many squarings as the largest exponent has bits.
template <class T>
struct IntegerPow {
  static constexpr Kinds kinds_ = Kinds::NUMC;
  static void loop(char** data, const int64_t* strides, int64_t n, const void*) {
    using U = std::make_unsigned_t<T>;
    constexpr int64_t kSome = 64;
    for (int64_t begin = 0; begin < n; begin += kSome) {
      int64_t m = std::min(kSome, n - begin);
      T base[kSome] = {}, exponent[kSome] = {};
      U square[kSome], power[kSome], all = 0;
      for (int64_t i = 0; i < m; ++i) {
        base[i] = *reinterpret_cast<const T*>(data[1] + (begin + i) * strides[1]);
        exponent[i] = *reinterpret_cast<const T*>(data[2] + (begin + i) * strides[2]);
      }
      for (int64_t i = 0; i < kSome; ++i) {
        square[i] = static_cast<U>(base[i]);
        power[i] = 1;
        all |= static_cast<U>(exponent[i]);
      }
      bool has_negative = std::is_signed_v<T> && static_cast<T>(all) < 0;
      for (int bit = 0; !has_negative && all >> bit != 0; ++bit)
        for (int64_t i = 0; i < kSome; ++i) {
          // Of 16 bits, promoted to int, the product could overflow.
          power[i] = static_cast<U>(1u * power[i] * (exponent[i] >> bit & 1 ? square[i] : U(1)));
          square[i] = static_cast<U>(1u * square[i] * square[i]);
        }
      for (int64_t i = 0; i < m; ++i)
        *reinterpret_cast<T*>(data[0] + (begin + i) * strides[0]) =
            has_negative ? math::integer_pow(base[i], exponent[i]) : static_cast<T>(power[i]);
    }
  }
};
#define INTEGER_POW(T) \
  template <>          \
  struct pow_kernel<T> : IntegerPow<T> {};
INTEGER_POW(uint8_t)
INTEGER_POW(int8_t)
INTEGER_POW(int16_t)
INTEGER_POW(int32_t)
INTEGER_POW(int64_t)
#undef INTEGER_POW

}  // namespace

extern const BinaryTable binary_table;
const BinaryTable binary_table = {{
#define BINARY(name, ...) dtype_row<name##_kernel>(),
#define BINARY_KERNEL BINARY
#define BINARY_FLOAT(...)
#define BINARY_FLOAT_KERNEL(...)
#include "tables/binary.def"
}};

namespace {

template <class T>
void complex_loop(char** data, const int64_t* strides, int64_t n, const void*) {
  map2<std::complex<T>, T>(data, strides, n, [](T a, T b) { return std::complex<T>(a, b); });
}

}  // namespace

extern const ComplexTable complex_table;
const ComplexTable complex_table = [] {
  ComplexTable table = {};
  table.loops[static_cast<int>(DType::Float32)] = complex_loop<float>;
  table.loops[static_cast<int>(DType::Float64)] = complex_loop<double>;
  return table;
}();

}  // namespace FACULA_ISA
}  // namespace facula::cpu
