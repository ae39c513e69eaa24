// Reductions.
#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

// Over `dims` (all where empty).
Tensor sum(const Tensor& x, const Dims& dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
// Undoes a broadcast: sums the dimensions along which `sizes` was expanded to x's.
Tensor sum_to_size(const Tensor& x, const Dims& sizes);

}  // namespace facula
