// Boxes of images: which of them to keep, and what is inside them.
#include "cpu/nn/roi.h"
#include "autograd/node.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "bind/bind.h"
#include "ops/ops.h"
#include "walk/reduction.h"

namespace facula {

namespace {

using cpu::RoiKind;

constexpr int64_t kNmsBlock = 64;     // boxes that are compared with each other one by one
constexpr int64_t kNmsGrain = 1024;   // boxes that such a block is compared with at once
constexpr int64_t kRoiGrain = 16384;  // elements of the result of a task
constexpr int64_t kMostPoints = 1 << 20;

struct RoiOptions {
  RoiKind kind;
  double spatial_scale;
  int64_t pooled_height, pooled_width;
  int64_t sampling_ratio;  // unused, as is_aligned, by the kinds that take whole elements
  bool is_aligned;
};

const char* name_of(RoiKind kind) {
  constexpr const char* names[] = {"roi_align", "ps_roi_align", "ps_roi_pool", "roi_pool"};
  return names[static_cast<int>(kind)];
}
const char* node_of(RoiKind kind) {
  constexpr const char* names[] = {"RoiAlignBackward0", "PsRoiAlignBackward0", "PsRoiPoolBackward0",
                                   "RoiPoolBackward0"};
  return names[static_cast<int>(kind)];
}
bool has_own_channels(RoiKind kind) {
  return kind == RoiKind::AlignChannels || kind == RoiKind::PoolChannels;
}

template <class T>
int64_t keep_best(const Tensor& boxes, const int64_t* order, double threshold, int64_t* kept) {
  int64_t n = boxes.size(0);
  int64_t stride = ceil_div(n, cpu::kNmsLanes) * cpu::kNmsLanes;
  // Behind the last box are boxes of NaN, which cover nothing.
  Scratch<T> columns(stride * 5), is_dead(stride);
  std::fill_n(columns.data(), stride * 5, std::numeric_limits<T>::quiet_NaN());
  std::fill_n(is_dead.data(), stride, T(0));
  T* sides = columns.data();
  const T* rows = boxes.data_as<T>();
  for (int64_t i = 0; i < n; ++i) {
    const T* box = rows + order[i] * 4;
    for (int64_t c = 0; c < 4; ++c) sides[c * stride + i] = box[c];
    sides[4 * stride + i] = (box[2] - box[0]) * (box[3] - box[1]);
  }
  auto kernel = cpu::get_roi_table().suppress[static_cast<int>(boxes.dtype())];
  char *dead = reinterpret_cast<char*>(is_dead.data()), *data = reinterpret_cast<char*>(sides);
  int64_t n_kept = 0;
  for (int64_t begin = 0; begin < n; begin += kNmsBlock) {
    int64_t end = std::min(begin + kNmsBlock, stride), places[kNmsBlock], n_new = 0;
    for (int64_t i = begin; i < std::min(end, n); ++i) {
      if (is_dead.data()[i] != T(0)) continue;
      places[n_new++] = i;
      kept[n_kept++] = order[i];
      kernel(dead, data, stride, i, begin + (i - begin) / cpu::kNmsLanes * cpu::kNmsLanes, end,
             threshold);
    }
    parallel_for(stride - end, kNmsGrain, [&](int64_t first, int64_t last) {
      for (int64_t k = 0; k < n_new; ++k)
        kernel(dead, data, stride, places[k], end + first, end + last, threshold);
    });
  }
  return n_kept;
}

void check_rois(const Tensor& x, const Tensor& rois, const RoiOptions& options) {
  const char* op = name_of(options.kind);
  check_index(x.dim() == 4, op, ": expected an input (N, C, H, W), got ", x, ".");
  check(rois.dim() == 2 && rois.size(1) == 5, op,
        ": expected boxes (K, 5), the number of an image and x1, y1, x2, y2, got ", rois, ".");
  check(x.device() == rois.device() && x.dtype() == rois.dtype(), op,
        ": expected an input and boxes of one device and dtype, got ", x, " and ", rois, ".");
  check_not_implemented(is_floating(x.dtype()) && x.dtype() != DType::BFloat16, op,
                        ": expected a floating-point input (not bfloat16), got ", x,
                        ". Convert it with input.float().");
  check(options.pooled_height >= 0 && options.pooled_width >= 0, op,
        ": expected an output_size of 0 or more, got (", options.pooled_height, ", ",
        options.pooled_width, ").");
  check(options.sampling_ratio <= kMostPoints, op, ": expected a sampling_ratio of at most ",
        kMostPoints, ", got ", options.sampling_ratio, ".");
  check(x.size(2) * x.size(3) < INT32_MAX, op, ": a channel has more than 2^31 elements in ", x,
        ".");
  int64_t n_bins = options.pooled_height * options.pooled_width;
  check(!has_own_channels(options.kind) || (n_bins > 0 && x.size(1) % n_bins == 0), op,
        ": expected channels for each of ", options.pooled_height, " x ", options.pooled_width,
        " bins, got ", x, ".");
}

// The kernels read images by these numbers.
template <class T>
void check_images(const char* op, const Tensor& rois, int64_t n_images) {
  if (rois.is_meta()) return;
  const T* data = rois.data_as<T>();
  for (int64_t i = 0; i < rois.size(0); ++i)
    check(data[i * 5] > T(-1) && data[i * 5] < static_cast<T>(n_images), op, ": box ", i,
          " is in image ", data[i * 5], ", but the input has ", n_images, " images.");
}

cpu::RoiShape shape_of(const Dims& images, const Tensor& rois, const RoiOptions& o) {
  int64_t n_bins = o.pooled_height * o.pooled_width;
  return {o.kind,          images[1],
          images[2],       images[3],
          rois.size(0),    o.pooled_height,
          o.pooled_width,  has_own_channels(o.kind) ? images[1] / n_bins : images[1],
          o.spatial_scale, o.sampling_ratio,
          o.is_aligned};
}

// x and rois are contiguous, of float32 or float64.
Tensor run_forward(const Tensor& x, const Tensor& rois, const cpu::RoiShape& shape,
                   const Tensor& argmax) {
  Tensor y = empty({shape.n_rois, shape.n_result_channels, shape.n_rows, shape.n_columns},
                   x.dtype(), x.device());
  if (y.numel() == 0 || y.is_meta()) return y;
  char* to = y.data();
  const char *from = x.data(), *boxes = rois.data();
  int32_t* places = argmax.defined() ? argmax.data_as<int32_t>() : nullptr;
  cpu::RoiForward kernel = cpu::get_roi_table().forward[static_cast<int>(x.dtype())];
  int64_t cost = cpu::kRoiChannels * shape.n_rows * shape.n_columns;
  parallel_for(shape.n_rois * shape.n_blocks(), std::max<int64_t>(1, kRoiGrain / cost),
               [&](int64_t b, int64_t e) { kernel(to, places, from, boxes, shape, b, e); });
  return y;
}

Tensor run_backward_kernel(const Tensor& g, const Tensor& rois, const Dims& images,
                           const cpu::RoiShape& shape, const Tensor& argmax) {
  Tensor gx = zeros(images, g.dtype(), g.device());
  if (g.numel() == 0 || gx.numel() == 0 || gx.is_meta()) return gx;
  char* to = gx.data();
  const char *from = g.data(), *boxes = rois.data();
  const int32_t* places = argmax.defined() ? argmax.data_as<int32_t>() : nullptr;
  cpu::RoiBackward kernel = cpu::get_roi_table().backward[static_cast<int>(g.dtype())];
  parallel_for(images[0] * shape.n_blocks(), 1,
               [&](int64_t b, int64_t e) { kernel(to, from, places, boxes, shape, b, e); });
  return gx;
}

// The elements of images (N, C, H, W) that were the largest of their bins.
Tensor at_maxima(const Tensor& images, const Tensor& rois, const Tensor& argmax) {
  Tensor elements = flatten(images, 2, -1), places = to_dtype(flatten(argmax, 2, -1), DType::Int64);
  Tensor chosen = index_select(elements, 0, to_dtype(select(rois, 1, 0), DType::Int64));
  Tensor is_empty = lt(places, wrapped_number(0));
  Tensor y = gather(chosen, 2, masked_fill(places, is_empty, wrapped_number(0)));
  return reshape(masked_fill(y, is_empty, wrapped_number(0)), argmax.sizes());
}

Tensor roi_reduce(const Tensor& x, const Tensor& rois, const RoiOptions& options);

// The gradient of x. All kinds are linear in x, given the places of the maxima: the derivative of
// this is the operation itself.
Tensor roi_backward(const Tensor& grad, const Tensor& rois, const Dims& images,
                    const RoiOptions& options, const Tensor& argmax) {
  Tensor gx;
  {
    NoGradGuard guard;
    DType dtype = wide_dtype(grad.dtype());
    Tensor boxes = contiguous(to_dtype(rois, dtype));
    gx = run_backward_kernel(contiguous(to_dtype(grad, dtype)), boxes, images,
                             shape_of(images, rois, options), argmax);
    gx = to_dtype(gx, grad.dtype());
  }
  return record(node_of(options.kind), gx, {grad},
                [options, rois = save(rois), argmax = save(argmax)](const Tensor& h) {
                  return options.kind == RoiKind::Max ? at_maxima(h, rois, argmax)
                                                      : roi_reduce(h, rois, options);
                });
}

// The indices of the boxes (N, 4) that no better one covers by more than the threshold, best first.
Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold) {
  check(boxes.dim() == 2 && boxes.size(1) == 4, "nms: expected boxes (N, 4), got ", boxes, ".");
  check(scores.dim() == 1 && scores.size(0) == boxes.size(0), "nms: expected scores (",
        boxes.size(0), ",) for boxes ", boxes, ", got ", scores, ".");
  check(boxes.dtype() == scores.dtype() && boxes.device() == scores.device(),
        "nms: expected boxes and scores of one device and dtype, got ", boxes, " and ", scores,
        ".");
  check_not_implemented(boxes.dtype() == DType::Float32 || boxes.dtype() == DType::Float64,
                        "nms: expected float32 or float64 boxes, got ", boxes,
                        ". Convert them with boxes.float().");
  NoGradGuard guard;
  check_not_implemented(!boxes.is_meta(), "nms: how many boxes are kept is not known on meta.");
  if (!boxes.is_cpu()) {
    // How many are kept has to be known on the host in any case.
    Tensor kept = nms(on_host(boxes), on_host(scores), iou_threshold);
    return to(kept, boxes.device(), DType::Int64, /*copy=*/false);
  }
  Tensor order = contiguous(std::get<1>(sort(scores, 0, /*descending=*/true)));
  Tensor kept = empty({boxes.size(0)}, DType::Int64, boxes.device());
  Tensor rows = contiguous(boxes);
  int64_t n =
      (boxes.dtype() == DType::Float32 ? keep_best<float>
                                       : keep_best<double>)(rows, order.data_as<int64_t>(),
                                                            iou_threshold, kept.data_as<int64_t>());
  return clone(narrow(kept, 0, 0, n));
}

// x (N, C, H, W) inside rois (K, 5), numbers of images and corners x1, y1, x2, y2: the result is
// (K, C, pooled_height, pooled_width), where C is divided by the number of bins for the kinds that
// have channels for each.
Tensor roi_reduce(const Tensor& x, const Tensor& rois, const RoiOptions& options) {
  check_rois(x, rois, options);
  if (x.device().is_cuda())  // there is no kernel for a GPU
    return to(roi_reduce(on_host(x), on_host(rois), options), x.device(), x.dtype(),
              /*copy=*/false);
  Tensor y, argmax;
  {
    NoGradGuard guard;
    DType dtype = wide_dtype(x.dtype());
    Tensor boxes = contiguous(to_dtype(rois, dtype));
    (dtype == DType::Float32 ? check_images<float> : check_images<double>)(name_of(options.kind),
                                                                           boxes, x.size(0));
    cpu::RoiShape shape = shape_of(x.sizes(), rois, options);
    if (options.kind == RoiKind::Max)
      argmax = empty({shape.n_rois, shape.n_result_channels, shape.n_rows, shape.n_columns},
                     DType::Int32, x.device());
    y = to_dtype(run_forward(contiguous(to_dtype(x, dtype)), boxes, shape, argmax), x.dtype());
  }
  return record(
      node_of(options.kind), y, {x, rois},
      [options, images = x.sizes(), rois = save(rois), argmax = save(argmax)](
          const Tensor& g, Needs need) -> TensorList {
        return {need[0] ? roi_backward(g, rois, images, options, argmax) : Tensor(), Tensor()};
      });
}

}  // namespace

FACULA_BINDINGS {
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
