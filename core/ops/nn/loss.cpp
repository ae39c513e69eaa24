// Losses by element: input and target have one shape.
#include "cpu/nn/loss.h"
#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "cpu/run.h"
#include "ops/nn/loss.h"
#include "ops/ops.h"

namespace facula {

namespace {

constexpr int64_t kPiece = 16384;  // elements whose losses are summed in one go

struct ElementLoss {
  const char* name;
  const char* node;
  LossOp op;
  Tensor (*value)(const Tensor& x, const Tensor& t, double p0);
  Tensor (*slope)(const Tensor& x, const Tensor& t, double p0);
  Tensor (*to_target)(const Tensor& g, const Tensor& gx, const Tensor& x, const Tensor& t);
};

Tensor huber_of(const Tensor& d, double delta) {
  return where(le(abs(d), wrapped_number(delta)), square(d) * 0.5, (abs(d) - 0.5 * delta) * delta);
}

constexpr ElementLoss kLosses[] = {
#define LOSS(name, node, value, slope, value_of, slope_of, to_target_)          \
  {#name,                                                                       \
   node,                                                                        \
   LossOp::name,                                                                \
   [](const Tensor& x, const Tensor& t, [[maybe_unused]] double p0) -> Tensor { \
     return value_of;                                                           \
   },                                                                           \
   [](const Tensor& x, const Tensor& t, [[maybe_unused]] double p0) -> Tensor { \
     return slope_of;                                                           \
   },                                                                           \
   []([[maybe_unused]] const Tensor& g, [[maybe_unused]] const Tensor& gx,      \
      [[maybe_unused]] const Tensor& x,                                         \
      [[maybe_unused]] const Tensor& t) -> Tensor { return to_target_; }},
#include "tables/loss.def"
#undef LOSS
};

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::None) return losses;
  return reduction == Reduction::Mean ? mean(losses) : sum(losses);
}

template <class T>
T kernel_of(const std::array<std::array<T, kNumDTypes>, static_cast<int>(LossOp::count)>& rows,
            LossOp op, DType dtype) {
  return rows[static_cast<int>(op)][static_cast<int>(dtype)];
}

Tensor run_loss(Loop loop, const Tensor& x, const Tensor& t, double p0, double scale) {
  Tensor y = empty_for(x.sizes(), x.dtype(), {x, t});
  cpu::LossTable::Params params = {p0, scale};
  run_cpu(make_walk("loss", y, {x, t}), loop, &params);
  return y;
}

// The sum of the losses of contiguous tensors, without writing them down.
double sum_of_losses(const ElementLoss& loss, const Tensor& x, const Tensor& t, double p0) {
  auto kernel = kernel_of(cpu::get_loss_table().sum, loss.op, x.dtype());
  std::vector<double> parts(ceil_div(x.numel(), kPiece));
  const char *xs = x.data(), *ts = t.data();
  int64_t size = x.itemsize();
  parallel_for(x.numel(), kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kPiece)
      parts[i / kPiece] = kernel(xs + i * size, ts + i * size, std::min(kPiece, end - i), p0);
  });
  double total = 0;
  for (double part : parts) total += part;
  return total;
}

Tensor loss_value(const ElementLoss& loss, const Tensor& x, const Tensor& t, Reduction reduction,
                  double p0) {
  NoGradGuard guard;
  if (reduction != Reduction::None && x.is_contiguous() && t.is_contiguous()) {
    double total = sum_of_losses(loss, x, t, p0);
    if (reduction == Reduction::Mean) total /= static_cast<double>(x.numel());
    return scalar_tensor(total, x.dtype());
  }
  Loop loop = kernel_of(cpu::get_loss_table().value, loss.op, x.dtype());
  return reduced(run_loss(loop, x, t, p0, 1), reduction);
}

Tensor loss_gradient(const ElementLoss& loss, const Tensor& g, const Tensor& x, const Tensor& t,
                     Reduction reduction, double p0) {
  if (is_grad_enabled()) return g * loss.slope(x, t, p0);
  Loop loop = kernel_of(cpu::get_loss_table().slope, loss.op, x.dtype());
  if (reduction != Reduction::None) return run_loss(loop, x, t, p0, item(g).to_double());
  Tensor gx = run_loss(loop, x, t, p0, 1);
  return mul_(gx, g);
}

void check_in_unit_interval(const char* op, const char* what, const Tensor& x) {
  if (x.numel() == 0) return;
  NoGradGuard guard;
  auto [low, high] = aminmax(x);
  double from = item(low).to_double(), to = item(high).to_double();
  check(from >= 0 && to <= 1, op, ": expected ", what, " with values from 0 to 1, got values from ",
        from, " to ", to, ".");
}

// `p0` is beta of smooth_l1_loss, delta of huber_loss.
Tensor by_element(const ElementLoss& loss, const Tensor& input, const Tensor& target,
                  Reduction reduction, double p0) {
  if (loss.op == LossOp::binary_cross_entropy) {
    check_in_unit_interval(loss.name, "input", input);
    check_in_unit_interval(loss.name, "target", target);
  }
  check(loss.op != LossOp::soft_margin_loss || !target.requires_grad(), loss.name,
        ": not differentiable with respect to target, which requires grad.");
  DType dtype = result_type({input, target});
  check_not_implemented(is_floating(dtype), loss.name,
                        ": expected a floating-point input and target, got ", input, " and ",
                        target, ". Convert them with .float().");
  check(input.sizes() == target.sizes(), loss.name, ": expected a target of the input's shape ",
        input.sizes(), ", got ", target.sizes(), ".");
  check_same_device(loss.name, {input, target});
  Tensor x = to_dtype(input, dtype), t = to_dtype(target, dtype);
  if (!x.is_cpu()) return reduced(loss.value(x, t, p0), reduction);
  Tensor y = loss_value(loss, x, t, reduction, p0);
  return record(loss.node, y, {x, t},
                [&loss, x = save(x), t = save(t), reduction, p0](const Tensor& upstream,
                                                                 Needs need) -> TensorList {
                  Tensor input = x, target = t, g = upstream;
                  if (reduction == Reduction::Mean) g = g / static_cast<double>(input.numel());
                  Tensor gx = loss_gradient(loss, g, input, target, reduction, p0);
                  return {gx, need[1] ? loss.to_target(g, gx, input, target) : Tensor()};
                });
}

}  // namespace

FACULA_BINDINGS {
  for (const ElementLoss& loss : kLosses)
    m.def(("_" + std::string(loss.name)).c_str(),
          [&loss](const Tensor& x, const Tensor& target, int64_t reduction, double p0) {
            return by_element(loss, x, target, reduction_of(reduction), p0);
          },
          "input"_a, "target"_a, "reduction"_a, "p0"_a = 0.0);
}

}  // namespace facula
