#include "ops/shape/shape.h"

#include "autograd/hooks.h"
#include "bind/dims_method.h"
#include "ops/inplace.h"
#include "ops/ops.h"
#include "python/out.h"

namespace facula {

namespace {

nb::object as_tuple(const TensorList& tensors) { return nb::steal(to_python_tuple(tensors)); }

// One size for all pieces, or a size for each.
template <Pieces kind>
nb::object split_any(const Tensor& x, nb::handle size, int64_t dim) {
  int64_t one;
  Dims sizes;
  if (index_from_object(size.ptr(), one)) return as_tuple(split(x, one, dim, kind));
  check_type(dims_from_object(size.ptr(), sizes),
             "split: expected an int or a sequence of ints as split_size_or_sections, got ",
             nb::repr(size).c_str(), ".");
  return as_tuple(split(x, sizes, dim, kind));
}

template <Pieces kind>
nb::object split_sizes(const Tensor& x, const Dims& sizes, int64_t dim) {
  return as_tuple(split(x, sizes, dim, kind));
}

template <Pieces kind>
nb::object chunks(const Tensor& x, int64_t n, int64_t dim) {
  return as_tuple(chunk(x, n, dim, kind));
}

// The arguments of cat and stack: a tuple or list of tensors.
TensorList tensors_from(const char* op, nb::handle object) {
  check_type(PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()), op,
             ": expected a tuple or list of tensors, got ", Py_TYPE(object.ptr())->tp_name, ".");
  TensorList tensors;
  for (nb::handle item : object) {
    check_type(is_tensor(item.ptr()), op, ": expected Tensor as element ", tensors.size(),
               " of the list, got ", Py_TYPE(item.ptr())->tp_name, ".");
    tensors.push_back(as_tensor(item.ptr()));
  }
  return tensors;
}

Tensor joined_into(const char* op, const TensorList& tensors, const Tensor& result,
                   const Out& out) {
  if (!out) return result;
  for (const Tensor& x : tensors) check_apart(op, result, out, {x});
  check_type(can_cast(result.dtype(), out->dtype()), op, ": the result, ", result,
             ", can't be cast to the dtype of out, ", out->dtype(), ".");
  return into_out(op, result, *out);
}

}  // namespace

FACULA_BINDINGS {
  def_op(m, "flatten", &flatten, "start_dim"_a = 0, "end_dim"_a = -1,
         R"(Joins the dimensions start_dim to end_dim into one; a view where strides allow.

Example:
    >>> facula.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12]))");
  for (const char* name : {"movedim", "moveaxis"})
    def_op(m, name, &movedim, "source"_a, "destination"_a,
           R"(A view with the dimensions ``source`` moved to the places ``destination``.

Example:
    >>> facula.zeros(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2]))");
  def_op(m, "diagonal", &diagonal, "offset"_a = 0, "dim1"_a = 0, "dim2"_a = 1,
         R"(A view of the diagonal of dimensions dim1 and dim2, as the last dimension.

Example:
    >>> facula.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4]))");
  def_method(
      "unfold", &unfold, "dimension"_a, "size"_a, "step"_a,
      R"(A view of all windows of ``size`` along a dimension, ``step`` apart; windows are the last dimension.

Example:
    >>> facula.tensor([1, 2, 3, 4]).unfold(0, 2, 1)
    tensor([[1, 2],
            [2, 3],
            [3, 4]]))");
  auto split_tensor = [](const Tensor& x, nb::handle sizes, int64_t dim) {
    return told_as("split", [&] { return split_any<Pieces::Views>(x, sizes, dim); });
  };
  m.def("split", split_tensor, "tensor"_a, "split_size_or_sections"_a, "dim"_a = 0,
        R"(Views of pieces along a dimension: all of one size, or of the sizes given.

Example:
    >>> [p.tolist() for p in facula.tensor([1, 2, 3]).split(2)]
    [[1, 2], [3]])");
  def_method("split", split_tensor, "split_size"_a, "dim"_a = 0);
  m.def("unsafe_split", &split_any<Pieces::Unsafe>, "tensor"_a, "split_size_or_sections"_a,
        "dim"_a = 0,
        R"(As split, but each piece may be written to in place while gradients are recorded.

The pieces share memory, and backward does not see such writes: use one piece or the input, not both.

Example:
    >>> facula.unsafe_split(facula.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3])))");
  def_method("unsafe_split", &split_any<Pieces::Unsafe>, "split_size"_a, "dim"_a = 0);
  def_op(m, "unsafe_split_with_sizes", &split_sizes<Pieces::Unsafe>, "split_sizes"_a, "dim"_a = 0,
         "As unsafe_split, with a size for each piece.");
  def_op(m, "unsafe_chunk", &chunks<Pieces::Unsafe>, "chunks"_a, "dim"_a = 0,
         R"(As chunk, but each piece may be written to in place; see unsafe_split.

Example:
    >>> facula.unsafe_chunk(facula.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3])))");
  def_op(m, "split_with_sizes", &split_sizes<Pieces::Views>, "split_sizes"_a, "dim"_a = 0,
         "Views of pieces of the given sizes along a dimension.");
  def_op(m, "chunk", &chunks<Pieces::Views>, "chunks"_a, "dim"_a = 0,
         R"(Views of ``chunks`` pieces along a dimension; the last may be smaller.

Example:
    >>> [p.tolist() for p in facula.tensor([1, 2, 3]).chunk(2)]
    [[1, 2], [3]])");
  def_op(
      m, "unbind", [](const Tensor& x, int64_t dim) { return as_tuple(unbind(x, dim)); },
      "dim"_a = 0, R"(Views of all slices along a dimension, which is dropped.

Example:
    >>> facula.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4])))");
  for (const char* name : {"cat", "concat", "concatenate"})
    m.def(
        name,
        [](nb::handle tensors, int64_t dim, const Out& out) {
          TensorList parts = tensors_from("cat", tensors);
          return joined_into("cat", parts, cat(parts, dim, out.value_or(Tensor())), out);
        },
        "tensors"_a, "dim"_a = 0, nb::kw_only(), "out"_a.none() = nb::none(),
        R"(The tensors one after the other along a dimension.

Example:
    >>> facula.cat([facula.zeros(1), facula.ones(2)])
    tensor([0., 1., 1.]))");
  m.def(
      "stack",
      [](nb::handle tensors, int64_t dim, const Out& out) {
        TensorList parts = tensors_from("stack", tensors);
        return joined_into("stack", parts, stack(parts, dim), out);
      },
      "tensors"_a, "dim"_a = 0, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(The tensors, all of one shape, along a new dimension.

Example:
    >>> facula.stack([facula.tensor([1, 2]), facula.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]]))");
  m.def("flip", &flip, "input"_a, "dims"_a,
        R"(A copy with the order of elements reversed along ``dims``.

Example:
    >>> facula.tensor([1, 2, 3]).flip(0)
    tensor([3, 2, 1]))");
  def_dims_method("flip", "dims", &flip);
  def_op(
      m, "roll",
      [](const Tensor& x, const Dims& shifts, std::optional<Dims> dims) {
        return roll(x, shifts, dims.value_or(Dims{}));
      },
      "shifts"_a, "dims"_a.none() = nb::none(),
      R"(A copy with elements shifted along dimensions; what leaves at the end enters at the beginning.

Example:
    >>> facula.tensor([1, 2, 3]).roll(1)
    tensor([3, 1, 2]))");
  def_dims_method("repeat", "repeats", &repeat,
                  R"(Copies of the tensor along each dimension.

Example:
    >>> facula.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]]))");
  m.def("tile", &tile, "input"_a, "dims"_a, "As repeat; missing leading counts are 1.");
  def_dims_method("tile", "dims", &tile);
  m.def(
      "tril",
      [](const Tensor& x, int64_t d, const Out& out) {
        return into_out("tril", tril(x, d), out.value_or(Tensor()));
      },
      "input"_a, "diagonal"_a = 0, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(The lower triangle of matrices, zeros elsewhere.

Example:
    >>> facula.ones(2, 2).tril()
    tensor([[1., 0.],
            [1., 1.]]))");
  def_method("tril", &tril, "diagonal"_a = 0);
  m.def(
      "triu",
      [](const Tensor& x, int64_t d, const Out& out) {
        return into_out("triu", triu(x, d), out.value_or(Tensor()));
      },
      "input"_a, "diagonal"_a = 0, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(The upper triangle of matrices, zeros elsewhere.

Example:
    >>> facula.ones(2, 2).triu()
    tensor([[1., 1.],
            [0., 1.]]))");
  def_method("triu", &triu, "diagonal"_a = 0);
  def_method(
      "tril_",
      [](Tensor x, int64_t d) {
        return in_place("tril_", x, [&](const Tensor& t) { return tril(t, d); });
      },
      "diagonal"_a = 0);
  def_method(
      "triu_",
      [](Tensor x, int64_t d) {
        return in_place("triu_", x, [&](const Tensor& t) { return triu(t, d); });
      },
      "diagonal"_a = 0);
  m.def(
      "diag",
      [](const Tensor& x, int64_t d, const Out& out) {
        return into_out("diag", diag(x, d), out.value_or(Tensor()));
      },
      "input"_a, "diagonal"_a = 0, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(The diagonal of a matrix, or a matrix with the given diagonal.

Example:
    >>> facula.diag(facula.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]]))");
  def_method("diag", &diag, "diagonal"_a = 0);
  def_op(m, "diagonal_scatter", &diagonal_scatter, "src"_a, "offset"_a = 0, "dim1"_a = 0,
         "dim2"_a = 1, R"(A copy with ``src`` as its diagonal.

Example:
    >>> facula.zeros(2, 2).diagonal_scatter(facula.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]]))");
  def_op(m, "select_scatter", &select_scatter, "src"_a, "dim"_a, "index"_a,
         R"(A copy with ``src`` in place of the slice at ``index``.

Example:
    >>> facula.zeros(2, 2).select_scatter(facula.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]]))");
  auto slice_scatter_by = [](const Tensor& x, const Tensor& src, int64_t dim,
                             std::optional<int64_t> start, std::optional<int64_t> end,
                             int64_t step) {
    return slice_scatter(x, src, dim, start.value_or(0), end.value_or(INT64_MAX), step);
  };
  m.def(
      "slice_scatter",
      [slice_scatter_by](const Tensor& x, const Tensor& src, int64_t dim,
                         std::optional<int64_t> start, std::optional<int64_t> end, int64_t step,
                         const Out& out) {
        return into_out("slice_scatter", slice_scatter_by(x, src, dim, start, end, step),
                        out.value_or(Tensor()));
      },
      "input"_a, "src"_a, "dim"_a = 0, "start"_a.none() = nb::none(), "end"_a.none() = nb::none(),
      "step"_a = 1, nb::kw_only(), "out"_a.none() = nb::none(),
      R"(A copy with ``src`` in place of the slices from ``start`` to ``end``.

Example:
    >>> facula.zeros(4).slice_scatter(facula.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.]))");
  def_method("slice_scatter", slice_scatter_by, "src"_a, "dim"_a = 0, "start"_a.none() = nb::none(),
             "end"_a.none() = nb::none(), "step"_a = 1);
  def_op(
      m, "as_strided_scatter",
      [](const Tensor& x, const Tensor& src, const Dims& size, const Dims& stride,
         std::optional<int64_t> offset) {
        return as_strided_scatter(x, src, size, stride, offset.value_or(x.offset()));
      },
      "src"_a, "size"_a, "stride"_a, "storage_offset"_a.none() = nb::none(),
      R"(A copy with ``src`` in place of the view that as_strided gives.

Example:
    >>> facula.zeros(4).as_strided_scatter(facula.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.]))");
}

}  // namespace facula
