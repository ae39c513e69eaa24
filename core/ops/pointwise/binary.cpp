#include "ops/pointwise/binary.h"

#include <cstring>

#include "cpu/run.h"
#include "cuda/cuda.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

// Numbers for an operation in a 16-bit type stay wide: only the result is rounded. Of two tensors
// without dimensions none is a number beside the other, unless Python gave it as one.
bool stays_wide(const Tensor& number, const Tensor& other, DType dtype) {
  return is_reduced_float(dtype) && number.dim() == 0 && number.is_cpu() &&
         (other.dim() > 0 || (number->is_wrapped_number && !other->is_wrapped_number));
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

void run(const char* name, const PairKernel& kernel, const Tensor& out, const Tensor& a,
         const Tensor& b, DType dtype, const std::array<Scalar, 3>& numbers) {
  check_not_complex32(name, a, b);
  check_not_implemented(kernel.loop != nullptr, name, ": not implemented for ", a, " and ", b, ".");
  cpu::BinaryParams params{{numbers[0], numbers[1], numbers[2]},
                           kernel.takes_wide && stays_wide(a, b, dtype),
                           kernel.takes_wide && stays_wide(b, a, dtype)};
  Tensor x = in_order_of(out, cast_to(a, params.a_is_wide ? DType::Float32 : dtype));
  Tensor y = in_order_of(out, cast_to(b, params.b_is_wide ? DType::Float32 : dtype));
  Walk walk = make_walk(name, out, {x, y});
  if (!walk.device.is_cpu()) return kernel.on_cuda(kernel.op, dtype, walk, params);
  run_cpu(walk, kernel.loop, &params);
}

void check_nothing(const char*, const Tensor&, const Tensor&, DType) {}
void check_ordered(const char* name, const Tensor& a, const Tensor& b, DType) {
  check(!is_complex(a.dtype()) && !is_complex(b.dtype()), name,
        ": not implemented for complex tensors, got ", a, " and ", b, ".");
}

// ---- gradients that take more than a line

Tensor zero() { return wrapped_number(0); }
Tensor zeros_of(const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); }

// g to the winner, half of it to each where they are equal.
Tensor to_larger(const Tensor& g, const Tensor& a, const Tensor& b) {
  return where(lt(a, b), zero(), where(eq(a, b), g * 0.5, g));
}
Tensor to_smaller(const Tensor& g, const Tensor& a, const Tensor& b) {
  return where(gt(a, b), zero(), where(eq(a, b), g * 0.5, g));
}
// Whether a is the result.
Tensor is_fmax(const Tensor& a, const Tensor& b) { return logical_or(ge(a, b), isnan(b)); }
Tensor is_fmin(const Tensor& a, const Tensor& b) { return logical_or(le(a, b), isnan(b)); }

Tensor atan2_slope(const Tensor& g, const Tensor& a, const Tensor& b) {
  Tensor square_sum = a * a + b * b;
  return where(eq(square_sum, zero()), zero(), g / square_sum);
}
// Of the upper bound of the integral; PyTorch has none for the parameter.
Tensor igamma_slope(const Tensor& g, const Tensor& a, const Tensor& x) {
  return g * exp((a - 1) * log(x) - x - lgamma(a));
}
[[noreturn]] Tensor no_derivative(const char* name) {
  fail(ErrorKind::NotImplemented, name, ": the derivative for '", name,
       ": input' is not implemented.");
}
[[noreturn]] Tensor no_floor_divide() {
  fail(ErrorKind::Runtime,
       "floor_divide: the derivative for 'floor_divide' is not implemented. Use "
       "div(..., rounding_mode='floor'), whose derivative is zero.");
}

const Tensor none;  // stands in rows without gradients

// Which tensors a gradient is made from.
struct Mentioned {
  bool a, b, y;
  constexpr explicit Mentioned(const char* gradient)
      : a(mentions(gradient, 'a')), b(mentions(gradient, 'b')), y(mentions(gradient, 'y')) {}
};

}  // namespace

bool makes_complex32(const Tensor& a, const Tensor& b) {
  auto makes_it = [](const Tensor& x, const Tensor& other) {
    return x.dtype() == DType::Float16 && is_complex(other.dtype()) && !x->is_wrapped_number &&
           (other->is_wrapped_number || (other.dim() == 0 && x.dim() > 0));
  };
  return makes_it(a, b) || makes_it(b, a);
}

void check_not_complex32(const char* name, const Tensor& a, const Tensor& b) {
  check_not_implemented(!makes_complex32(a, b), name, ": the result of ", a, " and ", b,
                        " would be complex32, which is not available. Convert them with .float().");
}

void check_divisor(const char* name, const Tensor&, const Tensor& b, DType dtype) {
  if (is_differentiable(dtype) || b.is_meta()) return;
  NoGradGuard guard;
  Tensor is_zero = contiguous(to(eq(b, wrapped_number(0)), Device{}, DType::Bool, false));
  check(!std::memchr(is_zero.data(), 1, static_cast<size_t>(is_zero.numel())), name,
        ": ZeroDivisionError: the divisor, ", b,
        ", has a zero, and integers have no infinity. Divide floating tensors instead.");
}

PairKernel pair_kernel(BinaryOp op, DType dtype) {
  return {cpu::binary_loop(op, dtype),
          [](int op, DType dtype, const Walk& walk, const cpu::BinaryParams& params) {
            cuda::run_binary(static_cast<BinaryOp>(op), dtype, walk, params);
          },
          static_cast<int>(op), op != BinaryOp::nextafter};
}

Tensor apply_pair(const char* name, const PairKernel& kernel, const Tensor& a, const Tensor& b,
                  DType dtype, const std::array<Scalar, 3>& numbers, const Into& into) {
  Dims shape = broadcast_shapes(name, a.sizes(), b.sizes());
  Tensor y = result_for(name, into, shape, dtype, {a, b});
  run(name, kernel, y, a, b, dtype, numbers);
  return y;
}

void apply_binary_(const char* name, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype,
                   Scalar p0) {
  check_inplace_result(name, a, broadcast_shapes(name, a.sizes(), b.sizes()), dtype);
  check_no_partial_overlap(name, a, b);
  if (dtype == a.dtype()) {
    run(name, pair_kernel(op, dtype), a, a, b, dtype, {p0});
  } else {
    copy_into(a, apply_binary(name, op, a, b, dtype, {}, p0));
  }
  bump_version(a);
}

// An operand is kept where a gradient that mentions it is wanted.
#define BINARY(name, names, numbers, kinds, check, formula, node, by_a, by_b, ...)          \
  Tensor name(const Tensor& a, const Tensor& b, const Into& into) {                         \
    DType dtype = compute_dtype(Kinds::kinds, result_type({a, b}));                         \
    check_##check(#name, a, b, dtype);                                                      \
    Tensor result = apply_binary(#name, BinaryOp::name, a, b, dtype, into);                 \
    if (!has_gradient(#by_a)) return result;                                                \
    bool need_a = a.requires_grad(), need_b = b.requires_grad();                            \
    if (!need_a && !need_b && !a->is_volatile && !b->is_volatile) return result;            \
    constexpr Mentioned in_a(#by_a), in_b(#by_b);                                           \
    bool keeps_a = (in_a.a && need_a) || (in_b.a && need_b);                                \
    bool keeps_b = (in_a.b && need_a) || (in_b.b && need_b);                                \
    bool keeps_y = (in_a.y && need_a) || (in_b.y && need_b);                                \
    return record(node, result, {a, b},                                                     \
                  [a = SavedIf < in_a.a || in_b.a > (keeps_a ? a : Tensor(), false),        \
                   b = SavedIf < in_a.b || in_b.b > (keeps_b ? b : Tensor(), false),        \
                   y = SavedIf < in_a.y || in_b.y > (keeps_y ? result : Tensor(), true)](   \
                      [[maybe_unused]] const Tensor& g, Needs need) -> TensorList {         \
                    return {need[0] ? by_a : Tensor(), need[1] ? by_b : Tensor()};          \
                  });                                                                       \
  }                                                                                         \
  Tensor& name##_(Tensor& a, const Tensor& b) {                                             \
    if (wants_history(a, b))                                                                \
      return in_place(#name "_", a,                                                         \
                      [&](const Tensor& x, const Into& into) { return name(x, b, into); }); \
    check_inplace(#name "_", a);                                                            \
    DType dtype = compute_dtype(Kinds::kinds, result_type({a, b}));                         \
    check_##check(#name "_", a, b, dtype);                                                  \
    apply_binary_(#name "_", BinaryOp::name, a, b, dtype);                                  \
    return a;                                                                               \
  }
#include "tables/binary.def"

Tensor heaviside(const Tensor& x, const Tensor& values, const Into& into) {
  check_ordered("heaviside", x, values, x.dtype());
  check(x.dtype() == values.dtype(), "heaviside: expected input and values of one dtype, got ", x,
        " and ", values, ".");
  Tensor y = apply_binary("heaviside", BinaryOp::heaviside, x, values, x.dtype(), into);
  return record("NotImplemented", y, {x, values}, [](const Tensor&, Needs) -> TensorList {
    fail(ErrorKind::Runtime, "heaviside: the derivative for 'heaviside' is not implemented.");
  });
}

Tensor ldexp(const Tensor& x, const Tensor& other, const Into&) {
  constexpr double kLn2 = 0.6931471805599453;
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

FACULA_BINDINGS {
#define BINARY(name, names, numbers, kinds, check, formula, node, by_a, by_b, sentence, arguments, \
               result)                                                                             \
  def_binary(m, #name, names, Numbers::numbers, name, name##_, {sentence, arguments, result});     \
  list_row("binary", #name);
#include "tables/binary.def"
  auto ldexp_ = [](Tensor& x, const Tensor& other) -> Tensor& {
    return in_place("ldexp_", x, [&](const Tensor& t) { return ldexp(t, other); });
  };
  def_binary(m, "ldexp", "", Numbers::TENSORS, ldexp, ldexp_,
             {"``input * 2**other``.", "facula.tensor([1.0, 5.0]), facula.tensor([2.0, 3.0])",
              "tensor([ 4., 40.])"});
  std::string doc = docstring("heaviside", {"0 below zero, 1 above, ``values`` at zero.",
                                            "facula.tensor([-1.0, 0.0, 1.0]), facula.tensor([0.5])",
                                            "tensor([0.0000, 0.5000, 1.0000])",
                                            "input: the elements.\n"
                                            "values: the results where elements are 0.\n"
                                            "out: where to put the result."});
  def_op_out(m, "heaviside", heaviside, "values"_a, doc.c_str());
  def_in_place("heaviside", "heaviside_", heaviside, "values"_a);
}

}  // namespace facula
