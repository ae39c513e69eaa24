#include "walk/reduction.h"

namespace facula {

DimMask dim_mask(const char* op, const Dims& dims, int64_t n_dims) {
  if (dims.empty()) return ~DimMask(0);
  DimMask mask = 0;
  for (int64_t d : dims) {
    int64_t dim = wrap_dim(op, d, n_dims);
    check(!is_in(mask, dim), op, ": expected each dimension once, got ", dims, ".");
    mask |= DimMask(1) << dim;
  }
  return mask;
}

Dims reduced_shape(const Tensor& x, DimMask mask, bool keepdim) {
  Dims shape;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (!is_in(mask, d)) {
      shape.push_back(x.size(d));
    } else if (keepdim) {
      shape.push_back(1);
    }
  }
  return shape;
}

int64_t reduced_numel(const Tensor& x, DimMask mask) {
  int64_t n = 1;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (is_in(mask, d)) n *= x.size(d);
  return n;
}

DType wide_dtype(DType dtype) {
  if (is_reduced_float(dtype)) return DType::Float32;
  return is_differentiable(dtype) ? dtype : DType::Int64;
}

}  // namespace facula
