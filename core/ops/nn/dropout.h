// Dropout with a mask of one byte per element.
#pragma once
#include <optional>
#include <utility>

#include "tensor/tensor.h"

namespace facula {

Tensor dropout(const Tensor& x, double p, bool train);
Tensor& dropout_(Tensor& x, double p, bool train);
// The result and the mask of what was kept. Without `train` everything is.
std::pair<Tensor, Tensor> native_dropout(const Tensor& x, double p, std::optional<bool> train);

}  // namespace facula
