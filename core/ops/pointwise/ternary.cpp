#include "ops/pointwise/ternary.h"

#include "autograd/node.h"
#include "base/number.h"
#include "ops/ops.h"
#include "ops/pointwise/apply.h"
#include "ops/result.h"

namespace facula {

namespace {

Tensor zero() { return wrapped_number(0); }

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check(condition.dtype() == DType::Bool || condition.dtype() == DType::UInt8,
        "where: expected a bool condition, got ", condition, ".");
  Tensor mask = cast_to(condition, DType::Bool);
  DType dtype = result_type({a, b});
  for (const Tensor& x : {a, b})
    if (x->is_wrapped_number) check_number("where", item(x), dtype);
  Tensor y = apply_where("where", mask, a, b, dtype);
  return record("WhereBackward0", y, {a, b},
                [mask = save(mask)](const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? where(mask, g, zero()) : Tensor(),
                          need[1] ? where(mask, zero(), g) : Tensor()};
                });
}

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
  Tensor y = apply_ternary("addcmul", TernaryOp::addcmul, x, a, b, result_type({x, a, b}), value);
  return record(
      "AddcmulBackward0", y, {x, a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(a.requires_grad() ? b : Tensor()),
       value](const Tensor& g, Needs need) -> TensorList {
        return {g, need[1] ? g * conj(Tensor(b) * value) : Tensor(),
                need[2] ? g * conj(Tensor(a) * value) : Tensor()};
      });
}

Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) {
  check(is_differentiable(a.dtype()) || is_differentiable(b.dtype()),
        "addcdiv: integer division is not supported, got ", a, " and ", b,
        ". Convert one of them with .float().");
  Tensor y = apply_ternary("addcdiv", TernaryOp::addcdiv, x, a, b, result_type({x, a, b}), value);
  return record("AddcdivBackward0", y, {x, a, b},
                [a = save(b.requires_grad() ? a : Tensor()), b = save(b), value](
                    const Tensor& g, Needs need) -> TensorList {
                  Tensor d = b;
                  return {g, need[1] ? g * conj(value / d) : Tensor(),
                          need[2] ? neg(g * conj(Tensor(a) * value / (d * d))) : Tensor()};
                });
}

Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) {
  check(start.dtype() == end.dtype(), "lerp: expected end of ", start.dtype(), ", got ", end, ".");
  check(start.dtype() == weight.dtype() || weight.dim() == 0, "lerp: expected weight of ",
        start.dtype(), ", got ", weight, ".");
  Tensor y = apply_ternary("lerp", TernaryOp::lerp, start, end, weight, start.dtype());
  bool needs_ends = weight.requires_grad();
  return record(
      "LerpBackward1", y, {start, end, weight},
      [start = save(needs_ends ? start : Tensor()), end = save(needs_ends ? end : Tensor()),
       weight = save(weight)](const Tensor& g, Needs need) -> TensorList {
        Tensor w = weight;
        return {need[0] ? g * conj(1 - w) : Tensor(), need[1] ? g * conj(w) : Tensor(),
                need[2] ? g * conj(Tensor(end) - Tensor(start)) : Tensor()};
      });
}

Tensor lerp(const Tensor& start, const Tensor& end, Scalar weight) {
  check(start.dtype() == end.dtype(), "lerp: expected end of ", start.dtype(), ", got ", end, ".");
  check_factor("lerp", "weight", weight, start.dtype());
  Tensor y = apply_binary("lerp", BinaryOp::lerp_scalar, start, end, start.dtype(), weight);
  return record(
      "LerpBackward0", y, {start, end}, [weight](const Tensor& g, Needs need) -> TensorList {
        Scalar rest = weight.is_complex() ? Scalar(std::conj(1.0 - weight.to_complex()))
                                          : Scalar(1 - weight.to_double());
        Scalar same = weight.is_complex() ? Scalar(std::conj(weight.to_complex())) : weight;
        return {need[0] ? g * rest : Tensor(), need[1] ? g * same : Tensor()};
      });
}

namespace {

// clamp in the dtype that the bounds ask for: integers with a floating bound become floating.
Tensor clamped(const char* name, ParametricOp op, const Tensor& x, Scalar p0, Scalar p1) {
  check_destination_history(name, {x});
  bool keeps_dtype = is_floating(x.dtype()) && !p0.is_complex() && !p1.is_complex();
  DType dtype = keeps_dtype ? x.dtype() : result_type({x, wrapped_number(p0), wrapped_number(p1)});
  for (Scalar bound : {p0, p1}) check_fits(name, "bound", bound, dtype);
  return apply_parametric(name, op, Kinds::NUM, cast_to(x, dtype), p0, p1);
}

// With one bound, or two.
Tensor clamped(const Tensor& x, const Tensor& low, const Tensor& high) {
  TensorList given{x};
  if (low.defined()) given.push_back(low);
  if (high.defined()) given.push_back(high);
  for (const Tensor& t : given) {
    check_destination_history("clamp", {t});
    check_not_implemented(!is_complex(t.dtype()), "clamp: not defined for ", t, ".");
  }
  if (!high.defined())
    return apply_binary("clamp", BinaryOp::maximum, x, low, result_type({x, low}));
  if (!low.defined())
    return apply_binary("clamp", BinaryOp::minimum, x, high, result_type({x, high}));
  return apply_ternary("clamp", TernaryOp::clamp, x, low, high, result_type({x, low, high}));
}

bool is_nan(Scalar x) { return x.is_floating() && x.to_double() != x.to_double(); }

}  // namespace

Tensor clamp_min(const Tensor& x, Scalar low) {
  Tensor y = clamped("clamp_min", ParametricOp::clamp_min, x, low, low);
  return record("ClampMinBackward0", y, {x}, [x = save(x), low](const Tensor& g) {
    return where(ge(x, wrapped_number(low)), g, zero());
  });
}

Tensor clamp_max(const Tensor& x, Scalar high) {
  Tensor y = clamped("clamp_max", ParametricOp::clamp_max, x, high, high);
  return record("ClampMaxBackward0", y, {x}, [x = save(x), high](const Tensor& g) {
    return where(le(x, wrapped_number(high)), g, zero());
  });
}

Tensor clamp(const Tensor& x, std::optional<Scalar> low, std::optional<Scalar> high) {
  check(low || high, "clamp: expected min or max, got neither.");
  // A bound that is NaN makes everything NaN; as the lower one it passes through both.
  Scalar a = low.value_or(0), b = high.value_or(0);
  if (high && is_nan(b)) low = a = b;
  ParametricOp op = low && high ? ParametricOp::clamp
                    : low       ? ParametricOp::clamp_min
                                : ParametricOp::clamp_max;
  Tensor y = clamped("clamp", op, x, low ? a : b, high ? b : a);
  return record("ClampBackward1", y, {x}, [x = save(x), low, high](const Tensor& g) {
    Tensor value = x, inside;
    if (low) inside = ge(value, wrapped_number(*low));
    if (high) {
      Tensor below = le(value, wrapped_number(*high));
      inside = inside.defined() ? logical_and(inside, below) : below;
    }
    return where(inside, g, zero());
  });
}

Tensor clamp_min(const Tensor& x, const Tensor& low) {
  Tensor y = apply_binary("clamp_min", BinaryOp::maximum, x, low, result_type({x, low}));
  return record("ClampMinBackward1", y, {x, low},
                [x = save(x), low = save(low)](const Tensor& g, Needs need) -> TensorList {
                  Tensor value = x, bound = low;
                  return {need[0] ? where(ge(value, bound), g, zero()) : Tensor(),
                          need[1] ? where(lt(value, bound), g, zero()) : Tensor()};
                });
}

Tensor clamp_max(const Tensor& x, const Tensor& high) {
  Tensor y = apply_binary("clamp_max", BinaryOp::minimum, x, high, result_type({x, high}));
  return record("ClampMaxBackward1", y, {x, high},
                [x = save(x), high = save(high)](const Tensor& g, Needs need) -> TensorList {
                  Tensor value = x, bound = high;
                  return {need[0] ? where(le(value, bound), g, zero()) : Tensor(),
                          need[1] ? where(gt(value, bound), g, zero()) : Tensor()};
                });
}

Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high) {
  check(low.defined() || high.defined(), "clamp: expected min or max, got neither.");
  Tensor y = clamped(x, low, high);
  TensorList inputs{x};
  if (low.defined()) inputs.push_back(low);
  if (high.defined()) inputs.push_back(high);
  bool has_low = low.defined(), has_high = high.defined();
  record_all(
      "ClampBackward0", {y}, inputs,
      [saved = save(inputs), has_low, has_high](const TensorList& gs, Needs need) -> TensorList {
        TensorList values = saved.unpack();
        const Tensor& g = gs[0];
        Tensor low = has_low ? values[1] : Tensor(), high = has_high ? values.back() : Tensor();
        Tensor below = has_low ? lt(values[0], low) : Tensor();
        // The upper bound wins over the lower one.
        Tensor lifted = has_low && has_high ? maximum(values[0], low) : values[0];
        Tensor above = has_high ? gt(lifted, high) : Tensor();
        Tensor outside = !has_low ? above : !has_high ? below : logical_or(below, above);
        TensorList grads{need[0] ? where(outside, zero(), g) : Tensor()};
        if (has_low) {
          Tensor at_low = has_high ? logical_and(below, lt(low, high)) : below;
          grads.push_back(need[1] ? where(at_low, g, zero()) : Tensor());
        }
        if (has_high) grads.push_back(need[values.size() - 1] ? where(above, g, zero()) : Tensor());
        return grads;
      });
  return y;
}

}  // namespace facula
