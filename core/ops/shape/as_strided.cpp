// Views of a storage with any shape and strides.
#include "bind/dims_method.h"
#include "ops/ops.h"
#include "ops/shape/view_in_place.h"

namespace facula {

namespace {

// Whether two elements of this geometry may be the same piece of memory.
bool may_overlap(const Dims& sizes, const Dims& strides) {
  size_t order[kMaxDims], n = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return false;
    if (sizes[i] > 1) order[n++] = i;
  }
  std::sort(order, order + n, [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t reach = 0;
  for (size_t i = 0; i < n; ++i) {
    if (strides[order[i]] <= reach) return true;
    reach += (sizes[order[i]] - 1) * strides[order[i]];
  }
  return false;
}

int64_t extent_of(const Dims& sizes, const Dims& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return last + 1;
}

struct Geometry {
  Dims sizes, strides;
  int64_t offset;
};

// flat[position of element i] += values[i], for the elements of a geometry over `flat`.
Tensor add_at_positions(const Tensor& flat, const Geometry& at, const Tensor& values) {
  if (!may_overlap(at.sizes, at.strides)) {
    Tensor out = flat;
    Tensor piece = as_strided(out, at.sizes, at.strides, at.offset);
    copy_(piece, values);
    return out;
  }
  Tensor positions = as_strided(arange(0, flat.numel(), 1, DType::Int64, flat.device()), at.sizes,
                                at.strides, at.offset);
  return index_add(flat, 0, reshape(positions, {-1}), reshape(values, {-1}));
}

// A position of the storage may be seen by several elements of the view, and of x: gradients are
// added per position, and divided among the elements of x that share one.
Tensor as_strided_backward(const Tensor& g, Geometry in, Geometry out) {
  int64_t low = std::min(in.offset, out.offset);
  int64_t n = std::max(in.offset + extent_of(in.sizes, in.strides),
                       out.offset + extent_of(out.sizes, out.strides)) -
              low;
  in.offset -= low;
  out.offset -= low;
  Tensor flat = add_at_positions(zeros({n}, g.dtype(), g.device()), out, g);
  Tensor result = as_strided(flat, in.sizes, in.strides, in.offset);
  if (may_overlap(in.sizes, in.strides)) {
    Tensor count = add_at_positions(zeros({n}, g.dtype(), g.device()), in,
                                    full(in.sizes, 1, g.dtype(), g.device()));
    result = result / as_strided(count, in.sizes, in.strides, in.offset);
  }
  return result;
}

}  // namespace

Tensor as_strided(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset) {
  check(sizes.size() == strides.size(), "as_strided: expected a stride for each size, got ",
        strides, " for ", sizes, ".");
  int64_t numel = checked_numel(sizes);
  check(offset >= 0, "as_strided: expected a storage offset of at least 0, got ", offset, ".");
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    check(strides[i] >= 0, "as_strided: expected strides of at least 0, got ", strides, ".");
    int64_t step;
    bool overflow = sizes[i] > 0 && __builtin_mul_overflow(sizes[i] - 1, strides[i], &step);
    check(!overflow, "as_strided: sizes ", sizes, " and strides ", strides, " overflow an int64.");
    if (sizes[i] > 0) last += step;
  }
  check(numel == 0 || (last < x.storage()->nbytes() / x.itemsize() && last >= offset),
        "as_strided: setStorage: sizes ", sizes, ", strides ", strides, ", storage offset ", offset,
        " reach element ", last, ", but the storage holds ", x.storage()->nbytes() / x.itemsize(),
        ".");
  Tensor y = make_view(x, sizes, strides, offset);
  return record(
      "AsStridedBackward0", y, {x},
      [in = Geometry{x.sizes(), x.strides(), x.offset()}, out = Geometry{sizes, strides, offset}](
          const Tensor& g) { return as_strided_backward(g, in, out); });
}

namespace {

Tensor as_strided_at(const Tensor& x, const IntList& size, const IntList& stride,
                     std::optional<int64_t> storage_offset) {
  return as_strided(x, size, stride, storage_offset.value_or(x.offset()));
}

}  // namespace

FACULA_BINDINGS {
  def_op(
      m, "as_strided",
      [](const Tensor& x, const IntList& size, const IntList& stride,
         std::optional<int64_t> offset) {
        return told_as("as_strided", [&] { return as_strided_at(x, size, stride, offset); });
      },
      "size"_a, "stride"_a, "storage_offset"_or_none,
      R"(A view of the storage with any shape and strides.
    input: the tensor whose storage is meant.
    size: the shape of the view.
    stride: the distances of neighbours along each dimension, in elements.
    storage_offset: where the view begins in the storage; by default where the input begins.
    >>> facula.arange(4).as_strided((2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]]))"_doc);
  def_view_in_place("as_strided", &as_strided_at, "size"_a, "stride"_a, "storage_offset"_or_none);
}

}  // namespace facula
