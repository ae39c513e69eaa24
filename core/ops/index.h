// Gather, scatter and indexing by tensors.
#pragma once
#include "tensor/tensor.h"

namespace facula {

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha = 1);

}  // namespace facula
