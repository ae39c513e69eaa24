#include "python/new_tensor.h"

#include "autograd/node.h"
#include "ops/ops.h"
#include "python/bind.h"
#include "python/interop.h"

namespace facula {

namespace {

bool is_sequence(PyObject* object) { return PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object); }

// Walks nested sequences twice: first for shape and dtype, then for the values.
class DataReader {
 public:
  explicit DataReader(PyObject* data) { find_shape(data); }

  Dims shape;
  std::optional<DType> dtype;  // none if there are no values

  void infer_dtype(PyObject* data, size_t depth = 0) {
    if (depth == shape.size()) return add_type(data);
    for_each(data, depth, [&](PyObject* item) { infer_dtype(item, depth + 1); });
  }

  template <class T>
  void read(PyObject* data, T*& out, size_t depth = 0) {
    if (depth < shape.size()) return for_each(data, depth, [&](PyObject* item) { read(item, out, depth + 1); });
    Scalar value;
    check_type(scalar_from_object(data, value), "tensor: expected numbers in the data, got ", Py_TYPE(data)->tp_name, ".");
    if constexpr (!is_complex_v<T>)
      check_type(!value.is_complex(), "tensor: a complex value cannot be stored in a tensor of ", DTypeOf<T>::value, ".");
    *out++ = value.to<T>();
  }

 private:
  void find_shape(PyObject* data) {
    std::vector<nb::object> keep;
    PyObject* at = data;
    while (true) {
      if (is_tensor(at)) {
        for (int64_t size : as_tensor(at).sizes()) shape.push_back(size);
        return;
      }
      Scalar number;
      if (number_from_object(at, number) || !is_sequence(at)) return;
      Py_ssize_t n = PySequence_Size(at);
      if (n < 0) throw_python_error();
      shape.push_back(n);
      check_value(shape.size() <= kMaxDims, "tensor: the data is nested more than ", kMaxDims, " levels deep (does a list contain itself?).");
      if (n == 0) return;
      PyObject* first = PySequence_GetItem(at, 0);
      if (!first) throw_python_error();
      keep.push_back(nb::steal(first));
      at = first;
    }
  }

  template <class F>
  void for_each(PyObject* data, size_t depth, F&& f) {
    check_type(is_sequence(data) || is_tensor(data), "tensor: expected a sequence of length ", shape[depth], " at dim ", depth, ", got ",
               Py_TYPE(data)->tp_name, ".");
    PyObject* list = PySequence_Fast(data, "tensor: expected a sequence");
    if (!list) throw_python_error();
    nb::object owner = nb::steal(list);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
    check_value(n == shape[depth], "tensor: expected sequence of length ", shape[depth], " at dim ", depth, " (got ", n, ").");
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) f(PySequence_Fast_GET_ITEM(list, i));
  }

  void add_type(PyObject* item) {
    DType found;
    Scalar number;
    if (is_tensor(item)) {
      found = as_tensor(item).dtype();
    } else if (PyLong_Check(item) && !PyBool_Check(item)) {
      int overflow;
      PyLong_AsLongLongAndOverflow(item, &overflow);
      check(!overflow, "tensor: overflow when unpacking long long: an int does not fit into int64.");
      found = DType::Int64;
    } else {
      if (is_sequence(item) && !number_from_object(item, number))
        fail(ErrorKind::Value, "tensor: expected a number at this depth, got a ", Py_TYPE(item)->tp_name, "; the data is ragged.");
      check_type(number_from_object(item, number), "tensor: expected numbers in the data, got ", Py_TYPE(item)->tp_name, ".");
      found = number.dtype();
    }
    dtype = dtype ? promote_types(*dtype, found) : found;
  }
};

}  // namespace

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, Device device) {
  if (is_tensor(data)) {
    Tensor x = as_tensor(data);
    NoGradGuard guard;
    return to(x, device, dtype.value_or(x.dtype()), true);
  }
  if (std::optional<Tensor> array = tensor_of_ndarray(data)) return to(*array, device, dtype.value_or(array->dtype()), true);
  DataReader reader(data);
  if (!dtype) {
    reader.infer_dtype(data);
    dtype = reader.dtype.value_or(get_default_dtype());
  }
  Tensor x = empty(reader.shape, *dtype);
  visit_dtype(*dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = x.data_as<T>();
    reader.read(data, out);
  });
  return to(x, device, *dtype, false);
}

Tensor legacy_new(PyTypeObject* type, PyObject* args, PyObject*) {
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  PyObject* first = n ? PyTuple_GET_ITEM(args, 0) : nullptr;
  Tensor x;
  Dims sizes;
  if (n == 1 && is_tensor(first)) {
    x = as_tensor(first);
  } else if (n == 1 && (PyList_Check(first) || PyTuple_Check(first)) && std::string(Py_TYPE(first)->tp_name) != "facula.Size") {
    x = tensor_from_data(first, get_default_dtype(), {});
  } else if (n == 1 && dims_from_object(first, sizes)) {
    x = empty(sizes, get_default_dtype());
  } else if (n == 0) {
    x = empty({0}, get_default_dtype());
  } else {
    check_type(dims_from_object(args, sizes), "Tensor: expected sizes, a sequence of numbers or a tensor.");
    x = empty(sizes, get_default_dtype());
  }
  return alias_as(type, x);
}

}  // namespace facula
