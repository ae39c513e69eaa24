// Loops with results of type bool.
#include "cpu/formulas.h"
#include "cpu/loops.h"
#include "cpu/pointwise/loop_tables.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

// y[i] = f(x[i]...) of one or two operands. Those of 16 bits are made floats, a block at a time:
// the compiler makes no vectors of such conversions.
template <class E, class F>
void map_to_bool(char** data, const int64_t* strides, int64_t n, F f) {
  constexpr bool is_unary = std::is_invocable_v<F, Wide<E>>;
  auto map = [f](auto type, char** parts, const int64_t* steps, int64_t m) {
    if constexpr (is_unary) {
      map1<bool, decltype(type)>(parts, steps, m, f);
    } else if constexpr (std::is_same_v<decltype(type), bool>) {
      // As numbers 0 and 1: of bools and "and" and "or" the compiler makes no vectors.
      map2<bool, uint8_t>(parts, steps, m, [f](uint8_t a, uint8_t b) {
        return f(static_cast<uint8_t>(a != 0), static_cast<uint8_t>(b != 0));
      });
    } else {
      map2<bool, decltype(type)>(parts, steps, m, f);
    }
  };
  if constexpr (is_reduced_float_v<E>) {
    float blocks[2][kBlock];
    int64_t steps[3] = {strides[0], sizeof(float), sizeof(float)};
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      int64_t m = std::min(kBlock, n - begin);
      char* parts[3] = {data[0] + begin * strides[0], reinterpret_cast<char*>(blocks[0]),
                        reinterpret_cast<char*>(blocks[1])};
      for (int k = 0; k < (is_unary ? 1 : 2); ++k)
        gather<E>(blocks[k], data[k + 1] + begin * strides[k + 1], strides[k + 1], m);
      map(float(), parts, steps, m);
    }
  } else {
    map(E(), data, strides, n);
  }
}

#define PREDICATE(name, kinds, refused, formula, ...)                               \
  template <class E>                                                                \
  struct name##_kernel {                                                            \
    static constexpr Kinds kinds_ = Kinds::kinds;                                   \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      using T = Wide<E>;                                                            \
      map_to_bool<E>(data, strides, n, [](T x) -> bool { return formula; });        \
    }                                                                               \
  };
#include "tables/compare.def"

}  // namespace

extern const PredicateTable predicate_table;
const PredicateTable predicate_table = {{
#define PREDICATE(name, ...) dtype_row<name##_kernel>(),
#include "tables/compare.def"
}};

namespace {

#define COMPARE(name, names, numbers, node, kinds, refused, formula, ...)           \
  template <class E>                                                                \
  struct name##_kernel {                                                            \
    static constexpr Kinds kinds_ = Kinds::kinds;                                   \
    static void loop(char** data, const int64_t* strides, int64_t n, const void*) { \
      using T = std::conditional_t<std::is_same_v<E, bool>, uint8_t, Wide<E>>;      \
      map_to_bool<E>(data, strides, n, [](T a, T b) -> bool { return formula; });   \
    }                                                                               \
  };
#include "tables/compare.def"

}  // namespace

extern const CompareTable compare_table;
const CompareTable compare_table = {{
#define COMPARE(name, ...) dtype_row<name##_kernel>(),
#include "tables/compare.def"
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
