// Shapes for kernels, from walks.
#pragma once
#include "base/error.h"
#include "cuda/kernels/shape.h"
#include "walk/walk.h"

namespace facula::cuda {

// The dimensions d of the walk for which keeps(d); operand k is that of number operands[k].
template <int kOperands, class Keeps>
Shape<kOperands> shape_of(const Walk& walk, const int (&operands)[kOperands], Keeps keeps) {
  Shape<kOperands> shape{};
  shape.numel = 1;
  for (int d = 0; d < walk.n_dims; ++d) {
    if (!keeps(d)) continue;
    check(shape.n_dims < kShapeDims, "cuda: tensors of more than ", kShapeDims,
          " dimensions, which do not continue each other in memory, are not available here. Use "
          "contiguous() first.");
    shape.numel *= walk.sizes[d];
    shape.sizes[shape.n_dims] = walk.sizes[d];
    for (int k = 0; k < kOperands; ++k)
      shape.strides[k][shape.n_dims] = walk.strides[operands[k]][d];
    ++shape.n_dims;
  }
  return shape;
}

}  // namespace facula::cuda
