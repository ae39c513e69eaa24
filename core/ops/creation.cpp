#include "ops/creation.h"

#include <cmath>

#include "ops/ops.h"

namespace facula {

Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype, Device device) {
  bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  check(step.to_double() != 0, "arange: step must be nonzero.");
  double from = start.to_double(), to = end.to_double(), by = step.to_double();
  check(std::isfinite(from) && std::isfinite(to), "arange: unsupported range: ", from, " -> ", to, ".");
  check((by > 0) == (to >= from) || from == to, "arange: upper bound and lower bound inconsistent with step sign: start ", from, ", end ", to,
        ", step ", by, ".");
  int64_t n = integral ? (end.to_int() - start.to_int() + step.to_int() + (step.to_int() > 0 ? -1 : 1)) / step.to_int()
                       : static_cast<int64_t>(std::ceil((to - from) / by));
  check(n >= 0 && (to - from) / by < 9.2e18, "arange: invalid size, possible overflow.");
  Tensor x = empty({n}, dtype);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    T* out = x.data_as<T>();
    if constexpr (std::is_integral_v<T>) {
      int64_t first = start.to_int(), delta = step.to_int();
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(first + i * delta);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(W(from + static_cast<double>(i) * by));
    }
  });
  return facula::to(x, device, dtype, false);
}

}  // namespace facula
