// Bounds: numbers or tensors.
#pragma once
#include <optional>

#include "ops/result.h"

namespace facula {

Tensor clamp(const Tensor& x, std::optional<Scalar> low, std::optional<Scalar> high,
             const Into& into = {});
// Either bound may be undefined.
Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high, const Into& into = {});
Tensor clamp_min(const Tensor& x, Scalar low, const Into& into = {});
Tensor clamp_max(const Tensor& x, Scalar high, const Into& into = {});
Tensor clamp_min(const Tensor& x, const Tensor& low, const Into& into = {});
Tensor clamp_max(const Tensor& x, const Tensor& high, const Into& into = {});

}  // namespace facula
