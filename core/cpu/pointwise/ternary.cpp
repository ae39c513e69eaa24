#include <algorithm>

#include "cpu/formulas.h"
#include "cpu/loops.h"
#include "cpu/pointwise/loop_tables.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

// y[i] = f(a[i], b[i], c[i]) in the lanes of E. The formulas are short: dense elements are read
// where they are.
template <class E, class F>
void map_ternary(char** data, const int64_t* strides, int64_t n, F f) {
  constexpr int64_t size = sizeof(E);
  bool is_dense = strides[0] == size && strides[1] == size;
  if constexpr (!is_floating_v<E>) {
    E* y = reinterpret_cast<E*>(data[0]);
    const E *a = reinterpret_cast<const E*>(data[1]), *b = reinterpret_cast<const E*>(data[2]),
            *c = reinterpret_cast<const E*>(data[3]);
    if (is_dense && strides[2] == size && strides[3] == size) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i], c[i]);
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<E*>(data[0] + i * strides[0]) =
          f(*reinterpret_cast<const E*>(data[1] + i * strides[1]),
            *reinterpret_cast<const E*>(data[2] + i * strides[2]),
            *reinterpret_cast<const E*>(data[3] + i * strides[3]));
  } else {
    using W = Wide<E>;
    if (is_dense && strides[2] == size && strides[3] == size) {
      return map_vectors(reinterpret_cast<E*>(data[0]), n, f,
                         Elements<E>{reinterpret_cast<const E*>(data[1])},
                         Elements<E>{reinterpret_cast<const E*>(data[2])},
                         Elements<E>{reinterpret_cast<const E*>(data[3])});
    }
    W a[kBlock], b[kBlock], c[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      int64_t m = n - begin < kBlock ? n - begin : kBlock;
      gather<E>(a, data[1] + begin * strides[1], strides[1], m);
      gather<E>(b, data[2] + begin * strides[2], strides[2], m);
      gather<E>(c, data[3] + begin * strides[3], strides[3], m);
      map_vectors(a, m, f, Elements<W>{a}, Elements<W>{b}, Elements<W>{c});
      scatter<E>(data[0] + begin * strides[0], strides[0], a, m);
    }
  }
}

// As map_ternary(), where numbers that are broadcast along a long line become short dense ones.
template <class E, class F>
void map_broadcast(char** data, const int64_t* strides, int64_t n, F f) {
  constexpr int64_t size = sizeof(E), piece = 256, operands = 4;
  bool is_broadcast = strides[1] == 0 || strides[2] == 0 || strides[3] == 0;
  if (!is_broadcast || n < piece / 8) return map_ternary<E>(data, strides, n, f);
  E filled[operands][piece];
  char* at[operands];
  int64_t steps[operands];
  for (int i = 0; i < operands; ++i) {
    bool is_number = i > 0 && strides[i] == 0;
    if (is_number) std::fill_n(filled[i], std::min(n, piece), *reinterpret_cast<E*>(data[i]));
    at[i] = is_number ? reinterpret_cast<char*>(filled[i]) : data[i];
    steps[i] = is_number ? size : strides[i];
  }
  for (int64_t begin = 0; begin < n; begin += piece) {
    map_ternary<E>(at, steps, std::min(piece, n - begin), f);
    for (int i = 0; i < operands; ++i)
      if (strides[i] != 0) at[i] += piece * strides[i];
  }
}

#define TERNARY_KERNEL(name, kinds, formula)                                                      \
  template <class T>                                                                              \
  struct name##_formula {                                                                         \
    T p0;                                                                                         \
    FACULA_FN T operator()(T x, T a, T b) const { return static_cast<T>(formula); }               \
  };                                                                                              \
  template <class E>                                                                              \
  struct name##_kernel {                                                                          \
    static constexpr Kinds kinds_ = Kinds::kinds;                                                 \
    static void loop(char** data, const int64_t* strides, int64_t n, const void* params) {        \
      map_broadcast<E>(data, strides, n,                                                          \
                       name##_formula<Lanes<E>>{number<E>(*static_cast<const Scalar*>(params))}); \
    }                                                                                             \
  };
#define TERNARY(name, kinds, check, formula, ...) TERNARY_KERNEL(name, kinds, formula)
#include "tables/ternary.def"

}  // namespace

extern const TernaryTable ternary_table;
const TernaryTable ternary_table = {{
#define TERNARY(name, ...) dtype_row<name##_kernel>(),
#define TERNARY_KERNEL TERNARY
#include "tables/ternary.def"
}};

// The steps of a and b are 1, or 0 for a number.
template <int kStepA, int kStepB, class E>
void where_dense(E* y, const uint8_t* condition, const E* a, const E* b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    // Both are read: a load under a condition could not be part of a vector.
    E yes = a[i * kStepA], no = b[i * kStepB];
    y[i] = condition[i] ? yes : no;
  }
}

template <class E>
void where_loop(char** data, const int64_t* strides, int64_t n, const void*) {
  constexpr int64_t size = sizeof(E);
  const uint8_t* condition = reinterpret_cast<const uint8_t*>(data[1]);
  E* y = reinterpret_cast<E*>(data[0]);
  const E *a = reinterpret_cast<const E*>(data[2]), *b = reinterpret_cast<const E*>(data[3]);
  if (strides[0] == size && strides[1] == 1) {
    if (strides[2] == size && strides[3] == size) return where_dense<1, 1>(y, condition, a, b, n);
    if (strides[2] == 0 && strides[3] == size) return where_dense<0, 1>(y, condition, a, b, n);
    if (strides[2] == size && strides[3] == 0) return where_dense<1, 0>(y, condition, a, b, n);
    if (strides[2] == 0 && strides[3] == 0) return where_dense<0, 0>(y, condition, a, b, n);
  }
  for (int64_t i = 0; i < n; ++i) {
    const char* from =
        condition[i * strides[1]] ? data[2] + i * strides[2] : data[3] + i * strides[3];
    *reinterpret_cast<E*>(data[0] + i * strides[0]) = *reinterpret_cast<const E*>(from);
  }
}

// Floats of 16 bits are classes, of which no vectors are made; here they are only moved.
template <class T>
using Moved = std::conditional_t<sizeof(T) == 2, uint16_t, T>;

extern const WhereTable where_table;
#define ENTRY(T, Name) where_loop<Moved<T>>,
const WhereTable where_table = {{FACULA_FORALL_DTYPES(ENTRY)}};
#undef ENTRY

}  // namespace FACULA_ISA
}  // namespace facula::cpu
