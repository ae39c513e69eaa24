// Distances between rows, without derivatives: those are of the differences and their norms.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// Of (*, n, m) and (*, r, m), with the same batches: (*, n, r).
Tensor row_distances(const Tensor& x1, const Tensor& x2, double p);
// Of all pairs of rows of (n, m), each once: (n (n - 1) / 2,).
Tensor pair_distances(const Tensor& x, double p);

}  // namespace facula
