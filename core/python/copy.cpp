#include "ops/shape/copy.h"

#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/ops.h"

namespace facula {

namespace {

template <class T>
PyObject* element(const char* data) {
  // Any byte may lie in a tensor of bools.
  if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(*data != 0);
  Wide<T> value = *reinterpret_cast<const T*>(data);
  if constexpr (is_complex_v<T>)
    return PyComplex_FromDoubles(value.real(), value.imag());
  else if constexpr (is_floating_v<T>)
    return PyFloat_FromDouble(value);
  else
    return PyLong_FromLongLong(value);
}

template <class T>
PyObject* to_list(const Tensor& x, int64_t dim, const char* data) {
  if (dim == x.dim()) return element<T>(data);
  PyObject* list = PyList_New(x.size(dim));
  if (!list) throw_python_error();
  int64_t n = x.size(dim), step = x.stride(dim) * x.itemsize();
  bool is_innermost = dim + 1 == x.dim();
  for (int64_t i = 0; i < n; ++i, data += step)
    PyList_SET_ITEM(list, i, is_innermost ? element<T>(data) : to_list<T>(x, dim + 1, data));
  return list;
}

}  // namespace

namespace {

// A dimension that x has: a 0-d tensor, where most operations take dim 0 or -1, has none.
int64_t own_dim(const char* op, const Tensor& x, int64_t dim) {
  check_index(x.dim() > 0, op, ": dim ", dim, " was given, but the tensor has no dimensions.");
  return wrap_dim(op, dim, x.dim());
}

}  // namespace

FACULA_BINDINGS {
  m.def("clone", &clone, "input"_a, nb::kw_only(), "memory_format"_a = MemoryFormat::Preserve,
        "A copy, recorded.");
  def_method("clone", &clone, nb::kw_only(), "memory_format"_a = MemoryFormat::Preserve);
  def_method("contiguous", &contiguous, "memory_format"_a = MemoryFormat::Contiguous,
             "The tensor itself if contiguous, else a copy.");
  def_method(
      "copy_", [](Tensor x, const Operand& src, bool) { return copy_(x, src); }, "other"_a,
      "non_blocking"_a = false);
  def_method(
      "fill_", [](Tensor x, const Operand& value) { return fill_(x, value.tensor); }, "value"_a);
  m.def(
      "fill_", [](Tensor x, const Operand& value) { return fill_(x, value.tensor); }, "input"_a,
      "value"_a, "Writes one value into all elements.");
  m.def(
      "fill", [](const Tensor& x, const Operand& value) { return fill(x, value.tensor); },
      "input"_a, "value"_a, R"(A tensor of the form of ``input``, filled with one value.

Example:
    >>> facula.fill(facula.zeros(2), 3)
    tensor([3., 3.]))");
  def_method("zero_", [](Tensor x) { return zero_(x); });
  m.def(
      "zero_", [](Tensor x) { return zero_(x); }, "input"_a, "Writes 0 into all elements.");
  def_method(
      "item", [](const Tensor& x) { return item(x); },
      "The value of a tensor with one element, as a Python number.");
  def_method(
      "tolist",
      [](const Tensor& x) {
        NoGradGuard guard;
        Tensor host = to(x, Device{}, x.dtype(), false);
        return visit_dtype(x.dtype(), [&](auto tag) {
          return nb::steal(to_list<typename decltype(tag)::type>(host, 0, host.data()));
        });
      },
      "The values as nested lists.");
  def_method(
      "is_contiguous", [](const Tensor& x, MemoryFormat format) { return x.is_contiguous(format); },
      nb::kw_only(), "memory_format"_a = MemoryFormat::Contiguous);
  def_method(
      "numel", [](const Tensor& x) { return x.numel(); }, "The number of elements.");
  def_method(
      "dim", [](const Tensor& x) { return x.dim(); }, "The number of dimensions.");
  def_method(
      "size",
      [](const Tensor& x, std::optional<int64_t> dim) -> nb::object {
        if (dim) return nb::int_(x.size(own_dim("size", x, *dim)));
        return nb::steal(size_object(x.sizes()));
      },
      "dim"_a.none() = nb::none());
  def_method(
      "stride",
      [](const Tensor& x, std::optional<int64_t> dim) -> nb::object {
        if (dim) return nb::int_(x.stride(own_dim("stride", x, *dim)));
        nb::object size = nb::steal(size_object(x.strides()));
        return nb::tuple(nb::list(size));
      },
      "dim"_a.none() = nb::none());
  def_method("storage_offset", [](const Tensor& x) { return x.offset(); });
  def_method("data_ptr", [](const Tensor& x) {
    return reinterpret_cast<uintptr_t>(x.numel() ? x.data() : nullptr);
  });
  def_method("element_size", [](const Tensor& x) { return x.itemsize(); });
}

}  // namespace facula
