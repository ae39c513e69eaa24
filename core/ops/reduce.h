// Reductions. `dims` are the dimensions to reduce, all where empty; dim_mask() in reduction.h has the rules.
#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

Tensor sum(const Tensor& x, const Dims& dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor mean(const Tensor& x, const Dims& dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
// Undoes a broadcast: sums the dimensions along which `sizes` was expanded to x's.
Tensor sum_to_size(const Tensor& x, const Dims& sizes);

}  // namespace facula
