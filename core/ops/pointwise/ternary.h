// Operations of three tensors, and bounds.
#pragma once
#include <optional>

#include "tensor/tensor.h"

namespace facula {

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value = 1);
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, Scalar value = 1);
Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight);
Tensor lerp(const Tensor& start, const Tensor& end, Scalar weight);

Tensor clamp(const Tensor& x, std::optional<Scalar> low, std::optional<Scalar> high);
Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high);  // either may be undefined
Tensor clamp_min(const Tensor& x, Scalar low);
Tensor clamp_max(const Tensor& x, Scalar high);
Tensor clamp_min(const Tensor& x, const Tensor& low);
Tensor clamp_max(const Tensor& x, const Tensor& high);

}  // namespace facula
