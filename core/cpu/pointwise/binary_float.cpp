// The binary operations of floating numbers only. See binary.cpp for the others.
#include "cpu/pointwise/binary_kernel.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

#define BINARY_FLOAT FACULA_BINARY_ROW
#define BINARY_FLOAT_KERNEL FACULA_BINARY_KERNEL
#include "tables/binary.def"

// The neighbour in the type itself, not in float: numbers of one sign are ordered as their bits.
template <class E>
E next_of_16_bits(E a, E b) {
  float x = a, y = b;
  if (x != x || y != y) return E(x + y);
  if (x == y) return b;
  E result;
  if (x == 0) {
    result.bits = y < 0 ? 0x8001 : 0x0001;
  } else {
    result.bits = (x < y) == (x > 0) ? a.bits + 1 : a.bits - 1;
  }
  return result;
}
#define NEXTAFTER(E)                                                                \
  template <>                                                                       \
  struct nextafter_kernel<E> {                                                      \
    static constexpr Kinds kinds_ = Kinds::FONLY;                                   \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      map2<E, E>(data, strides, n, [](E a, E b) { return next_of_16_bits(a, b); }); \
    }                                                                               \
  };
NEXTAFTER(Half)
NEXTAFTER(BFloat16)
#undef NEXTAFTER

}  // namespace

extern const BinaryFloatTable binary_float_table;
const BinaryFloatTable binary_float_table = {{
#define BINARY_FLOAT(name, ...) dtype_row<name##_kernel>(),
#define BINARY_FLOAT_KERNEL BINARY_FLOAT
#include "tables/binary.def"
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
