#include "ops/nn/roi.h"

#include "bind/bind.h"

namespace facula {

FACULA_BINDINGS {
  using cpu::RoiKind;
  m.def("_nms", &nms, "boxes"_a, "scores"_a, "iou_threshold"_a);
  m.def(
      "_roi_align",
      [](const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
         int64_t pooled_width, int64_t sampling_ratio, bool aligned) {
        return roi_reduce(
            input, rois,
            {RoiKind::Align, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned});
      },
      "input"_a, "rois"_a, "spatial_scale"_a, "pooled_height"_a, "pooled_width"_a,
      "sampling_ratio"_a, "aligned"_a);
  m.def(
      "_ps_roi_align",
      [](const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
         int64_t pooled_width, int64_t sampling_ratio) {
        return roi_reduce(input, rois,
                          {RoiKind::AlignChannels, spatial_scale, pooled_height, pooled_width,
                           sampling_ratio, /*is_aligned=*/true});
      },
      "input"_a, "rois"_a, "spatial_scale"_a, "pooled_height"_a, "pooled_width"_a,
      "sampling_ratio"_a);
  auto def_pool = [&](const char* name, RoiKind kind) {
    m.def(
        name,
        [kind](const Tensor& input, const Tensor& rois, double spatial_scale, int64_t pooled_height,
               int64_t pooled_width) {
          return roi_reduce(input, rois,
                            {kind, spatial_scale, pooled_height, pooled_width, 0, false});
        },
        "input"_a, "rois"_a, "spatial_scale"_a, "pooled_height"_a, "pooled_width"_a);
  };
  def_pool("_roi_pool", RoiKind::Max);
  def_pool("_ps_roi_pool", RoiKind::PoolChannels);
}

}  // namespace facula
