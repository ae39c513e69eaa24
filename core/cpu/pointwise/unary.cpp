#include "cpu/formulas.h"
#include "cpu/loops.h"
#include "cpu/pointwise/loop_tables.h"
#include "math/bessel.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

// 16-bit floats have their sign in the first bit: they need not be converted.
struct FlipSign {
  FACULA_FN uint16_t operator()(uint16_t bits) const { return bits ^ 0x8000; }
};

#define UNARY(name, names, forms, kinds, refused, formula, ...)                     \
  template <class T>                                                                \
  struct name##_formula {                                                           \
    FACULA_FN T operator()(T x) const { return static_cast<T>(formula); }           \
  };                                                                                \
  template <class E>                                                                \
  struct name##_kernel {                                                            \
    static constexpr Kinds kinds_ = Kinds::kinds;                                   \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      if constexpr (is_reduced_float_v<E> && UnaryOp::name == UnaryOp::neg) {       \
        map1<uint16_t, uint16_t>(data, strides, n, FlipSign());                     \
      } else {                                                                      \
        map_unary<E>(data, strides, n, name##_formula<Lanes<E>>{});                 \
      }                                                                             \
    }                                                                               \
  };
#include "tables/unary.def"

}  // namespace

extern const UnaryTable unary_table;
const UnaryTable unary_table = {{
#define UNARY(name, ...) dtype_row<name##_kernel>(),
#include "tables/unary.def"
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
