#include "ops/pointwise/ternary.h"

#include "autograd/node_name.h"
#include "base/number.h"
#include "base/warning.h"
#include "cpu/pointwise/loop_tables.h"
#include "cpu/run.h"
#include "cuda/cuda.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

Tensor zero() { return wrapped_number(0); }

void check_nothing(const char*, const Tensor&, const Tensor&) {}
void check_floating(const char* name, const Tensor& a, const Tensor& b) {
  check(is_differentiable(a.dtype()) || is_differentiable(b.dtype()), name,
        ": integer division is not supported, got ", a, " and ", b,
        ". Convert one of them with .float().");
}

Scalar conjugate(Scalar x) { return x.is_complex() ? Scalar(std::conj(x.to_complex())) : x; }

}  // namespace

Tensor apply_where(const char* name, const Tensor& mask, const Tensor& a, const Tensor& b,
                   DType dtype, const Into& into) {
  Dims shape = broadcast_shapes(name, broadcast_shapes(name, mask.sizes(), a.sizes()), b.sizes());
  Tensor y = result_for(name, into, shape, dtype, {mask, a, b});
  Tensor p = cast_to(a, dtype), q = cast_to(b, dtype);
  Walk walk = make_walk(name, y, {mask, p, q});
  if (walk.device.is_cpu()) {
    run_cpu(walk, cpu::get_where_table().loops[static_cast<int>(carrier(dtype))]);
  } else {
    cuda::run_where(dtype, walk);
  }
  return y;
}

Tensor apply_ternary(const char* name, TernaryOp op, const Tensor& x, const Tensor& a,
                     const Tensor& b, DType dtype, const Into& into, Scalar p0) {
  Dims shape = broadcast_shapes(name, broadcast_shapes(name, x.sizes(), a.sizes()), b.sizes());
  OutDType out_dtype = op == TernaryOp::lerp ? OutDType::Same : OutDType::Castable;
  check_factor(name, "value", p0, dtype);
  Tensor y = result_for(name, into, shape, dtype, {x, a, b}, out_dtype);
  Loop loop = cpu::get_ternary_table().get(op, dtype);
  check_not_implemented(loop != nullptr, name, ": not implemented for ", x, ", ", a, " and ", b,
                        ".");
  Tensor p = cast_to(x, dtype), q = cast_to(a, dtype), r = cast_to(b, dtype);
  Walk walk = make_walk(name, y, {p, q, r});
  if (walk.device.is_cpu()) {
    run_cpu(walk, loop, &p0);
  } else {
    cuda::run_ternary(op, dtype, walk, p0);
  }
  return y;
}

#define TERNARY(name, kinds, check, formula, by_a, by_b, ...)                                      \
  Tensor name(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value, const Into& into) { \
    check_##check(#name, a, b);                                                                    \
    Tensor y =                                                                                     \
        apply_ternary(#name, TernaryOp::name, x, a, b, result_type({x, a, b}), into, value);       \
    constexpr bool a_in_b = mentions(#by_b, 'a'), b_in_b = mentions(#by_b, 'b');                   \
    bool keeps_a = a_in_b && b.requires_grad();                                                    \
    bool keeps_b = a.requires_grad() || (b_in_b && b.requires_grad());                             \
    static constexpr NodeName node(#name);                                                         \
    SavedTensor saved_a = save(keeps_a ? a : Tensor()), saved_b = save(keeps_b ? b : Tensor());    \
    return record(node, y, {x, a, b},                                                              \
                  [a = saved_a, b = saved_b, value](const Tensor& g, Needs need) -> TensorList {   \
                    return {g, need[1] ? by_a : Tensor(), need[2] ? by_b : Tensor()};              \
                  });                                                                              \
  }
#include "tables/ternary.def"

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, const Into& into) {
  check(condition.dtype() == DType::Bool || condition.dtype() == DType::UInt8,
        "where: expected a bool condition, got ", condition, ".");
  if (condition.dtype() == DType::UInt8)
    warn_user(
        "where received a uint8 condition tensor. This behavior is deprecated in PyTorch. Use a "
        "boolean condition instead.");
  Tensor mask = cast_to(condition, DType::Bool);
  DType dtype = result_type({a, b});
  for (const Tensor& x : {a, b})
    if (x->is_wrapped_number) check_number("where", item(x), dtype);
  Tensor y = apply_where("where", mask, a, b, dtype, into);
  return record("WhereBackward0", y, {a, b},
                [mask = save(mask)](const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? where(mask, g, zero()) : Tensor(),
                          need[1] ? where(mask, zero(), g) : Tensor()};
                });
}

Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight, const Into& into) {
  check(start.dtype() == end.dtype(), "lerp: expected end of ", start.dtype(), ", got ", end, ".");
  check(start.dtype() == weight.dtype() || weight.dim() == 0, "lerp: expected weight of ",
        start.dtype(), ", got ", weight, ".");
  Tensor y = apply_ternary("lerp", TernaryOp::lerp, start, end, weight, start.dtype(), into);
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

Tensor lerp(const Tensor& start, const Tensor& end, Scalar weight, const Into& into) {
  check(start.dtype() == end.dtype(), "lerp: expected end of ", start.dtype(), ", got ", end, ".");
  check_factor("lerp", "weight", weight, start.dtype());
  Tensor y = apply_binary("lerp", BinaryOp::lerp_scalar, start, end, start.dtype(), into, weight);
  return record("LerpBackward0", y, {start, end},
                [weight](const Tensor& g, Needs need) -> TensorList {
                  Scalar rest = weight.is_complex() ? Scalar(1.0 - weight.to_complex())
                                                    : Scalar(1 - weight.to_double());
                  return {need[0] ? g * conjugate(rest) : Tensor(),
                          need[1] ? g * conjugate(weight) : Tensor()};
                });
}

namespace {

using TernaryCall = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, Scalar, const Into&);

void def_ternary(nb::module_& m, const char* name, TernaryCall f, const Doc& given) {
  Doc full = given;
  full.meanings =
      "input: the tensor to add to.\ntensor1: the first tensor of the formula.\n"
      "tensor2: the second tensor of the formula.\nvalue: the factor of what is added.\n"
      "out: where to put the result.";
  std::string doc = docstring(name, full);
  nb::arg_v value = "value"_a = Scalar(1);
  def_op_out(m, name, f, "tensor1"_a, "tensor2"_a, nb::kw_only(), value, doc.c_str());
  def_in_place(name, in_place_name(name), f, "tensor1"_a, "tensor2"_a, nb::kw_only(), value);
}

Tensor lerp_by(const Tensor& a, const Tensor& b, const Operand& by, const Into& into) {
  const Tensor& weight = by;
  return weight->is_wrapped_number ? lerp(a, b, item(weight), into) : lerp(a, b, weight, into);
}

}  // namespace

FACULA_BINDINGS {
#define TERNARY(name, kinds, check, formula, by_a, by_b, sentence, arguments, result) \
  def_ternary(m, #name, name, {sentence, arguments, result});                         \
  list_row("ternary", #name);
#include "tables/ternary.def"

  std::string doc = docstring(
      "where",
      {"``input`` where ``condition`` is true, else ``other``; all three broadcast.",
       "facula.tensor([True, False]), facula.tensor([1.0, 2.0]), 0.0", "tensor([1., 0.])",
       "condition: where to take from input, bool.\n"
       "input: the results where the condition is true, a tensor or a number.\n"
       "other: the results elsewhere, a tensor or a number.\nout: where to put the result."});
  m.def(
      "where",
      [](const Tensor& condition, const Operand& a, const Operand& b, const Out& out) {
        return with_out("where", out,
                        [&](const Into& into) { return where(condition, a, b, into); });
      },
      "condition"_a, "input"_a, "other"_a, nb::kw_only(), "out"_or_none, doc.c_str());
  def_method(
      "where",
      [](const Tensor& x, const Tensor& condition, const Operand& other) {
        return where(condition, x, other);
      },
      "condition"_a, "other"_a, doc.c_str());

  doc = docstring(
      "lerp", {"``input + weight * (end - input)``; the weight is a number or a tensor.",
               "facula.tensor([0.0, 10.0]), facula.tensor([10.0, 20.0]), 0.5", "tensor([ 5., 15.])",
               "input: the result for a weight of 0.\n"
               "end: the result for a weight of 1.\n"
               "weight: how far to go from input to end, a number or a tensor.\n"
               "out: where to put the result."});
  def_op_out(m, "lerp", lerp_by, "end"_a, "weight"_a, doc.c_str());
  def_in_place("lerp", "lerp_", lerp_by, "end"_a, "weight"_a);
}

}  // namespace facula
