// How a tensor is reduced: which dimensions, the shape that is left, and the walk that feeds the
// kernels of core/cpu/reduce.h.
#pragma once
#include "cpu/reduce.h"
#include "tensor/tensor.h"

namespace facula {

// Dimensions as bits. No dimensions named means all of them; naming one twice is an error.
using DimMask = uint64_t;
DimMask dim_mask(const char* op, const Dims& dims, int64_t n_dims);
inline bool is_in(DimMask mask, int64_t dim) { return (mask >> dim) & 1; }

Dims reduced_shape(const Tensor& x, DimMask mask, bool keepdim);
int64_t reduced_numel(const Tensor& x, DimMask mask);

// The dtype in which kernels read x: float32 for the 16-bit floats, int64 for integers and bool.
DType wide_dtype(DType dtype);

// Reduces the dimensions of x in `mask` into `values`, which is contiguous and of any dtype, and
// for the operations that have one the second result into `seconds` (contiguous; int64 indices or
// float64 means). x is read as `read_dtype`. Pieces are cut by size alone and joined in a fixed
// tree: the bits do not depend on the number of threads.
void run_reduction(const char* op, cpu::ReduceOp kernel, const Tensor& x, DimMask mask,
                   DType read_dtype, const Tensor& values, const Tensor& seconds = {},
                   const cpu::ReduceParams& params = {});

}  // namespace facula
