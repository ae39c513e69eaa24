// How a tensor is reduced: which dimensions, the shape that is left, and what is asked of the
// kernels.
#pragma once
#include "tensor/tensor.h"

namespace facula {

enum class ReduceOp : int {
  Sum,
  Mean,  // sum / params.divisor
  NanSum,
  Prod,
  Max,
  Min,
  ArgMax,
  ArgMin,
  Any,
  All,
  Norm0,    // how many are not zero
  Norm1,    // sum of magnitudes
  Norm2,    // root of the sum of squares
  NormP,    // params.p
  NormMax,  // largest magnitude
  NormMin,
  Moments,  // variance: squared distances from the mean / params.divisor; the second result is the
            // mean
  count
};

struct ReduceParams {
  double p = 2;
  double divisor = 1;
  bool takes_root = false;  // of the variance
};

// Dimensions as bits. No dimensions named means all of them; naming one twice is an error.
using DimMask = uint64_t;
DimMask dim_mask(const char* op, const Dims& dims, int64_t n_dims);
inline bool is_in(DimMask mask, int64_t dim) { return (mask >> dim) & 1; }

Dims reduced_shape(const Tensor& x, DimMask mask, bool keepdim);
int64_t reduced_numel(const Tensor& x, DimMask mask);

// The dtype in which kernels read x: float32 for the 16-bit floats, int64 for integers and bool.
DType wide_dtype(DType dtype);

}  // namespace facula
