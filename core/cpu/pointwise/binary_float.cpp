// The binary operations of floating numbers only. See binary.cpp for the others.
#include "cpu/pointwise/binary_kernel.h"
#include "math/gamma.h"
#include "math/polynomials.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

#define BINARY_FLOAT FACULA_BINARY_ROW
#define BINARY_FLOAT_KERNEL FACULA_BINARY_KERNEL
#include "tables/binary.def"

// The neighbour in the type itself, not in float: numbers of one sign are ordered as their bits.
// By bits and without branches, so that the compiler makes vectors of it.
template <class E>
FACULA_FN uint16_t next_of_16_bits(uint16_t a, uint16_t b) {
  constexpr int infinity = std::is_same_v<E, Half> ? 0x7C00 : 0x7F80,
                nan = infinity | infinity >> 1;
  int size_a = a & 0x7FFF, size_b = b & 0x7FFF;
  int place_a = a & 0x8000 ? -size_a : size_a, place_b = b & 0x8000 ? -size_b : size_b;
  int step = (place_b > place_a) == (place_a > 0) ? 1 : -1;
  int next = size_a == 0 ? (b & 0x8000) | 1 : a + step;
  next = place_a == place_b ? b : next;
  return static_cast<uint16_t>((size_a > infinity) | (size_b > infinity) ? nan : next);
}
#define NEXTAFTER(E)                                                                \
  template <>                                                                       \
  struct nextafter_kernel<E> {                                                      \
    static constexpr Kinds kinds_ = Kinds::FONLY;                                   \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      map2<uint16_t, uint16_t>(data, strides, n, next_of_16_bits<E>);               \
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
