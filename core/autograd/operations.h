// The operations that the graph itself computes with: it adds gradients, brings them into form, and
// takes the part of a tensor that a view looks at. They are recorded like all others and stand in
// ops/, which stands on the graph; ops/for_graph.cpp puts them in here when the library is loaded.
#pragma once
#include "tensor/tensor.h"

namespace facula::graph {

struct Operations {
  Tensor (*add)(const Tensor& a, const Tensor& b);
  void (*add_to)(Tensor& sum, const Tensor& x);
  Tensor (*sum_to_size)(const Tensor& x, const Dims& sizes);
  Tensor (*to_dtype)(const Tensor& x, DType dtype);
  Tensor (*real)(const Tensor& x);
  Tensor (*clone)(const Tensor& x, MemoryFormat format);
  void (*copy_bytes)(const Tensor& to, const Tensor& from);  // not recorded
  void (*copy)(Tensor& to, const Tensor& from);              // recorded
  void (*fill_with_zeros)(Tensor& x);
  Tensor (*as_strided)(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset);
  Tensor (*view_as_real)(const Tensor& x);
  Tensor (*view_as_complex)(const Tensor& x);
  bool (*has_nan)(const Tensor& x);
  Tensor (*to_dense)(const Tensor& x);  // of a sparse tensor
  Tensor (*conj)(const Tensor& x);
  Tensor (*neg)(const Tensor& x);
  Tensor (*conj_view)(const Tensor& x);
  Tensor (*neg_view)(const Tensor& x);
  Tensor (*clone_with_history)(const Tensor& x);
  void (*resize)(const Tensor& x, const Dims& sizes);
};
extern Operations operations;

// x, or where it has marks (see Note [Lazy views]) a copy that stands for it in the graph: for
// tensors that come from Python by other ways than as arguments of operations.
inline Tensor resolved(const Tensor& x) {
  return x.defined() && x.is_lazy() ? operations.clone_with_history(x) : x;
}

}  // namespace facula::graph
