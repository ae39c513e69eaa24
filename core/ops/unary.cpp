#include "ops/unary.h"

#include "autograd/node.h"
#include "cuda/cuda.h"
#include "ops/inplace.h"
#include "ops/ops.h"

namespace facula {

namespace {

bool defined_for(UnaryOp op, DType dtype) {
  return cpu::get_unary_table().loops[static_cast<int>(op)][static_cast<int>(dtype)] != nullptr;
}

void run_unary(const char* name, UnaryOp op, const Tensor& out, const Tensor& x) {
  Walk walk = make_walk(name, out, {x});
  if (!walk.device.is_cpu()) return cuda::run_unary(op, out.dtype(), walk);
  run_cpu(walk, cpu::get_unary_table().loops[static_cast<int>(op)][static_cast<int>(out.dtype())]);
}

// The dtype it is computed in: its own where the operation is defined for it, else the default floating one.
DType compute_dtype(const char* name, UnaryOp op, const Tensor& x) {
  if (defined_for(op, x.dtype())) return x.dtype();
  bool promotes = !is_differentiable(x.dtype()) && !defined_for(op, DType::Int64);
  check_not_implemented(promotes, name, ": not defined for ", x, ".");
  return get_default_dtype();
}

Tensor apply_unary(const char* name, UnaryOp op, const Tensor& x) {
  DType dtype = compute_dtype(name, op, x);
  Tensor in = to_dtype(x, dtype);
  Tensor y = empty_for(in.sizes(), dtype, {in});
  run_unary(name, op, y, in);
  return y;
}

}  // namespace

#define UNARY(name, node, kinds, formula, gradient)                                      \
  Tensor name(const Tensor& x) {                                                         \
    Tensor y = apply_unary(#name, UnaryOp::name, x);                                     \
    return record(node, y, {x}, [x = save(x), y = save_output(y)](const Tensor& g) -> Tensor { \
      return gradient;                                                                   \
    });                                                                                  \
  }                                                                                      \
  Tensor& name##_(Tensor& x) {                                                           \
    return in_place(#name "_", x, [](const Tensor& t) { return name(t); });              \
  }
#include "ops/unary.def"
#undef UNARY

}  // namespace facula
