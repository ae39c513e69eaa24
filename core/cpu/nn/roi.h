// Regions of images reduced to bins: averages and maxima of boxes; and which boxes overlap.
#pragma once
#include <array>

#include "base/dtype.h"
#include "base/integers.h"
#include "cpu/isa.h"

namespace facula::cpu {

enum class RoiKind {
  Align,          // the average of points between elements
  AlignChannels,  // the same; every bin reads a channel of its own
  PoolChannels,   // the average of whole elements; every bin reads a channel of its own
  Max,            // the largest of whole elements
};

constexpr int64_t kRoiChannels = 32;  // of a block

struct RoiShape {
  RoiKind kind;
  int64_t n_channels, height, width;  // of an image
  int64_t n_rois, n_rows, n_columns;  // of the result
  int64_t n_result_channels;
  double spatial_scale;
  int64_t sampling_ratio;  // points of a bin along a dimension; 0: as many as it has elements
  bool is_aligned;         // element centers are at halves

  int64_t n_blocks() const { return ceil_div(n_result_channels, kRoiChannels); }
};

// Of images (N, channels, height, width) and rois (n_rois, 5), contiguous; the first number of a
// roi is its image, which exists. The result is (n_rois, channels, n_rows, n_columns). `argmax` has
// its shape, for Max alone: the place in the channel, -1 for an empty bin.
//
// Forward tasks are blocks of kRoiChannels channels of the result of a roi, those of the same
// channels side by side: they stay in the cache. Backward tasks are such blocks of an image, filled
// with 0 by the caller: all rois of it in order, since they overlap.
using RoiForward = void (*)(char* y, int32_t* argmax, const char* x, const char* rois,
                            const RoiShape& shape, int64_t begin, int64_t end);
using RoiBackward = void (*)(char* gx, const char* g, const int32_t* argmax, const char* rois,
                             const RoiShape& shape, int64_t begin, int64_t end);

// boxes: x1, y1, x2, y2 and area of `stride` boxes each, one array after another. is_dead[j] = 1
// for j in [begin, end), multiples of kNmsLanes, where box i covers box j by more than `threshold`.
using NmsKernel = void (*)(char* is_dead, const char* boxes, int64_t stride, int64_t i,
                           int64_t begin, int64_t end, double threshold);

constexpr int64_t kNmsLanes = 16;

struct RoiTable {
  std::array<RoiForward, kNumDTypes> forward;
  std::array<RoiBackward, kNumDTypes> backward;
  std::array<NmsKernel, kNumDTypes> suppress;
};

FACULA_KERNEL_TABLE(RoiTable, roi_table)

}  // namespace facula::cpu
