// More views, made of the few in view.h, and operations that move elements without changing them.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// ---- views
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination);
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step);
enum class Pieces { Views, Unsafe };  // Unsafe: written to in place although gradients are recorded
TensorList split(const Tensor& x, int64_t split_size, int64_t dim = 0, Pieces kind = Pieces::Views);
TensorList split(const Tensor& x, const Dims& split_sizes, int64_t dim = 0,
                 Pieces kind = Pieces::Views);
TensorList chunk(const Tensor& x, int64_t chunks, int64_t dim = 0, Pieces kind = Pieces::Views);
TensorList unbind(const Tensor& x, int64_t dim = 0);

// ---- copies with another tensor in place of a view
Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset = 0, int64_t dim1 = 0,
                        int64_t dim2 = 1);
Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index);
Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t start, int64_t end,
                     int64_t step);
Tensor as_strided_scatter(const Tensor& x, const Tensor& src, const Dims& sizes,
                          const Dims& strides, int64_t offset);

// ---- copies
// Into `out` where it has the result's shape and dtype and nothing to do with the tensors.
Tensor cat(const TensorList& tensors, int64_t dim = 0, const Tensor& out = {});
Tensor stack(const TensorList& tensors, int64_t dim = 0);
Tensor flip(const Tensor& x, const Dims& dims);
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims);
Tensor repeat(const Tensor& x, const Dims& repeats);
Tensor tile(const Tensor& x, const Dims& repeats);
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);
Tensor diag(const Tensor& x, int64_t diagonal = 0);

}  // namespace facula
