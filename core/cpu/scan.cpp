#include "cpu/scan.h"

#include <vector>

#include "cpu/formulas.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class T>
inline T& at(char* data, int64_t stride, int64_t i) {
  return *reinterpret_cast<T*>(data + i * stride);
}

// Running totals are kept one size wider than the elements, as PyTorch does.
template <class T>
using Running = std::conditional_t<
    is_reduced_float_v<T>, float,
    std::conditional_t<std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_same_v<T, Complex64>, Complex128, T>>>;

template <class T>
struct CumsumKernel {
  static constexpr bool kIsDefined = !std::is_same_v<T, bool>;
  static void loop(char** data, const int64_t* strides, int64_t n, const void*) {
    using A = Running<T>;
    A total = A(0);
    for (int64_t i = 0; i < n; ++i) {
      total = static_cast<A>(total + static_cast<A>(at<T>(data[1], strides[1], i)));
      at<T>(data[0], strides[0], i) = static_cast<T>(total);
    }
  }
};

template <class T>
struct CumprodKernel {
  static constexpr bool kIsDefined = !std::is_same_v<T, bool>;
  static void loop(char** data, const int64_t* strides, int64_t n, const void*) {
    using A = Running<T>;
    A total = A(1);
    for (int64_t i = 0; i < n; ++i) {
      total = static_cast<A>(total * static_cast<A>(at<T>(data[1], strides[1], i)));
      at<T>(data[0], strides[0], i) = static_cast<T>(total);
    }
  }
};

template <class T>
struct LogcumsumexpKernel {
  static constexpr bool kIsDefined = is_floating_v<T> || is_complex_v<T>;
  static void loop(char** data, const int64_t* strides, int64_t n, const void*) {
    using A = Running<T>;
    A total = A(0);
    for (int64_t i = 0; i < n; ++i) {
      A x = static_cast<A>(at<T>(data[1], strides[1], i));
      total = i == 0 ? x : math::logaddexp(total, x);
      at<T>(data[0], strides[0], i) = static_cast<T>(total);
    }
  }
};

// Of equal values the later one counts; NaN beats everything that follows.
template <class T, bool kMax>
inline void cumulate_extremum(char** data, const int64_t* strides, int64_t n) {
  using W = Wide<T>;
  W best = at<T>(data[2], strides[2], 0);
  int64_t index = 0;
  for (int64_t i = 0; i < n; ++i) {
    W x = at<T>(data[2], strides[2], i);
    if (x != x || (best == best && (kMax ? x >= best : x <= best))) {
      best = x;
      index = i;
    }
    at<T>(data[0], strides[0], i) = static_cast<T>(best);
    at<int64_t>(data[1], strides[1], i) = index;
  }
}
template <class T>
struct CummaxKernel {
  static constexpr bool kIsDefined = !is_complex_v<T>;
  static void loop(char** data, const int64_t* strides, int64_t n, const void*) {
    cumulate_extremum<T, true>(data, strides, n);
  }
};
template <class T>
struct CumminKernel {
  static constexpr bool kIsDefined = !is_complex_v<T>;
  static void loop(char** data, const int64_t* strides, int64_t n, const void*) {
    cumulate_extremum<T, false>(data, strides, n);
  }
};

// Note [Derivative of a running product]
// y_k = x_0 ... x_k. With P_i = x_0 ... x_(i-1) and R_i = sum over k >= i of g_k x_(i+1) ... x_k,
// the gradient is P_i R_i, and R_i = g_i + x_(i+1) R_(i+1): no division, so zeros need no care.
template <class T>
struct CumprodBackwardKernel {
  static constexpr bool kIsDefined = is_floating_v<T> || is_complex_v<T>;
  static void loop(char** data, const int64_t* strides, int64_t n, const void*) {
    using A = Running<T>;
    auto g = [&](int64_t i) { return static_cast<A>(at<T>(data[1], strides[1], i)); };
    auto x = [&](int64_t i) { return static_cast<A>(at<T>(data[2], strides[2], i)); };
    std::vector<A> r(n);
    for (int64_t i = n - 1; i >= 0; --i) r[i] = i + 1 < n ? g(i) + x(i + 1) * r[i + 1] : g(i);
    A p = A(1);
    for (int64_t i = 0; i < n; ++i) {
      at<T>(data[0], strides[0], i) = static_cast<T>(p * r[i]);
      p = p * x(i);
    }
  }
};

template <template <class> class Kernel, class T>
constexpr Loop entry() {
  if constexpr (Kernel<T>::kIsDefined) {
    return Kernel<T>::loop;
  } else {
    return nullptr;
  }
}
template <template <class> class Kernel>
constexpr ScanTable::Row row() {
#define FACULA_ENTRY(T, Name) entry<Kernel, T>(),
  return {FACULA_FORALL_DTYPES(FACULA_ENTRY)};
#undef FACULA_ENTRY
}

}  // namespace

extern const ScanTable scan_table;
const ScanTable scan_table = {
    row<CumsumKernel>(), row<CumprodKernel>(), row<LogcumsumexpKernel>(),
    row<CummaxKernel>(), row<CumminKernel>(),  row<CumprodBackwardKernel>(),
};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
