#include "ops/pointwise/arithmetic.h"

#include <cstring>

#include "autograd/node.h"
#include "base/number.h"
#include "ops/inplace.h"
#include "ops/ops.h"
#include "ops/pointwise/apply.h"
#include "ops/result.h"

namespace facula {

namespace {

void check_alpha(const char* name, Scalar alpha, DType dtype) {
  check(!alpha.is_bool() || dtype == DType::Bool, name,
        ": expected a number as alpha for a result of ", dtype, ", got a bool.");
  check(is_differentiable(dtype) || alpha.is_integral(), name,
        ": expected an integer alpha for a result of ", dtype, ", got one that is no integer.");
  check(is_complex(dtype) || !alpha.is_complex(), name, ": expected a real alpha for a result of ",
        dtype, ", got a complex one.");
  check_fits(name, "alpha", alpha, dtype);
}

bool is_one(Scalar alpha) {
  return !alpha.is_complex() && !alpha.is_bool() && alpha.to_double() == 1.0;
}

Scalar negated(Scalar x) {
  if (x.is_complex()) return Scalar(-x.to_complex());
  if (x.is_floating()) return Scalar(-x.to_double());
  return Scalar(-x.to_int());
}
Scalar conjugate(Scalar x) { return x.is_complex() ? Scalar(std::conj(x.to_complex())) : x; }

void check_no_bool(const char* name, const Tensor& a, const Tensor& b) {
  check(a.dtype() != DType::Bool || b.dtype() != DType::Bool, name,
        ": bool tensors have no difference. Use ^ or logical_xor().");
  check(a.dtype() != DType::Bool && b.dtype() != DType::Bool, name,
        ": a bool tensor has no difference. Invert a mask with ~ or logical_not().");
}

// a + alpha * b in one pass.
Tensor sum_of(const char* name, const Tensor& a, const Tensor& b, DType dtype, Scalar alpha) {
  check_alpha(name, alpha, dtype);
  return apply_binary(name, BinaryOp::add_scaled, a, b, dtype, alpha);
}

// Integer division by zero has no result; the kernels do not look for it.
void check_divisor(const char* name, const Tensor& b, DType dtype) {
  if (is_differentiable(dtype)) return;
  NoGradGuard guard;
  Tensor is_zero = contiguous(to(eq(b, wrapped_number(0)), Device{}, DType::Bool, false));
  check(!std::memchr(is_zero.data(), 1, static_cast<size_t>(is_zero.numel())), name,
        ": ZeroDivisionError: the divisor, ", b,
        ", has a zero, and integers have no infinity. Divide floating tensors instead.");
}

Tensor zero_gradient(const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); }

}  // namespace

bool wants_history(const Tensor& a, const Tensor& b) {
  return is_grad_enabled() && (a.requires_grad() || b.requires_grad());
}

Tensor add(const Tensor& a, const Tensor& b, Scalar alpha) {
  DType dtype = result_type({a, b});
  if (is_one(alpha)) {
    Tensor y = apply_binary("add", BinaryOp::add, a, b, dtype);
    return record("AddBackward0", y, {a, b}, [](const Tensor& g, Needs) -> TensorList {
      return {g, g};
    });
  }
  return record("AddBackward0", sum_of("add", a, b, dtype, alpha), {a, b},
                [alpha](const Tensor& g, Needs need) -> TensorList {
                  return {g, need[1] ? g * conjugate(alpha) : Tensor()};
                });
}

Tensor sub(const Tensor& a, const Tensor& b, Scalar alpha) {
  check_no_bool("sub", a, b);
  DType dtype = result_type({a, b});
  if (is_one(alpha)) {
    Tensor y = apply_binary("sub", BinaryOp::sub, a, b, dtype);
    return record("SubBackward0", y, {a, b}, [](const Tensor& g, Needs need) -> TensorList {
      return {g, need[1] ? neg(g) : Tensor()};
    });
  }
  Scalar factor = negated(alpha);
  check_alpha("sub", alpha, dtype);
  return record("SubBackward0", sum_of("sub", a, b, dtype, factor), {a, b},
                [factor](const Tensor& g, Needs need) -> TensorList {
                  return {g, need[1] ? g * conjugate(factor) : Tensor()};
                });
}

Tensor rsub(const Tensor& a, const Tensor& b, Scalar alpha) {
  check_no_bool("rsub", a, b);
  Tensor y;
  {
    NoGradGuard guard;
    y = sub(b, a, alpha);
  }
  Scalar factor = negated(alpha);
  const char* node = b->is_wrapped_number ? "RsubBackward1" : "RsubBackward0";
  return record(node, y, {a, b}, [factor](const Tensor& g, Needs need) -> TensorList {
    return {need[0] ? g * conjugate(factor) : Tensor(), g};
  });
}

Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor y = apply_binary("mul", BinaryOp::mul, a, b, result_type({a, b}));
  return record(
      "MulBackward0", y, {a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(a.requires_grad() ? b : Tensor())](
          const Tensor& g, Needs need) -> TensorList {
        return {need[0] ? g * conj(b) : Tensor(), need[1] ? g * conj(a) : Tensor()};
      });
}

Tensor div(const Tensor& a, const Tensor& b) {
  DType dtype = compute_dtype(Kinds::FC, result_type({a, b}));
  Tensor y = apply_binary("div", BinaryOp::div, a, b, dtype);
  return record("DivBackward0", y, {a, b},
                [a = save(b.requires_grad() ? a : Tensor()), b = save(b)](
                    const Tensor& g, Needs need) -> TensorList {
                  Tensor d = b;
                  return {need[0] ? g / conj(d) : Tensor(),
                          need[1] ? neg(g * conj(div(div(a, d), d))) : Tensor()};
                });
}

Tensor div(const Tensor& a, const Tensor& b, const std::optional<std::string>& rounding_mode) {
  if (!rounding_mode) return div(a, b);
  check(*rounding_mode == "floor" || *rounding_mode == "trunc",
        "div: expected None, 'trunc' or 'floor' as rounding_mode, got '", *rounding_mode, "'.");
  DType dtype = result_type({a, b});
  check_divisor("div", b, dtype);
  Tensor y;
  if (*rounding_mode == "trunc" && is_reduced_float(dtype)) {
    // The rounded quotient is truncated, as PyTorch does, not the exact one.
    NoGradGuard guard;
    y = trunc(apply_binary("div", BinaryOp::div, a, b, dtype));
  } else {
    BinaryOp op = *rounding_mode == "floor" ? BinaryOp::floor_divide : BinaryOp::trunc_divide;
    y = apply_binary("div", op, a, b, dtype);
  }
  return record("DivBackward2", y, {a, b}, [](const Tensor& g, Needs) -> TensorList {
    return {zero_gradient(g), zero_gradient(g)};
  });
}

Tensor floor_divide(const Tensor& a, const Tensor& b) {
  DType dtype = result_type({a, b});
  check_divisor("floor_divide", b, dtype);
  Tensor y = apply_binary("floor_divide", BinaryOp::floor_divide, a, b, dtype);
  return record("NotImplemented", y, {a, b}, [](const Tensor&, Needs) -> TensorList {
    fail(ErrorKind::Runtime,
         "floor_divide: the derivative for 'floor_divide' is not implemented. Use "
         "div(..., rounding_mode='floor'), whose derivative is zero.");
  });
}

Tensor remainder(const Tensor& a, const Tensor& b) {
  DType dtype = result_type({a, b});
  check_divisor("remainder", b, dtype);
  Tensor y = apply_binary("remainder", BinaryOp::remainder, a, b, dtype);
  const char* node = b->is_wrapped_number ? "RemainderBackward0" : "RemainderBackward1";
  return record(
      node, y, {a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(b.requires_grad() ? b : Tensor())](
          const Tensor& g, Needs need) -> TensorList {
        return {g, need[1] ? neg(g * div(a, b, "floor")) : Tensor()};
      });
}

Tensor fmod(const Tensor& a, const Tensor& b) {
  DType dtype = result_type({a, b});
  check_divisor("fmod", b, dtype);
  Tensor y = apply_binary("fmod", BinaryOp::fmod, a, b, dtype);
  const char* node = b->is_wrapped_number ? "FmodBackward0" : "FmodBackward1";
  return record(
      node, y, {a, b},
      [a = save(b.requires_grad() ? a : Tensor()), b = save(b.requires_grad() ? b : Tensor())](
          const Tensor& g, Needs need) -> TensorList {
        return {g, need[1] ? neg(g * div(a, b, "trunc")) : Tensor()};
      });
}

namespace {

// The powers that have a shorter way than pow. Undefined where there is none.
Tensor short_power(const Tensor& x, Scalar exponent) {
  if (exponent.is_complex()) return Tensor();
  DType dtype = x.dtype();
  double e = exponent.to_double();
  if (e == 1) {
    check_destination("pow", x.sizes(), dtype, {x});
    return clone(x);
  }
  if (dtype == DType::Bool) return Tensor();
  if (e == 2) return apply_binary("pow", BinaryOp::mul, x, x, dtype);
  if (!is_differentiable(dtype)) return Tensor();
  if (e == 0.5) return apply_unary("pow", UnaryOp::sqrt, Kinds::FC, x);
  if (e == 3) return apply_binary("pow", BinaryOp::mul_twice, x, x, dtype);
  if (e == -0.5) return apply_unary("pow", UnaryOp::rsqrt, Kinds::FC, x);
  if (e == -1) return apply_unary("pow", UnaryOp::reciprocal, Kinds::FC, x);
  // Squares of half precision overflow where their reciprocals do not underflow.
  if (e == -2 && !is_reduced_float(dtype)) {
    // Not at once into a destination: the square has lost the history of x.
    check_destination("pow", x.sizes(), dtype, {x});
    return reciprocal(mul(x, x));
  }
  return Tensor();
}

Tensor pow_value(const Tensor& base, const Tensor& exponent, DType dtype) {
  NoGradGuard guard;
  bool is_number = exponent->is_wrapped_number && base.dtype() == dtype;
  Tensor y = is_number ? short_power(base, item(exponent)) : Tensor();
  return y.defined() ? y : apply_binary("pow", BinaryOp::pow, base, exponent, dtype);
}

Tensor power_of_number(const Tensor& x, Scalar exponent) {
  DType dtype = result_type({x, wrapped_number(exponent)});
  // Other dtypes take an exponent beyond their range for an infinite one.
  if (item_size(dtype) == 2 || !is_differentiable(dtype))
    check_fits("pow", "exponent", exponent, dtype);
  Tensor y = pow_value(x, wrapped_number(exponent), dtype);
  return record("PowBackward0", y, {x}, [x = save(x), exponent](const Tensor& g) -> Tensor {
    if (exponent.is_complex())
      return g * conj(pow(x, wrapped_number(exponent.to_complex() - 1.0)) * exponent);
    double e = exponent.to_double();
    if (e == 0) return zero_gradient(g);
    if (e == 2) return g * conj(Tensor(x) * 2);
    return g * conj(pow(x, exponent.is_integral() ? wrapped_number(exponent.to_int() - 1)
                                                  : wrapped_number(e - 1)) *
                    exponent);
  });
}

}  // namespace

Tensor pow(const Tensor& base, const Tensor& exponent) {
  DType dtype = result_type({base, exponent});
  if (exponent->is_wrapped_number && exponent.dim() == 0) {
    Scalar e = item(exponent);
    check(is_differentiable(dtype) || e.to_int() >= 0,
          "pow: expected exponents of at least 0 for integers, got ", base, " to the power ",
          e.to_int(), ". Convert it with input.float().");
    return power_of_number(base, e);
  }
  Tensor y = pow_value(base, exponent, dtype);
  bool is_number = base->is_wrapped_number;
  return record(is_number ? "PowBackward2" : "PowBackward1", y, {base, exponent},
                [base = save(base), exponent = save(exponent),
                 y = save_output(exponent.requires_grad() ? y : Tensor())](
                    const Tensor& g, Needs need) -> TensorList {
                  Tensor b = base, e = exponent, zero = wrapped_number(0);
                  TensorList grads(2);
                  if (need[0]) grads[0] = where(eq(e, zero), zero, g * conj(e * pow(b, e - 1)));
                  if (need[1]) {
                    // 0^e is 0 for all e > 0, although log(0) is infinite.
                    Tensor is_flat = eq(b, zero);
                    is_flat = logical_and(is_flat,
                                          is_complex(e.dtype()) ? ge(real(e), zero) : ge(e, zero));
                    grads[1] = where(is_flat, zero, g * conj(y * log(b)));
                  }
                  return grads;
                });
}

Tensor& add_(Tensor& a, const Tensor& b, Scalar alpha) {
  if (wants_history(a, b))
    return in_place("add_", a, [&](const Tensor& x) { return add(x, b, alpha); });
  check_inplace("add_", a);
  DType dtype = result_type({a, b});
  if (is_one(alpha)) {
    apply_binary_("add_", BinaryOp::add, a, b, dtype);
  } else {
    check_alpha("add_", alpha, dtype);
    apply_binary_("add_", BinaryOp::add_scaled, a, b, dtype, alpha);
  }
  return a;
}

Tensor& sub_(Tensor& a, const Tensor& b, Scalar alpha) {
  if (wants_history(a, b))
    return in_place("sub_", a, [&](const Tensor& x) { return sub(x, b, alpha); });
  check_no_bool("sub_", a, b);
  check_inplace("sub_", a);
  DType dtype = result_type({a, b});
  if (is_one(alpha)) {
    apply_binary_("sub_", BinaryOp::sub, a, b, dtype);
  } else {
    check_alpha("sub_", alpha, dtype);
    apply_binary_("sub_", BinaryOp::add_scaled, a, b, dtype, negated(alpha));
  }
  return a;
}

Tensor& mul_(Tensor& a, const Tensor& b) {
  if (wants_history(a, b)) return in_place("mul_", a, [&](const Tensor& x) { return mul(x, b); });
  check_inplace("mul_", a);
  apply_binary_("mul_", BinaryOp::mul, a, b, result_type({a, b}));
  return a;
}

Tensor& div_(Tensor& a, const Tensor& b) {
  if (wants_history(a, b)) return in_place("div_", a, [&](const Tensor& x) { return div(x, b); });
  check_inplace("div_", a);
  apply_binary_("div_", BinaryOp::div, a, b, compute_dtype(Kinds::FC, result_type({a, b})));
  return a;
}

Tensor& floor_divide_(Tensor& a, const Tensor& b) {
  return in_place("floor_divide_", a, [&](const Tensor& x) { return floor_divide(x, b); });
}
Tensor& remainder_(Tensor& a, const Tensor& b) {
  return in_place("remainder_", a, [&](const Tensor& x) { return remainder(x, b); });
}
Tensor& pow_(Tensor& base, const Tensor& exponent) {
  return in_place("pow_", base, [&](const Tensor& x) { return pow(x, exponent); });
}

}  // namespace facula
