#include "cpu/formulas.h"
#include "cpu/loops.h"
#include "cpu/pairs.h"
#include "cpu/pointwise/loop_tables.h"
#include "math/bessel.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

// The signs that neg and conj_physical change, in the bits of an element, where the elements need
// not be made numbers for it: floats of 16 bits would be converted, and of complex numbers the
// compiler makes no vectors.
template <class E>
constexpr uint64_t sign_bits(UnaryOp op) {
  if (is_reduced_float_v<E> && op == UnaryOp::neg) return 0x8000;
  if (std::is_same_v<E, Complex64> && op == UnaryOp::neg) return 0x8000000080000000;
  if (std::is_same_v<E, Complex64> && op == UnaryOp::conj_physical) return 0x8000000000000000;
  return 0;
}

// Functions with a formula over vectors of complex numbers.
constexpr bool is_of_pairs(UnaryOp op) { return op == UnaryOp::exp || op == UnaryOp::sigmoid; }

#define UNARY(name, names, forms, kinds, refused, formula, ...)                     \
  template <class T>                                                                \
  struct name##_formula {                                                           \
    FACULA_FN T operator()(T x) const { return static_cast<T>(formula); }           \
  };                                                                                \
  template <class E>                                                                \
  struct name##_kernel {                                                            \
    static constexpr Kinds kinds_ = Kinds::kinds;                                   \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      constexpr uint64_t signs = sign_bits<E>(UnaryOp::name);                       \
      if constexpr (signs != 0) {                                                   \
        using U = std::conditional_t<sizeof(E) == 2, uint16_t, uint64_t>;           \
        map1<U, U>(data, strides, n, [](U bits) -> U { return bits ^ signs; });     \
      } else if constexpr (is_complex_v<E> && is_of_pairs(UnaryOp::name)) {         \
        using R = typename E::value_type;                                           \
        map_pairs<R>(data, strides, n, name##_formula<Pairs<R>>{});                 \
      } else {                                                                      \
        constexpr bool is_brief = is_short(UnaryOp::name);                          \
        map_unary<E, is_brief>(data, strides, n, name##_formula<Lanes<E>>{});       \
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
