// Softmax and the losses of classes.
#include <algorithm>

#include "cuda/nn/nn.h"
#include "cuda/nn/rows.h"

namespace facula::cuda {

namespace {

FACULA_KERNEL(softmax, "softmax.h", SoftmaxArguments, kFloatDTypes)
FACULA_KERNEL(held_softmax, "softmax.h", SoftmaxArguments, kFloatDTypes)
FACULA_KERNEL(log_softmax, "softmax.h", SoftmaxArguments, kFloatDTypes)
FACULA_KERNEL(held_log_softmax, "softmax.h", SoftmaxArguments, kFloatDTypes)
FACULA_KERNEL(softmax_backward, "softmax.h", SoftmaxArguments, kFloatDTypes)
FACULA_KERNEL(log_softmax_backward, "softmax.h", SoftmaxArguments, kFloatDTypes)
FACULA_KERNEL(cross_entropy, "softmax.h", ClassLossArguments, kFloatDTypes)
FACULA_KERNEL(held_cross_entropy, "softmax.h", ClassLossArguments, kFloatDTypes)
FACULA_KERNEL(cross_entropy_backward, "softmax.h", ClassLossArguments, kFloatDTypes)
FACULA_KERNEL(nll_loss, "softmax.h", ClassLossArguments, kFloatDTypes)
FACULA_KERNEL(nll_loss_backward, "softmax.h", ClassLossArguments, kFloatDTypes)

RowShape rows_along(const Tensor& x, int64_t dim) {
  int64_t size = x.dim() ? x.size(dim) : 1, inner = 1;
  for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
  int n_lanes = inner == 1 ? held_lanes(size, x.dtype(), kSoftmaxVectors) : lanes_of(size, inner);
  return {x.numel() / size, size, inner, n_lanes};
}

ClassLossArguments arguments_of(const Tensor& x, int64_t dim, const ClassTargets& classes,
                                const Tensor& stats) {
  ClassLossArguments a{};
  a.shape = rows_along(x, dim);
  a.target = classes.target.address_as<int64_t>();
  a.weight = data_or_null(classes.weight);
  a.ignored = classes.ignored;
  a.stats = data_or_null(stats);
  return a;
}

}  // namespace

void softmax(const Tensor& to, const Tensor& x, int64_t dim, bool is_log) {
  SoftmaxArguments a{rows_along(x, dim), to.address(), x.address(), nullptr};
  bool is_held = can_hold(a.shape, x.dtype(), kSoftmaxVectors, a.x) && is_aligned(a.to);
  const auto& kernel = is_log    ? is_held ? held_log_softmax_kernel : log_softmax_kernel
                       : is_held ? held_softmax_kernel
                                 : softmax_kernel;
  kernel(x.device(), {x.dtype()}, grid_of(a.shape), a);
}

void softmax_backward(const Tensor& to, const Tensor& g, const Tensor& y, int64_t dim,
                      bool is_log) {
  SoftmaxArguments a{rows_along(y, dim), to.address(), y.address(), g.address()};
  (is_log ? log_softmax_backward_kernel : softmax_backward_kernel)(y.device(), {y.dtype()},
                                                                   grid_of(a.shape), a);
}

void class_loss(const Tensor& x, int64_t dim, const ClassTargets& classes, const Tensor& stats,
                const Tensor& losses, const Tensor& weights) {
  ClassLossArguments a = arguments_of(x, dim, classes, stats);
  a.x = x.address();
  a.losses = losses.address();
  a.weights = weights.address();
  if (stats.defined()) {
    bool is_held = can_hold(a.shape, x.dtype(), kSoftmaxVectors, a.x);
    (is_held ? held_cross_entropy_kernel : cross_entropy_kernel)(x.device(), {x.dtype()},
                                                                 grid_of(a.shape), a);
    return;
  }
  nll_loss_kernel.for_each(x.device(), {x.dtype()}, a.shape.n_rows, a);
}

void class_loss_backward(const Tensor& gx, int64_t dim, const Tensor& g, const Tensor& total,
                         const Tensor& x, const ClassTargets& classes, const Tensor& stats) {
  ClassLossArguments a = arguments_of(gx, dim, classes, stats);
  a.g = g.address();
  a.g_stride = g.dim() == 0 ? 0 : 1;
  a.total = data_or_null(total);
  a.gx = gx.address();
  if (!gx.is_contiguous()) a.gx_stride = gx.stride(0);
  if (stats.defined()) {
    a.x = x.address();
    cross_entropy_backward_kernel(gx.device(), {gx.dtype()}, grid_of(a.shape), a);
  } else {
    nll_loss_backward_kernel.for_each(gx.device(), {gx.dtype()}, a.shape.n_rows, a);
  }
}

}  // namespace facula::cuda
