#include "ops/pointwise/clamp.h"

#include <cmath>

#include "base/number.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

Scalar added_to_clamped(Scalar low, Scalar high) {
  bool is_nan = std::isnan(low.to_double()) || std::isnan(high.to_double());
  return is_nan ? NAN : -0.0;
}

namespace {

// clamp in the dtype that the bounds ask for: integers with a floating bound become floating.
Tensor clamped(const char* name, ParametricOp op, const Tensor& x, Scalar p0, Scalar p1,
               const Into& into) {
  check_into_history(name, into, {x});
  bool keeps_dtype = is_floating(x.dtype()) && !p0.is_complex() && !p1.is_complex();
  DType dtype = keeps_dtype ? x.dtype() : result_type({x, wrapped_number(p0), wrapped_number(p1)});
  check_not_implemented(!is_complex(dtype), name, ": not defined for complex numbers, got ", x,
                        ". (clamp is not supported for complex types)");
  for (Scalar bound : {p0, p1}) check_fits(name, "bound", bound, dtype);
  Scalar added = added_to_clamped(p0, p1);
  return apply_parametric(name, op, Kinds::NUM, cast_to(x, dtype), {p0, p1, added}, into);
}

// With one bound, or two.
Tensor clamped(const Tensor& x, const Tensor& low, const Tensor& high, const Into& into) {
  TensorList given{x};
  if (low.defined()) given.push_back(low);
  if (high.defined()) given.push_back(high);
  for (const Tensor& t : given) {
    check_into_history("clamp", into, {t});
    check_not_implemented(!is_complex(t.dtype()), "clamp: not defined for ", t, ".");
  }
  if (!high.defined())
    return apply_binary("clamp", BinaryOp::maximum, x, low, result_type({x, low}), into);
  if (!low.defined())
    return apply_binary("clamp", BinaryOp::minimum, x, high, result_type({x, high}), into);
  return apply_ternary("clamp", TernaryOp::clamp, x, low, high, result_type({x, low, high}), into);
}

Tensor zero() { return wrapped_number(0); }

}  // namespace

Tensor clamp_min(const Tensor& x, Scalar low, const Into& into) {
  Tensor y = clamped("clamp_min", ParametricOp::clamp_min, x, low, low, into);
  return record("ClampMinBackward0", y, {x}, [x = save(x), low](const Tensor& g) {
    return where(ge(x, wrapped_number(low)), g, zero());
  });
}

Tensor clamp_max(const Tensor& x, Scalar high, const Into& into) {
  Tensor y = clamped("clamp_max", ParametricOp::clamp_max, x, high, high, into);
  return record("ClampMaxBackward0", y, {x}, [x = save(x), high](const Tensor& g) {
    return where(le(x, wrapped_number(high)), g, zero());
  });
}

Tensor clamp(const Tensor& x, std::optional<Scalar> low, std::optional<Scalar> high,
             const Into& into) {
  check(low || high, "clamp: expected min or max, got neither.");
  Scalar a = low.value_or(0), b = high.value_or(0);
  ParametricOp op = low && high ? ParametricOp::clamp
                    : low       ? ParametricOp::clamp_min
                                : ParametricOp::clamp_max;
  Tensor y = clamped("clamp", op, x, low ? a : b, high ? b : a, into);
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

Tensor clamp_min(const Tensor& x, const Tensor& low, const Into& into) {
  Tensor y = apply_binary("clamp_min", BinaryOp::maximum, x, low, result_type({x, low}), into);
  return record("ClampMinBackward1", y, {x, low},
                [x = save(x), low = save(low)](const Tensor& g, Needs need) -> TensorList {
                  Tensor value = x, bound = low;
                  return {need[0] ? where(ge(value, bound), g, zero()) : Tensor(),
                          need[1] ? where(lt(value, bound), g, zero()) : Tensor()};
                });
}

Tensor clamp_max(const Tensor& x, const Tensor& high, const Into& into) {
  Tensor y = apply_binary("clamp_max", BinaryOp::minimum, x, high, result_type({x, high}), into);
  return record("ClampMaxBackward1", y, {x, high},
                [x = save(x), high = save(high)](const Tensor& g, Needs need) -> TensorList {
                  Tensor value = x, bound = high;
                  return {need[0] ? where(le(value, bound), g, zero()) : Tensor(),
                          need[1] ? where(gt(value, bound), g, zero()) : Tensor()};
                });
}

Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high, const Into& into) {
  check(low.defined() || high.defined(), "clamp: expected min or max, got neither.");
  Tensor y = clamped(x, low, high, into);
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

namespace {

// A bound of clamp: nothing, a number or a tensor.
using Bound = std::optional<Operand>;

Tensor clamp_by(const Tensor& x, const Bound& low, const Bound& high, const Into& into) {
  auto is_number = [](const Bound& b) { return b && b->tensor->is_wrapped_number; };
  // Beside a number, a 0-d tensor without history is one too.
  auto is_tensor = [&](const Bound& b, const Bound& other) {
    if (!b || is_number(b)) return false;
    return !is_number(other) || b->tensor.dim() > 0 || b->tensor.requires_grad();
  };
  bool has_tensor = is_tensor(low, high) || is_tensor(high, low);
  check_type(!has_tensor || !(is_number(low) || is_number(high)),
             "clamp: expected min and max to be both numbers or both tensors.");
  if (has_tensor)
    return clamp(x, low ? low->tensor : Tensor(), high ? high->tensor : Tensor(), into);
  auto number = [](const Bound& b) {
    return b ? std::optional<Scalar>(item(b->tensor)) : std::nullopt;
  };
  return clamp(x, number(low), number(high), into);
}

Tensor clamp_min_by(const Tensor& x, const Operand& low, const Into& into) {
  return low.tensor->is_wrapped_number ? clamp_min(x, item(low), into)
                                       : clamp_min(x, low.tensor, into);
}
Tensor clamp_max_by(const Tensor& x, const Operand& high, const Into& into) {
  return high.tensor->is_wrapped_number ? clamp_max(x, item(high), into)
                                        : clamp_max(x, high.tensor, into);
}

}  // namespace

FACULA_BINDINGS {
  const char* doc =
      R"(Each element, moved into ``[min, max]``. The bounds are numbers or tensors; one may be missing.
    input: the elements.
    min: the smallest result, a number or a tensor; None for no limit.
    max: the largest result, a number or a tensor; None for no limit.
    out: where to put the result.
    >>> facula.clamp(facula.tensor([-2.0, 0.5, 2.0]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000]))"_doc;
  for (const char* name : {"clamp", "clip"}) {
    m.def(
        name,
        [](const Tensor& x, const Bound& low, const Bound& high, const Out& out) {
          return with_out("clamp", out,
                          [&](const Into& into) { return clamp_by(x, low, high, into); });
        },
        "input"_a, "min"_or_none, "max"_or_none, nb::kw_only(), "out"_or_none, doc);
    def_method(
        name,
        [](const Tensor& x, const Bound& low, const Bound& high) {
          return clamp_by(x, low, high, Into{});
        },
        "min"_or_none, "max"_or_none, doc);
    def_op_in_place(m, name, "clamp_", clamp_by, "min"_or_none, "max"_or_none);
  }
  const char* min_doc = R"(Each element, at least ``min``.
    input: the elements.
    min: the smallest result, a number or a tensor.
    out: where to put the result.
    >>> facula.clamp_min(facula.tensor([-2.0, 2.0]), 0)
    tensor([0., 2.]))"_doc;
  const char* max_doc = R"(Each element, at most ``max``.
    input: the elements.
    max: the largest result, a number or a tensor.
    out: where to put the result.
    >>> facula.clamp_max(facula.tensor([-2.0, 2.0]), 0)
    tensor([-2.,  0.]))"_doc;
  def_op_out(m, "clamp_min", clamp_min_by, "min"_a, min_doc);
  def_op_in_place(m, "clamp_min", "clamp_min_", clamp_min_by, "min"_a);
  def_op_out(m, "clamp_max", clamp_max_by, "max"_a, max_doc);
  def_op_in_place(m, "clamp_max", "clamp_max_", clamp_max_by, "max"_a);
}

}  // namespace facula
