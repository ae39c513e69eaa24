// Activation functions, and their derivatives from the gradient of the result.
#include "cpu/formulas.h"
#include "cpu/loops.h"
#include "cpu/pairs.h"
#include "cpu/pointwise/loop_tables.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

// Derivatives of complex functions are made of other operations.
constexpr Kinds real_kinds(Kinds kinds) { return kinds == Kinds::FCONLY ? Kinds::FONLY : kinds; }

#define ACTIVATION(name, forms, node, kinds, names, prepare, serves, formula, slope, ...)  \
  template <class T>                                                                       \
  struct name##_formula {                                                                  \
    T p0, p1, p2;                                                                          \
    FACULA_FN T operator()(T x) const { return static_cast<T>(formula); }                  \
  };                                                                                       \
  template <class T>                                                                       \
  struct name##_slope {                                                                    \
    T p0, p1, p2;                                                                          \
    FACULA_FN T operator()(T g, T x) const { return static_cast<T>(slope); }               \
  };                                                                                       \
  template <class E>                                                                       \
  struct name##_kernel {                                                                   \
    static constexpr Kinds kinds_ = Kinds::kinds;                                          \
    static void loop(char** data, const int64_t* strides, int64_t n, const void* params) { \
      if constexpr (is_complex_v<E>) {                                                     \
        using R = typename E::value_type;                                                  \
        map_pairs<R>(data, strides, n, name##_formula<Pairs<R>>{});                        \
      } else {                                                                             \
        const Scalar* p = static_cast<const Scalar*>(params);                              \
        name##_formula<Lanes<E>> f{number<E>(p[0]), number<E>(p[1]), number<E>(p[2])};     \
        map_unary<E, is_short(ActivationOp::name)>(data, strides, n, f);                   \
      }                                                                                    \
    }                                                                                      \
  };                                                                                       \
  template <class E>                                                                       \
  struct name##_slope_kernel {                                                             \
    static constexpr Kinds kinds_ = real_kinds(Kinds::kinds);                              \
    static void loop(char** data, const int64_t* strides, int64_t n, const void* given) {  \
      const auto& params = *static_cast<const BinaryParams*>(given);                       \
      const Scalar* p = params.numbers;                                                    \
      name##_slope<Lanes<E>> f{number<E>(p[0]), number<E>(p[1]), number<E>(p[2])};         \
      map_binary<E>(data, strides, n, params, f);                                          \
    }                                                                                      \
  };
#include "tables/activation.def"

}  // namespace

extern const ActivationTable activation_table;
const ActivationTable activation_table = {{
#define ACTIVATION(name, ...) dtype_row<name##_kernel>(),
#include "tables/activation.def"
}};

extern const ActivationTable slope_table;
const ActivationTable slope_table = {{
#define ACTIVATION(name, ...) dtype_row<name##_slope_kernel>(),
#include "tables/activation.def"
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
