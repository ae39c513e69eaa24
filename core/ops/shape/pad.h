// Borders around a tensor.
#pragma once
#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace facula {

// `pad` lists (before, after) from the last dimension on; negative numbers crop.
Tensor constant_pad_nd(const Tensor& x, const Dims& pad, Scalar value = 0);
// mode: "constant", "reflect", "replicate" or "circular".
Tensor pad(const Tensor& x, const Dims& pad, const std::string& mode, std::optional<double> value);

}  // namespace facula
