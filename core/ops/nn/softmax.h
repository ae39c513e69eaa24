#pragma once
#include <optional>

#include "ops/result.h"

namespace facula {

Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {},
               const Into& into = {});
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {},
                   const Into& into = {});
// The gradient of x, from that of the result y.
Tensor softmax_backward(const Tensor& g, const Tensor& y, int64_t dim);
Tensor log_softmax_backward(const Tensor& g, const Tensor& y, int64_t dim);

}  // namespace facula
