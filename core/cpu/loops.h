// Loops that kernels are made of.
//
// Note [One formula, any layout]
// Floating formulas run over vectors only. Operands that are not contiguous, or are of 16 bits, are
// gathered into blocks of their wide type first: so every layout gives the same bits, and a formula
// is compiled once per width. Only where it is short, and the blocks would take half of the time,
// do the 16-bit dtypes have code of their own, which converts in registers.
#pragma once
#include <algorithm>
#include <array>

#include "base/dtype.h"
#include "base/scalar.h"
#include "cpu/isa.h"
#include "cpu/pointwise/loop_tables.h"
#include "cpu/vec_lanes.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

constexpr int64_t kBlock = 512;  // elements gathered at once: three blocks of doubles stay in L1

// What a formula over elements E sees: a vector of the wide type, or one number.
template <class E>
using Lanes = std::conditional_t<is_floating_v<E>, Vec<Wide<E>>, E>;

// A number of a loop's params, for formulas over E.
template <class E>
inline Lanes<E> number(Scalar value) {
  return Lanes<E>(value.to<Wide<E>>());
}

// Bools may come from elsewhere, as bytes that are more than 0 and 1: every one but 0 is true.
template <class E>
FACULA_FN E element(const E* at) {
  if constexpr (std::is_same_v<E, bool>) {
    return *reinterpret_cast<const uint8_t*>(at) != 0;
  } else {
    return *at;
  }
}

// Not inlined, like scatter: what all formulas of a dtype share is compiled once.
template <class E>
[[gnu::noinline]] void gather(Wide<E>* to, const char* from, int64_t stride, int64_t n) {
  int64_t i = 0;
  if constexpr (is_floating_v<E>) {
    constexpr int64_t lanes = Vec<Wide<E>>::kLanes;
    const E* dense = reinterpret_cast<const E*>(from);
    if (stride == sizeof(E))
      for (; i + lanes <= n; i += lanes) Vec<Wide<E>>::load(dense + i).store(to + i);
    // Every second number, as the parts of complex ones lie: the last vector would read past it.
    if (stride == 2 * sizeof(E))
      for (; i + lanes < n; i += lanes)
        evens(Vec<Wide<E>>::load(dense + 2 * i), Vec<Wide<E>>::load(dense + 2 * i + lanes))
            .store(to + i);
  }
  if (stride == 0 && n > 0) {
    std::fill_n(to, n, Wide<E>(*reinterpret_cast<const E*>(from)));
    return;
  }
  for (; i < n; ++i) to[i] = *reinterpret_cast<const E*>(from + i * stride);
}
template <class E>
[[gnu::noinline]] void scatter(char* to, int64_t stride, const Wide<E>* from, int64_t n) {
  int64_t i = 0;
  if constexpr (is_floating_v<E>) {
    constexpr int64_t lanes = Vec<Wide<E>>::kLanes;
    E* dense = reinterpret_cast<E*>(to);
    if (stride == sizeof(E))
      for (; i + lanes <= n; i += lanes) Vec<Wide<E>>::load(from + i).store(dense + i);
  }
  for (; i < n; ++i) *reinterpret_cast<E*>(to + i * stride) = from[i];
}

// An operand as vectors: from memory, or the same number again and again.
template <class E>
struct Elements {
  const E* from;
  FACULA_FN Vec<Wide<E>> at(int64_t i) const { return Vec<Wide<E>>::load(from + i); }
  FACULA_FN Vec<Wide<E>> at(int64_t i, int64_t n) const { return Vec<Wide<E>>::load(from + i, n); }
};
template <class W>
struct Number {
  Vec<W> value;
  FACULA_FN Vec<W> at(int64_t) const { return value; }
  FACULA_FN Vec<W> at(int64_t, int64_t) const { return value; }
};

// y[i] = f(streams[i]...), the last vector in part. Not inlined and with one call of f, whose code
// may be long: all dtypes and layouts of a width share it.
template <class E, class F, class... Streams>
__attribute__((noinline)) void map_vectors(E* y, int64_t n, F f, Streams... streams) {
  using W = Wide<E>;
  constexpr int64_t lanes = Vec<W>::kLanes;
  for (int64_t i = 0; i < n; i += lanes) {
    int64_t rest = n - i;
    bool is_full = __builtin_expect(rest >= lanes, 1);
    // Formulas of one operand are the long ones; with several, memory is waited for anyway.
    if constexpr (sizeof...(Streams) == 1) (prefetch_ahead(streams.from + i), ...);
    Vec<W> result = f((is_full ? streams.at(i) : streams.at(i, rest))...);
    if (is_full) {
      result.store(y + i);
    } else {
      result.store(y + i, rest);
    }
  }
}

// y[i] = f(x[i]) for numbers of any type. Contiguous operands get their own loop, which the
// compiler turns into vector code; y may be x itself, so it must not look for overlap.
template <class Out, class In, class F>
inline void map1(char** data, const int64_t* strides, int64_t n, F f) {
  if (strides[0] == sizeof(Out) && strides[1] == sizeof(In)) {
    Out* y = reinterpret_cast<Out*>(data[0]);
    const In* x = reinterpret_cast<const In*>(data[1]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = f(element(x + i));
    return;
  }
  // As variables of their own: what is written could else change them, and they be read again.
  const int64_t step_y = strides[0], step_x = strides[1];
  char *y = data[0], *x = data[1];
  for (int64_t i = 0; i < n; ++i, y += step_y, x += step_x)
    *reinterpret_cast<Out*>(y) = f(element(reinterpret_cast<const In*>(x)));
}

// y[i] = f(a[i], b[i]), with loops of their own for contiguous operands and for one that is a
// single number.
template <class Out, class In, class F>
inline void map2(char** data, const int64_t* strides, int64_t n, F f) {
  constexpr int64_t size = sizeof(In);
  Out* y = reinterpret_cast<Out*>(data[0]);
  const In* a = reinterpret_cast<const In*>(data[1]);
  const In* b = reinterpret_cast<const In*>(data[2]);
  if (strides[0] == sizeof(Out)) {
    if (strides[1] == size && strides[2] == size) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = f(element(a + i), element(b + i));
      return;
    }
    if (strides[1] == size && strides[2] == 0) {
      In value = element(b);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = f(element(a + i), value);
      return;
    }
    if (strides[1] == 0 && strides[2] == size) {
      In value = element(a);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = f(value, element(b + i));
      return;
    }
  }
  const int64_t step_y = strides[0], step_a = strides[1], step_b = strides[2];  // as in map1
  char *py = data[0], *pa = data[1], *pb = data[2];
  for (int64_t i = 0; i < n; ++i, py += step_y, pa += step_a, pb += step_b)
    *reinterpret_cast<Out*>(py) =
        f(element(reinterpret_cast<const In*>(pa)), element(reinterpret_cast<const In*>(pb)));
}

// Whether dense elements are not gathered first.
template <class E, bool kIsShort>
constexpr bool kIsDirect = kIsShort || !is_reduced_float_v<E>;

// y[i] = f(x[i]) in the lanes of E.
template <class E, bool kIsShort = false, class F>
inline void map_unary(char** data, const int64_t* strides, int64_t n, F f) {
  if constexpr (!is_floating_v<E>) {
    map1<E, E>(data, strides, n, f);
  } else {
    using W = Wide<E>;
    if constexpr (kIsDirect<E, kIsShort>)
      if (strides[0] == sizeof(E) && strides[1] == sizeof(E)) {
        map_vectors(reinterpret_cast<E*>(data[0]), n, f,
                    Elements<E>{reinterpret_cast<const E*>(data[1])});
        return;
      }
    W block[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      int64_t m = n - begin < kBlock ? n - begin : kBlock;
      gather<E>(block, data[1] + begin * strides[1], strides[1], m);
      map_vectors(block, m, f, Elements<W>{block});
      scatter<E>(data[0] + begin * strides[0], strides[0], block, m);
    }
  }
}

// An operand of map_binary, a block of it.
template <class E>
inline void gather_operand(Wide<E>* to, const char* from, int64_t stride, int64_t begin, int64_t n,
                           bool is_wide) {
  if (is_reduced_float_v<E> && is_wide) {
    gather<Wide<E>>(to, from, 0, n);
  } else {
    gather<E>(to, from + begin * stride, stride, n);
  }
}

// An operand of map_binary that is one number.
template <class E>
inline Number<Wide<E>> number_operand(const char* at, bool is_wide) {
  using W = Wide<E>;
  if (is_reduced_float_v<E> && is_wide) return {Vec<W>(*reinterpret_cast<const W*>(at))};
  return {Vec<W>(W(*reinterpret_cast<const E*>(at)))};
}

// y[i] = f(a[i], b[i]) in the lanes of E.
template <class E, bool kIsShort = false, class F>
inline void map_binary(char** data, const int64_t* strides, int64_t n, const BinaryParams& params,
                       F f) {
  if constexpr (!is_floating_v<E>) {
    map2<E, E>(data, strides, n, f);
  } else {
    using W = Wide<E>;
    constexpr int64_t size = sizeof(E);
    bool is_a_number = strides[1] == 0 || (is_reduced_float_v<E> && params.a_is_wide);
    bool is_b_number = strides[2] == 0 || (is_reduced_float_v<E> && params.b_is_wide);
    if constexpr (kIsDirect<E, kIsShort>)
      if (strides[0] == size) {
        E* y = reinterpret_cast<E*>(data[0]);
        Elements<E> a{reinterpret_cast<const E*>(data[1])};
        Elements<E> b{reinterpret_cast<const E*>(data[2])};
        bool is_a_dense = strides[1] == size && !is_a_number;
        bool is_b_dense = strides[2] == size && !is_b_number;
        if (is_a_dense && is_b_dense) return map_vectors(y, n, f, a, b);
        if (is_a_dense && is_b_number)
          return map_vectors(y, n, f, a, number_operand<E>(data[2], params.b_is_wide));
        if (is_a_number && is_b_dense)
          return map_vectors(y, n, f, number_operand<E>(data[1], params.a_is_wide), b);
      }
    W a[kBlock], b[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      int64_t m = n - begin < kBlock ? n - begin : kBlock;
      if (!is_a_number || is_b_number)
        gather_operand<E>(a, data[1], strides[1], begin, m, params.a_is_wide);
      if (!is_b_number || is_a_number)
        gather_operand<E>(b, data[2], strides[2], begin, m, params.b_is_wide);
      if (is_a_number == is_b_number) {
        map_vectors(a, m, f, Elements<W>{a}, Elements<W>{b});
      } else if (is_b_number) {
        map_vectors(a, m, f, Elements<W>{a}, number_operand<E>(data[2], params.b_is_wide));
      } else {
        map_vectors(a, m, f, number_operand<E>(data[1], params.a_is_wide), Elements<W>{b});
      }
      scatter<E>(data[0] + begin * strides[0], strides[0], a, m);
    }
  }
}

// One row of a table: Kernel<T>::loop for every dtype T in Kernel<T>::kinds_, null for the others.
template <template <class> class Kernel, class T>
constexpr Loop dtype_entry() {
  if constexpr (in_kinds<T>(Kernel<T>::kinds_)) {
    return Kernel<T>::loop;
  } else {
    return nullptr;
  }
}
template <template <class> class Kernel>
constexpr std::array<Loop, kNumDTypes> dtype_row() {
#define FACULA_ENTRY(T, Name) dtype_entry<Kernel, T>(),
  std::array<Loop, kNumDTypes> row = {FACULA_FORALL_DTYPES(FACULA_ENTRY)};
#undef FACULA_ENTRY
  if (takes_wide_unsigned(Kernel<float>::kinds_))
    for (DType t : {DType::UInt16, DType::UInt32, DType::UInt64})
      row[static_cast<int>(t)] = row[static_cast<int>(carrier(t))];
  return row;
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
