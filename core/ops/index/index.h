// Gather, scatter and indexing by tensors.
#pragma once
#include <optional>
#include <string>

#include "ops/result.h"

namespace facula {

// x[indices[0], indices[1], ...]: an undefined tensor stands for a whole dimension. Masks (bool)
// count for as many dimensions as they have.
Tensor index(const Tensor& x, const TensorList& indices);
Tensor& index_put_(Tensor& x, const TensorList& indices, const Tensor& values,
                   bool accumulate = false);

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                 Scalar alpha = 1, const Into& into = {});

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
// A 0-d wrapped number as src fills.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
               const Into& into = {});
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                   const Into& into = {});

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value, const Into& into = {});

Tensor nonzero(const Tensor& x);  // (number of nonzero elements, number of dimensions), int64

// Bytes of bools that are more than 0 and 1 become 1 in a copy, for kernels that compare bits.
Tensor with_plain_bools(const Tensor& x);

// Zeros of `size` along dim, to which each element of g is added where index says: the transpose of
// gather().
Tensor put_along(const Tensor& g, int64_t dim, const Tensor& index, int64_t size);

}  // namespace facula
