#include "ops/pointwise/binary.h"

#include "autograd/node.h"
#include "ops/ops.h"
#include "ops/pointwise/apply.h"
#include "ops/result.h"

namespace facula {

namespace {

constexpr double kLn2 = 0.6931471805599453;

Tensor zero() { return wrapped_number(0); }

Tensor promoted(const char* name, BinaryOp op, Kinds kinds, const Tensor& a, const Tensor& b) {
  return apply_binary(name, op, a, b, compute_dtype(kinds, result_type({a, b})));
}

void check_ordered(const char* name, const Tensor& a, const Tensor& b) {
  check(!is_complex(a.dtype()) && !is_complex(b.dtype()), name,
        ": not implemented for complex tensors, got ", a, " and ", b, ".");
}

// g where the mask holds, else nothing.
Tensor masked(const Tensor& mask, const Tensor& g) { return where(mask, g, zero()); }

// g to the winner, half of it to each where they are equal.
template <class Loses>
TensorList split_by_order(const Tensor& g, const Tensor& a, const Tensor& b, Needs need,
                          Loses loses) {
  Tensor shared = where(eq(a, b), g * 0.5, g);
  return {need[0] ? where(loses(a, b), zero(), shared) : Tensor(),
          need[1] ? where(loses(b, a), zero(), shared) : Tensor()};
}

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) {
  check_ordered("maximum", a, b);
  return record("MaximumBackward0", promoted("maximum", BinaryOp::maximum, Kinds::ALL, a, b),
                {a, b}, [a = save(a), b = save(b)](const Tensor& g, Needs need) {
                  return split_by_order(g, a, b, need, lt);
                });
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  check_ordered("minimum", a, b);
  return record("MinimumBackward0", promoted("minimum", BinaryOp::minimum, Kinds::ALL, a, b),
                {a, b}, [a = save(a), b = save(b)](const Tensor& g, Needs need) {
                  return split_by_order(g, a, b, need, gt);
                });
}

Tensor fmax(const Tensor& a, const Tensor& b) {
  check_ordered("fmax", a, b);
  return record("FmaxBackward0", promoted("fmax", BinaryOp::fmax, Kinds::ALL, a, b), {a, b},
                [a = save(a), b = save(b)](const Tensor& g, Needs need) -> TensorList {
                  Tensor first = logical_or(ge(a, b), isnan(b));
                  return {need[0] ? masked(first, g) : Tensor(),
                          need[1] ? where(first, zero(), g) : Tensor()};
                });
}

Tensor fmin(const Tensor& a, const Tensor& b) {
  check_ordered("fmin", a, b);
  return record("FminBackward0", promoted("fmin", BinaryOp::fmin, Kinds::ALL, a, b), {a, b},
                [a = save(a), b = save(b)](const Tensor& g, Needs need) -> TensorList {
                  Tensor first = logical_or(le(a, b), isnan(b));
                  return {need[0] ? masked(first, g) : Tensor(),
                          need[1] ? where(first, zero(), g) : Tensor()};
                });
}

Tensor atan2(const Tensor& a, const Tensor& b) {
  return record("Atan2Backward0", promoted("atan2", BinaryOp::atan2, Kinds::F, a, b), {a, b},
                [a = save(a), b = save(b)](const Tensor& g, Needs need) -> TensorList {
                  Tensor y = a, x = b;
                  Tensor square_sum = y * y + x * x;
                  Tensor scaled = where(eq(square_sum, zero()), zero(), g / square_sum);
                  return {need[0] ? scaled * x : Tensor(), need[1] ? neg(scaled * y) : Tensor()};
                });
}

Tensor hypot(const Tensor& a, const Tensor& b) {
  Tensor y = promoted("hypot", BinaryOp::hypot, Kinds::FONLY, a, b);
  return record(
      "HypotBackward0", y, {a, b},
      [a = save(a), b = save(b), y = save_output(y)](const Tensor& g, Needs need) -> TensorList {
        Tensor length = y;
        return {need[0] ? g * (Tensor(a) / length) : Tensor(),
                need[1] ? g * (Tensor(b) / length) : Tensor()};
      });
}

Tensor copysign(const Tensor& a, const Tensor& b) {
  Tensor y = promoted("copysign", BinaryOp::copysign, Kinds::F, a, b);
  return record(b->is_wrapped_number ? "CopysignBackward1" : "CopysignBackward0", y, {a, b},
                [a = save(a), y = save_output(y)](const Tensor& g, Needs need) -> TensorList {
                  Tensor x = a;
                  Tensor sign = where(eq(x, zero()), zero(), Tensor(y) / x);
                  return {need[0] ? g * sign : Tensor(),
                          need[1] ? zeros(g.sizes(), g.dtype(), g.device()) : Tensor()};
                });
}

Tensor nextafter(const Tensor& a, const Tensor& b) {
  Tensor y = promoted("nextafter", BinaryOp::nextafter, Kinds::FONLY, a, b);
  // The step goes along with the first, but where both are equal there is none.
  return record("NextafterBackward0", y, {a, b},
                [a = save(a), b = save(b)](const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? where(eq(a, b), zero(), g) : Tensor(),
                          need[1] ? zeros(g.sizes(), g.dtype(), g.device()) : Tensor()};
                });
}

Tensor logaddexp(const Tensor& a, const Tensor& b) {
  Tensor y = promoted("logaddexp", BinaryOp::logaddexp, Kinds::FCONLY, a, b);
  return record("LogaddexpBackward0", y, {a, b},
                [a = save(a), b = save(b)](const Tensor& g, Needs need) -> TensorList {
                  Tensor p = a, q = b;
                  return {need[0] ? g / conj(1 + exp(q - p)) : Tensor(),
                          need[1] ? g / conj(1 + exp(p - q)) : Tensor()};
                });
}

Tensor logaddexp2(const Tensor& a, const Tensor& b) {
  Tensor y = promoted("logaddexp2", BinaryOp::logaddexp2, Kinds::FONLY, a, b);
  return record("Logaddexp2Backward0", y, {a, b},
                [a = save(a), b = save(b)](const Tensor& g, Needs need) -> TensorList {
                  Tensor p = a, q = b;
                  return {need[0] ? g / (1 + exp2(q - p)) : Tensor(),
                          need[1] ? g / (1 + exp2(p - q)) : Tensor()};
                });
}

Tensor xlogy(const Tensor& a, const Tensor& b) {
  Tensor y = promoted("xlogy", BinaryOp::xlogy, Kinds::F, a, b);
  const char* node = a->is_wrapped_number   ? "XlogyBackward1"
                     : b->is_wrapped_number ? "XlogyBackward2"
                                            : "XlogyBackward0";
  return record(node, y, {a, b},
                [a = save(a), b = save(b)](const Tensor& g, Needs need) -> TensorList {
                  Tensor x = a, y = b;
                  Tensor is_flat = logical_and(eq(x, zero()), le(y, zero()));
                  return {need[0] ? g * where(is_flat, zero(), log(y)) : Tensor(),
                          need[1] ? g * x / y : Tensor()};
                });
}

namespace {

// The derivative of the upper bound of the integral; PyTorch has none for the parameter.
Tensor record_igamma(const char* node, const char* name, double sign, const Tensor& y,
                     const Tensor& a, const Tensor& x) {
  return record(node, y, {a, x},
                [a = save(a), x = save(x), name, sign](const Tensor& g, Needs need) -> TensorList {
                  check_not_implemented(!need[0], name, ": the derivative for '", name,
                                        ": input' is not implemented.");
                  Tensor p = a, q = x;
                  return {Tensor(), g * exp((p - 1) * log(q) - q - lgamma(p)) * sign};
                });
}

}  // namespace

Tensor igamma(const Tensor& a, const Tensor& x) {
  return record_igamma("IgammaBackward0", "igamma", 1,
                       promoted("igamma", BinaryOp::igamma, Kinds::FONLY, a, x), a, x);
}

Tensor igammac(const Tensor& a, const Tensor& x) {
  return record_igamma("IgammacBackward0", "igammac", -1,
                       promoted("igammac", BinaryOp::igammac, Kinds::FONLY, a, x), a, x);
}

Tensor heaviside(const Tensor& x, const Tensor& values) {
  check_ordered("heaviside", x, values);
  check(x.dtype() == values.dtype(), "heaviside: expected input and values of one dtype, got ", x,
        " and ", values, ".");
  Tensor y = apply_binary("heaviside", BinaryOp::heaviside, x, values, x.dtype());
  return record("NotImplemented", y, {x, values}, [](const Tensor&, Needs) -> TensorList {
    fail(ErrorKind::Runtime, "heaviside: the derivative for 'heaviside' is not implemented.");
  });
}

Tensor ldexp(const Tensor& x, const Tensor& other) {
  // 16 bits do not hold the powers that a product of 16 bits may need.
  DType dtype = compute_dtype(Kinds::FC, result_type({x, other}));
  DType wide = promote_types(dtype, DType::Float32);
  Tensor y;
  {
    NoGradGuard guard;
    y = cast_to(mul(x, pow(wrapped_number(2.0), cast_to(other, wide))), dtype);
  }
  return record(
      "LdexpBackward0", y, {x, other},
      [other = save(other), y = save_output(other.requires_grad() ? y : Tensor()), wide](
          const Tensor& g, Needs need) -> TensorList {
        return {need[0] ? g * conj(pow(wrapped_number(2.0), to_dtype(other, wide))) : Tensor(),
                need[1] ? g * conj(Tensor(y) * kLn2) : Tensor()};
      });
}

// Of integers only, so nothing is recorded.
#define INTEGER_BINARY(name, op)                                         \
  Tensor name(const Tensor& a, const Tensor& b) {                        \
    return apply_binary(#name, BinaryOp::op, a, b, result_type({a, b})); \
  }
INTEGER_BINARY(gcd, gcd)
INTEGER_BINARY(lcm, lcm)
INTEGER_BINARY(bitwise_and, bitwise_and)
INTEGER_BINARY(bitwise_or, bitwise_or)
INTEGER_BINARY(bitwise_xor, bitwise_xor)
INTEGER_BINARY(bitwise_left_shift, left_shift)
INTEGER_BINARY(bitwise_right_shift, right_shift)
#undef INTEGER_BINARY

namespace {

// A complex tensor of two real ones. Both have the same floating dtype.
Tensor from_parts(const char* name, const Tensor& real_part, const Tensor& imag_part) {
  Dims shape = broadcast_shapes(name, real_part.sizes(), imag_part.sizes());
  NoGradGuard guard;
  Tensor y = empty_for(shape, to_complex_dtype(real_part.dtype()), {real_part, imag_part});
  Tensor parts = view_as_real(y);
  copy_into(select(parts, -1, 0), real_part);
  copy_into(select(parts, -1, 1), imag_part);
  return y;
}

void check_parts(const char* name, const Tensor& a, const Tensor& b) {
  check_destination(name, broadcast_shapes(name, a.sizes(), b.sizes()), to_complex_dtype(a.dtype()),
                    {a, b}, OutDType::Same);
  check_not_implemented(a.dtype() != DType::Float16 || b.dtype() != DType::Float16, name,
                        ": the result of two float16 tensors would be complex32, which is not "
                        "available. Convert them with .float().");
  bool has_complex = a.dtype() == DType::Float32 || a.dtype() == DType::Float64;
  check(has_complex, name, ": expected both inputs to be float32 or float64, got ", a, " and ", b,
        ".");
  check(a.dtype() == b.dtype(), name, ": expected both inputs to have one dtype, got ", a, " and ",
        b, ".");
}

}  // namespace

Tensor complex(const Tensor& real_part, const Tensor& imag_part) {
  check_parts("complex", real_part, imag_part);
  return record("ComplexBackward0", from_parts("complex", real_part, imag_part),
                {real_part, imag_part}, [](const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? real(g) : Tensor(), need[1] ? imag(g) : Tensor()};
                });
}

Tensor polar(const Tensor& size, const Tensor& angle) {
  check_parts("polar", size, angle);
  Tensor y;
  {
    NoGradGuard guard;
    y = from_parts("polar", size * cos(angle), size * sin(angle));
  }
  return record(
      "PolarBackward0", y, {size, angle},
      [angle = save(angle), y = save_output(y)](const Tensor& g, Needs need) -> TensorList {
        Tensor z = y;
        Tensor direction = complex(cos(angle), sin(angle));
        return {need[0] ? real(g * conj(direction)) : Tensor(),
                need[1] ? real(g * conj(z * Scalar(std::complex<double>(0, 1)))) : Tensor()};
      });
}

}  // namespace facula
