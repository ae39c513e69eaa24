#include "ops/nn/dropout.h"

#include "autograd/node.h"
#include "cpu/nn/dropout.h"
#include "cpu/run.h"
#include "ops/inplace.h"
#include "ops/ops.h"

namespace facula {

namespace {

void check_probability(const char* op, double p) {
  check(p >= 0 && p <= 1, op, ": expected p from 0 to 1, got ", p, ".");
}

// 1 / keep, rounded as a division of numbers of this dtype.
double scale_of(DType dtype, double keep) {
  return visit_dtype(dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>) {
      using W = Wide<T>;
      return static_cast<W>(T(W(1) / static_cast<W>(keep)));
    } else {
      return 1 / keep;
    }
  });
}

// x * scale where the mask is set, x * 0 elsewhere.
Tensor scale_kept(const char* node, const Tensor& x, const Tensor& mask, double scale) {
  if (!x.is_cpu() || !is_floating(x.dtype())) return x * (to_dtype(mask, x.dtype()) * scale);
  Tensor y = empty_for(x.sizes(), x.dtype(), {x});
  Walk walk = make_walk("dropout", y, {x, mask});
  run_cpu(walk, cpu::get_dropout_table().loops[static_cast<int>(x.dtype())], &scale);
  return record(node, y, {x}, [node, mask = save(mask), scale](const Tensor& g) {
    return scale_kept(node, g, mask, scale);
  });
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool train) {
  check_probability("dropout", p);
  if (!train || p == 0 || x.numel() == 0) return x;
  if (p == 1) return x * scalar_tensor(0, x.dtype(), x.device());
  check(is_floating(x.dtype()), "dropout: expected a floating-point input, got ", x,
        ". Convert it with input.float().");
  Tensor mask = empty_like(x, DType::Bool, x.device());
  bernoulli_(mask, 1 - p, *default_generator());
  return scale_kept("MulBackward0", x, mask, scale_of(x.dtype(), 1 - p));
}

Tensor& dropout_(Tensor& x, double p, bool train) {
  check_probability("dropout_", p);
  if (!train || p == 0 || x.numel() == 0) return x;
  return in_place("dropout_", x, [&](const Tensor& t) { return dropout(t, p, train); });
}

std::pair<Tensor, Tensor> native_dropout(const Tensor& x, double p, std::optional<bool> train) {
  check_probability("native_dropout", p);
  check(is_floating(x.dtype()), "native_dropout: expected a floating-point input, got ", x,
        ". Convert it with input.float().");
  bool drops = train.value_or(true);
  Tensor mask = empty_like(x, DType::Bool, x.device());
  if (drops) {
    bernoulli_(mask, 1 - p, *default_generator());
  } else {
    fill_(mask, 1);
  }
  double scale = !drops ? 1 : p == 1 ? 0 : 1 / (1 - p);
  return {scale_kept("NativeDropoutBackward0", x, mask, scale), mask};
}

}  // namespace facula
