#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

// The p-norm of all elements along the dimensions, all where empty, as one vector; p may be
// infinite.
Tensor vector_norm(const Tensor& input, double p, const Dims& dims, bool keepdim,
                   std::optional<DType> dtype);

}  // namespace facula
