// Where a result goes, and whether it may: into a fresh tensor, into the user's out=, or over the
// tensor of the form in place.
#pragma once
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "autograd/node.h"
#include "ops/shape/copy.h"
#include "walk/walk.h"

namespace facula {

// Given to an operation that can write its result at once; it checks the tensor where its operands
// are known and before it computes, so that nothing is computed for a tensor that cannot take it.
struct Into {
  const Tensor* tensor = nullptr;  // null: a fresh one
  const char* op = nullptr;        // as messages name the operation: "add", in place "add_"
  bool is_in_place = false;
  bool is_recording = false;  // whether what has a history gets one

  static Into out(const char* op, const Tensor& tensor) {
    return {&tensor, op, false, is_grad_enabled()};
  }
  static Into place(const char* op, const Tensor& tensor) {
    return {&tensor, op, true, is_grad_enabled()};
  }
};

// Raise unless a result of this dtype may be stored in out=.
void check_out_history(const char* op, bool has_history);
void check_out_dtype(const char* op, DType dtype, const Tensor& out);
// Gives out= the shape of a result, with PyTorch's warning where it had elements.
void resize_out(const char* op, const Tensor& out, const Dims& shape);
// Stores a result in the out= argument: checks, resizes, copies. An undefined `out` returns the
// result itself.
Tensor into_out(const char* op, Tensor result, const Tensor& out);

// Which dtypes out= may have.
enum class OutDType { Castable, Same };

// Raises if `into` cannot take a result of this shape and dtype made from these inputs.
void check_into(const char* op, const Into& into, const Dims& shape, DType dtype,
                std::initializer_list<TensorRef> inputs, OutDType policy = OutDType::Castable);

// The part of it that concerns history: PyTorch refuses out= with a gradient before anything else.
void check_into_history(const char* op, const Into& into, std::initializer_list<TensorRef> inputs);

// Whether a kernel that reads each element of its inputs before it writes that of its result may
// write it to `out` at once, where nothing is lost if the user's tensor changes before the end.
bool can_hold(const Tensor& out, const Dims& shape, DType dtype, bool is_recording,
              std::initializer_list<TensorRef> inputs);

// A tensor for the result of an element-wise kernel: the one that `into` names, which is checked as
// above, where the kernel may write to it at once; else a new one, as empty_for() makes it.
Tensor checked_result_for(const char* op, const Into& into, const Dims& shape, DType dtype,
                          std::initializer_list<TensorRef> inputs, OutDType policy);
inline Tensor result_for(const char* op, const Into& into, const Dims& shape, DType dtype,
                         std::initializer_list<TensorRef> inputs,
                         OutDType policy = OutDType::Castable) {
  if (!into.tensor) return empty_for(shape, dtype, inputs);
  return checked_result_for(op, into, shape, dtype, inputs, policy);
}

// What an operation that changes some elements of x writes to: x itself where it may, in place;
// else a copy of x in this format.
Tensor target_for(const Into& into, const Tensor& x, MemoryFormat format,
                  std::initializer_list<TensorRef> others);

namespace detail {
// Operations that write their result at once take `into`; the others' results are copied.
template <class F, class... Args>
Tensor call_into(F& f, const Into& into, const Args&... args) {
  if constexpr (std::is_invocable_v<F&, const Args&..., const Into&>) {
    return f(args..., into);
  } else {
    return f(args...);
  }
}
}  // namespace detail

using Out = std::optional<Tensor>;

// What f() or f(into) returns, in out= where it is given.
template <class F>
Tensor with_out(const char* op, const Out& out, F&& f) {
  if (!out) return detail::call_into(f, Into{});
  return into_out(op, detail::call_into(f, Into::out(op, *out)), *out);
}

// For operations that choose elements of their inputs: PyTorch refuses an out that, once it has the
// shape of the result, is one of them or shares memory with one. Returns the result.
Tensor check_apart(const char* op, const Tensor& result, const Out& out,
                   std::initializer_list<TensorRef> inputs);

// Raises unless a result of this shape and dtype may be stored in x.
void check_inplace_result(const char* op, const Tensor& x, const Dims& shape, DType dtype);

// x becomes f(x), or f(x, into). f is an operation whose first recorded input is x.
template <class F>
Tensor& in_place(const char* op, Tensor& x, F&& f) {
  check_inplace(op, x);
  Into into = Into::place(op, x);
  if (!is_grad_enabled() || x->is_volatile) {
    Tensor y = detail::call_into(f, into, x);
    check_inplace_result(op, x, y.sizes(), y.dtype());
    if (!y.is_same(x)) copy_into(x, y);
    bump_version(x);
    return x;
  }
  // f may save its input, which is about to be overwritten, so it gets a copy with the history of
  // x.
  Tensor y = detail::call_into(f, into, x.requires_grad() ? clone_with_history(x) : x);
  // Only another operand has a history: seldom, so that a second run costs less than a copy always.
  if (y.requires_grad() && !x.requires_grad()) y = detail::call_into(f, into, clone(x));
  check_inplace_result(op, x, y.sizes(), y.dtype());
  if (y.requires_grad()) check_recorded_write(op, x);
  if (y.requires_grad() && x.is_view()) {
    copy_(x, y);
    return x;
  }
  if (!y.is_same(x)) copy_into(x, y);
  bump_version(x);
  if (y.requires_grad()) rebase_history(x, y);
  return x;
}

}  // namespace facula
