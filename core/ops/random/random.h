// Random tensors. The generator's kind decides which numbers: see random/generator.h.
#pragma once
#include "random/generator.h"
#include "tensor/tensor.h"

namespace facula {

Tensor& normal_(Tensor& x, double mean, double std, Generator& generator);
Tensor& exponential_(Tensor& x, double lambd, Generator& generator);
Tensor& bernoulli_(Tensor& x, double p, Generator& generator);

}  // namespace facula
