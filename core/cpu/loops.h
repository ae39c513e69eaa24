// Loops that kernels are made of, and the sets of dtypes in which an operation is defined.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"
#include "ops/elementwise.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

enum Kinds { F, FC, NUM, NUMC, ALL, ALLC, INT, INTB };  // INTB: integers and bool; ALL: with bool

template <class T>
constexpr bool in_kinds(Kinds kinds) {
  bool is_bool = std::is_same_v<T, bool>, is_int = std::is_integral_v<T> && !is_bool;
  switch (kinds) {
    case F: return is_floating_v<T>;
    case FC: return is_floating_v<T> || is_complex_v<T>;
    case NUM: return is_int || is_floating_v<T>;
    case NUMC: return !is_bool;
    case ALL: return !is_complex_v<T>;
    case ALLC: return true;
    case INT: return is_int;
    case INTB: return is_int || is_bool;
  }
  return false;
}

// y[i] = f(x[i]). Contiguous operands get their own loop, which the compiler turns into vector code.
template <class Out, class In, class F>
inline void map1(char** data, const int64_t* strides, int64_t n, F f) {
  if (strides[0] == sizeof(Out) && strides[1] == sizeof(In)) {
    Out* y = reinterpret_cast<Out*>(data[0]);
    const In* x = reinterpret_cast<const In*>(data[1]);
    for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
    return;
  }
  char *y = data[0], *x = data[1];
  for (int64_t i = 0; i < n; ++i, y += strides[0], x += strides[1])
    *reinterpret_cast<Out*>(y) = f(*reinterpret_cast<const In*>(x));
}

// y[i] = f(a[i], b[i]), with loops of their own for contiguous operands and for one that is a single number.
template <class Out, class In, class F>
inline void map2(char** data, const int64_t* strides, int64_t n, F f) {
  constexpr int64_t size = sizeof(In);
  Out* y = reinterpret_cast<Out*>(data[0]);
  const In* a = reinterpret_cast<const In*>(data[1]);
  const In* b = reinterpret_cast<const In*>(data[2]);
  if (strides[0] == sizeof(Out)) {
    if (strides[1] == size && strides[2] == size) {
      for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
      return;
    }
    if (strides[1] == size && strides[2] == 0) {
      In value = *b;
      for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], value);
      return;
    }
    if (strides[1] == 0 && strides[2] == size) {
      In value = *a;
      for (int64_t i = 0; i < n; ++i) y[i] = f(value, b[i]);
      return;
    }
  }
  char *py = data[0], *pa = data[1], *pb = data[2];
  for (int64_t i = 0; i < n; ++i, py += strides[0], pa += strides[1], pb += strides[2])
    *reinterpret_cast<Out*>(py) = f(*reinterpret_cast<const In*>(pa), *reinterpret_cast<const In*>(pb));
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
  return {FACULA_FORALL_DTYPES(FACULA_ENTRY)};
#undef FACULA_ENTRY
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
