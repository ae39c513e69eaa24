// Views of the pieces of a tensor.
#include "autograd/hooks.h"
#include "autograd/node.h"
#include "base/integers.h"
#include "bind/bind.h"
#include "ops/ops.h"

namespace facula {

namespace {

// Views that leave one function together: none of them may be written to in place while gradients
// are recorded.
void record_pieces(const char* node, const Tensor& x, const TensorList& pieces, int64_t dim,
                   bool keeps_dim) {
  for (const Tensor& piece : pieces)
    if (piece.is_view() && piece->view_kind == ViewKind::Plain)
      piece->view_kind = ViewKind::OneOfMany;
  std::vector<Dims> sizes;
  for (const Tensor& piece : pieces) sizes.push_back(piece.sizes());
  record_all(node, pieces, {x}, [sizes, dim, keeps_dim](const TensorList& gs, Needs) -> TensorList {
    TensorList parts = gs;
    const Tensor* some = nullptr;
    for (const Tensor& g : gs)
      if (g.defined()) some = &g;
    for (size_t i = 0; i < parts.size(); ++i)
      if (!parts[i].defined()) parts[i] = zeros(sizes[i], some->dtype(), some->device());
    return {keeps_dim ? cat(parts, dim) : stack(parts, dim)};
  });
}

TensorList cut(const Tensor& x, const Dims& sizes, int64_t dim) {
  TensorList pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    pieces.push_back(piece_of(x, dim, start, size));
    start += size;
  }
  return pieces;
}

// Names of views are those of unsafe pieces without the prefix.
const char* name_of(const char* unsafe_name, Pieces kind) {
  return unsafe_name + (kind == Pieces::Unsafe ? 0 : std::strlen("unsafe_"));
}

// The sizes of pieces of `split_size`, the last of which may be smaller; wraps dim.
Dims equal_sizes(const char* op, const Tensor& x, int64_t split_size, int64_t& dim) {
  check(x.dim() > 0, op, ": expected a tensor of at least one dimension, got a 0-d one.");
  dim = wrap_dim(op, dim, x.dim());
  check(split_size >= 0, op, ": expected split_size of at least 0, got ", split_size, ".");
  int64_t size = x.size(dim);
  check(split_size > 0 || size == 0, op, ": a dimension of size ", size,
        " has no pieces of size 0.");
  int64_t n = split_size == 0 ? 1 : std::max<int64_t>(ceil_div(size, split_size), 1);
  Dims sizes(n, split_size);
  sizes.back() = size - (n - 1) * split_size;
  return sizes;
}

// Raises unless the sizes add up to that of x; wraps dim.
void check_sizes(const char* op, const Tensor& x, const Dims& split_sizes, int64_t& dim) {
  check(x.dim() > 0, op, ": expected a tensor of at least one dimension, got a 0-d one.");
  dim = wrap_dim(op, dim, x.dim());
  int64_t total = 0;
  for (int64_t size : split_sizes) {
    check(size >= 0, op, ": expected sizes of at least 0, got ", split_sizes, ".");
    // More than the dimension has is as wrong as any other sum, and cannot overflow.
    total += std::min(size, x.size(dim) + 1 - std::min(total, x.size(dim)));
  }
  check(total == x.size(dim), op, ": expected sizes that add up to ", x.size(dim),
        ", the size of dimension ", dim, ", got ", split_sizes,
        ". (split_with_sizes expects split_sizes to sum exactly to the size of the dimension)");
}

// The sizes of `chunks` pieces; wraps dim.
Dims chunk_sizes(const char* op, const Tensor& x, int64_t chunks, int64_t& dim) {
  check(x.dim() > 0, op, ": expected a tensor of at least one dimension, got a 0-d one.");
  check(chunks > 0, op, ": expected chunks of at least 1, got ", chunks, ".");
  dim = wrap_dim(op, dim, x.dim());
  int64_t size = ceil_div(x.size(dim), chunks);
  return size == 0 ? Dims(chunks, 0) : equal_sizes(op, x, size, dim);
}

// Unsafe pieces of x's memory are tensors of their own to autograd: each may be written to in
// place, and nothing finds out that the others or x were read before.
TensorList recorded_cut(Pieces kind, bool is_equal, const Tensor& x, const Dims& sizes,
                        int64_t dim) {
  TensorList pieces = cut(x, sizes, dim);
  bool is_unsafe = kind == Pieces::Unsafe;
  if (is_unsafe)
    for (Tensor& piece : pieces) piece = alias_uncounted(piece);
  const char* equal = is_unsafe ? "UnsafeSplitBackward0" : "SplitBackward0";
  const char* other = is_unsafe ? "UnsafeSplitWithSizesBackward0" : "SplitWithSizesBackward0";
  record_pieces(is_equal ? equal : other, x, pieces, dim, true);
  return pieces;
}

TensorList split(const Tensor& x, int64_t split_size, int64_t dim, Pieces kind) {
  Dims sizes = equal_sizes(name_of("unsafe_split", kind), x, split_size, dim);
  return recorded_cut(kind, true, x, sizes, dim);
}

TensorList split(const Tensor& x, const Dims& split_sizes, int64_t dim, Pieces kind) {
  check_sizes(name_of("unsafe_split_with_sizes", kind), x, split_sizes, dim);
  return recorded_cut(kind, false, x, split_sizes, dim);
}

}  // namespace

TensorList chunk(const Tensor& x, int64_t chunks, int64_t dim, Pieces kind) {
  Dims sizes = chunk_sizes(name_of("unsafe_chunk", kind), x, chunks, dim);
  return recorded_cut(kind, x.size(dim) != 0, x, sizes, dim);
}

TensorList unbind(const Tensor& x, int64_t dim) {
  check_index(x.dim() > 0, "unbind: a 0-d tensor has no dimension ", dim, ".");
  dim = wrap_dim("unbind", dim, x.dim());
  Dims sizes = x.sizes(), strides = x.strides();
  sizes.erase(dim);
  strides.erase(dim);
  TensorList pieces;
  for (int64_t i = 0; i < x.size(dim); ++i)
    pieces.push_back(make_view(x, sizes, strides, x.offset() + i * x.stride(dim)));
  if (!pieces.empty()) record_pieces("UnbindBackward0", x, pieces, dim, false);
  return pieces;
}

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
  if (is_tensor(size.ptr())) return as_tuple(split(x, sizes[0], dim, kind));
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

void bind_unsafe(nb::module_& m) {
  m.def(
      "unsafe_split", &split_any<Pieces::Unsafe>, "tensor"_a, "split_size_or_sections"_a,
      "dim"_a = 0,
      R"(Pieces as split() gives them, each of which may be written to while gradients are recorded.

The pieces share memory, and backward does not see such writes: use one piece or the input, not
both.
    tensor: what is cut.
    split_size_or_sections: the size of all pieces, or a size for each.
    dim: the dimension to cut along.
    >>> facula.unsafe_split(facula.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3])))"_doc);
  def_method(
      "unsafe_split", &split_any<Pieces::Unsafe>, "split_size"_a, "dim"_a = 0,
      R"(Pieces as split() gives them, each of which may be written to while gradients are recorded.
    split_size: the size of all pieces, or a size for each.
    dim: the dimension to cut along.)"_doc);
  def_op(m, "unsafe_split_with_sizes", &split_sizes<Pieces::Unsafe>, "split_sizes"_a, "dim"_a = 0,
         R"(Pieces of the given sizes, each of which may be written to as those of unsafe_split().
    input: what is cut.
    split_sizes: the sizes of the pieces.
    dim: the dimension to cut along.
    >>> facula.unsafe_split_with_sizes(facula.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3])))"_doc);
  def_op(
      m, "unsafe_chunk", &chunks<Pieces::Unsafe>, "chunks"_a, "dim"_a = 0,
      R"(Pieces as chunk() gives them, each of which may be written to as those of unsafe_split().
    input: what is cut.
    chunks: the number of pieces.
    dim: the dimension to cut along.
    >>> facula.unsafe_chunk(facula.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3])))"_doc);
}

}  // namespace

FACULA_BINDINGS {
  auto split_tensor = [](const Tensor& x, nb::handle sizes, int64_t dim) {
    return told_as("split", [&] { return split_any<Pieces::Views>(x, sizes, dim); });
  };
  m.def("split", split_tensor, "tensor"_a, "split_size_or_sections"_a, "dim"_a = 0,
        R"(Views of pieces along a dimension: all of one size, or of the sizes given.
    tensor: what is cut.
    split_size_or_sections: the size of all pieces, or a size for each.
    dim: the dimension to cut along.
    >>> [p.tolist() for p in facula.tensor([1, 2, 3]).split(2)]
    [[1, 2], [3]])"_doc);
  def_method("split", split_tensor, "split_size"_a, "dim"_a = 0,
             R"(Views of pieces along a dimension: all of one size, or of the sizes given.
    split_size: the size of all pieces, or a size for each.
    dim: the dimension to cut along.)"_doc);
  bind_unsafe(m);
  def_op(m, "split_with_sizes", &split_sizes<Pieces::Views>, "split_sizes"_a, "dim"_a = 0,
         R"(Views of pieces of the given sizes along a dimension.
    input: what is cut.
    split_sizes: the sizes of the pieces.
    dim: the dimension to cut along.
    >>> facula.split_with_sizes(facula.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3])))"_doc);
  def_op(m, "chunk", &chunks<Pieces::Views>, "chunks"_a, "dim"_a = 0,
         R"(Views of ``chunks`` pieces along a dimension; the last may be smaller.
    input: what is cut.
    chunks: the number of pieces.
    dim: the dimension to cut along.
    >>> [p.tolist() for p in facula.tensor([1, 2, 3]).chunk(2)]
    [[1, 2], [3]])"_doc);
  def_op(
      m, "unbind", [](const Tensor& x, int64_t dim) { return as_tuple(unbind(x, dim)); },
      "dim"_a = 0, R"(Views of all slices along a dimension, which is dropped.
    input: what is cut.
    dim: the dimension to cut along, which the slices do not have.
    >>> facula.tensor([[1, 2], [3, 4]]).unbind()
    (tensor([1, 2]), tensor([3, 4])))"_doc);
}

}  // namespace facula
