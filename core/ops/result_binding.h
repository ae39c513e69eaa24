// Checks of the out= argument that some operations make and others need not.
#pragma once
#include "bind/bind.h"
#include "ops/inplace.h"
#include "walk/walk.h"

namespace facula {

using Out = std::optional<Tensor>;

// For operations that choose elements of their inputs: PyTorch refuses an out that, once it has the
// shape of the result, is one of them or shares memory with one. Returns the result.
inline Tensor check_apart(const char* op, const Tensor& result, const Out& out,
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

}  // namespace facula
