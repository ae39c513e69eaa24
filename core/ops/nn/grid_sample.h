// Images at places that a grid gives.
#pragma once
#include "tensor/tensor.h"

namespace facula {

// x (N, C, H, W) at grid (N, h, w, 2), or (N, C, D, H, W) at (N, d, h, w, 3); coordinates from -1
// to 1, that along the last dimension first. mode: 0 bilinear, 1 nearest, 2 bicubic; padding_mode:
// 0 zeros, 1 border, 2 reflection.
Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding_mode,
                    bool align_corners);
// x (N, C, H, W) between its elements, at places (N, h, w, 2) that count them from 0, that along
// the last dimension first; 0 outside.
Tensor sample_pixels(const Tensor& x, const Tensor& places);
// The coordinates of a result of these sizes, (N, C, H, W) or (N, C, D, H, W), in an input that
// theta (N, 2, 3) or (N, 3, 4) maps them to.
Tensor affine_grid_generator(const Tensor& theta, const Dims& size, bool align_corners);

}  // namespace facula
