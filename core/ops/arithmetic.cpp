#include "ops/arithmetic.h"

#include "autograd/node.h"
#include "cuda/cuda.h"
#include "ops/inplace.h"
#include "ops/ops.h"

namespace facula {

namespace {

void run_binary(const char* name, BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  Walk walk = make_walk(name, out, {a, b});
  if (!walk.device.is_cpu()) return cuda::run_binary(op, out.dtype(), walk);
  Loop loop = cpu::get_binary_table().loops[static_cast<int>(op)][static_cast<int>(out.dtype())];
  check_not_implemented(loop != nullptr, name, ": not defined for ", a, " and ", b, ".");
  run_cpu(walk, loop);
}

// Both operands in one dtype, over the broadcast shape.
Tensor apply_binary(const char* name, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype) {
  Dims shape = broadcast_shapes(name, a.sizes(), b.sizes());
  Tensor y = empty_for(shape, dtype, {a, b});
  run_binary(name, op, y, to_dtype(a, dtype), to_dtype(b, dtype));
  return y;
}

// alpha * b, for the few calls that have an alpha.
Tensor scaled(const char* name, const Tensor& b, Scalar alpha, DType dtype) {
  check(!alpha.is_bool() || dtype == DType::Bool, name, ": Boolean alpha only supported for Boolean results.");
  check(is_differentiable(dtype) || alpha.is_integral(), name,
        ": For integral input tensors, argument alpha must not be a floating point number.");
  check(is_complex(dtype) || !alpha.is_complex(), name,
        ": For non-complex input tensors, argument alpha must not be a complex number.");
  return mul(b, wrapped_number(alpha));
}

bool is_one(Scalar alpha) { return !alpha.is_complex() && alpha.to_double() == 1.0; }

// a op= b without history: straight into a's memory.
void run_inplace(const char* name, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype) {
  Dims shape = broadcast_shapes(name, a.sizes(), b.sizes());
  check_inplace_result(name, a, shape, dtype);
  check_no_partial_overlap(name, a, b);
  if (dtype == a.dtype()) {
    run_binary(name, op, a, a, to_dtype(b, dtype));
  } else {
    copy_into(a, apply_binary(name, op, a, b, dtype));
  }
  bump_version(a);
}

bool wants_history(const Tensor& a, const Tensor& b) {
  return is_grad_enabled() && (a.requires_grad() || b.requires_grad());
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, Scalar alpha) {
  DType dtype = result_type({a, b});
  if (!is_one(alpha)) return add(a, scaled("add", b, alpha, dtype));
  Tensor y = apply_binary("add", BinaryOp::add, a, b, dtype);
  return record("AddBackward0", y, {a, b}, [](const Tensor& g, Needs) -> TensorList { return {g, g}; });
}

Tensor sub(const Tensor& a, const Tensor& b, Scalar alpha) {
  check(a.dtype() != DType::Bool || b.dtype() != DType::Bool,
        "sub: subtraction of two bool tensors is not supported. Use the ^ or logical_xor() operator instead.");
  check(a.dtype() != DType::Bool && b.dtype() != DType::Bool,
        "sub: subtraction with a bool tensor is not supported. If you are trying to invert a mask, use the ~ or "
        "logical_not() operator instead.");
  DType dtype = result_type({a, b});
  if (!is_one(alpha)) return sub(a, scaled("sub", b, alpha, dtype));
  Tensor y = apply_binary("sub", BinaryOp::sub, a, b, dtype);
  return record("SubBackward0", y, {a, b},
                [](const Tensor& g, Needs need) -> TensorList { return {g, need[1] ? neg(g) : Tensor()}; });
}

Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor y = apply_binary("mul", BinaryOp::mul, a, b, result_type({a, b}));
  return record("MulBackward0", y, {a, b},
                [a = save(b.requires_grad() ? a : Tensor()), b = save(a.requires_grad() ? b : Tensor())](
                    const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? g * conj(b) : Tensor(), need[1] ? g * conj(a) : Tensor()};
                });
}

Tensor div(const Tensor& a, const Tensor& b) {
  DType dtype = result_type({a, b});
  if (!is_differentiable(dtype)) dtype = get_default_dtype();
  Tensor y = apply_binary("div", BinaryOp::div, a, b, dtype);
  return record("DivBackward0", y, {a, b},
                [a = save(b.requires_grad() ? a : Tensor()), b = save(b)](const Tensor& g, Needs need) -> TensorList {
                  Tensor d = b;
                  return {need[0] ? g / conj(d) : Tensor(), need[1] ? neg(g * conj(div(div(a, d), d))) : Tensor()};
                });
}

Tensor& add_(Tensor& a, const Tensor& b, Scalar alpha) {
  if (!wants_history(a, b) && is_one(alpha)) {
    check_inplace("add_", a);
    run_inplace("add_", BinaryOp::add, a, b, result_type({a, b}));
    return a;
  }
  return in_place("add_", a, [&](const Tensor& x) { return add(x, b, alpha); });
}

Tensor& sub_(Tensor& a, const Tensor& b, Scalar alpha) {
  return in_place("sub_", a, [&](const Tensor& x) { return sub(x, b, alpha); });
}

Tensor& mul_(Tensor& a, const Tensor& b) {
  if (!wants_history(a, b)) {
    check_inplace("mul_", a);
    run_inplace("mul_", BinaryOp::mul, a, b, result_type({a, b}));
    return a;
  }
  return in_place("mul_", a, [&](const Tensor& x) { return mul(x, b); });
}

Tensor& div_(Tensor& a, const Tensor& b) {
  return in_place("div_", a, [&](const Tensor& x) { return div(x, b); });
}

}  // namespace facula
