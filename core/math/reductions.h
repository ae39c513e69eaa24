// What the rows of tables/reduce.def are made of: how values are joined, and what is done to an
// element before it is. Written over numbers and vectors of them.
#pragma once
#include "math/complex.h"

namespace facula::math {
inline namespace FACULA_ISA {

// Larger than every number, or as large as the largest.
template <class T>
FACULA_FN T highest() {
  if constexpr (std::is_integral_v<T>) {
    constexpr uint64_t ones = ~uint64_t(0) >> (64 - 8 * sizeof(T));
    return static_cast<T>(T(-1) < T(0) ? ones >> 1 : ones);
  } else {
    return infinity<T>();
  }
}
template <class T>
FACULA_FN T lowest() {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(~highest<T>());
  } else {
    return -infinity<T>();
  }
}

// Joins: of two values, and first(), which changes nothing when it is joined.
struct Add {
  template <class T>
  static FACULA_FN T first() {
    return T(0);
  }
  template <class V>
  static FACULA_FN V join(V a, V b) {
    return add(a, b);
  }
};
struct Multiply {
  template <class T>
  static FACULA_FN T first() {
    return T(1);
  }
  template <class V>
  static FACULA_FN V join(V a, V b) {
    return mul(a, b);
  }
};
// NaN is both larger and smaller than every number. beats() says whether a later value takes the
// place of an earlier one: of equal values the first stays.
struct Larger {
  template <class T>
  static FACULA_FN T first() {
    return lowest<T>();
  }
  template <class V>
  static FACULA_FN V join(V a, V b) {
    return max(a, b);
  }
  // Without branches, so that the compiler makes vectors of it.
  template <class T>
  static FACULA_FN bool beats(T later, T earlier) {
    return ((later > earlier) | (later != later)) & (earlier == earlier);
  }
};
struct Smaller {
  template <class T>
  static FACULA_FN T first() {
    return highest<T>();
  }
  template <class V>
  static FACULA_FN V join(V a, V b) {
    return min(a, b);
  }
  template <class T>
  static FACULA_FN bool beats(T later, T earlier) {
    return ((later < earlier) | (later != later)) & (earlier == earlier);
  }
};
// Of bits: those that are set in an odd number of values.
struct Exclusive {
  template <class T>
  static FACULA_FN T first() {
    return T(0);
  }
  template <class V>
  static FACULA_FN V join(V a, V b) {
    if constexpr (std::is_integral_v<V>) {
      return a ^ b;
    } else if constexpr (std::is_integral_v<typename Traits<V>::Element>) {
      return a ^ b;
    } else {
      return from_bits(to_bits(a) ^ to_bits(b));
    }
  }
};
// Of truth values.
struct Either {
  template <class T>
  static FACULA_FN T first() {
    return false;
  }
  static FACULA_FN bool join(bool a, bool b) { return a || b; }
};
struct Both {
  template <class T>
  static FACULA_FN T first() {
    return true;
  }
  static FACULA_FN bool join(bool a, bool b) { return a && b; }
};

template <class V>
FACULA_FN V zero_for_nan(V x) {
  return select(x != x, V(0), x);
}
template <class V>
FACULA_FN V one_unless_zero(V x) {
  return select(x != V(0), V(1), V(0));
}
template <class V>
FACULA_FN V magnitude(V x) {
  return abs(x);
}
template <class V>
FACULA_FN V squared(V x) {
  return mul(x, x);
}
template <class R>
FACULA_FN R one_unless_zero(std::complex<R> x) {
  return x != R(0) ? R(1) : R(0);
}
// To the bit as abs() of tensors, with which the derivative looks for the largest.
template <class R>
FACULA_FN R magnitude(std::complex<R> x) {
  return hypot(x.real(), x.imag());
}
template <class R>
FACULA_FN R squared(std::complex<R> x) {
  return std::norm(x);
}

}  // namespace FACULA_ISA
}  // namespace facula::math
