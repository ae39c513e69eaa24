#include "cpu/linalg/cross.h"

#include "math/arithmetic.h"
#include "math/complex.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// Products are rounded to T before they are subtracted, as those of PyTorch are.
template <class T>
void cross_of(char** data, const int64_t* strides, int64_t n, const int64_t* steps) {
  using W = Wide<T>;
  char *y = data[0], *x[2] = {data[1], data[2]};
  int64_t y_stride = strides[0], x_strides[2] = {strides[1], strides[2]}, y_step = steps[0],
          x_steps[2] = {steps[1], steps[2]};
  for (int64_t i = 0; i < n; ++i, y += y_stride) {
    W v[2][3];
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 3; ++k)
        v[j][k] = static_cast<W>(*reinterpret_cast<const T*>(x[j] + k * x_steps[j]));
      x[j] += x_strides[j];
    }
    auto product = [&](int k, int l) { return static_cast<W>(T(math::mul(v[0][k], v[1][l]))); };
    for (int k = 0; k < 3; ++k) {
      int next = (k + 1) % 3, last = (k + 2) % 3;
      *reinterpret_cast<T*>(y + k * y_step) =
          T(math::sub(product(next, last), product(last, next)));
    }
  }
}

void cross(char** data, const int64_t* strides, int64_t n, const void* params) {
  const auto& p = *static_cast<const CrossParams*>(params);
  visit_dtype(p.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) cross_of<T>(data, strides, n, p.steps);
  });
}

}  // namespace

extern const CrossTable cross_table;
const CrossTable cross_table = {cross};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
