// Dropout with a mask of one byte per element.
#pragma once
#include "tensor/tensor.h"

namespace facula {

Tensor dropout(const Tensor& x, double p, bool train);

}  // namespace facula
