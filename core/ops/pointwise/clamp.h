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

// What kernels of bounds that are numbers add to each result: -0, which changes none, or NaN if a
// bound is NaN. The instructions that compare pass over such a bound.
Scalar added_to_clamped(Scalar low, Scalar high);

}  // namespace facula
