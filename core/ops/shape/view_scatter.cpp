// Copies of a tensor in which another takes the place of a view.
#include "autograd/node.h"
#include "ops/ops.h"

namespace facula {

namespace {

// A copy of x of the same strides and offset, without history.
Tensor copy_with_strides(const Tensor& x) {
  NoGradGuard guard;
  if (has_internal_overlap(x)) return clone(x);
  int64_t n = x.storage()->nbytes() / x.itemsize();
  Tensor memory = clone(as_strided(x, {n}, {1}, 0));
  return alias(as_strided(memory, x.sizes(), x.strides(), x.offset()));
}

template <class View>
Tensor scatter_view(const char* op, const char* node, const Tensor& x, const Tensor& src,
                    View view) {
  Tensor y = copy_with_strides(x);
  {
    NoGradGuard guard;
    Tensor place = view(y);
    check(src.sizes() == place.sizes(), op, ": expected src of the shape ", place.sizes(),
          " of the part of input that it replaces, got ", src, ".");
    copy_into(place, src);
  }
  return record(node, y, {x, src},
                [view, dtype = src.dtype()](const Tensor& g, Needs need) -> TensorList {
                  Tensor dense = contiguous(g), to_x;
                  if (need[0]) {
                    to_x = clone(dense);
                    Tensor place = view(to_x);
                    fill_(place, 0);
                  }
                  return {to_x, need[1] ? to_dtype(view(dense), dtype) : Tensor()};
                });
}

}  // namespace

Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  return scatter_view("diagonal_scatter", "DiagonalScatterBackward0", x, src,
                      [=](const Tensor& t) { return diagonal(t, offset, dim1, dim2); });
}

Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
  return scatter_view("select_scatter", "SelectScatterBackward0", x, src,
                      [=](const Tensor& t) { return select(t, dim, index); });
}

Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t start, int64_t end,
                     int64_t step) {
  return scatter_view("slice_scatter", "SliceScatterBackward0", x, src,
                      [=](const Tensor& t) { return slice(t, dim, start, end, step); });
}

Tensor as_strided_scatter(const Tensor& x, const Tensor& src, const Dims& sizes,
                          const Dims& strides, int64_t offset) {
  check(!(is_grad_enabled() && x.requires_grad()) || x.is_contiguous(),
        "as_strided_scatter: the gradient needs a contiguous input, got ", x, " with strides ",
        x.strides(), ". Call .contiguous() first.");
  return scatter_view("as_strided_scatter", "AsStridedScatterBackward0", x, src,
                      [sizes, strides, offset, start = x.offset()](const Tensor& t) {
                        // A gradient has its own memory, which begins where x begins.
                        return as_strided(t, sizes, strides, offset - start + t.offset());
                      });
}

}  // namespace facula
