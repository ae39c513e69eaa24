// Rounding to decimals, and numbers in the place of NaN and infinities.
#pragma once
#include <optional>

#include "ops/result.h"

namespace facula {

Tensor round(const Tensor& x, std::optional<int64_t> decimals = 0, const Into& into = {});
Tensor nan_to_num(const Tensor& x, std::optional<double> nan = {},
                  std::optional<double> posinf = {}, std::optional<double> neginf = {},
                  const Into& into = {});

}  // namespace facula
