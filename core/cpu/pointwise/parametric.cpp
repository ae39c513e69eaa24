#include "cpu/formulas.h"
#include "cpu/loops.h"
#include "cpu/pointwise/loop_tables.h"
#include "math/gamma.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

// 16-bit floats have their sign in the first bit: they need not be converted.
struct DropSign {
  FACULA_FN uint16_t operator()(uint16_t bits) const { return bits & 0x7FFF; }
};

#define PARAMETRIC(name, kinds, formula)                                                   \
  template <class T>                                                                       \
  struct name##_formula {                                                                  \
    T p0, p1, p2;                                                                          \
    FACULA_FN T operator()(T x) const { return static_cast<T>(formula); }                  \
  };                                                                                       \
  template <class E>                                                                       \
  struct name##_kernel {                                                                   \
    static constexpr Kinds kinds_ = Kinds::kinds;                                          \
    static void loop(char** data, const int64_t* strides, int64_t n, const void* params) { \
      if constexpr (is_reduced_float_v<E> && ParametricOp::name == ParametricOp::abs)      \
        return map1<uint16_t, uint16_t>(data, strides, n, DropSign());                     \
      const Scalar* p = static_cast<const Scalar*>(params);                                \
      name##_formula<Lanes<E>> f{number<E>(p[0]), number<E>(p[1]), number<E>(p[2])};       \
      map_unary<E, is_short(ParametricOp::name)>(data, strides, n, f);                     \
    }                                                                                      \
  };
#include "tables/parametric.def"

}  // namespace

extern const ParametricTable parametric_table;
const ParametricTable parametric_table = {{
#define PARAMETRIC(name, kinds, formula) dtype_row<name##_kernel>(),
#include "tables/parametric.def"
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
