// Boxes of images: which of them to keep, and what is inside them.
#pragma once
#include "cpu/nn/roi.h"
#include "tensor/tensor.h"

namespace facula {

// The indices of the boxes (N, 4) that no better one covers by more than the threshold, best first.
Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold);

struct RoiOptions {
  cpu::RoiKind kind;
  double spatial_scale;
  int64_t pooled_height, pooled_width;
  int64_t sampling_ratio;  // unused, as is_aligned, by the kinds that take whole elements
  bool is_aligned;
};

// x (N, C, H, W) inside rois (K, 5), numbers of images and corners x1, y1, x2, y2: the result is
// (K, C, pooled_height, pooled_width), where C is divided by the number of bins for the kinds that
// have channels for each.
Tensor roi_reduce(const Tensor& x, const Tensor& rois, const RoiOptions& options);

}  // namespace facula
