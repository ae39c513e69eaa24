// The tensor that the user wants a result in: out=, or the one that the form in place writes.
#pragma once
#include <initializer_list>
#include <optional>

#include "ops/shape/copy.h"

namespace facula {

// Set for as long as the operation runs, which checks it where its operands are known and before
// it computes: nothing is computed for a tensor that cannot take it.
class Destination {
 public:
  enum class Kind { Out, InPlace };
  Destination(const char* op, const Tensor& tensor, Kind kind);
  ~Destination();
  Destination(const Destination&) = delete;

  const char* op;  // "add" and "add_" are both add's
  const Tensor& tensor;
  Kind kind;
  bool is_checked = false;  // then operations of the same name, as hooks may call, are others
  bool is_recording;        // whether what has a history gets one

 private:
  Destination* outer_;
};

// Which dtypes out= may have.
enum class OutDType { Castable, Same };

// Raises if the destination of `op`, if there is one, cannot take a result of this shape and dtype
// made from these inputs.
void check_destination(const char* op, const Dims& shape, DType dtype,
                       std::initializer_list<TensorRef> inputs,
                       OutDType policy = OutDType::Castable);

// A tensor for the result of an element-wise kernel: the destination, which is checked as above,
// where the kernel may write to it at once; else a new one, as empty_for() makes it.
Tensor result_for(const char* op, const Dims& shape, DType dtype,
                  std::initializer_list<TensorRef> inputs, OutDType policy = OutDType::Castable);

// What an operation that changes some elements of x writes to: x itself where it may, in place;
// else a copy of x in this format.
Tensor target_for(const char* op, const Tensor& x, MemoryFormat format,
                  std::initializer_list<TensorRef> others);

// Whether a kernel that reads each element of its inputs before it writes that of its result may
// write it to `out` at once, where nothing is lost if the user's tensor changes before the end.
bool can_hold(const Tensor& out, const Dims& shape, DType dtype, bool is_recording,
              std::initializer_list<TensorRef> inputs);

// The part of it that concerns history: PyTorch refuses out= with a gradient before anything else.
void check_destination_history(const char* op, std::initializer_list<TensorRef> inputs);

// What f returns, in out= where it is given.
template <class F>
Tensor with_out(const char* op, const std::optional<Tensor>& out, F&& f) {
  if (!out) return f();
  Destination destination(op, *out, Destination::Kind::Out);
  return into_out(op, f(), *out);
}

}  // namespace facula
