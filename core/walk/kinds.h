// The dtypes that an operation is computed in, by kind.
#pragma once
#include <type_traits>

#include "base/dtype.h"

namespace facula {

// The dtypes in which an operation is computed. Others are refused; but where it is F, FULL or FC,
// integers and bool become the default dtype.
enum class Kinds {
  F,       // floating
  FC,      // floating and complex
  FONLY,   // as F, but integers are refused
  FULL,    // as F, but the half dtypes are refused
  FCONLY,  // as FC, but integers are refused
  NUM,     // integers and floating
  NUMC,    // and complex
  ALL,     // bool, integers, floating
  ALLC,    // everything
  INT,     // integers
  INTB,    // integers and bool
  // The same, and uint16, uint32 and uint64: their results have the bits that the signed dtype of
  // their size has, whose kernels they therefore use.
  NUM_U,
  ALL_U,
  ALLC_U,
  INTB_U,
};

constexpr bool takes_wide_unsigned(Kinds kinds) { return kinds >= Kinds::NUM_U; }

// Dtypes that an operation refuses by an error of its own. Other dtypes that it has no kernel for
// raise NotImplementedError, as in PyTorch.
enum class Refused {
  NONE,
  BOOL,           // RuntimeError
  COMPLEX,        // RuntimeError
  COMPLEX_FIRST,  // before out= is looked at
  COMPLEX32,      // what PyTorch makes of float16 with a complex number
};

// Whether integers and bool become the default dtype.
constexpr bool promotes(Kinds kinds) {
  return kinds == Kinds::F || kinds == Kinds::FULL || kinds == Kinds::FC;
}

// The dtype in which an operation of these kinds is computed on operands of `dtype`.
inline DType compute_dtype(Kinds kinds, DType dtype) {
  bool is_whole = !is_floating_kind(dtype) && !is_complex_kind(dtype);
  return promotes(kinds) && is_whole ? get_default_dtype() : dtype;
}

template <class T>
constexpr bool in_kinds(Kinds kinds) {
  bool is_bool = std::is_same_v<T, bool>, is_int = std::is_integral_v<T> && !is_bool;
  switch (kinds) {
    case Kinds::F:
    case Kinds::FONLY:
      return is_floating_v<T>;
    case Kinds::FULL:
      return is_floating_v<T> && !is_reduced_float_v<T>;
    case Kinds::FC:
    case Kinds::FCONLY:
      return is_floating_v<T> || is_complex_v<T>;
    case Kinds::NUM:
    case Kinds::NUM_U:
      return is_int || is_floating_v<T>;
    case Kinds::NUMC:
      return !is_bool;
    case Kinds::ALL:
    case Kinds::ALL_U:
      return !is_complex_v<T>;
    case Kinds::ALLC:
    case Kinds::ALLC_U:
      return true;
    case Kinds::INT:
      return is_int;
    case Kinds::INTB:
    case Kinds::INTB_U:
      return is_int || is_bool;
  }
  return false;
}

}  // namespace facula
