#include "ops/view.h"

#include "ops/ops.h"
#include "python/bind.h"

namespace facula {

void bind_view(nb::module_& m) {
  def_method("view", [](const Tensor& x, const nb::args& args) {
    DType dtype;
    if (args.size() == 1 && dtype_from_object(args[0].ptr(), dtype)) return view_dtype(x, dtype);
    return view(x, dims_from_args("view", args));
  }, "Another shape over the same memory; never copies.");
  def_method("reshape", [](const Tensor& x, const nb::args& args) { return reshape(x, dims_from_args("reshape", args)); });
  m.def("reshape", &reshape, "input"_a, "shape"_a, "Another shape; a view where strides allow, else a copy.");
  def_method("expand", [](const Tensor& x, const nb::args& args) { return expand(x, dims_from_args("expand", args)); });
  def_method("permute", [](const Tensor& x, const nb::args& args) { return permute(x, dims_from_args("permute", args)); });
  m.def("permute", &permute, "input"_a, "dims"_a, "The view with its dimensions in another order.");
  def_op(m, "transpose", &transpose, "dim0"_a, "dim1"_a);
  def_op(m, "t", &t);
  def_op(m, "select", &select, "dim"_a, "index"_a);
  def_op(m, "narrow", &narrow, "dim"_a, "start"_a, "length"_a);
  def_op(m, "unsqueeze", &unsqueeze, "dim"_a);
  def_op(m, "squeeze", [](const Tensor& x) { return squeeze(x); });
  def_op(m, "squeeze", [](const Tensor& x, const Dims& dims) { return squeeze(x, dims); }, "dim"_a);
  def_op(m, "detach", &detach);
  def_op(m, "as_strided", [](const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> offset) {
    return as_strided(x, size, stride, offset.value_or(x.offset()));
  }, "size"_a, "stride"_a, "storage_offset"_a.none() = nb::none());
  def_op(m, "view_as_real", &view_as_real);
  def_op(m, "view_as_complex", &view_as_complex);
}

}  // namespace facula
