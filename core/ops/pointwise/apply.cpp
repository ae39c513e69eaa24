#include "ops/pointwise/apply.h"

#include "autograd/node.h"
#include "base/number.h"
#include "cpu/run.h"
#include "cuda/cuda.h"
#include "ops/inplace.h"
#include "ops/ops.h"
#include "ops/result.h"

namespace facula {

namespace {

void run_unary(const char* name, UnaryOp op, const Tensor& out, const Tensor& x) {
  Walk walk = make_walk(name, out, {x});
  if (!walk.device.is_cpu()) return cuda::run_unary(op, out.dtype(), walk);
  run_cpu(walk, cpu::get_unary_table().get(op, out.dtype()));
}

// These raise RuntimeError, where the others raise NotImplementedError.
bool is_unsupported(UnaryOp op, DType dtype) {
  if (op == UnaryOp::neg || op == UnaryOp::relu) return dtype == DType::Bool;
  return (op == UnaryOp::deg2rad || op == UnaryOp::rad2deg) && is_complex(dtype);
}

bool promotes(Kinds kinds) { return kinds == Kinds::F || kinds == Kinds::FC; }

// Without promotion PyTorch does not convert on the way to out= either.
Tensor unary_result(const char* name, Kinds kinds, const Tensor& x) {
  return result_for(name, x.sizes(), compute_dtype(kinds, x.dtype()), {x},
                    promotes(kinds) ? OutDType::Castable : OutDType::Same);
}

// Not even meant for complex numbers: refused before out= is looked at.
bool is_real_only(UnaryOp op) {
  return op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::trunc || op == UnaryOp::sign;
}

void check_real_only(const char* name, UnaryOp op, const Tensor& x) {
  if (!is_real_only(op)) return;
  check_destination_history(name, {x});
  check_not_implemented(!is_complex(x.dtype()), name, ": not defined for ", x, ".");
}

void check_supported(const char* name, UnaryOp op, const Tensor& x, DType dtype) {
  check(!is_unsupported(op, x.dtype()), name, ": not supported for ", x, ".",
        op == UnaryOp::neg ? " Invert a mask with ~ or logical_not()." : "");
  check_not_implemented(cpu::get_unary_table().get(op, dtype) != nullptr, name,
                        ": not implemented for ", x, ".");
}

// Numbers for an operation in a 16-bit type stay wide: only the result is rounded.
bool stays_wide(const Tensor& number, const Tensor& other, DType dtype) {
  return is_reduced_float(dtype) && number.dim() == 0 && number.is_cpu() && other.dim() > 0;
}

// PyTorch's result of a float16 tensor with a complex number, or a 0-d tensor, is complex32.
void check_not_complex32(const char* name, const Tensor& a, const Tensor& b) {
  auto makes_it = [](const Tensor& x, const Tensor& other) {
    return x.dtype() == DType::Float16 && is_complex(other.dtype()) && !x->is_wrapped_number &&
           (other->is_wrapped_number || (other.dim() == 0 && x.dim() > 0));
  };
  check_not_implemented(!makes_it(a, b) && !makes_it(b, a), name, ": the result of ", a, " and ", b,
                        " would be complex32, which is not available. Convert them with .float().");
}

void run_parametric(const char* name, ParametricOp op, const Tensor& out, const Tensor& x,
                    std::array<Scalar, 3> params) {
  Loop loop = cpu::get_parametric_table().get(op, x.dtype());
  check_not_implemented(loop != nullptr, name, ": not implemented for ", x, ".");
  Walk walk = make_walk(name, out, {x});
  if (!walk.device.is_cpu()) return cuda::run_parametric(op, x.dtype(), walk, params.data());
  run_cpu(walk, loop, params.data());
}

// x, or where it lies across the result a copy that does not: that takes less time than reading it
// across, and up to a megabyte.
Tensor in_order_of(const Tensor& out, Tensor x) {
  constexpr int64_t kMinNumel = 4096, kMaxBytes = 1 << 20, kMinSize = 16;
  if (x.numel() < kMinNumel || x.numel() * x.itemsize() > kMaxBytes || !x.is_cpu() ||
      x.sizes() != out.sizes() || x.strides() == out.strides())
    return x;
  bool is_across = false, is_dense = false;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (x.size(d) < kMinSize) continue;
    is_across = is_across || (out.stride(d) == 1 && x.stride(d) >= kMinSize);
    is_dense = is_dense || x.stride(d) == 1;
  }
  if (!is_across || !is_dense) return x;
  Tensor y = empty_like(out, x.dtype(), x.device());
  copy_into(y, x);
  return y;
}

void run_binary(const char* name, BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b,
                DType dtype, Scalar p0, Scalar p1 = 0, Scalar p2 = 0) {
  check_not_complex32(name, a, b);
  Loop loop = cpu::binary_loop(op, dtype);
  check_not_implemented(loop != nullptr, name, ": not implemented for ", a, " and ", b, ".");
  bool may_be_wide = op != BinaryOp::nextafter;  // which goes from one 16-bit number to the next
  cpu::BinaryParams params{
      {p0, p1, p2}, may_be_wide && stays_wide(a, b, dtype), may_be_wide && stays_wide(b, a, dtype)};
  Tensor x = in_order_of(out, cast_to(a, params.a_is_wide ? DType::Float32 : dtype));
  Tensor y = in_order_of(out, cast_to(b, params.b_is_wide ? DType::Float32 : dtype));
  Walk walk = make_walk(name, out, {x, y});
  if (!walk.device.is_cpu()) return cuda::run_binary(op, dtype, walk, params);
  run_cpu(walk, loop, &params);
}

}  // namespace

Tensor cast_to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (x.dim() == 0 && x.is_cpu()) return scalar_tensor(item(x), dtype);
  Tensor y = empty_like(x, dtype, x.device());
  copy_into(y, x);
  return y;
}

DType compute_dtype(Kinds kinds, DType dtype) {
  return promotes(kinds) && !is_differentiable(dtype) ? get_default_dtype() : dtype;
}

Tensor apply_unary(const char* name, UnaryOp op, Kinds kinds, const Tensor& x) {
  check_real_only(name, op, x);
  Tensor y = unary_result(name, kinds, x);
  check_supported(name, op, x, y.dtype());
  run_unary(name, op, y, cast_to(x, y.dtype()));
  return y;
}

void apply_unary_(const char* name, UnaryOp op, Kinds kinds, const Tensor& x) {
  DType dtype = compute_dtype(kinds, x.dtype());
  check_real_only(name, op, x);
  check_supported(name, op, x, dtype);
  check_inplace_result(name, x, x.sizes(), dtype);
  run_unary(name, op, x, x);
  bump_version(x);
}

Tensor apply_parametric(const char* name, ParametricOp op, Kinds kinds, const Tensor& x, Scalar p0,
                        Scalar p1, Scalar p2) {
  Tensor y = unary_result(name, kinds, x);
  run_parametric(name, op, y, cast_to(x, y.dtype()), {p0, p1, p2});
  return y;
}

void apply_parametric_(const char* name, ParametricOp op, Kinds kinds, const Tensor& x, Scalar p0,
                       Scalar p1, Scalar p2) {
  check_inplace_result(name, x, x.sizes(), compute_dtype(kinds, x.dtype()));
  run_parametric(name, op, x, x, {p0, p1, p2});
  bump_version(x);
}

Tensor apply_predicate(const char* name, PredicateOp op, const Tensor& x) {
  check(!is_complex(x.dtype()) || (op != PredicateOp::isposinf && op != PredicateOp::isneginf),
        name, ": not supported for ", x, ".");
  Tensor y = result_for(name, x.sizes(), DType::Bool, {x});
  Loop loop = cpu::get_predicate_table().get(op, x.dtype());
  check_not_implemented(loop != nullptr, name, ": not implemented for ", x, ".");
  Walk walk = make_walk(name, y, {x});
  if (walk.device.is_cpu()) {
    run_cpu(walk, loop);
  } else {
    cuda::run_predicate(op, x.dtype(), walk);
  }
  return y;
}

Tensor apply_binary(const char* name, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype,
                    Scalar p0, Scalar p1, Scalar p2) {
  Dims shape = broadcast_shapes(name, a.sizes(), b.sizes());
  Tensor y = result_for(name, shape, dtype, {a, b});
  run_binary(name, op, y, a, b, dtype, p0, p1, p2);
  return y;
}

void apply_binary_(const char* name, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype,
                   Scalar p0) {
  check_inplace_result(name, a, broadcast_shapes(name, a.sizes(), b.sizes()), dtype);
  check_no_partial_overlap(name, a, b);
  if (dtype == a.dtype()) {
    run_binary(name, op, a, a, b, dtype, p0);
  } else {
    copy_into(a, apply_binary(name, op, a, b, dtype, p0));
  }
  bump_version(a);
}

Tensor apply_compare(const char* name, CompareOp op, const Tensor& a, const Tensor& b,
                     DType dtype) {
  Dims shape = broadcast_shapes(name, a.sizes(), b.sizes());
  Tensor y = result_for(name, shape, DType::Bool, {a, b});
  // Equality needs no result of that dtype.
  if (op != CompareOp::eq && op != CompareOp::ne) check_not_complex32(name, a, b);
  Loop loop = cpu::get_compare_table().get(op, dtype);
  check_not_implemented(loop != nullptr, name, ": not implemented for ", a, " and ", b, ".");
  Tensor p = cast_to(a, dtype), q = cast_to(b, dtype);
  Walk walk = make_walk(name, y, {p, q});
  if (walk.device.is_cpu()) {
    run_cpu(walk, loop);
  } else {
    cuda::run_compare(op, dtype, walk);
  }
  return y;
}

Tensor apply_ternary(const char* name, TernaryOp op, const Tensor& a, const Tensor& b,
                     const Tensor& c, DType dtype, Scalar p0) {
  Dims shape = broadcast_shapes(name, broadcast_shapes(name, a.sizes(), b.sizes()), c.sizes());
  OutDType out_dtype = op == TernaryOp::lerp ? OutDType::Same : OutDType::Castable;
  check_factor(name, "value", p0, dtype);
  Tensor y = result_for(name, shape, dtype, {a, b, c}, out_dtype);
  Loop loop = cpu::get_ternary_table().get(op, dtype);
  check_not_implemented(loop != nullptr, name, ": not implemented for ", a, ", ", b, " and ", c,
                        ".");
  Tensor p = cast_to(a, dtype), q = cast_to(b, dtype), r = cast_to(c, dtype);
  Walk walk = make_walk(name, y, {p, q, r});
  if (walk.device.is_cpu()) {
    run_cpu(walk, loop, &p0);
  } else {
    cuda::run_ternary(op, dtype, walk, p0);
  }
  return y;
}

Tensor apply_where(const char* name, const Tensor& mask, const Tensor& a, const Tensor& b,
                   DType dtype) {
  Dims shape = broadcast_shapes(name, broadcast_shapes(name, mask.sizes(), a.sizes()), b.sizes());
  Tensor y = result_for(name, shape, dtype, {mask, a, b});
  Tensor p = cast_to(a, dtype), q = cast_to(b, dtype);
  Walk walk = make_walk(name, y, {mask, p, q});
  if (walk.device.is_cpu()) {
    run_cpu(walk, cpu::get_where_table().loops[static_cast<int>(dtype)]);
  } else {
    cuda::run_where(dtype, walk);
  }
  return y;
}

}  // namespace facula
