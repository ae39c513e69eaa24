// Views: other sizes and strides over the same memory.
#pragma once
#include "tensor/tensor.h"

namespace facula {

Tensor as_strided(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset);
Tensor view(const Tensor& x, const Dims& sizes);
Tensor reshape(const Tensor& x, const Dims& sizes);
Tensor expand(const Tensor& x, const Dims& sizes);
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1);
Tensor t(const Tensor& x);
Tensor permute(const Tensor& x, const Dims& dims);
Tensor select(const Tensor& x, int64_t dim, int64_t index);
Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step = 1);
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, const Dims& dims);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor alias_view(const Tensor& x);  // all of x
Tensor detach(const Tensor& x);
Tensor view_as_real(const Tensor& x);
Tensor view_as_complex(const Tensor& x);
Tensor view_dtype(const Tensor& x, DType dtype);

}  // namespace facula
