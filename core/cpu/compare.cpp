// Loops with results of type bool.
#include "cpu/elementwise.h"
#include "cpu/formulas.h"
#include "cpu/loops.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

#define PREDICATE(name, kinds, formula)                                             \
  template <class E>                                                                \
  struct name##_kernel {                                                            \
    static constexpr Kinds kinds_ = Kinds::kinds;                                   \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      using T = Wide<E>;                                                            \
      map1<bool, E>(data, strides, n, [](T x) -> bool { return formula; });         \
    }                                                                               \
  };
#include "ops/predicate.def"
#undef PREDICATE

}  // namespace

extern const PredicateTable predicate_table;
const PredicateTable predicate_table = {{
#define PREDICATE(name, kinds, formula) dtype_row<name##_kernel>(),
#include "ops/predicate.def"
#undef PREDICATE
}};

namespace {

#define COMPARE(name, kinds, formula)                                               \
  template <class E>                                                                \
  struct name##_kernel {                                                            \
    static constexpr Kinds kinds_ = Kinds::kinds;                                   \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      using T = Wide<E>;                                                            \
      map2<bool, E>(data, strides, n, [](T a, T b) -> bool { return formula; });    \
    }                                                                               \
  };
#include "ops/compare.def"
#undef COMPARE

}  // namespace

extern const CompareTable compare_table;
const CompareTable compare_table = {{
#define COMPARE(name, kinds, formula) dtype_row<name##_kernel>(),
#include "ops/compare.def"
#undef COMPARE
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
