#include "ops/shape/view.h"

#include "autograd/node.h"
#include "base/integers.h"
#include "bind/count.h"
#include "bind/dims_method.h"
#include "ops/ops.h"
#include "ops/shape/view_in_place.h"

namespace facula {

namespace {

// The gradient of a view that is a piece of x: zeros of x's form with g in place of the piece.
template <class View>
Tensor scatter_into_zeros(const Tensor& g, const Dims& sizes, View view) {
  Tensor whole = zeros(sizes, g.dtype(), g.device());
  Tensor piece = view(whole);
  copy_(piece, g);
  return whole;
}

// Replaces one -1 in `sizes` by what makes the number of elements right.
Dims infer_size(const char* op, Dims sizes, int64_t numel) {
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      check(unknown < 0, op, ": expected at most one -1 in the shape, got ", sizes,
            ". (only one dimension can be inferred)");
      unknown = static_cast<int>(i);
    } else {
      check(sizes[i] >= 0, op, ": invalid shape dimension ", sizes[i], " in ", sizes, ".");
      check(!__builtin_mul_overflow(known, sizes[i], &known), op, ": the shape ", sizes,
            " is invalid for an input of ", numel, " elements.");
    }
  }
  if (unknown >= 0) {
    check(known != 0, op, ": with no elements, the -1 in ", sizes, " could be any size.");
    check(numel % known == 0, op, ": a tensor of ", numel, " elements cannot have the shape ",
          sizes, ". (shape is invalid for input of size ", numel, ")");
    sizes[unknown] = numel / known;
  } else {
    check(known == numel, op, ": a tensor of ", numel, " elements cannot have the shape ", sizes,
          ". (shape is invalid for input of size ", numel, ")");
  }
  return sizes;
}

// The strides with which x can be seen in this shape; false if it cannot without a copy.
bool view_strides(const Tensor& x, const Dims& sizes, Dims& strides) {
  strides.resize(sizes.size());
  if (x.numel() == 0) {
    // Any strides will do; PyTorch gives those of the old shape where the shape is the same.
    strides = sizes == x.sizes() ? x.strides() : contiguous_strides(sizes);
    return true;
  }
  // Walk both shapes from the end. A run of old dimensions that continue each other in memory can
  // be cut anew.
  int64_t view_d = static_cast<int64_t>(sizes.size()) - 1;
  int64_t run_stride = x.dim() ? x.strides().back() : 1;
  int64_t run_numel = 1, view_numel = 1;
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    run_numel *= x.size(d);
    bool run_ends = d == 0 || (x.size(d - 1) != 1 && x.stride(d - 1) != run_numel * run_stride);
    if (!run_ends) continue;
    while (view_d >= 0 && (view_numel < run_numel || sizes[view_d] == 1)) {
      strides[view_d] = view_numel * run_stride;
      view_numel *= sizes[view_d];
      --view_d;
    }
    if (view_numel != run_numel) return false;
    if (d > 0) {
      run_stride = x.stride(d - 1);
      run_numel = view_numel = 1;
    }
  }
  for (; view_d >= 0; --view_d) strides[view_d] = 1;  // a 0-d tensor seen as (1, 1)
  return true;
}

Tensor view_as(const char* node, const Tensor& x, const Dims& sizes, const Dims& strides) {
  Tensor y = make_view(x, sizes, strides, x.offset());
  return record(node, y, {x}, [sizes = x.sizes()](const Tensor& g) { return reshape(g, sizes); });
}

}  // namespace

Tensor view(const Tensor& x, const Dims& wish) {
  Dims sizes = infer_size("view", wish, x.numel());
  Dims strides;
  check(view_strides(x, sizes, strides), "view: ", x, " with strides ", x.strides(),
        " has no view of shape ", sizes,
        ": one of its dimensions would need two strides. Use .reshape(...) instead, or call "
        ".contiguous() before .view(). (view size is not compatible with input tensor's size and "
        "stride)");
  return view_as("ViewBackward0", x, sizes, strides);
}

namespace {

void forget_base(const Tensor& y) {
  Py_CLEAR(y->base);
  y->view_kind = ViewKind::Plain;
}

}  // namespace

Tensor reshape(const Tensor& x, const Dims& wish) {
  Dims sizes = infer_size("reshape", wish, x.numel());
  Dims strides;
  if (view_strides(x, sizes, strides))
    return view_as(x.is_contiguous() ? "ViewBackward0" : "ReshapeAliasBackward0", x, sizes,
                   strides);
  // Of a copy that nobody else has: a tensor of its own.
  Tensor y = view_as("UnsafeViewBackward0", clone(x, MemoryFormat::Contiguous), sizes,
                     contiguous_strides(sizes));
  forget_base(y);
  return y;
}

Tensor expand(const Tensor& x, const Dims& wish) {
  Dims sizes = wish;
  check(sizes.size() >= x.sizes().size(), "expand: expected at least ", x.dim(), " sizes for ", x,
        ", got ", sizes, ".");
  size_t missing = sizes.size() - x.dim();
  Dims strides(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i < missing) {
      check(sizes[i] >= 0, "expand: expected sizes of at least 0 for new dimensions, got ", sizes,
            ".");
      continue;
    }
    int64_t size = x.sizes()[i - missing];
    if (sizes[i] == -1) sizes[i] = size;
    check(size == sizes[i] || (size == 1 && sizes[i] >= 0), "expand: ", x.sizes(),
          " does not expand to ", sizes, ": dimension ", i, " has size ", size,
          ". (The expanded size of the tensor must match the existing size.)");
    strides[i] = size == sizes[i] ? x.strides()[i - missing] : 0;
  }
  checked_numel(sizes);
  // A new leading dimension of size 1 or of the data's own needs a stride, too: that of a dense
  // tensor.
  for (size_t i = missing; i-- > 0;)
    strides[i] = sizes[i] == 1 ? (i + 1 < sizes.size() ? sizes[i + 1] * strides[i + 1] : 1) : 0;
  Tensor y = make_view(x, sizes, strides, x.offset());
  return record("ExpandBackward0", y, {x},
                [sizes = x.sizes()](const Tensor& g) { return sum_to_size(g, sizes); });
}

Tensor permute(const Tensor& x, const Dims& dims) {
  check(static_cast<int64_t>(dims.size()) == x.dim(), "permute: expected ", x.dim(),
        " dimensions for ", x, ", got ", dims, ".");
  Dims sizes(x.dim()), strides(x.dim()), inverse(x.dim(), -1);
  for (int64_t i = 0; i < x.dim(); ++i) {
    int64_t d = wrap_dim("permute", dims[i], x.dim());
    check(inverse[d] < 0, "permute: expected each dimension once, got ", dims, ".");
    inverse[d] = i;
    sizes[i] = x.size(d);
    strides[i] = x.stride(d);
  }
  Tensor y = make_view(x, sizes, strides, x.offset());
  return record("PermuteBackward0", y, {x},
                [inverse](const Tensor& g) { return permute(g, inverse); });
}

namespace {

Tensor swap_dims(const char* node, const Tensor& x, int64_t a, int64_t b) {
  if (x.dim() == 0) {
    Tensor y = make_view(x, x.sizes(), x.strides(), x.offset());
    return record(node, y, {x}, [](const Tensor& g) { return g; });
  }
  Dims sizes = x.sizes(), strides = x.strides();
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  Tensor y = make_view(x, sizes, strides, x.offset());
  return record(node, y, {x}, [a, b](const Tensor& g) { return transpose(g, a, b); });
}

}  // namespace

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  return swap_dims("TransposeBackward0", x, wrap_dim("transpose", dim0, x.dim()),
                   wrap_dim("transpose", dim1, x.dim()));
}

Tensor t(const Tensor& x) {
  check(x.dim() <= 2, "t: expected a tensor of at most 2 dimensions, got ", x, ".");
  return swap_dims("TBackward0", x, 0, x.dim() < 2 ? 0 : 1);
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  check_index(x.dim() > 0, "select: a 0-d tensor has no dimension to select from.");
  dim = wrap_dim("select", dim, x.dim());
  int64_t size = x.size(dim);
  check_index(index >= -size && index < size, "select: expected an index from ", -size, " to ",
              size - 1, " for dimension ", dim, ", got ", index, ".");
  if (index < 0) index += size;
  Dims sizes = x.sizes(), strides = x.strides();
  int64_t offset = x.offset() + index * strides[dim];
  sizes.erase(dim);
  strides.erase(dim);
  Tensor y = make_view(x, sizes, strides, offset);
  return record("SelectBackward0", y, {x}, [sizes = x.sizes(), dim, index](const Tensor& g) {
    return scatter_into_zeros(g, sizes,
                              [&](const Tensor& whole) { return select(whole, dim, index); });
  });
}

Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  check_index(x.dim() > 0, "slice: a 0-d tensor has no dimension to slice.");
  dim = wrap_dim("slice", dim, x.dim());
  check(step > 0, "slice: expected a step of at least 1, got ", step, ".");
  int64_t size = x.size(dim);
  auto clamp = [size](int64_t i) {
    return std::min(std::max<int64_t>(i < 0 ? i + size : i, 0), size);
  };
  start = clamp(start);
  end = std::max(clamp(end), start);
  Dims sizes = x.sizes(), strides = x.strides();
  int64_t offset = x.offset() + start * strides[dim];
  sizes[dim] = end > start ? (end - start - 1) / step + 1 : 0;  // whose sums do not overflow
  if (__builtin_mul_overflow(strides[dim], step, &strides[dim]))
    strides[dim] = 1;  // then there is one element at most
  Tensor y = make_view(x, sizes, strides, offset);
  return record(
      "SliceBackward0", y, {x}, [sizes = x.sizes(), dim, start, end, step](const Tensor& g) {
        return scatter_into_zeros(
            g, sizes, [&](const Tensor& whole) { return slice(whole, dim, start, end, step); });
      });
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  check(x.dim() > 0, "narrow: a 0-d tensor has no dimension to narrow.");
  check(length >= 0, "narrow: expected a length of at least 0, got ", length, ".");
  dim = wrap_dim("narrow", dim, x.dim());
  int64_t size = x.size(dim);
  check_index(start >= -size && start <= size, "narrow: expected start from ", -size, " to ", size,
              " for dimension ", dim, ", got ", start, ".");
  if (start < 0) start += size;
  check(start <= size - length, "narrow: expected start + length of at most ", size,
        ", the size of dimension ", dim, ", got ", start, " + ", length, ".");
  return slice(x, dim, start, start + length);
}

namespace {

Tensor squeeze_where(const char* node, const Tensor& x, const bool* chosen) {
  Dims sizes, strides;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (chosen[i] && x.size(i) == 1) continue;
    sizes.push_back(x.size(i));
    strides.push_back(x.stride(i));
  }
  Tensor y = make_view(x, sizes, strides, x.offset());
  return record(node, y, {x}, [sizes = x.sizes()](const Tensor& g) { return reshape(g, sizes); });
}

}  // namespace

Tensor squeeze(const Tensor& x) {
  bool all[kMaxDims];
  std::fill(all, all + kMaxDims, true);
  return squeeze_where("SqueezeBackward0", x, all);
}

Tensor squeeze(const Tensor& x, const Dims& dims) {
  bool chosen[kMaxDims] = {};
  for (int64_t dim : dims) {
    dim = wrap_dim("squeeze", dim, x.dim());
    check(!chosen[dim], "squeeze: expected each dimension once, got ", dims, ".");
    chosen[dim] = true;
  }
  return squeeze_where("SqueezeBackward2", x, chosen);
}

Tensor squeeze(const Tensor& x, int64_t dim) {
  bool chosen[kMaxDims] = {};
  chosen[wrap_dim("squeeze", dim, x.dim())] = true;
  return squeeze_where("SqueezeBackward1", x, chosen);
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  dim = wrap_dim("unsqueeze", dim, x.dim() + 1);
  Dims sizes = x.sizes(), strides = x.strides();
  int64_t stride = dim < x.dim() ? sizes[dim] * strides[dim] : 1;
  sizes.insert(dim, 1);
  strides.insert(dim, stride);
  check(sizes.size() <= kMaxDims, "unsqueeze: a tensor can have at most ", kMaxDims,
        " dimensions.");
  Tensor y = make_view(x, sizes, strides, x.offset());
  return record("UnsqueezeBackward0", y, {x}, [dim](const Tensor& g) { return squeeze(g, dim); });
}

Tensor alias_view(const Tensor& x) {
  Tensor y = make_view(x, x.sizes(), x.strides(), x.offset());
  return record("AliasBackward0", y, {x}, [](const Tensor& g) { return g; });
}

Tensor detach(const Tensor& x) { return alias(x); }

// ---- bindings

namespace {

void bind_in_place() {
  def_view_in_place("unsqueeze", &unsqueeze, "dim"_a);
  def_view_in_place<>("squeeze", &squeeze);
  def_view_in_place<int64_t>("squeeze", &squeeze, "dim"_a);
  def_view_in_place<const Dims&>("squeeze", &squeeze, "dim"_a);
  def_view_in_place("t", &t);
  for (const char* name : {"transpose", "swapaxes", "swapdims"})
    def_view_in_place(name, &transpose, "dim0"_a, "dim1"_a);
}

void bind_sizes(nb::module_& m) {
  const char* doc = R"(Another shape; a view where strides allow, else a copy.
    input: any tensor.
    shape: the new shape; one size may be -1, which is what the others leave.
    >>> facula.tensor([1, 2, 3, 4]).reshape(2, -1)
    tensor([[1, 2],
            [3, 4]]))"_doc;
  m.def("reshape", with_lists(&reshape), "input"_a, "shape"_a, doc);
  def_dims_method("reshape", "shape", &reshape, doc);
  def_dims_method("expand", "size", &expand,
                  R"(A view with dimensions of size 1 repeated, without a copy.
    size: the new shape; -1 leaves a dimension as it is.
    >>> facula.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]]))"_doc);
  auto broadcast_to = +[](const Tensor& x, const Dims& size) {
    return told_as("broadcast_to", [&] { return expand(x, size); });
  };
  const char* broadcast_doc = R"(The view expanded to a larger shape.
    input: any tensor.
    size: the shape of the view.
    >>> facula.broadcast_to(facula.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]]))"_doc;
  m.def("broadcast_to", with_lists(broadcast_to), "input"_a, "size"_a, broadcast_doc);
  def_dims_method("broadcast_to", "size", broadcast_to, broadcast_doc);
  def_method(
      "sum_to_size",
      [](const Tensor& x, const nb::args& args) {
        Dims size = dims_from_args("sum_to_size", args);
        return size.empty() ? sum(x) : sum_to_size(x, size);
      },
      R"(Sums the dimensions along which a tensor of a smaller shape was broadcast to this one.
    args: the smaller shape, as ints or as one tuple of ints.
    >>> facula.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]]))"_doc);
}

void bind_sizes_of_others() {
  def_method(
      "view_as", [](const Tensor& x, const Tensor& other) { return view(x, other.sizes()); },
      "other"_a, R"(The view with the shape of another tensor.
    other: the tensor whose shape is taken.
    >>> facula.arange(4).view_as(facula.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]]))"_doc);
  def_method(
      "reshape_as", [](const Tensor& x, const Tensor& other) { return reshape(x, other.sizes()); },
      "other"_a, R"(The tensor in the shape of another one; a view where strides allow, else a copy.
    other: the tensor whose shape is taken.
    >>> facula.arange(4).reshape_as(facula.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]]))"_doc);
  def_method(
      "expand_as", [](const Tensor& x, const Tensor& other) { return expand(x, other.sizes()); },
      "other"_a,
      R"(A view with dimensions of size 1 repeated, so that it has the shape of another tensor.
    other: the tensor whose shape is taken.
    >>> facula.tensor([1, 2]).expand_as(facula.zeros(2, 2))
    tensor([[1, 2],
            [1, 2]]))"_doc);
}

void bind_dims(nb::module_& m) {
  const char* doc = R"(The view with its dimensions in another order.
    input: any tensor.
    dims: the dimensions of the input in the order of the result.
    >>> facula.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3]))"_doc;
  m.def("permute", with_lists(&permute), "input"_a, "dims"_a, doc);
  def_dims_method("permute", "dims", &permute, doc);
  def_op(m, "transpose", &transpose, "dim0"_a, "dim1"_a, R"(The view with two dimensions swapped.
    input: any tensor.
    dim0: one of the dimensions to swap.
    dim1: the other dimension to swap.
    >>> facula.tensor([[1, 2], [3, 4]]).transpose(0, 1)
    tensor([[1, 3],
            [2, 4]]))"_doc);
  def_op(m, "t", &t, R"(The transpose of a matrix, a view; a vector or a number itself.
    input: a tensor of at most two dimensions.
    >>> facula.tensor([[1, 2], [3, 4]]).t()
    tensor([[1, 3],
            [2, 4]]))"_doc);
  def_op(
      m, "adjoint",
      [](const Tensor& x) {
        check(x.dim() != 1, "adjoint: expected a matrix or a batch of them, got ", x, ".");
        return conj_view(x.dim() == 0 ? x : transpose(x, -2, -1));
      },
      R"(The conjugate transpose of the last two dimensions.
    input: a matrix or a batch of matrices.
    >>> facula.tensor([[1j, 2]]).adjoint()
    tensor([[0.-1.j],
            [2.-0.j]]))"_doc);
  def_op(m, "unsqueeze", &unsqueeze, "dim"_a, R"(The view with a new dimension of size 1.
    input: any tensor.
    dim: where the new dimension stands in the result.
    >>> facula.zeros(2, 3).unsqueeze(1).shape
    torch.Size([2, 1, 3]))"_doc);
  def_op(
      m, "squeeze", [](const Tensor& x) { return squeeze(x); },
      R"(The view without dimensions of size 1.
    input: any tensor.
    dim: the dimensions to drop where they have size 1; without it, all of them.
    >>> facula.zeros(1, 2, 1).squeeze().shape
    torch.Size([2]))"_doc);
  def_op(
      m, "squeeze", [](const Tensor& x, int64_t dim) { return squeeze(x, dim); }, "dim"_a);
  def_op(
      m, "squeeze", [](const Tensor& x, const Dims& dims) { return squeeze(x, dims); }, "dim"_a);
}

}  // namespace

FACULA_BINDINGS {
  bind_sizes(m);
  bind_sizes_of_others();
  bind_dims(m);
  bind_in_place();
  auto select_at = [](const Tensor& x, int64_t dim, Count index) { return select(x, dim, index); };
  def_op(m, "select", select_at, "dim"_a, "index"_a, R"(The view of one slice along a dimension.
    input: any tensor.
    dim: the dimension, which the view does not have.
    index: where the slice lies along the dimension.
    >>> facula.tensor([[1, 2], [3, 4]]).select(0, 1)
    tensor([3, 4]))"_doc);
  def_op(
      m, "narrow",
      [](const Tensor& x, int64_t dim, const Tensor& start, int64_t length) {
        check(start.dim() == 0 && (is_integral(start.dtype()) || is_wide_unsigned(start.dtype())),
              "narrow: expected start as an int or a 0-d tensor of integers, got ", start, ".");
        return narrow(x, dim, item(start).to_int(), length);
      },
      "dim"_a, "start"_a, "length"_a, R"(The view of some slices along a dimension.
    input: any tensor.
    dim: the dimension to narrow.
    start: the first slice.
    length: the number of slices.
    >>> facula.tensor([1, 2, 3, 4]).narrow(0, 1, 2)
    tensor([2, 3]))"_doc);
  def_op(m, "narrow", &narrow, "dim"_a, "start"_a, "length"_a);
  def_op(m, "detach", &detach, R"(The tensor without its history, over the same memory.
    input: any tensor.
    >>> facula.ones(2, requires_grad=True).detach().requires_grad
    False)"_doc);
}

}  // namespace facula
