// Elements of channels as pixels and back, and channels in another order.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// (..., C * r * r, H, W) to (..., C, H * r, W * r), and back.
Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);
// Channels (dimension 1, or 0 of an input of three dimensions) as (groups, channels / groups),
// transposed.
Tensor channel_shuffle(const Tensor& x, int64_t groups);

}  // namespace facula
