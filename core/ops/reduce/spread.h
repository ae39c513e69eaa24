// Squared distances from the mean, divided by their number less `correction`.
#pragma once
#include <utility>

#include "tensor/tensor.h"

namespace facula {

Tensor var(const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims = {}, double correction = 1,
                                   bool keepdim = false);

}  // namespace facula
