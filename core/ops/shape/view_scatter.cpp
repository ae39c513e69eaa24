// Copies of a tensor in which another takes the place of a view.
#include "autograd/node.h"
#include "bind/dims_method.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

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

Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  return scatter_view("diagonal_scatter", "DiagonalScatterBackward0", x, src,
                      [=](const Tensor& t) { return diagonal(t, offset, dim1, dim2); });
}

Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
  return scatter_view("select_scatter", "SelectScatterBackward0", x, src,
                      [=](const Tensor& t) { return select(t, dim, index); });
}

Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  return scatter_view("slice_scatter", "SliceScatterBackward0", x, src, [=](const Tensor& t) {
    return slice(t, dim, start.value_or(0), end.value_or(INT64_MAX), step);
  });
}

Tensor as_strided_scatter(const Tensor& x, const Tensor& src, const Dims& sizes,
                          const Dims& strides, std::optional<int64_t> storage_offset) {
  check(!(is_grad_enabled() && x.requires_grad()) || x.is_contiguous(),
        "as_strided_scatter: the gradient needs a contiguous input, got ", x, " with strides ",
        x.strides(), ". Call .contiguous() first.");
  Tensor y = copy_with_strides(x);
  // A copy of what shares memory has its own, which begins where x begins.
  int64_t offset = storage_offset.value_or(x.offset()) - x.offset() + y.offset();
  {
    NoGradGuard guard;
    Tensor place = as_strided(y, sizes, strides, offset);
    check(!has_internal_overlap(place),
          "as_strided_scatter: more than one element of src would go to a single memory location, "
          "with size ",
          sizes, " and stride ", strides, ".");
    check(src.sizes() == place.sizes(), "as_strided_scatter: expected src of the shape ",
          place.sizes(), " of the part of input that it replaces, got ", src, ".");
    copy_into(place, src);
  }
  // The gradient is laid out as the memory was: src may reach beyond the elements of the input.
  int64_t n = y.storage()->nbytes() / y.itemsize();
  return record("AsStridedScatterBackward0", y, {x, src},
                [=, like = y.sizes(), steps = y.strides(), start = y.offset(), dtype = src.dtype()](
                    const Tensor& g, Needs need) -> TensorList {
                  Tensor memory =
                      as_strided_scatter(zeros({n}, g.dtype(), g.device()), g, like, steps, start);
                  Tensor to_x, to_src;
                  if (need[1]) to_src = to_dtype(as_strided(memory, sizes, strides, offset), dtype);
                  if (need[0]) {
                    Tensor gone = zeros(sizes, g.dtype(), g.device());
                    Tensor rest = as_strided_scatter(memory, gone, sizes, strides, offset);
                    to_x = contiguous(as_strided(rest, like, steps, start));
                  }
                  return {to_x, to_src};
                });
}

}  // namespace

FACULA_BINDINGS {
  def_op(m, "diagonal_scatter", &diagonal_scatter, "src"_a, "offset"_a = 0, "dim1"_a = 0,
         "dim2"_a = 1, R"(A copy with ``src`` as its diagonal.
    input: what is copied.
    src: what takes the place of a part of the copy.
    offset: which diagonal: 0 for the main one, above it if positive, below it if negative.
    dim1: the dimension of rows.
    dim2: the dimension of columns.
    >>> facula.zeros(2, 2).diagonal_scatter(facula.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]]))"_doc);
  def_op(m, "select_scatter", &select_scatter, "src"_a, "dim"_a, "index"_a,
         R"(A copy with ``src`` in place of the slice at ``index``.
    input: what is copied.
    src: what takes the place of a part of the copy.
    dim: the dimension of the slice.
    index: where the slice lies along the dimension.
    >>> facula.zeros(2, 2).select_scatter(facula.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]]))"_doc);
  def_op_out(m, "slice_scatter", &slice_scatter, "src"_a, "dim"_a = 0, "start"_or_none,
             "end"_or_none, "step"_a = 1,
             R"(A copy with ``src`` in place of the slices from ``start`` to ``end``.
    input: what is copied.
    src: what takes the place of a part of the copy.
    dim: the dimension of the slices.
    start: the first slice that is replaced.
    end: the slice before which to stop.
    step: the distance of the slices.
    out: where to put the result.
    >>> facula.zeros(4).slice_scatter(facula.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.]))"_doc);
  def_op(m, "as_strided_scatter", with_lists(&as_strided_scatter), "src"_a, "size"_a, "stride"_a,
         "storage_offset"_or_none,
         R"(A copy with ``src`` in place of the view that as_strided gives.
    input: what is copied.
    src: what takes the place of a part of the copy.
    size: the shape of the view.
    stride: the strides of the view.
    storage_offset: where the view begins; by default where the input begins.
    >>> facula.zeros(4).as_strided_scatter(facula.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.]))"_doc);
}

}  // namespace facula
