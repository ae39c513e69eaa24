// Running totals along a dimension.
#pragma once
#include <optional>
#include <utility>

#include "ops/result.h"

namespace facula {

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}, const Into& into = {});
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = {},
               const Into& into = {});
Tensor logcumsumexp(const Tensor& x, int64_t dim, const Into& into = {});
// Values and the indices where they were found.
std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);
std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t dim);

// The gradient of x, from that of cumprod(x, dim).
Tensor cumprod_backward(const Tensor& g, const Tensor& x, int64_t dim);

}  // namespace facula
