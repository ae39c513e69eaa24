#include <cmath>

#include "cpu/elementwise.h"
#include "cpu/loops.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace math {
using std::exp;
template <class T>
T conj(T x) {
  if constexpr (is_complex_v<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}
}

#define UNARY(name, node, kinds, formula, gradient) \
  template <class E> \
  struct name##_kernel { \
    static constexpr Kinds kinds_ = kinds; \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      using T = Wide<E>; \
      map1<E, E>(data, strides, n, [](T x) -> T { return static_cast<T>(formula); }); \
    } \
  };
#include "ops/unary.def"
#undef UNARY

extern const UnaryTable unary_table;
const UnaryTable unary_table = {{
#define UNARY(name, node, kinds, formula, gradient) dtype_row<name##_kernel>(),
#include "ops/unary.def"
#undef UNARY
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
