// Questions about a tensor: its shape, dtype, place in memory and values.
#include "autograd/node.h"
#include "bind/bind.h"
#include "bind/sparse.h"
#include "ops/ops.h"
#include "ops/pointwise/binary.h"

namespace facula {

namespace {

template <class T>
PyObject* element(const char* data) {
  // Any byte may lie in a tensor of bools.
  if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(*data != 0);
  using W = std::conditional_t<std::is_same_v<T, Complex32>, Complex64, Wide<T>>;
  W value = *reinterpret_cast<const T*>(data);
  if constexpr (is_complex_v<W>)
    return PyComplex_FromDoubles(value.real(), value.imag());
  else if constexpr (is_floating_v<T> || is_float8_v<T>)
    return PyFloat_FromDouble(value);
  else if constexpr (std::is_same_v<T, uint64_t>)
    return PyLong_FromUnsignedLongLong(value);
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

// A dimension that x has: a 0-d tensor, where most operations take dim 0 or -1, has none.
int64_t own_dim(const char* op, const Tensor& x, int64_t dim) {
  check_index(x.dim() > 0, op, ": dim ", dim, " was given, but the tensor has no dimensions.");
  return wrap_dim(op, dim, x.dim());
}

void bind_sizes(nb::module_& m) {
  def_op(
      m, "numel", [](const Tensor& x) { return x.numel(); }, R"(The number of elements.
    input: any tensor.
    >>> facula.numel(facula.zeros(2, 3))
    6)"_doc);
  def_method(
      "nelement", [](const Tensor& x) { return x.numel(); },
      R"(The number of elements; another name of numel().
    >>> facula.zeros(2, 3).nelement()
    6)"_doc);
  for (const char* name : {"dim", "ndimension"})
    def_method(
        name, [](const Tensor& x) { return x.dim(); }, R"(The number of dimensions.
    >>> facula.zeros(2, 3).dim()
    2)"_doc);
  def_method(
      "size",
      [](const Tensor& x, std::optional<int64_t> dim) -> nb::object {
        if (dim) return nb::int_(x.size(own_dim("size", x, *dim)));
        return nb::steal(size_object(x.sizes()));
      },
      "dim"_or_none, R"(The shape, or the size of one dimension.
    dim: the dimension whose size is wanted; None for the whole shape.
    >>> x = facula.zeros(2, 3)
    >>> x.size(), x.size(-1)
    (torch.Size([2, 3]), 3))"_doc);
  def_method(
      "stride",
      [](const Tensor& x, std::optional<int64_t> dim) -> nb::object {
        if (dim) return nb::int_(x.stride(own_dim("stride", x, *dim)));
        nb::object strides = nb::steal(PyTuple_New(x.dim()));
        for (int64_t d = 0; strides.is_valid() && d < x.dim(); ++d)
          PyTuple_SET_ITEM(strides.ptr(), d, PyLong_FromLongLong(x.strides()[d]));
        if (!strides.is_valid()) throw nb::python_error();
        return strides;
      },
      "dim"_or_none,
      R"(The distances of neighbours along each dimension in memory, in elements.
    dim: the dimension whose distance is wanted; None for a tuple with all of them.
    >>> x = facula.zeros(2, 3)
    >>> x.stride(), x.t().stride()
    ((3, 1), (1, 3)))"_doc);
  def_op(
      m, "is_same_size",
      [](const Tensor& x, const Tensor& other) { return x.sizes() == other.sizes(); }, "other"_a,
      R"(Whether two tensors have the same shape.
    input: any tensor.
    other: the tensor to compare with.
    >>> facula.is_same_size(facula.zeros(2), facula.zeros(3))
    False)"_doc);
}

void bind_memory() {
  def_method(
      "storage_offset", [](const Tensor& x) { return x.offset(); },
      R"(The place of the first element in the storage, counted in elements.
    >>> facula.zeros(2, 3)[1].storage_offset()
    3)"_doc);
  auto address = [](const Tensor& x) {
    bool has_elements = x.numel() > 0 && !x.is_meta();
    return reinterpret_cast<uintptr_t>(has_elements ? x.address() : nullptr);
  };
  // For those who compare addresses and do not write there.
  def_method("_address", address, "The address of the first element, to be compared with others.");
  def_method(
      "data_ptr",
      [address](const Tensor& x) {
        x.storage()->forbid_keeping();
        return address(x);
      },
      R"(The address of the first element in memory; 0 for a tensor without elements.
    >>> x = facula.zeros(2)
    >>> x[1:].data_ptr() - x.data_ptr()
    4)"_doc);
  def_method(
      "element_size", [](const Tensor& x) { return x.itemsize(); },
      R"(The number of bytes of one element.
    >>> facula.zeros(2, dtype=facula.float64).element_size()
    8)"_doc);
  def_method(
      "is_contiguous", [](const Tensor& x, MemoryFormat format) { return x.is_contiguous(format); },
      nb::kw_only(), "memory_format"_a = MemoryFormat::Contiguous,
      R"(Whether the elements lie in memory in the order of a format, without gaps.
    memory_format: the order that is asked about; by default that of the dimensions.
    >>> facula.zeros(2, 3).t().is_contiguous()
    False)"_doc);
  def_method(
      "get_device", [](const Tensor& x) { return int(x.device().index); },
      R"(The number of the CUDA device that holds the tensor; -1 for the CPU.
    >>> facula.zeros(2).get_device()
    -1)"_doc);
  def_method(
      "is_set_to",
      [](const Tensor& x, const Tensor& y) {
        return x.storage() == y.storage() && x.offset() == y.offset() && x.sizes() == y.sizes() &&
               x.strides() == y.strides();
      },
      "tensor"_a, R"(Whether two tensors are the same view of the same storage.
    tensor: the tensor to compare with.
    >>> x = facula.zeros(2, 3)
    >>> x.is_set_to(x.view(2, 3)), x.is_set_to(x.clone())
    (True, False))"_doc);
}

void bind_dtypes(nb::module_& m) {
  m.def(
      "result_type",
      [](const Operand& a, const Operand& b) {
        if (makes_complex32(a.tensor, b.tensor)) return DType::Complex32;
        return result_type({a.tensor, b.tensor});
      },
      "tensor1"_a, "tensor2"_a, R"(The dtype of the result of arithmetic with two operands.
    tensor1: a tensor or a number.
    tensor2: a tensor or a number.
    >>> facula.result_type(facula.tensor([1, 2]), 1.0)
    torch.float32)"_doc);
  def_op(
      m, "is_floating_point", [](const Tensor& x) { return is_floating_kind(x.dtype()); },
      R"(Whether the dtype is a floating-point type.
    input: any tensor.
    >>> facula.is_floating_point(facula.tensor([1, 2]))
    False)"_doc);
  def_op(
      m, "is_complex", [](const Tensor& x) { return is_complex_kind(x.dtype()); },
      R"(Whether the dtype is complex.
    input: any tensor.
    >>> facula.is_complex(facula.tensor([1j]))
    True)"_doc);
  def_op(
      m, "is_signed",
      [](const Tensor& x) { return x.dtype() != DType::Bool && !is_unsigned(x.dtype()); },
      R"(Whether the dtype has negative values.
    input: any tensor.
    >>> facula.is_signed(facula.zeros(2, dtype=facula.uint8))
    False)"_doc);
}

}  // namespace

FACULA_BINDINGS {
  bind_sizes(m);
  bind_memory();
  bind_dtypes(m);
  sparse::allow_in("is_tensor");
  def_state(
      m, "is_tensor", [](nb::handle object) { return is_tensor(object.ptr()); }, "obj"_a.none(),
      R"(Whether the object is a tensor.
    obj: any object.
    >>> facula.is_tensor([1, 2])
    False)"_doc);
  def_op(
      m, "is_nonzero",
      [](const Tensor& x) {
        check(x.numel() == 1, "is_nonzero: expected a tensor of one element, got ", x, ".");
        return item(x).to_bool();
      },
      R"(Whether the only element is not zero.
    input: a tensor of one element.
    >>> facula.is_nonzero(facula.tensor([0.0]))
    False)"_doc);
  def_method(
      "item", [](const Tensor& x) { return item(x); },
      R"(The value of a tensor with one element, as a Python number.
    >>> facula.tensor([2.5]).item()
    2.5)"_doc);
  def_method(
      "tolist",
      [](const Tensor& x) {
        NoGradGuard guard;
        Tensor host = to(x, Device{}, x.dtype(), false);
        return visit_any_dtype(x.dtype(), [&](auto tag) {
          return nb::steal(to_list<typename decltype(tag)::type>(host, 0, host.data()));
        });
      },
      R"(The values as nested lists of Python numbers; a number for a 0-d tensor.
    >>> facula.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]])"_doc);
}

}  // namespace facula
