#include "ops/result.h"

#include <sstream>
#include <string_view>

#include "base/warning.h"
#include "bind/bind.h"
#include "ops/shape/view.h"

namespace facula {

void check_into_history(const char* op, const Into& into, std::initializer_list<TensorRef> inputs) {
  if (!into.tensor || into.is_in_place) return;
  bool has_history = into.tensor->requires_grad();
  for (const TensorRef& input : inputs) has_history = has_history || input->requires_grad();
  check_out_history(op, has_history);
}

void check_into(const char* op, const Into& into, const Dims& shape, DType dtype,
                std::initializer_list<TensorRef> inputs, OutDType policy) {
  if (!into.tensor) return;
  const Tensor& tensor = *into.tensor;
  check_inference(op, tensor);
  if (is_differentiable(dtype)) {
    check_into_history(op, into, inputs);
  } else {
    check_into_history(op, into, {});  // a comparison has no derivative, whatever it compares
  }
  if (into.is_in_place) {
    check_inplace_result(into.op, tensor, shape, dtype);
  } else {
    check_out_dtype(op, dtype, tensor);
    check(policy == OutDType::Castable || tensor.dtype() == dtype, op,
          ": expected out to have dtype ", dtype, ", got ", tensor.dtype(), ".");
  }
  for (const TensorRef& input : inputs)
    if (!input->is_same(tensor)) check_no_partial_overlap(into.op, tensor, *input);
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

Tensor checked_result_for(const char* op, const Into& into, const Dims& shape, DType dtype,
                          std::initializer_list<TensorRef> inputs, OutDType policy) {
  check_into(op, into, shape, dtype, inputs, policy);
  if (can_hold(*into.tensor, shape, dtype, into.is_recording, inputs)) return *into.tensor;
  return empty_for(shape, dtype, inputs);
}

Tensor target_for(const Into& into, const Tensor& x, MemoryFormat format,
                  std::initializer_list<TensorRef> others) {
  bool is_x = into.is_in_place && x.is_same(*into.tensor) &&
              can_hold(x, x.sizes(), x.dtype(), into.is_recording, {x});
  for (const TensorRef& other : others)
    is_x =
        is_x && other->storage() != x.storage() && !(into.is_recording && other->requires_grad());
  if (is_x) return x;
  NoGradGuard guard;
  return clone(x, format);
}

Tensor check_apart(const char* op, const Tensor& result, const Out& out,
                   std::initializer_list<TensorRef> inputs) {
  if (!out) return result;
  Tensor resized = alias(*out);
  if (out->sizes() != result.sizes())
    set_geometry(resized, result.sizes(), contiguous_strides(result.sizes()), out->offset());
  for (const TensorRef& input : inputs) {
    bool is_same = resized.storage() == input->storage() && resized.offset() == input->offset() &&
                   resized.sizes() == input->sizes() && resized.numel() > 0;
    check(!is_same, op,
          ": unsupported operation: out and an input are the same memory. Please clone() the "
          "input before performing the operation.");
    check_no_partial_overlap(op, resized, *input);
  }
  return result;
}

void check_inplace_result(const char* op, const Tensor& x, const Dims& shape, DType dtype) {
  check(shape == x.sizes(), op, ": expected a result of the shape of the tensor written to, ",
        x.sizes(), ", got ", shape, ".");
  check(can_cast(dtype, x.dtype()), op, ": the result is ", dtype,
        " and cannot be stored in a tensor of ", x.dtype(), ".");
}

namespace {

enum OutRules : unsigned { EXACT = 1, COPIED = 2, SEVERED = 4, SILENT = 8 };

unsigned out_rules(std::string_view op) {
  struct Row {
    std::string_view name;
    unsigned rules;
  };
  constexpr Row rows[] = {
#define OUT(name, rules) {name, rules},
#include "tables/out.def"
  };
  for (const Row& row : rows)
    if (row.name == op) return row.rules;
  return 0;
}

}  // namespace

void check_out_history(const char* op, bool has_history) {
  check(!has_history || !is_grad_enabled() || out_rules(op) & (COPIED | SEVERED), op,
        ": out= takes no part in differentiation, but one of the arguments requires grad. Leave "
        "out= away, or use no_grad().");
}

namespace {

// `from`: the dtype of a result, `to`: that of out=.
void check_dtypes(std::string_view op, DType from, DType to) {
  if (from == to) return;
  check(can_cast(from, to), op, ": the result is ", from, " and cannot be stored in out of ", to,
        ".");
  check(!(out_rules(op) & EXACT), op, ": expected out to have dtype ", from, ", got ", to, ".");
}

}  // namespace

void check_out_dtype(const char* op, DType dtype, const Tensor& out) {
  check_dtypes(op, dtype, out.dtype());
}

void resize_out(const char* op, const Tensor& out, const Dims& shape) {
  if (out.sizes() == shape) return;
  if (out.numel() != 0 && !(out_rules(op) & SILENT)) {
    std::ostringstream text;
    text << op << ": the out tensor was resized because it had " << out.numel()
         << " elements and another shape than the result; pass a tensor of the right shape, or one "
            "with no elements.";
    warn_user(text.str().c_str());
  }
  resize_(out, shape);
}

namespace {

void check_out(const char* op, const Tensor& result, const Tensor& out) {
  check_inference(op, out);
  check_out_history(op, result.requires_grad() || out.requires_grad());
  check_out_dtype(op, result.dtype(), out);
  check(result.device() == out.device(), op, ": expected out to be on ", result.device(), ", got ",
        out.device(), ".");
}

// For a result that has a history, of an operation whose out= takes part in it.
void write_recorded(const char* op, const Tensor& result, Tensor out) {
  if (out_rules(op) & COPIED) {
    copy_(out, result);
    return;
  }
  check_inplace(op, out);
  copy_into(out, result);
  bump_version(out);
  std::string name = op;
  Tensor severed = record("NotImplemented", detach(result), {result, out},
                          [name](const Tensor&, Needs) -> TensorList {
                            fail(ErrorKind::Runtime, name, ": the derivative for out= is not ",
                                 "implemented. Leave out= away.");
                          });
  rebase_history(out, severed);
}

}  // namespace

Tensor into_out(const char* op, Tensor result, const Tensor& out) {
  if (!out.defined()) return result;
  if (result.is_same(out)) {  // where the kernel has written it
    bump_version(out);
    return out;
  }
  check_out(op, result, out);
  resize_out(op, out, result.sizes());
  check(!has_internal_overlap(out), op, ": expected out with a place for each element, got ", out,
        ", where elements share places. Pass its clone() instead.");
  if (is_grad_enabled() && (result.requires_grad() || out.requires_grad())) {
    write_recorded(op, result, out);
    return out;
  }
  copy_into(out, result);
  bump_version(out);
  return out;
}

FACULA_BINDINGS {
  m.def(
      "_into_out",
      [](const std::string& op, const Tensor& result, const Tensor& out) {
        return into_out(op.c_str(), result, out);
      },
      "op"_a, "result"_a, "out"_a, "``out`` with the result of an operation in it.");
  m.def(
      "_check_out",
      [](const std::string& op, const Tensor& result, const Tensor& out) {
        check_out(op.c_str(), result, out);
      },
      "op"_a, "result"_a, "out"_a, "Raise unless the result may be stored in ``out``.");
  m.def(
      "_resize_out",
      [](const std::string& op, const Tensor& out, const Dims& shape) {
        resize_out(op.c_str(), out, shape);
      },
      "op"_a, "out"_a, "shape"_a, "Give ``out`` the shape of a result.");
  m.def(
      "_check_out_dtype",
      [](const std::string& op, DType result, DType out) { check_dtypes(op, result, out); }, "op"_a,
      "result"_a, "out"_a,
      "Raise unless a result of this dtype may be stored in ``out``, which has that dtype.");
}

}  // namespace facula
