#include "python/new_tensor.h"

#include <cmath>
#include <limits>

#include "autograd/node.h"
#include "base/number.h"
#include "base/warning.h"
#include "bind/seam.h"
#include "ops/factory.h"
#include "ops/ops.h"
#include "python/interop.h"
#include "python/storage.h"
#include "tensor/sparse.h"

namespace facula {

namespace {

bool is_sequence(PyObject* object) {
  return PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
         !is_tensor(object);
}

// ---- one value

template <class T>
[[noreturn]] void fail_overflow() {
  fail(ErrorKind::Runtime, "tensor: a number does not fit into ", DTypeOf<T>::value, ".");
}

template <class T>
T integer_from(int64_t value) {
  if (!fits<T>(value)) fail_overflow<T>();
  return static_cast<T>(value);
}

template <class T>
T integer_from(double value) {
  if (!fits<T>(value)) fail_overflow<T>();
  return static_cast<T>(value);
}

int64_t int64_from_long(PyObject* object) {
  int overflow;
  long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  check_value(!overflow, "tensor: an int does not fit into int64.");
  return value;
}

double double_from(PyObject* object) {
  double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred()) throw_python_error();
  return value;
}

uint64_t uint64_from_long(PyObject* object) {
  unsigned long long value = PyLong_AsUnsignedLongLong(object);
  // OverflowError, where narrower dtypes raise RuntimeError and take negative numbers: as PyTorch.
  if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred()) throw_python_error();
  return value;
}

template <class T>
T convert(Scalar value) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    if (value.kind() == Scalar::Kind::UInt) return static_cast<uint64_t>(value.to_int());
  }
  if constexpr (!std::is_same_v<T, bool> && std::is_integral_v<T>) {
    if (value.is_floating()) return integer_from<T>(value.to_double());
    if (value.is_integral()) return integer_from<T>(value.to_int());
  }
  if constexpr (!is_complex_v<T> && !std::is_same_v<T, Complex32>)
    check_type(!value.is_complex(), "tensor: must be real number, not complex: the dtype is ",
               DTypeOf<T>::value, ".");
  return value.to<T>();
}

Scalar scalar_from_tensor(const Tensor& x) {
  check_value(x.numel() == 1, "tensor: expected tensors of one element in a list, got ", x,
              ". Use stack() to put tensors together.");
  if (x.requires_grad())
    warn_user(
        "tensor: the value of a tensor that requires grad becomes a number without history. Use "
        "stack() to keep it, or detach() first.");
  return item(x);
}

// Any object that stands for a number.
template <class T>
T value_from(PyObject* object) {
  nb::object keep =
      nb::borrow(object);  // the conversions below run code that may remove it from its list
  if (is_tensor(object)) return convert<T>(scalar_from_tensor(as_tensor(object)));
  if constexpr (std::is_same_v<T, bool>) {
    int truth = PyObject_IsTrue(object);
    if (truth < 0) throw_python_error();
    return truth;
  } else if constexpr (is_complex_v<T> || std::is_same_v<T, Complex32>) {
    Py_complex value = PyComplex_AsCComplex(object);
    if (value.real == -1.0 && PyErr_Occurred()) throw_python_error();
    return Scalar(std::complex<double>(value.real, value.imag)).to<T>();
  } else if constexpr (is_floating_v<T> || is_float8_v<T>) {
    check_type(!PyComplex_Check(object), "tensor: must be real number, not complex.");
    return Scalar(double_from(object)).to<T>();
  } else {
    if constexpr (std::is_same_v<T, uint64_t>)
      if (PyLong_Check(object)) return uint64_from_long(object);
    if (PyLong_Check(object)) return integer_from<T>(int64_from_long(object));
    if (PyFloat_Check(object)) return integer_from<T>(double_from(object));
    if (!PyIndex_Check(object) && Py_TYPE(object)->tp_as_number &&
        Py_TYPE(object)->tp_as_number->nb_float)
      return integer_from<T>(double_from(object));
    PyObject* number = PyNumber_Index(object);
    if (!number) throw_python_error();
    return integer_from<T>(int64_from_long(nb::steal(number).ptr()));
  }
}

template <class T>
T read_value(PyObject* object) {
  if constexpr (is_floating_v<T> && !is_reduced_float_v<T>)
    if (PyFloat_CheckExact(object)) return static_cast<T>(PyFloat_AS_DOUBLE(object));
  if constexpr (std::is_same_v<T, int64_t>)
    if (PyLong_CheckExact(object)) return int64_from_long(object);
  if constexpr (is_complex_v<T>)
    if (PyComplex_CheckExact(object)) {
      using Part = typename T::value_type;
      return T(static_cast<Part>(PyComplex_RealAsDouble(object)),
               static_cast<Part>(PyComplex_ImagAsDouble(object)));
    }
  return value_from<T>(object);
}

// ---- nested sequences

// The items of a sequence. Converting one may run code that changes the list, so its length is
// asked each time.
class Items {
 public:
  explicit Items(PyObject* data) {
    PyObject* list = PySequence_Fast(data, "tensor: expected a sequence");
    if (!list) throw_python_error();
    list_ = nb::steal(list);
  }
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(list_.ptr()); }
  PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(list_.ptr(), i); }

 private:
  nb::object list_;
};

// NumPy arrays in a list are read as the lists that they stand for.
nb::object plain(PyObject* item) {
  if (is_numpy_array(item) && PySequence_Size(item) >= 0) return nb::handle(item).attr("tolist")();
  PyErr_Clear();  // a 0-d array has no length: it is a number
  return nb::borrow(item);
}

Dims find_shape(PyObject* data) {
  Dims shape;
  nb::object at = plain(data);
  while (is_sequence(at.ptr())) {
    if (is_numpy_array(at.ptr()) || is_numpy_scalar(at.ptr())) return shape;
    Py_ssize_t n = PySequence_Size(at.ptr());
    if (n < 0) throw_python_error();
    shape.push_back(n);
    check_value(shape.size() <= kMaxDims, "tensor: expected data nested at most ", kMaxDims,
                " levels deep, got ", Py_TYPE(at.ptr())->tp_name,
                " below that. Does a list contain itself?");
    if (n == 0) return shape;
    PyObject* first = PySequence_GetItem(at.ptr(), 0);
    if (!first) throw_python_error();
    at = plain(nb::steal(first).ptr());
  }
  check_value(shape.empty() || !PyUnicode_Check(at.ptr()),
              "tensor: expected numbers, got str. (too many dimensions 'str')");
  return shape;
}

DType dtype_of_value(PyObject* item) {
  if (PyBool_Check(item)) return DType::Bool;
  if (is_tensor(item)) return as_tensor(item).dtype();
  if (is_numpy_scalar(item) || is_numpy_array(item)) return dtype_of_numpy("tensor", item);
  if (PyFloat_Check(item)) return get_default_dtype();
  if (PyLong_Check(item)) return DType::Int64;
  if (PyComplex_Check(item)) return to_complex_dtype(get_default_dtype());
  check_type(!PyUnicode_Check(item) && !PyBytes_Check(item), "tensor: expected numbers, got ",
             Py_TYPE(item)->tp_name, ".");
  check_type(!is_sequence(item), "tensor: expected a number at this depth, got a ",
             Py_TYPE(item)->tp_name, ": the data is ragged.");
  fail(ErrorKind::Runtime, "tensor: expected numbers or sequences of them, got ",
       Py_TYPE(item)->tp_name, ".");
}

// The dtypes of all values, one bit for each.
class DTypeFinder {
 public:
  explicit DTypeFinder(size_t n_dims) : n_dims_(n_dims) {}

  void add(PyObject* data, size_t depth = 0) {
    if (depth == n_dims_) return add(dtype_of_value(data));
    check_type(is_sequence(data), "tensor: not a sequence: expected one at dim ", depth, ", got ",
               Py_TYPE(data)->tp_name, ".");
    if (is_numpy_array(data)) return add(dtype_of_numpy("tensor", data));
    Items items(data);
    if (items.size() == 0) return add(get_default_dtype());
    if (depth + 1 < n_dims_) {
      for (Py_ssize_t i = 0; i < items.size(); ++i) add(nb::borrow(items[i]).ptr(), depth + 1);
      return;
    }
    bool any_float = false, any_int = false, any_complex = false;
    for (Py_ssize_t i = 0; i < items.size(); ++i) {
      PyObject* item = items[i];
      if (PyFloat_CheckExact(item))
        any_float = true;
      else if (PyLong_CheckExact(item))
        any_int = true;
      else if (PyComplex_CheckExact(item))
        any_complex = true;
      else
        add(dtype_of_value(nb::borrow(item).ptr()));
    }
    if (any_float) add(get_default_dtype());
    if (any_int) add(DType::Int64);
    if (any_complex) add(to_complex_dtype(get_default_dtype()));
  }

  DType result() const {
    std::optional<DType> dtype;
    for (int i = 0; i < kNumDTypes; ++i)
      if (seen_ >> i & 1)
        dtype = dtype ? promote_types(*dtype, static_cast<DType>(i)) : static_cast<DType>(i);
    return dtype.value_or(get_default_dtype());
  }

 private:
  void add(DType dtype) { seen_ |= 1u << static_cast<int>(dtype); }

  size_t n_dims_;
  uint32_t seen_ = 0;
};

template <class T>
void read_nested(PyObject* data, const Dims& shape, size_t depth, T*& out) {
  if (depth == shape.size()) {
    *out++ = read_value<T>(data);
    return;
  }
  check_type(is_sequence(data), "tensor: not a sequence: expected one of length ", shape[depth],
             " at dim ", depth, ", got ", Py_TYPE(data)->tp_name, ".");
  Items items(plain(data).ptr());
  check_value(items.size() == shape[depth], "tensor: expected ", shape[depth],
              " elements in dimension ", depth, ", got ", items.size(),
              ". (expected sequence of length ", shape[depth], " at dim ", depth, ")");
  bool is_last = depth + 1 == shape.size();
  for (int64_t i = 0; i < shape[depth]; ++i) {
    check_value(i < items.size(), "tensor: the data changed while it was read.");
    if (is_last)
      *out++ = read_value<T>(items[i]);
    else
      read_nested(nb::borrow(items[i]).ptr(), shape, depth + 1, out);
  }
}

Tensor read_data(PyObject* data, std::optional<DType> dtype, Device device) {
  check_type(!PyUnicode_Check(data) && !PyBytes_Check(data), "tensor: expected numbers, got ",
             Py_TYPE(data)->tp_name, ".");
  Dims shape = find_shape(data);
  if (!dtype) {
    DTypeFinder finder(shape.size());
    finder.add(data);
    dtype = finder.result();
  }
  Tensor x = empty(shape, *dtype);
  if (x.numel() != 0)
    visit_any_dtype(*dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = x.data_as<T>();
      read_nested(data, shape, 0, out);
    });
  return to(x, device, *dtype, false);
}

// ---- historic constructors

// The arguments of a historic constructor: all by position, but for device; data= and size= say
// which one they are.
struct LegacyArgs {
  nb::object positional;  // a tuple
  Device device;
};

LegacyArgs parse_legacy(const char* name, PyObject* args, PyObject* kwargs) {
  LegacyArgs parsed{nb::borrow(args), Device{}};
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
    bool is_data = PyUnicode_CompareWithASCIIString(key, "data") == 0,
         is_sizes = PyUnicode_CompareWithASCIIString(key, "size") == 0;
    if (is_data || is_sizes) {
      check_type(PyTuple_GET_SIZE(args) == 0, name, ": data or size is given twice.");
      Dims sizes;
      check_type(is_data || dims_from_object(value, sizes), name,
                 ": expected a tuple of ints as size, got ", Py_TYPE(value)->tp_name, ".");
      parsed.positional = is_data ? nb::make_tuple(nb::handle(value))
                                  : nb::make_tuple(nb::steal(size_object(sizes)));
      continue;
    }
    check_type(PyUnicode_CompareWithASCIIString(key, "device") == 0, name,
               "() got an unexpected keyword argument '", PyUnicode_AsUTF8(key), "'.");
    if (value != Py_None)
      check_type(device_from_object(value, parsed.device), name, ": expected a device, got ",
                 Py_TYPE(value)->tp_name, ".");
  }
  return parsed;
}

bool is_size(PyObject* object) {
  return PyTuple_Check(object) && std::strcmp(Py_TYPE(object)->tp_name, "facula.Size") == 0;
}

Tensor legacy_from_one(const char* name, DType dtype, bool needs_dtype, PyObject* data,
                       Device device) {
  Dims sizes;
  if (is_tensor(data)) {
    Tensor x = as_tensor(data);
    check_type(!is_sparse(x), name, ": expected a dense tensor, got a sparse one. Use to_dense().");
    check_type(!needs_dtype || x.dtype() == dtype, name, ": expected a tensor of ", dtype, ", got ",
               x, ". Convert it with to().");
    return record("AliasBackward0", alias(x), {x}, [](const Tensor& g) { return g; });
  }
  if (std::optional<StorageArg> source = storage_from_object(data)) {
    check_type(!source->dtype || *source->dtype == dtype, name, ": expected a storage of ", dtype,
               ", got one of ", *source->dtype, ".");
    int64_t n = source->storage->nbytes() / item_size(dtype);
    return from_storage(source->storage, dtype, {n}, {1}, 0);
  }
  if (is_size(data) && dims_from_object(data, sizes)) return empty(sizes, dtype, device);
  check_type(is_sequence(data), "tensor: expected a sequence, got ", Py_TYPE(data)->tp_name, ".");
  if (is_numpy_array(data)) return tensor_from_data(data, dtype, device);
  return read_data(data, dtype, device);
}

}  // namespace

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, Device device) {
  NoGradGuard guard;
  auto copied = [&](const Tensor& x) { return to(x, device, dtype.value_or(x.dtype()), true); };
  if (is_tensor(data)) {
    warn_user(
        "tensor: a tensor is copied without its history. Say so with detach().clone(), and "
        "requires_grad_() for a history of its own.");
    Tensor x = as_tensor(data);
    return to(x, device, dtype.value_or(x.dtype()), true);
  }
  if (is_numpy_array(data)) return copied(from_numpy(data, false));
  if (!is_sequence(data) && !is_numpy_scalar(data) && has_dlpack(data))
    return copied(from_dlpack(data));
  return read_data(data, dtype, device);
}

namespace {

// Tensor(other) takes any dtype, FloatTensor(other) only its own.
Tensor legacy_construct(const char* name, DType dtype, bool needs_dtype, PyObject* args,
                        PyObject* kwargs) {
  LegacyArgs parsed = parse_legacy(name, args, kwargs);
  PyObject* given = parsed.positional.ptr();
  Py_ssize_t n = PyTuple_GET_SIZE(given);
  if (n == 0) return empty({0}, dtype, parsed.device);
  int64_t size;
  PyObject* first = PyTuple_GET_ITEM(given, 0);
  if (n == 1 && (is_tensor(first) || !index_from_object(first, size)))
    return legacy_from_one(name, dtype, needs_dtype, first, parsed.device);
  Dims sizes;
  check_type(dims_from_object(given, sizes), name,
             ": expected sizes, a sequence of numbers, a tensor or a storage, got ", n,
             " arguments, of which the first is of type ", Py_TYPE(first)->tp_name, ".");
  return empty(sizes, dtype, parsed.device);
}

}  // namespace

Tensor legacy_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Tensor x = legacy_construct("Tensor", get_default_dtype(), false, args, kwargs);
  return type == tensor_type ? x : as_subclass(x, type);
}

Tensor as_subclass(const Tensor& x, PyTypeObject* type) {
  if (seam::dispatches(type)) seam::use_dispatch();
  return record("AliasBackward0", alias_as(type, x), {x}, [](const Tensor& g) { return g; });
}

namespace {

void bind_subclasses(nb::module_& m) {
  auto checked_class = [](const char* op, nb::handle cls) {
    bool ok = PyType_Check(cls.ptr()) &&
              PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), tensor_type);
    check_type(ok, op, ": expected a subclass of Tensor, got an object of type ",
               Py_TYPE(cls.ptr())->tp_name, ".");
    return reinterpret_cast<PyTypeObject*>(cls.ptr());
  };
  m.def(
      "_make_subclass",
      [checked_class](nb::handle cls, const Tensor& data, bool requires_grad) {
        PyTypeObject* type = checked_class("_make_subclass", cls);
        if (seam::dispatches(type)) seam::use_dispatch();
        Tensor x = alias_as(type, data);
        if (requires_grad) require_grad(x, true);
        return x;
      },
      "cls"_a.none(), "data"_a, "require_grad"_a = false);
  m.def(
      "_make_sparse",
      [](nb::handle layout, const nb::tuple& index, const Tensor& values, const Dims& size,
         bool is_coalesced) {
        check(sparse_type, "_make_sparse: there is no such type before facula.sparse is imported.");
        bool is_coo = index.size() == 1;
        int64_t n_sparse = 2;
        if (is_coo) {
          Tensor places = nb::cast<Tensor>(index[0]);
          check(places.dim() == 2 && values.dim() > 0,
                "_make_sparse: expected indices of two dimensions and values of at least one, got ",
                places, " and ", values, ".");
          n_sparse = places.size(0);
        }
        NoGradGuard guard;
        // Nothing reads it; if something ever did, NaN would tell.
        bool has_nan = is_floating(values.dtype()) || is_complex(values.dtype());
        Scalar filling = has_nan ? Scalar(std::nan("")) : Scalar(0);
        Tensor element = full({}, filling, values.dtype(), values.device());
        Tensor x = alias_as(sparse_type, expand(element, size));
        // The attributes that are declared in facula/sparse/_tensor.py.
        static PyObject* const names[] = {
            PyUnicode_InternFromString("_kind"), PyUnicode_InternFromString("_index"),
            PyUnicode_InternFromString("_data"), PyUnicode_InternFromString("_size"),
            PyUnicode_InternFromString("_flag"), PyUnicode_InternFromString("_n_sparse")};
        const nb::object parts[] = {
            nb::borrow(layout),
            index,
            nb::steal(wrap(alias(values))),
            nb::steal(size_object(size)),
            nb::bool_(is_coalesced || (is_coo && values.size(0) < 2)),
            nb::int_(n_sparse),
        };
        for (size_t i = 0; i < std::size(parts); ++i)
          if (PyObject_SetAttr(x.get(), names[i], parts[i].ptr())) throw nb::python_error();
        return x;
      },
      "layout"_a, "index"_a, "values"_a, "size"_a, "is_coalesced"_a,
      "A sparse tensor without history, over these very tensors.");
  seam::mark_state("as_subclass");
  def_method(
      "as_subclass",
      [checked_class](const Tensor& x, nb::handle cls) {
        return as_subclass(x, checked_class("as_subclass", cls));
      },
      "cls"_a.none(), R"(The tensor as an object of a subclass of Tensor, over the same memory.
    cls: the subclass, or Tensor itself.
    >>> class Marked(facula.Tensor):
    ...     pass
    >>> type(facula.ones(2).as_subclass(Marked)).__name__
    'Marked')"_doc);
}

}  // namespace

FACULA_BINDINGS {
  bind_subclasses(m);
  m.def(
      "_legacy_tensor",
      [](const std::string& name, DType dtype, const nb::args& args, const nb::kwargs& kwargs) {
        return legacy_construct(name.c_str(), dtype, true, args.ptr(), kwargs.ptr());
      },
      "name"_a, "dtype"_a, "args"_a, "kwargs"_a);
  m.def(
      "tensor",
      [](nb::handle data, std::optional<DType> dtype, std::optional<DeviceArg> device,
         bool requires_grad, bool pin_memory) {
        Device where = device                  ? device->device
                       : is_tensor(data.ptr()) ? as_tensor(data.ptr()).device()
                                               : default_device();
        Tensor made = pinned_if(pin_memory, tensor_from_data(data.ptr(), dtype, where));
        return with_grad(made, requires_grad);
      },
      "data"_a.none(), nb::kw_only(), "dtype"_or_none, "device"_or_none, "requires_grad"_a = false,
      "pin_memory"_a = false,
      R"(A new tensor with a copy of the data: a number, nested sequences of numbers, an array, a tensor.

The dtype is inferred: int64 for ints, the default dtype for floats, bool, complex.
    data: what is copied.
    dtype: the dtype of the result; None to infer it.
    device: where the result is made; None for that of a tensor, else the default device.
    requires_grad: whether operations on the result are recorded.
    pin_memory: whether the memory is page-locked, for copies to a GPU that are not waited for; has
        no effect where there is no GPU.
    >>> facula.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]]))"_doc);
  def_method(
      "new_tensor",
      [](const Tensor& x, nb::handle data, std::optional<DType> dtype,
         std::optional<DeviceArg> device, bool requires_grad) {
        return with_grad(tensor_from_data(data.ptr(), dtype.value_or(x.dtype()),
                                          device ? device->device : x.device()),
                         requires_grad);
      },
      "data"_a.none(), nb::kw_only(), "dtype"_or_none, "device"_or_none, "requires_grad"_a = false,
      R"(A copy of the data as a tensor of this tensor's dtype and device.
    data: what is copied: a number, nested sequences of numbers, an array, a tensor.
    dtype: the dtype of the result; None for that of this tensor.
    device: where the result is made; None for the device of this tensor.
    requires_grad: whether operations on the result are recorded.
    >>> facula.zeros(2, dtype=facula.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64))"_doc);
}

}  // namespace facula
