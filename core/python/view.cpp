#include "ops/shape/view.h"

#include <cstring>

#include "autograd/node.h"
#include "bind/dims_method.h"
#include "ops/ops.h"
#include "python/slots.h"

namespace facula {

namespace {

// x takes the geometry of view(x), and its place in the graph.
template <class F>
Tensor become(const Tensor& x, F&& view) {
  if (is_grad_enabled() && x.requires_grad()) check_recorded_write("in-place view", x);
  Tensor y = view(x);
  set_geometry(x, y.sizes(), y.strides(), y.offset());
  bump_version(x);
  if (y->meta && y->meta->grad_fn) attach_output(y->meta->grad_fn, x, y->meta->output_nr);
  if (x.is_view()) x->view_version = x.version();
  return x;
}

// view is a method of Python's kind: self is not among its arguments, as the seam wants it.
[[gnu::cold, gnu::noinline]] bool ask_for_view(bool (*ask)(const seam::Operation&,
                                                           const seam::Arguments&, PyObject*&),
                                               PyObject* self, PyObject* const* args, Py_ssize_t n,
                                               PyObject* names, PyObject*& result) {
  std::vector<PyObject*> all{self};
  all.insert(all.end(), args, args + n + (names ? PyTuple_GET_SIZE(names) : 0));
  return ask({nullptr, "view"}, {all.data(), static_cast<size_t>(n) + 1, names}, result);
}

}  // namespace

// Called without an argument parser: views are made more often than anything else.
PyObject* tensor_view(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const bool is_used = seam::is_used();
  PyObject* result;
  if (is_used && ask_for_view(seam::enter, self, args, n, names, result)) return result;
  result = guarded([&]() -> PyObject* {
    Tensor x = as_tensor(self);
    Py_ssize_t n_named = names ? PyTuple_GET_SIZE(names) : 0;
    check_type(n + n_named > 0 && (n_named == 0 || (n == 0 && n_named == 1)),
               "view: expected a size or a dtype.");
    if (n_named) {
      const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, 0));
      check_type(name && (!std::strcmp(name, "size") || !std::strcmp(name, "dtype")),
                 "view: got an unexpected keyword argument '", name ? name : "?", "'.");
    }
    DType dtype;
    Dims sizes;
    if (n + n_named == 1) {
      if (dims_from_object(args[0], sizes)) return view(x, sizes).release();
      if (dtype_from_object(args[0], dtype)) return view_dtype(x, dtype).release();
    }
    sizes.resize(n);
    for (Py_ssize_t i = 0; i < n; ++i)
      check_type(index_from_object(args[i], sizes[i]),
                 "view: expected ints, one tuple of ints or a dtype, got ",
                 Py_TYPE(args[i])->tp_name, " as argument ", i, ".");
    return view(x, sizes).release();
  });
  if (!result && !is_used) ask_for_view(seam::ask_foreign, self, args, n, names, result);
  return result;
}

FACULA_BINDINGS {
  def_dims_method("reshape", "shape", &reshape);
  m.def("reshape", &reshape, "input"_a, "shape"_a,
        "Another shape; a view where strides allow, else a copy.");
  def_dims_method("expand", "size", &expand);
  def_dims_method("permute", "dims", &permute);
  m.def("permute", &permute, "input"_a, "dims"_a, "The view with its dimensions in another order.");
  def_op(m, "transpose", &transpose, "dim0"_a, "dim1"_a);
  def_op(m, "t", &t);
  def_op(m, "select", &select, "dim"_a, "index"_a);
  def_op(
      m, "narrow",
      [](const Tensor& x, int64_t dim, const Tensor& start, int64_t length) {
        check(start.dim() == 0 && is_integral(start.dtype()) && start.dtype() != DType::Bool,
              "narrow: expected start as an int or a 0-d tensor of integers, got ", start, ".");
        return narrow(x, dim, item(start).to_int(), length);
      },
      "dim"_a, "start"_a, "length"_a);
  def_op(m, "narrow", &narrow, "dim"_a, "start"_a, "length"_a);
  def_op(m, "unsqueeze", &unsqueeze, "dim"_a);
  def_op(m, "squeeze", [](const Tensor& x) { return squeeze(x); });
  def_op(
      m, "squeeze", [](const Tensor& x, int64_t dim) { return squeeze(x, dim); }, "dim"_a);
  def_op(
      m, "squeeze", [](const Tensor& x, const Dims& dims) { return squeeze(x, dims); }, "dim"_a);
  def_op(m, "detach", &detach);
  def_op(
      m, "as_strided",
      [](const Tensor& x, const Dims& size, const Dims& stride, std::optional<int64_t> offset) {
        return told_as("as_strided",
                       [&] { return as_strided(x, size, stride, offset.value_or(x.offset())); });
      },
      "size"_a, "stride"_a, "storage_offset"_a.none() = nb::none());
  def_op(
      m, "adjoint",
      [](const Tensor& x) {
        check(x.dim() != 1, "adjoint: expected a matrix or a batch of them, got ", x, ".");
        return x.dim() == 0 ? conj(x) : conj(transpose(x, -2, -1));
      },
      "The conjugate transpose of the last two dimensions.");
  // In place: the tensor itself gets the geometry and the history of the view.
  def_method(
      "unsqueeze_",
      [](Tensor x, int64_t dim) {
        return become(x, [&](const Tensor& t) { return unsqueeze(t, dim); });
      },
      "dim"_a);
  def_method("squeeze_",
             [](Tensor x) { return become(x, [](const Tensor& t) { return squeeze(t); }); });
  def_method(
      "squeeze_",
      [](Tensor x, int64_t dim) {
        return become(x, [&](const Tensor& t) { return squeeze(t, dim); });
      },
      "dim"_a);
  def_method(
      "squeeze_",
      [](Tensor x, const Dims& dims) {
        return become(x, [&](const Tensor& t) { return squeeze(t, dims); });
      },
      "dim"_a);
  def_method("t_", [](Tensor x) { return become(x, [](const Tensor& v) { return t(v); }); });
  for (const char* name : {"transpose_", "swapaxes_", "swapdims_"})
    def_method(
        name,
        [](Tensor x, int64_t a, int64_t b) {
          return become(x, [&](const Tensor& t) { return transpose(t, a, b); });
        },
        "dim0"_a, "dim1"_a);
  def_method(
      "as_strided_",
      [](Tensor x, const Dims& size, const Dims& stride, std::optional<int64_t> offset) {
        return become(x, [&](const Tensor& t) {
          return as_strided(t, size, stride, offset.value_or(t.offset()));
        });
      },
      "size"_a, "stride"_a, "storage_offset"_a.none() = nb::none());
  m.def("real", &real, "input"_a, "The real part, a view; a real tensor itself.");
  m.def("imag", &imag, "input"_a, "The imaginary part of a complex tensor, a view.");
  def_op(m, "view_as_real", &view_as_real);
  def_op(m, "view_as_complex", &view_as_complex);
}

}  // namespace facula
