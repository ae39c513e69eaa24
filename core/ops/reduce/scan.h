// Running totals along a dimension.
#pragma once
#include <optional>
#include <utility>

#include "ops/result.h"

namespace facula {

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}, const Into& into = {});
std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);  // values and places

// The gradient of x, from that of cumprod(x, dim).
Tensor cumprod_backward(const Tensor& g, const Tensor& x, int64_t dim);

}  // namespace facula
