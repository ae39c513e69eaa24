// Largest and smallest elements, and where they are.
#pragma once
#include <optional>
#include <utility>

#include "walk/reduction.h"

namespace facula {

using ValuesAndIndices = std::pair<Tensor, Tensor>;

// The smallest and the largest.
std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {},
                                  bool keepdim = false);

// Raise where x has no largest or smallest element.
void check_ordered(const char* op, const Tensor& x);
void check_not_empty(const char* op, const Tensor& x);
void check_dims_not_empty(const char* op, const Tensor& x, DimMask mask);

// The elements of x at `indices` (one per line, `dim` kept) as the result of an operation that
// picks them.
ValuesAndIndices values_at(const char* node, const Tensor& x, int64_t dim, bool keepdim,
                           Tensor indices);
// The elements of x that are equal to y, the result with the reduced dimensions kept, each with its
// share of the gradient g of y.
Tensor share_evenly(const Tensor& g, const Tensor& x, const Tensor& y);
// Records that y (0-d) is the value of some elements of x, which share its gradient evenly.
Tensor record_shared(const char* node, const Tensor& x, const Tensor& y);

}  // namespace facula
