// More views, made of the few in view.h, and operations that move elements without changing them.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// ---- views
Tensor flatten(const Tensor& x, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination);
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
enum class Pieces { Views, Unsafe };  // Unsafe: written to in place although gradients are recorded
TensorList chunk(const Tensor& x, int64_t chunks, int64_t dim = 0, Pieces kind = Pieces::Views);
TensorList unbind(const Tensor& x, int64_t dim = 0);
// A view of `length` elements from `start` on, without history or checks.
Tensor piece_of(const Tensor& x, int64_t dim, int64_t start, int64_t length);

// ---- copies
// Into `out` where it has the result's shape and dtype and nothing to do with the tensors.
Tensor cat(const TensorList& tensors, int64_t dim = 0, const Tensor& out = {});
Tensor stack(const TensorList& tensors, int64_t dim = 0);
Tensor flip(const Tensor& x, const Dims& dims);
Tensor repeat(const Tensor& x, const Dims& repeats);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

}  // namespace facula
