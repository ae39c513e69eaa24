// Largest and smallest elements, and where they are.
#pragma once
#include <optional>
#include <utility>

#include "ops/result.h"

namespace facula {

using ValuesAndIndices = std::pair<Tensor, Tensor>;

Tensor max(const Tensor& x, const Into& into = {});
Tensor min(const Tensor& x, const Into& into = {});
ValuesAndIndices max(const Tensor& x, int64_t dim, bool keepdim);
ValuesAndIndices min(const Tensor& x, int64_t dim, bool keepdim);
Tensor amax(const Tensor& x, const Dims& dims = {}, bool keepdim = false, const Into& into = {});
Tensor amin(const Tensor& x, const Dims& dims = {}, bool keepdim = false, const Into& into = {});
// The smallest and the largest.
std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {},
                                  bool keepdim = false);
// Of all elements, counted in order, without a dim.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);

// The elements of x at `indices` (one per line, `dim` kept) as the result of an operation that
// picks them.
ValuesAndIndices values_at(const char* node, const Tensor& x, int64_t dim, bool keepdim,
                           Tensor indices);
// Records that y (0-d) is the value of some elements of x, which share its gradient evenly.
Tensor record_shared(const char* node, const Tensor& x, const Tensor& y);

}  // namespace facula
