// Reductions. `dims` are the dimensions to reduce, all where empty; dim_mask() in reduction.h has
// the rules.
#pragma once
#include <optional>

#include "tensor/tensor.h"
#include "walk/reduction.h"

namespace facula {

// The rows of tables/reduce.def. Elements are converted to `dtype` first.
#define REDUCTION(name, ...)                                                \
  Tensor name(const Tensor& x, const Dims& dims = {}, bool keepdim = false, \
              std::optional<DType> dtype = {});
#include "tables/reduce.def"

// Reduces the dimensions of x in `mask` into `values`, which is contiguous and of any dtype, and
// for the operations that have one the second result into `seconds` (contiguous; int64 indices or
// float64 means). x is read as `read_dtype`. Pieces are cut by size alone and joined in a fixed
// tree: the bits do not depend on the number of threads. Nothing is recorded.
void run_reduction(const char* op, ReduceOp kernel, const Tensor& x, DimMask mask, DType read_dtype,
                   const Tensor& values, const Tensor& seconds = {},
                   const ReduceParams& params = {});

// What is left of a tensor of these sizes, or its gradient, with the reduced dimensions as ones
// again: so it broadcasts to these sizes.
Tensor with_kept_dims(const Tensor& y, const Dims& sizes, DimMask mask, bool keepdim);

// Undoes a broadcast: sums the dimensions along which `sizes` was expanded to x's.
Tensor sum_to_size(const Tensor& x, const Dims& sizes);

}  // namespace facula
