// Special functions of a tensor and a number. Those without one are rows of unary.def.
#pragma once
#include <optional>

#include "ops/result.h"

namespace facula {

Tensor logit(const Tensor& x, std::optional<double> eps = {}, const Into& into = {});
Tensor polygamma(int64_t n, const Tensor& x, const Into& into = {});
Tensor mvlgamma(const Tensor& x, int64_t p, const Into& into = {});

}  // namespace facula
