// Copies between dtypes.
#include <array>
#include <cstring>

#include "cpu/loops.h"
#include "cpu/pointwise/loop_tables.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

template <class To, class From>
inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_complex_v<From>) {
    if constexpr (is_complex_v<To>) {
      return To(static_cast<typename To::value_type>(x.real()),
                static_cast<typename To::value_type>(x.imag()));
    } else if constexpr (std::is_same_v<To, bool>) {
      return x.real() != 0 || x.imag() != 0;
    } else {
      return convert<To>(x.real());
    }
  } else if constexpr (is_complex_v<To>) {
    return To(convert<typename To::value_type>(x), 0);
  } else if constexpr (is_reduced_float_v<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_reduced_float_v<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Out of range is undefined in C++; going through int64 gives PyTorch's wrapping on the values
    // that have one.
    if (x >= From(-9.2233720368547758e18) && x < From(9.2233720368547758e18))
      return static_cast<To>(static_cast<int64_t>(x));
    return static_cast<To>(INT64_MIN);
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void cast_loop(char** data, const int64_t* strides, int64_t n, const void*) {
  if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) {
    if (strides[0] == sizeof(To) && strides[1] == sizeof(To)) {
      std::memcpy(data[0], data[1], n * sizeof(To));
      return;
    }
  }
  if (strides[0] == sizeof(To) && strides[1] == 0) {
    To value = convert<To>(element(reinterpret_cast<const From*>(data[1])));
    std::fill_n(reinterpret_cast<To*>(data[0]), n, value);
    return;
  }
  if constexpr ((is_reduced_float_v<From> || is_reduced_float_v<To>)&&!is_complex_v<From> &&
                !is_complex_v<To>) {
    if (strides[0] == sizeof(To) && strides[1] == sizeof(From)) {
      // Through vectors of float, which the others are converted from or to in loops.
      constexpr int64_t lanes = Vec<float>::kLanes;
      To* y = reinterpret_cast<To*>(data[0]);
      const From* x = reinterpret_cast<const From*>(data[1]);
      int64_t i = 0;
      for (; i + lanes <= n; i += lanes) {
        float block[lanes];
        Vec<float> v;
        if constexpr (is_reduced_float_v<From> || std::is_same_v<From, float>) {
          v = Vec<float>::load(x + i);
        } else {
          for (int64_t k = 0; k < lanes; ++k) block[k] = convert<float>(element(x + i + k));
          v = Vec<float>::load(block);
        }
        if constexpr (is_reduced_float_v<To> || std::is_same_v<To, float>) {
          v.store(y + i);
        } else {
          v.store(block);
          for (int64_t k = 0; k < lanes; ++k) y[i + k] = convert<To>(block[k]);
        }
      }
      for (; i < n; ++i) y[i] = convert<To>(element(x + i));
      return;
    }
  }
  map1<To, From>(data, strides, n, [](From x) -> To { return convert<To>(x); });
}

#define TO(T, Name) cast_loop<T, From>,
template <class From>
constexpr std::array<Loop, kNumDTypes> row = {FACULA_FORALL_DTYPES(TO)};
#undef TO

extern const CastTable cast_table;
#define FROM(T, Name) row<T>,
const CastTable cast_table = {{FACULA_FORALL_DTYPES(FROM)}};
#undef FROM

}  // namespace FACULA_ISA
}  // namespace facula::cpu
