// Images of another size.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace facula {

// x (batch, channels, 1 to 3 dimensions) with `sizes` in place of the last ones. `mode` is nearest,
// nearest-exact, linear, bilinear, trilinear, bicubic or lanczos; `scales` are the ratios that the
// caller gave, where they count rather than those of the sizes, 0 otherwise.
Tensor resample(const Tensor& x, const std::string& mode, bool antialias, const Dims& sizes,
                bool align_corners, const std::vector<double>& scales);

}  // namespace facula
