#include "ops/shape/creation.h"

#include <cmath>

#include "base/number.h"
#include "ops/ops.h"

namespace facula {

namespace {

// x[i] = value(i), computed on the CPU and then moved.
template <class F>
Tensor generate(int64_t n, DType dtype, Device device, F&& value) {
  Tensor x = empty({n}, dtype);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = x.data_as<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = value(i, tag);
  });
  return to(x, device, dtype, false);
}

int64_t arange_length(Scalar start, Scalar end, Scalar step, DType dtype) {
  bool is_integral = start.is_integral() && end.is_integral() && step.is_integral();
  if (is_integral || dtype == DType::Int64) {
    auto fits = [](Scalar x) { return x.is_integral() || std::abs(x.to_double()) < 0x1p63; };
    int64_t distance;
    check(fits(start) && fits(end) && fits(step) &&
              !__builtin_sub_overflow(end.to_int(), start.to_int(), &distance),
          "arange: invalid size, possible overflow.");
    int64_t by = step.to_int();
    check_value(by != 0, "arange: step must be nonzero; ", step.to_double(), " is 0 in int64.");
    check(by != -1 || distance != std::numeric_limits<int64_t>::min(),
          "arange: invalid size, possible overflow.");
    return distance / by + (distance % by != 0);
  }
  double n = std::ceil((end.to_double() - start.to_double()) / step.to_double());
  check(n < 9.2e18, "arange: invalid size, possible overflow.");
  return static_cast<int64_t>(n);
}

}  // namespace

Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype, Device device) {
  double from = start.to_double(), to = end.to_double(), by = step.to_double();
  check(by != 0, "arange: step must be nonzero.");
  check(std::isfinite(from) && std::isfinite(to), "arange: unsupported range: ", from, " -> ", to,
        ".");
  check((by > 0 && to >= from) || (by < 0 && to <= from), "arange: steps of ", by,
        " do not lead from ", from, " to ", to, ".");
  check_not_implemented(dtype != DType::Bool && !is_complex(dtype), "arange: not implemented for ",
                        dtype, ".");
  int64_t n = arange_length(start, end, step, dtype);
  return generate(n, dtype, device, [&](int64_t i, auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(start.to_int() + i * step.to_int());
    } else if constexpr (is_complex_v<T>) {
      return T(from + static_cast<double>(i) * by);
    } else {
      // In double: the rounding happens once, whatever the dtype.
      return static_cast<T>(static_cast<Wide<T>>(from + static_cast<double>(i) * by));
    }
  });
}

namespace {

// The i-th of `steps` numbers at equal distances. Counted from the nearer end, so that the last one
// is exactly `end`; a narrow dtype rounds after each operation, as arithmetic in it would. Float
// and double round product and sum once, which is also what PyTorch's numbers show.
template <class T>
auto evenly_spaced(Scalar start, Scalar end, int64_t steps, int64_t i) {
  using W = std::conditional_t<std::is_integral_v<T>, double, Wide<T>>;
  auto rounded = [](W value) {
    if constexpr (is_reduced_float_v<T>) return W(T(value));
    return value;
  };
  W first = W(start.to<T>()), last = W(end.to<T>());
  if (steps == 1) return first;
  W step = rounded(rounded(last - first) / W(static_cast<double>(steps - 1)));
  if constexpr (std::is_floating_point_v<T>) {
    if (i < steps / 2) return std::fma(step, static_cast<T>(i), first);
    return std::fma(-step, static_cast<T>(steps - i - 1), last);
  }
  if (i < steps / 2) return rounded(first + rounded(step * W(static_cast<double>(i))));
  return rounded(last - rounded(step * W(static_cast<double>(steps - i - 1))));
}

}  // namespace

Tensor linspace(Scalar start, Scalar end, int64_t steps, DType dtype, Device device) {
  check(steps >= 0, "linspace: expected steps of at least 0, got ", steps, ".");
  check_not_implemented(dtype != DType::Bool, "linspace: not implemented for bool.");
  check_fits("linspace", "start", start, dtype);
  check_fits("linspace", "end", end, dtype);
  return generate(steps, dtype, device, [&](int64_t i, auto tag) {
    using T = typename decltype(tag)::type;
    return static_cast<T>(evenly_spaced<T>(start, end, steps, i));
  });
}

Tensor logspace(Scalar start, Scalar end, int64_t steps, double base, DType dtype, Device device) {
  check(steps >= 0, "logspace: expected steps of at least 0, got ", steps, ".");
  check_not_implemented(dtype != DType::Bool, "logspace: not implemented for bool.");
  check_fits("logspace", "start", start, dtype);
  check_fits("logspace", "end", end, dtype);
  return generate(steps, dtype, device, [&](int64_t i, auto tag) {
    using T = typename decltype(tag)::type;
    using W = std::conditional_t<is_complex_v<T>, Complex128, double>;
    W power = evenly_spaced<std::conditional_t<std::is_integral_v<T>, T, W>>(start, end, steps, i);
    return static_cast<T>(Wide<T>(std::pow(W(base), power)));
  });
}

Tensor eye(int64_t n, int64_t m, DType dtype, Device device) {
  check(n >= 0, "eye: expected n of at least 0, got ", n, ".");
  check(m >= 0, "eye: expected m of at least 0, got ", m, ".");
  Tensor x = zeros({n, m}, dtype, device);
  Tensor line = diagonal(x);
  fill_(line, 1);
  return x;
}

}  // namespace facula
