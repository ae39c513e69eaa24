#include "cpu/nn/loss.h"

#include "cpu/loops.h"
#include "cpu/row.h"
#include "math/activations.h"
#include "math/arithmetic.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class E, class F>
double sum_of_losses(const char* x, const char* t, int64_t n, F f) {
  using W = Wide<E>;
  using V = Vec<W>;
  const E *xs = reinterpret_cast<const E*>(x), *ts = reinterpret_cast<const E*>(t);
  V total = fold_row<Add, V, 4>(n, [=](int64_t i, int64_t k) FACULA_INLINE {
    return keep_lanes(f(load_lanes<V>(xs + i, k), load_lanes<V>(ts + i, k)), k, W(0));
  });
  double sum = 0;
  for (int k = 0; k < V::kLanes; ++k) sum += static_cast<double>(total[k]);
  return sum;
}

#define LOSS(name, form, node, number_, shapes, prepare, value_, slope_, ...)                    \
  template <class E>                                                                             \
  struct name##_kernel {                                                                         \
    using T = Lanes<E>;                                                                          \
    struct Value {                                                                               \
      T p0;                                                                                      \
      FACULA_FN T operator()(T x, T t) const { return value_; }                                  \
    };                                                                                           \
    struct Slope {                                                                               \
      T p0, scale;                                                                               \
      FACULA_FN T operator()(T x, T t) const { return scale * (slope_); }                        \
    };                                                                                           \
    static void value(char** data, const int64_t* strides, int64_t n, const void* given) {       \
      const auto& params = *static_cast<const LossTable::Params*>(given);                        \
      map_binary<E>(data, strides, n, {}, Value{number<E>(params.p0)});                          \
    }                                                                                            \
    static void slope(char** data, const int64_t* strides, int64_t n, const void* given) {       \
      const auto& params = *static_cast<const LossTable::Params*>(given);                        \
      map_binary<E>(data, strides, n, {}, Slope{number<E>(params.p0), number<E>(params.scale)}); \
    }                                                                                            \
    static double sum(const char* x, const char* t, int64_t n, double p0) {                      \
      return sum_of_losses<E>(x, t, n, Value{number<E>(p0)});                                    \
    }                                                                                            \
  };
#include "tables/loss.def"

template <class F>
constexpr std::array<F, kNumDTypes> floating_row(F f16, F bf16, F f32, F f64) {
  std::array<F, kNumDTypes> row = {};
  row[static_cast<int>(DType::Float16)] = f16;
  row[static_cast<int>(DType::BFloat16)] = bf16;
  row[static_cast<int>(DType::Float32)] = f32;
  row[static_cast<int>(DType::Float64)] = f64;
  return row;
}

}  // namespace

extern const LossTable loss_table;
#define FACULA_ROW(name, member)                                             \
  floating_row(name##_kernel<Half>::member, name##_kernel<BFloat16>::member, \
               name##_kernel<float>::member, name##_kernel<double>::member),
const LossTable loss_table = {
#define LOSS(name, ...) FACULA_ROW(name, value)
    {{
#include "tables/loss.def"
    }},
#define LOSS(name, ...) FACULA_ROW(name, slope)
    {{
#include "tables/loss.def"
    }},
#define LOSS(name, ...) FACULA_ROW(name, sum)
    {{
#include "tables/loss.def"
    }},
};
#undef FACULA_ROW

}  // namespace FACULA_ISA
}  // namespace facula::cpu
