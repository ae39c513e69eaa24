#include <cmath>

#include "cpu/elementwise.h"
#include "cpu/loops.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

#define BINARY(name, kinds, formula) \
  template <class E> \
  struct name##_kernel { \
    static constexpr Kinds kinds_ = kinds; \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      using T = Wide<E>; \
      map2<E, E>(data, strides, n, [](T a, T b) -> T { return static_cast<T>(formula); }); \
    } \
  };
#include "ops/binary.def"
#undef BINARY

extern const BinaryTable binary_table;
const BinaryTable binary_table = {{
#define BINARY(name, kinds, formula) dtype_row<name##_kernel>(),
#include "ops/binary.def"
#undef BINARY
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
