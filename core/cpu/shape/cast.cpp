// Copies between dtypes.
#include <array>

#include "cpu/loops.h"
#include "cpu/pointwise/loop_tables.h"
#include "cpu/shape/copy_line.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// As through int64, below, in half the width: for integers of which no more bits are kept than are
// zero in all numbers beyond 32 bits.
template <class To>
inline To through_int32(float x) {
  return x >= -2147483648.0f && x < 2147483648.0f ? static_cast<To>(static_cast<int32_t>(x)) : 0;
}

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
  } else if constexpr (std::is_same_v<From, float> && sizeof(To) == 1) {
    return through_int32<To>(x);  // the floats beyond 32 bits are multiples of 256
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
inline void map_block(char* y, int64_t y_step, char* x, int64_t x_step, int64_t n) {
  char* data[] = {y, x};
  int64_t strides[] = {y_step, x_step};
  if constexpr (std::is_same_v<From, bool>) {
    // As a choice: of conversions from bool the compiler makes no vectors.
    map1<To, uint8_t>(data, strides, n, [](uint8_t x) -> To {
      if constexpr (is_complex_v<To>) {
        using Part = typename To::value_type;
        return {x != 0 ? Part(1) : Part(0), Part(0)};
      } else {
        return x != 0 ? To(1) : To(0);
      }
    });
  } else {
    map1<To, From>(data, strides, n, [](From x) -> To { return convert<To>(x); });
  }
}

// Those that vectors of float are loaded from and stored to.
template <class T>
constexpr bool is_floats_v = is_reduced_float_v<T> || std::is_same_v<T, float>;

template <class To, class From>
void cast_loop(char** data, const int64_t* strides, int64_t n, const void*) {
  if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) {
    if (strides[0] == sizeof(To) && strides[1] == sizeof(To)) {
      copy_line(data[0], data[1], n * sizeof(To));
      return;
    }
  }
  if (strides[0] == sizeof(To) && strides[1] == 0) {
    To value = convert<To>(element(reinterpret_cast<const From*>(data[1])));
    std::fill_n(reinterpret_cast<To*>(data[0]), n, value);
    return;
  }
  if constexpr (is_floats_v<From> && is_floats_v<To>) {
    if (strides[0] == sizeof(To) && strides[1] == sizeof(From)) {
      constexpr int64_t lanes = Vec<float>::kLanes;
      To* y = reinterpret_cast<To*>(data[0]);
      const From* x = reinterpret_cast<const From*>(data[1]);
      int64_t i = 0;
      for (; i + lanes <= n; i += lanes) Vec<float>::load(x + i).store(y + i);
      for (; i < n; ++i) y[i] = convert<To>(x[i]);
      return;
    }
  }
  if constexpr (is_reduced_float_v<From> || is_reduced_float_v<To>) {
    // Through blocks of float, which have vectors from and to 16 bits.
    float block[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      int64_t m = std::min(n - begin, kBlock);
      char *y = data[0] + begin * strides[0], *x = data[1] + begin * strides[1];
      if constexpr (is_reduced_float_v<From>) {
        gather<From>(block, x, strides[1], m);
      } else {
        map_block<float, From>(reinterpret_cast<char*>(block), sizeof(float), x, strides[1], m);
      }
      // All float16 are below 2^16, and bfloat16 beyond 32 bits are multiples of 2^24.
      constexpr bool is_short =
          std::is_integral_v<To> && !std::is_same_v<To, bool> &&
          (sizeof(To) <= 2 || (sizeof(To) == 4 && std::is_same_v<From, Half>));
      if constexpr (is_reduced_float_v<To>) {
        scatter<To>(y, strides[0], block, m);
      } else if constexpr (is_short) {
        char* data[] = {y, reinterpret_cast<char*>(block)};
        int64_t steps[] = {strides[0], sizeof(float)};
        map1<To, float>(data, steps, m, through_int32<To>);
      } else {
        map_block<To, float>(y, strides[0], reinterpret_cast<char*>(block), sizeof(float), m);
      }
    }
    return;
  }
  map_block<To, From>(data[0], strides[0], data[1], strides[1], n);
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
