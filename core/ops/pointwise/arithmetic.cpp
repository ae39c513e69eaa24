#include "ops/pointwise/arithmetic.h"

#include "base/number.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"

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
Tensor sum_of(const char* name, const Tensor& a, const Tensor& b, DType dtype, Scalar alpha,
              const Into& into) {
  check_alpha(name, alpha, dtype);
  return apply_binary(name, BinaryOp::add_scaled, a, b, dtype, into, alpha);
}

Tensor zero_gradient(const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); }

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, Scalar alpha, const Into& into) {
  DType dtype = result_type({a, b});
  if (is_one(alpha)) {
    Tensor y = apply_binary("add", BinaryOp::add, a, b, dtype, into);
    return record("AddBackward0", y, {a, b}, [](const Tensor& g, Needs) -> TensorList {
      return {g, g};
    });
  }
  return record("AddBackward0", sum_of("add", a, b, dtype, alpha, into), {a, b},
                [alpha](const Tensor& g, Needs need) -> TensorList {
                  return {g, need[1] ? g * conjugate(alpha) : Tensor()};
                });
}

Tensor sub(const Tensor& a, const Tensor& b, Scalar alpha, const Into& into) {
  check_no_bool("sub", a, b);
  DType dtype = result_type({a, b});
  if (is_one(alpha)) {
    Tensor y = apply_binary("sub", BinaryOp::sub, a, b, dtype, into);
    return record("SubBackward0", y, {a, b}, [](const Tensor& g, Needs need) -> TensorList {
      return {g, need[1] ? neg(g) : Tensor()};
    });
  }
  Scalar factor = negated(alpha);
  check_alpha("sub", alpha, dtype);
  return record("SubBackward0", sum_of("sub", a, b, dtype, factor, into), {a, b},
                [factor](const Tensor& g, Needs need) -> TensorList {
                  return {g, need[1] ? g * conjugate(factor) : Tensor()};
                });
}

Tensor rsub(const Tensor& a, const Tensor& b, Scalar alpha) {
  check_no_bool("sub", b, a);  // which is what the user wrote: 1 - a
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

Tensor div(const Tensor& a, const Tensor& b, const Into& into) {
  DType dtype = compute_dtype(Kinds::FC, result_type({a, b}));
  Tensor y = apply_binary("div", BinaryOp::div, a, b, dtype, into);
  return record("DivBackward0", y, {a, b},
                [a = save(b.requires_grad() ? a : Tensor()), b = save(b)](
                    const Tensor& g, Needs need) -> TensorList {
                  Tensor d = b;
                  return {need[0] ? g / conj(d) : Tensor(),
                          need[1] ? neg(g * conj(div(div(a, d), d))) : Tensor()};
                });
}

Tensor div(const Tensor& a, const Tensor& b, const RoundingMode& rounding_mode, const Into& into) {
  if (!rounding_mode) return div(a, b, into);
  check(*rounding_mode == "floor" || *rounding_mode == "trunc",
        "div: expected None, 'trunc' or 'floor' as rounding_mode, got '", *rounding_mode, "'.");
  DType dtype = result_type({a, b});
  check_divisor("div", a, b, dtype);
  Tensor y;
  if (*rounding_mode == "trunc" && is_reduced_float(dtype)) {
    // The rounded quotient is truncated, as PyTorch does, not the exact one.
    NoGradGuard guard;
    y = trunc(apply_binary("div", BinaryOp::div, a, b, dtype));
  } else {
    BinaryOp op = *rounding_mode == "floor" ? BinaryOp::floor_divide : BinaryOp::trunc_divide;
    y = apply_binary("div", op, a, b, dtype, into);
  }
  return record("DivBackward2", y, {a, b}, [](const Tensor& g, Needs) -> TensorList {
    return {zero_gradient(g), zero_gradient(g)};
  });
}

namespace {

// The powers that have a shorter way than pow. Undefined where there is none.
Tensor short_power(const Tensor& x, Scalar exponent, const Into& into) {
  if (exponent.is_complex()) return Tensor();
  DType dtype = x.dtype();
  double e = exponent.to_double();
  if (e == 1) {
    check_into("pow", into, x.sizes(), dtype, {x});
    return clone(x);
  }
  if (dtype == DType::Bool || is_wide_unsigned(dtype)) return Tensor();
  if (e == 2) return apply_binary("pow", BinaryOp::mul, x, x, dtype, into);
  if (!is_differentiable(dtype)) return Tensor();
  if (e == 0.5) return apply_unary("pow", UnaryOp::sqrt, Kinds::FC, x, into);
  if (e == 3) return apply_binary("pow", BinaryOp::mul_twice, x, x, dtype, into);
  if (e == -0.5) return apply_unary("pow", UnaryOp::rsqrt, Kinds::FC, x, into);
  if (e == -1) return apply_unary("pow", UnaryOp::reciprocal, Kinds::FC, x, into);
  // Squares of half precision overflow where their reciprocals do not underflow.
  if (e == -2 && !is_reduced_float(dtype)) {
    // Not at once into out=: the square has lost the history of x.
    check_into("pow", into, x.sizes(), dtype, {x});
    return reciprocal(mul(x, x));
  }
  return Tensor();
}

Tensor pow_value(const Tensor& base, const Tensor& exponent, DType dtype, const Into& into) {
  NoGradGuard guard;
  bool is_number = exponent->is_wrapped_number && base.dtype() == dtype;
  Tensor y = is_number ? short_power(base, item(exponent), into) : Tensor();
  return y.defined() ? y : apply_binary("pow", BinaryOp::pow, base, exponent, dtype, into);
}

Tensor power_of_number(const Tensor& x, Scalar exponent, const Into& into) {
  DType dtype = result_type({x, wrapped_number(exponent)});
  // Other dtypes take an exponent beyond their range for an infinite one.
  if (item_size(dtype) == 2 || !is_differentiable(dtype))
    check_fits("pow", "exponent", exponent, dtype);
  Tensor y = pow_value(x, wrapped_number(exponent), dtype, into);
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

Tensor pow(const Tensor& base, const Tensor& exponent, const Into& into) {
  DType dtype = result_type({base, exponent});
  if (exponent->is_wrapped_number && exponent.dim() == 0) {
    Scalar e = item(exponent);
    check(is_differentiable(dtype) || e.to_int() >= 0,
          "pow: expected exponents of at least 0 for integers, got ", base, " to the power ",
          e.to_int(), ". Convert it with input.float().");
    return power_of_number(base, e, into);
  }
  Tensor y = pow_value(base, exponent, dtype, into);
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
    return in_place("add_", a,
                    [&](const Tensor& x, const Into& into) { return add(x, b, alpha, into); });
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
    return in_place("sub_", a,
                    [&](const Tensor& x, const Into& into) { return sub(x, b, alpha, into); });
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

Tensor& div_(Tensor& a, const Tensor& b) {
  if (wants_history(a, b))
    return in_place("div_", a, [&](const Tensor& x, const Into& into) { return div(x, b, into); });
  check_inplace("div_", a);
  apply_binary_("div_", BinaryOp::div, a, b, compute_dtype(Kinds::FC, result_type({a, b})));
  return a;
}

Tensor& pow_(Tensor& base, const Tensor& exponent) {
  return in_place("pow_", base,
                  [&](const Tensor& x, const Into& into) { return pow(x, exponent, into); });
}

Tensor square(const Tensor& x, const Into& into) { return pow(x, wrapped_number(2), into); }

Tensor positive(const Tensor& x) {
  check(x.dtype() != DType::Bool, "positive: + is not defined for bool, got ", x, ".");
  return x;
}

namespace {

using ScaledCall = Tensor (*)(const Tensor&, const Tensor&, Scalar, const Into&);
using ScaledCallInPlace = Tensor& (*)(Tensor&, const Tensor&, Scalar);

// add and sub, which take alpha.
void def_scaled(nb::module_& m, const char* name, const char* names, ScaledCall f,
                ScaledCallInPlace f_, const Doc& doc) {
  std::string text = docstring(name, doc);
  for (const std::string& public_name : all_names(name, names)) {
    m.def(
        public_name.c_str(),
        [f, name](const Operand& a, const Operand& b, Scalar alpha, const Out& out) {
          return with_out(name, out, [&](const Into& into) { return f(a, b, alpha, into); });
        },
        "input"_a, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), "out"_or_none, text.c_str());
    def_method(
        public_name.c_str(),
        [f](const Tensor& a, const Operand& b, Scalar alpha) { return f(a, b, alpha, Into{}); },
        "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), text.c_str());
    def_method((public_name + "_").c_str(),
               [f_](Tensor a, const Operand& b, Scalar alpha) -> Tensor { return f_(a, b, alpha); },
               "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), in_place_doc(name).c_str());
  }
}

void bind_division(nb::module_& m) {
  std::string doc = docstring(
      "div", {"``input / other``, rounded towards minus infinity (\"floor\") or zero (\"trunc\") "
              "where asked for.",
              "facula.tensor([7.0, -7.0]), 2, rounding_mode=\"floor\"", "tensor([ 3., -4.])",
              "input: the dividend, a tensor or a number.\n"
              "other: the divisor, a tensor or a number.\n"
              "rounding_mode: None, ``\"floor\"`` or ``\"trunc\"``.\n"
              "out: where to put the result."});
  for (const char* name : {"div", "divide"}) {
    m.def(
        name,
        [](const Operand& a, const Operand& b, const RoundingMode& mode, const Out& out) {
          return with_out("div", out, [&](const Into& into) { return div(a, b, mode, into); });
        },
        "input"_a, "other"_a, nb::kw_only(), "rounding_mode"_or_none, "out"_or_none, doc.c_str());
    def_method(
        name,
        [](const Tensor& a, const Operand& b, const RoundingMode& mode) { return div(a, b, mode); },
        "other"_a, nb::kw_only(), "rounding_mode"_or_none, doc.c_str());
    def_method((std::string(name) + "_").c_str(),
               [](Tensor a, const Operand& b, const RoundingMode& mode) -> Tensor {
                 if (!mode) return div_(a, b);
                 return in_place("div_", a, [&](const Tensor& x, const Into& into) {
                   return div(x, b, mode, into);
                 });
               },
               "other"_a, nb::kw_only(), "rounding_mode"_or_none, in_place_doc("div").c_str());
  }
  def_binary(m, "true_divide", "", Numbers::BOTH, div, div_,
             {"``input / other``.", "facula.tensor([1, 2]), 2", "tensor([0.5000, 1.0000])"});
}

void bind_power(nb::module_& m) {
  std::string doc =
      docstring("pow", {"``input`` to the power ``exponent``; either may be a number.",
                        "facula.tensor([1.0, 2.0, 3.0]), 2", "tensor([1., 4., 9.])",
                        "input: the base, a tensor or a number.\n"
                        "exponent: the exponent, a tensor or a number.\n"
                        "out: where to put the result."});
  m.def(
      "pow",
      [](const Operand& a, const Operand& b, const Out& out) {
        check_not_only_numbers("pow", a, b);
        return with_out("pow", out, [&](const Into& into) { return pow(a, b, into); });
      },
      "input"_a, "exponent"_a, nb::kw_only(), "out"_or_none, doc.c_str());
  def_method(
      "pow", [](const Tensor& a, const Operand& b) { return pow(a, b); }, "exponent"_a,
      doc.c_str());
  def_method(
      "pow_", [](Tensor a, const Operand& b) -> Tensor { return pow_(a, b); }, "exponent"_a,
      in_place_doc("pow").c_str());
}

}  // namespace

FACULA_BINDINGS {
  def_scaled(
      m, "add", "", add, add_,
      {"``input + alpha * other``.", "facula.tensor([1.0, 2.0]), 10, alpha=2", "tensor([21., 22.])",
       "input: the first operand, a tensor or a number.\n"
       "other: the second operand, a tensor or a number, which is multiplied by alpha.\n"
       "alpha: the factor of other.\nout: where to put the result."});
  def_scaled(m, "sub", "subtract", sub, sub_,
             {"``input - alpha * other``.", "facula.tensor([1.0, 2.0]), 10, alpha=2",
              "tensor([-19., -18.])",
              "input: the first operand, a tensor or a number.\n"
              "other: the second operand, a tensor or a number, which is multiplied by alpha.\n"
              "alpha: the factor of other.\nout: where to put the result."});
  m.def(
      "rsub", [](const Tensor& a, const Operand& b, Scalar alpha) { return rsub(a, b, alpha); },
      "input"_a, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1),
      docstring("rsub",
                {"``other - alpha * input``.", "facula.tensor([1.0, 2.0]), 10", "tensor([9., 8.])",
                 "input: what is subtracted, a tensor.\n"
                 "other: what it is subtracted from, a tensor or a number.\n"
                 "alpha: the factor of input."})
          .c_str());
  bind_division(m);
  bind_power(m);
  auto square_ = [](Tensor& x) -> Tensor& {
    return in_place("square_", x,
                    [](const Tensor& t, const Into& into) { return square(t, into); });
  };
  def_unary(m, "square", "", Forms::ALL, square, square, square_,
            {"The square of each element.", "facula.tensor([2, -3])", "tensor([4, 9])"});
  def_predicate(
      m, "positive", [](const Tensor& x, const Into&) { return positive(x); },
      {"``input`` itself; refuses bool.", "facula.tensor([-1.0, 2.0])", "tensor([-1.,  2.])"});
}

}  // namespace facula
