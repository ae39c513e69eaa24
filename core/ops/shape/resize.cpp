// Other shapes for a tensor itself.
#include "bind/bind.h"
#include "ops/ops.h"
#include "tensor/format.h"

namespace facula {

void resize_(const Tensor& x, const Dims& sizes, MemoryFormat format) {
  int64_t numel = checked_numel(sizes), end, nbytes;
  check(!__builtin_add_overflow(x.offset(), numel, &end) &&
            !__builtin_mul_overflow(end, x.itemsize(), &nbytes),
        "resize_: the shape ", sizes, " has more bytes than an int64 can count.");
  if (numel > 0 && nbytes > x.storage()->nbytes()) x.storage()->resize(nbytes);
  set_geometry(
      x, sizes,
      format == MemoryFormat::Contiguous ? contiguous_strides(sizes) : channels_last_strides(sizes),
      x.offset());
}

void resize_(const Tensor& x, const Dims& sizes) {
  if (x.sizes() != sizes) resize_(x, sizes, MemoryFormat::Contiguous);
}

namespace {

using Format = std::optional<MemoryFormat>;

Tensor resized(const char* op, const Tensor& x, const Dims& sizes, Format format) {
  check(!x.requires_grad(), op, ": a tensor that requires grad cannot be resized.");
  check(format != MemoryFormat::Preserve, op, ": memory_format=preserve_format is not supported.");
  if (!format) {
    resize_(x, sizes);
    return x;
  }
  size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  check(format == MemoryFormat::Contiguous || sizes.size() == rank, op, ": expected ", rank,
        " dimensions for this memory_format, got ", sizes, ".");
  resize_(x, sizes, *format);
  return x;
}

}  // namespace

FACULA_BINDINGS {
  def_method(
      "resize_",
      [](Tensor x, const nb::args& size, Format format) {
        Dims sizes = dims_from_args("resize_", size);
        return told_as("resize_", [&] { return resized("resize_", x, sizes, format); });
      },
      "size"_a, nb::kw_only(), "memory_format"_or_none,
      R"(Gives the tensor itself another shape; its storage grows where it must.
    size: the new shape, as ints or as one tuple of ints.
    memory_format: the order of the elements in memory; None for that of the dimensions.
    >>> facula.tensor([1, 2, 3, 4]).resize_(2, 2)
    tensor([[1, 2],
            [3, 4]]))"_doc);
  auto resize_as = [](Tensor x, const Tensor& other, Format format) {
    if (format == MemoryFormat::Preserve) format = format_of(other);
    return resized("resize_as_", x, other.sizes(), format);
  };
  def_op(m, "resize_as_", resize_as, "the_template"_a, nb::kw_only(), "memory_format"_or_none,
         R"(Gives a tensor the shape of another one; its storage grows where it must.
    input: what is changed.
    the_template: the tensor whose shape is taken.
    memory_format: the order of the elements in memory; None for that of the dimensions.
    >>> facula.resize_as_(facula.zeros(4), facula.zeros(2, 2)).shape
    torch.Size([2, 2]))"_doc);
}

}  // namespace facula
