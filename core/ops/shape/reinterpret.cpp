// Views that read the same bytes as numbers of another dtype.
#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/ops.h"

namespace facula {

namespace {

Tensor reinterpret(const Tensor& x, DType dtype, const Dims& sizes, const Dims& strides,
                   int64_t offset) {
  Tensor y = make_view(x, sizes, strides, offset);
  y->dtype = dtype;
  return y;
}

}  // namespace

Tensor view_as_real(const Tensor& x) {
  check(is_complex_kind(x.dtype()), "view_as_real: expected a complex input, got ", x, ".");
  check(!x.is_conj(),
        "view_as_real doesn't work on unresolved conjugated tensors: what lies in memory are not "
        "the elements. Use x.resolve_conj() first, which is a copy.");
  Dims sizes = x.sizes(), strides = x.strides();
  for (int64_t& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  Tensor y = reinterpret(x, to_real_dtype(x.dtype()), sizes, strides, x.offset() * 2);
  return record("ViewAsRealBackward0", y, {x},
                [](const Tensor& g) { return view_as_complex(contiguous(g)); });
}

Tensor view_as_complex(const Tensor& x) {
  check(x.dtype() == DType::Float32 || x.dtype() == DType::Float64 || x.dtype() == DType::Float16,
        "view_as_complex: expected a float16, float32 or float64 input, got ", x, ".");
  check(x.dim() > 0,
        "view_as_complex: expected a tensor of at least one dimension, got a 0-d one.");
  check(x.size(-1) == 2, "view_as_complex: expected a last dimension of size 2, got ", x, ".");
  check(x.stride(-1) == 1, "view_as_complex: expected stride 1 in the last dimension, got strides ",
        x.strides(), ".");
  Dims sizes(x.sizes().begin(), x.sizes().end() - 1),
      strides(x.strides().begin(), x.strides().end() - 1);
  for (int64_t& s : strides) {
    check(s % 2 == 0, "view_as_complex: expected even strides but for the last dimension, got ",
          x.strides(), ".");
    s /= 2;
  }
  check(x.offset() % 2 == 0, "view_as_complex: expected an even storage_offset, got ", x.offset(),
        ".");
  Tensor y = reinterpret(x, to_complex_dtype(x.dtype()), sizes, strides, x.offset() / 2);
  return record("ViewAsComplexBackward0", y, {x}, [](const Tensor& g) { return view_as_real(g); });
}

Tensor view_dtype(const Tensor& x, DType dtype) {
  check(!x.is_lazy(), "torch.Tensor.view is not supported for ",
        x.is_conj() ? "conjugate view tensors" : "tensors with negative bit set",
        " when converting to a different dtype: what lies in memory are not the elements. Use x.",
        x.is_conj() ? "resolve_conj" : "resolve_neg", "() first, which is a copy.");
  // The bytes have no derivative with regard to the numbers that they were: no view to autograd.
  auto reread = [&](const Dims& sizes, const Dims& strides, int64_t offset) {
    return alias(reinterpret(x, dtype, sizes, strides, offset));
  };
  int64_t from = x.itemsize(), to = item_size(dtype);
  if (from == to) return reread(x.sizes(), x.strides(), x.offset());
  check(x.dim() > 0, "view: a 0-dim tensor cannot be viewed as ", dtype,
        ": the element sizes differ.");
  check(x.stride(-1) == 1, "view: expected stride 1 in the last dimension to view ", x.dtype(),
        " as ", dtype, ", got strides ", x.strides(), ".");
  Dims sizes = x.sizes(), strides = x.strides();
  if (from > to) {
    int64_t ratio = from / to;
    for (size_t i = 0; i + 1 < strides.size(); ++i) strides[i] *= ratio;
    sizes.back() *= ratio;
    return reread(sizes, strides, x.offset() * ratio);
  }
  int64_t ratio = to / from;
  check(sizes.back() % ratio == 0, "view: expected a last dimension that is a multiple of ", ratio,
        " to view ", x.dtype(), " as ", dtype, ", got ", x, ".");
  check(x.offset() % ratio == 0, "view: expected a storage_offset that is a multiple of ", ratio,
        " to view ", x.dtype(), " as ", dtype, ", got ", x.offset(), ".");
  for (size_t i = 0; i + 1 < strides.size(); ++i) {
    check(strides[i] % ratio == 0, "view: expected strides that are multiples of ", ratio,
          " to view ", x.dtype(), " as ", dtype, ", got ", x.strides(), ".");
    strides[i] /= ratio;
  }
  sizes.back() /= ratio;
  return reread(sizes, strides, x.offset() / ratio);
}

FACULA_BINDINGS {
  def_op(m, "view_as_real", &view_as_real,
         R"(A view of complex numbers as pairs of real ones, along a new last dimension.
    input: a complex tensor.
    >>> facula.view_as_real(facula.tensor([1 + 2j]))
    tensor([[1., 2.]]))"_doc);
  def_op(m, "view_as_complex", &view_as_complex,
         R"(A view of pairs of numbers along the last dimension as complex numbers.
    input: a real tensor whose last dimension has size 2.
    >>> facula.view_as_complex(facula.tensor([[1.0, 2.0]]))
    tensor([1.+2.j]))"_doc);
}

}  // namespace facula
