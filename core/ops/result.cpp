#include "ops/result.h"

#include <cstring>

#include "autograd/node.h"
#include "ops/inplace.h"
#include "walk/walk.h"

namespace facula {

namespace {

thread_local Destination* current = nullptr;

bool is_awaited_by(const char* op) {
  if (!current || current->is_checked) return false;
  size_t n = std::strlen(op);
  if (std::strncmp(current->op, op, n) != 0) return false;
  const char* rest = current->op + n;
  return !*rest || (rest[0] == '_' && !rest[1]);
}

}  // namespace

Destination::Destination(const char* op, const Tensor& tensor, Kind kind)
    : op(op), tensor(tensor), kind(kind), is_recording(is_grad_enabled()), outer_(current) {
  current = this;
}
Destination::~Destination() { current = outer_; }

void check_destination_history(const char* op, std::initializer_list<TensorRef> inputs) {
  if (!is_awaited_by(op) || current->kind != Destination::Kind::Out) return;
  bool has_history = current->tensor.requires_grad();
  for (const TensorRef& input : inputs) has_history = has_history || input->requires_grad();
  check_out_history(op, has_history);
}

void check_destination(const char* op, const Dims& shape, DType dtype,
                       std::initializer_list<TensorRef> inputs, OutDType policy) {
  if (!is_awaited_by(op)) return;
  const Tensor& tensor = current->tensor;
  if (is_differentiable(dtype)) {
    check_destination_history(op, inputs);
  } else {
    check_destination_history(op, {});  // a comparison has no derivative, whatever it compares
  }
  current->is_checked = true;
  if (current->kind == Destination::Kind::InPlace) {
    check_inplace_result(current->op, tensor, shape, dtype);
  } else {
    check_out_dtype(op, dtype, tensor);
    check(policy == OutDType::Castable || tensor.dtype() == dtype, op,
          ": expected out to have dtype ", dtype, ", got ", tensor.dtype(), ".");
  }
  for (const TensorRef& input : inputs)
    if (!input->is_same(tensor)) check_no_partial_overlap(current->op, tensor, *input);
}

bool can_hold(const Tensor& out, const Dims& shape, DType dtype, bool is_recording,
              std::initializer_list<TensorRef> inputs) {
  if (out.dtype() != dtype || out.sizes() != shape || has_internal_overlap(out)) return false;
  for (const TensorRef& ref : inputs) {
    const Tensor& input = *ref;
    if (is_recording && input.requires_grad()) return false;
    if (input.device() != out.device() && input.dim() > 0) return false;
    bool is_it = input.offset() == out.offset() && input.sizes() == shape &&
                 input.strides() == out.strides() && input.dtype() == dtype;
    if (input.storage() == out.storage() && !is_it) return false;
  }
  return true;
}

Tensor result_for(const char* op, const Dims& shape, DType dtype,
                  std::initializer_list<TensorRef> inputs, OutDType policy) {
  if (!is_awaited_by(op)) return empty_for(shape, dtype, inputs);
  check_destination(op, shape, dtype, inputs, policy);
  if (can_hold(current->tensor, shape, dtype, current->is_recording, inputs))
    return current->tensor;
  return empty_for(shape, dtype, inputs);
}

Tensor target_for(const char* op, const Tensor& x, MemoryFormat format,
                  std::initializer_list<TensorRef> others) {
  bool is_x = is_awaited_by(op) && current->kind == Destination::Kind::InPlace &&
              x.is_same(current->tensor) &&
              can_hold(x, x.sizes(), x.dtype(), current->is_recording, {x});
  for (const TensorRef& other : others)
    is_x = is_x && other->storage() != x.storage() &&
           !(current->is_recording && other->requires_grad());
  if (is_x) {
    current->is_checked = true;
    return x;
  }
  NoGradGuard guard;
  return clone(x, format);
}

}  // namespace facula
