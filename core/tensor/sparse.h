// Sparse tensors, as far as the core knows them: objects of one subclass of Tensor, which the
// package facula.sparse gives when it is imported. Such an object has a shape, a dtype, a device
// and a history like any other. What it holds is known to the package alone, and so are its
// operations; its memory is one element that all places share, which nothing reads and nothing can
// write to.
#pragma once
#include "tensor/tensor.h"

namespace facula {

extern PyTypeObject* sparse_type;  // null until a sparse tensor can exist

inline bool is_sparse(const Tensor& x) { return sparse_type && Py_TYPE(x.get()) == sparse_type; }

}  // namespace facula
