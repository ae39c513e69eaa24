// Memory shared with others: storages as Python sees them, NumPy arrays, DLPack, buffers.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstring>

#include "autograd/node.h"
#include "ops/ops.h"
#include "python/bind.h"
#include "python/interop.h"
#include "python/new_tensor.h"
#include "tensor/backend.h"

namespace facula {

namespace {

// What `untyped_storage()` returns.
struct StorageHandle {
  Storage* storage;
  explicit StorageHandle(Storage* s) : storage(s) { s->retain(); }
  StorageHandle(const StorageHandle& o) : StorageHandle(o.storage) {}
  StorageHandle& operator=(const StorageHandle&) = delete;
  ~StorageHandle() { storage->release(); }
};

void release_object(void* object) { Py_DECREF(static_cast<PyObject*>(object)); }

// The bytes from the first element to the end of the last one, for strides that are not negative.
int64_t span_in_elements(const Dims& sizes, const Dims& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return last + 1;
}

// A tensor over the memory of `owner`, which stays alive as long as the storage.
Tensor borrow_memory(void* data, DType dtype, const Dims& sizes, const Dims& strides, PyObject* owner) {
  Py_INCREF(owner);
  Storage* storage = Storage::wrap(data, span_in_elements(sizes, strides) * item_size(dtype), Device{}, release_object, owner);
  Tensor x = from_storage(storage, dtype, sizes, strides, 0);
  storage->release();
  return x;
}

bool dtype_from_typestr(const char* text, DType& out) {
  static const struct {
    const char* code;
    DType dtype;
  } table[] = {{"b1", DType::Bool},     {"u1", DType::UInt8},    {"i1", DType::Int8},      {"i2", DType::Int16},
               {"i4", DType::Int32},    {"i8", DType::Int64},    {"f2", DType::Float16},   {"f4", DType::Float32},
               {"f8", DType::Float64},  {"c8", DType::Complex64}, {"c16", DType::Complex128}};
  for (const auto& row : table) {
    if (std::strcmp(row.code, text) == 0) {
      out = row.dtype;
      return true;
    }
  }
  return false;
}

bool is_ndarray(PyObject* object) {
  // By name first: NumPy is imported only by those who use it.
  for (PyTypeObject* type = Py_TYPE(object); type; type = type->tp_base)
    if (std::strcmp(type->tp_name, "numpy.ndarray") == 0) return true;
  return false;
}

Dims element_strides(const nb::tuple& byte_strides, const Dims& sizes, int64_t itemsize) {
  Dims strides(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t bytes = nb::cast<int64_t>(byte_strides[i]);
    check_value(bytes >= 0, "from_numpy: at least one stride of the array is negative, which tensors do not support. Copy it with array.copy().");
    check_value(bytes % itemsize == 0 || sizes[i] < 2, "from_numpy: the array has a stride of ", bytes,
                " bytes, which is not a multiple of its element size ", itemsize, ". Copy it with array.copy().");
    strides[i] = bytes / itemsize;
  }
  return strides;
}

Tensor from_ndarray(PyObject* array) {
  nb::dict facts = nb::cast<nb::dict>(nb::getattr(array, "__array_interface__"));
  std::string type = nb::cast<std::string>(facts["typestr"]);
  DType dtype;
  check_type(dtype_from_typestr(type.c_str() + 1, dtype), "from_numpy: arrays of dtype ",
             nb::str(nb::getattr(array, "dtype")).c_str(),
             " have no tensor. Supported are bool, uint8, int8 to int64, float16 to float64 and complex64/128.");
  check_value(type[0] != '>', "from_numpy: the array's byte order is not the machine's. Convert it with array.astype(array.dtype.newbyteorder('=')).");
  Dims sizes;
  if (!dims_from_object(nb::object(facts["shape"]).ptr(), sizes)) throw_python_error();
  checked_numel(sizes);
  nb::object byte_strides = facts["strides"];
  Dims strides = byte_strides.is_none() ? contiguous_strides(sizes) : element_strides(nb::cast<nb::tuple>(byte_strides), sizes, item_size(dtype));
  nb::tuple data = nb::cast<nb::tuple>(facts["data"]);
  if (nb::cast<bool>(data[1]) &&
      PyErr_WarnEx(PyExc_UserWarning, "The NumPy array is not writable, and tensors cannot express that: writing to the tensor changes memory "
                                      "that should stay as it is. Copy the array first if the tensor will be written to.", 1))
    throw_python_error();
  return borrow_memory(reinterpret_cast<void*>(nb::cast<uintptr_t>(data[0])), dtype, sizes, strides, array);
}

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  Code code = is_complex(dtype) ? Code::Complex : is_floating(dtype) ? Code::Float : Code::Int;
  if (dtype == DType::Bool) code = Code::Bool;
  if (dtype == DType::UInt8) code = Code::UInt;
  if (dtype == DType::BFloat16) code = Code::Bfloat;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * item_size(dtype)), 1};
}

bool dtype_from_dlpack(nb::dlpack::dtype type, DType& out) {
  for (int i = 0; i < kNumDTypes; ++i) {
    out = static_cast<DType>(i);
    if (dlpack_dtype(out) == type) return true;
  }
  return false;
}

template <class Framework>
nb::ndarray<Framework> as_ndarray(const Tensor& x) {
  std::vector<size_t> sizes(x.sizes().begin(), x.sizes().end());
  bool is_cpu = x.is_cpu();
  return nb::ndarray<Framework>(x.data(), sizes.size(), sizes.data(), nb::handle(static_cast<PyObject*>(x.get())), x.strides().begin(),
                                dlpack_dtype(x.dtype()), is_cpu ? nb::device::cpu::value : nb::device::cuda::value,
                                is_cpu ? 0 : x.device().index);
}

nb::object to_numpy(const Tensor& x, bool force) {
  if (force) {
    NoGradGuard guard;
    return to_numpy(alias(to(x, Device{}, x.dtype(), false)), false);
  }
  check(!x.requires_grad(), "numpy: the tensor ", x, " requires grad. Use tensor.detach().numpy().");
  check_type(x.is_cpu(), "numpy: the tensor ", x, " is on ", x.device(), ". Copy it with tensor.cpu() first.");
  check_type(x.dtype() != DType::BFloat16, "numpy: NumPy has no bfloat16. Convert the tensor ", x, " with tensor.float() first.");
  return nb::cast(as_ndarray<nb::numpy>(x));
}

Tensor from_dlpack(nb::handle source) {
  if (is_tensor(source.ptr())) return alias(as_tensor(source.ptr()));
  nb::ndarray<> array;
  try {
    array = nb::cast<nb::ndarray<>>(source);
  } catch (const nb::cast_error&) {
    check_type(false, "from_dlpack: expected an object with __dlpack__ or a capsule that was not used yet, got ", Py_TYPE(source.ptr())->tp_name, ".");
  }
  DType dtype;
  check(dtype_from_dlpack(array.dtype(), dtype), "from_dlpack: the element type of the array has no dtype here.");
  check(array.device_type() == nb::device::cpu::value, "from_dlpack: only memory of the CPU can be shared.");
  Dims sizes(array.ndim()), strides(array.ndim());
  for (size_t i = 0; i < array.ndim(); ++i) {
    sizes[i] = static_cast<int64_t>(array.shape(i));
    strides[i] = array.stride(i);
    check(strides[i] >= 0, "from_dlpack: at least one stride of the array is negative, which tensors do not support.");
  }
  auto* keep = new nb::ndarray<>(array);
  auto drop = [](void* context) { delete static_cast<nb::ndarray<>*>(context); };
  Storage* storage = Storage::wrap(array.data(), span_in_elements(sizes, strides) * item_size(dtype), Device{}, drop, keep);
  Tensor x = from_storage(storage, dtype, sizes, strides, 0);
  storage->release();
  return x;
}

struct BufferView {
  Py_buffer view;
  static void release(void* self) {
    PyBuffer_Release(&static_cast<BufferView*>(self)->view);
    delete static_cast<BufferView*>(self);
  }
};

Tensor from_buffer(nb::handle source, DType dtype, int64_t count, int64_t offset, bool requires_grad) {
  auto* buffer = new BufferView;
  if (PyObject_GetBuffer(source.ptr(), &buffer->view, PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(source.ptr(), &buffer->view, PyBUF_SIMPLE) != 0) {
      delete buffer;
      PyErr_Clear();
      check_value(false, "frombuffer: ", Py_TYPE(source.ptr())->tp_name, " does not implement the buffer protocol.");
    }
  }
  int64_t nbytes = buffer->view.len;
  Storage* storage = Storage::wrap(buffer->view.buf, nbytes, Device{}, BufferView::release, buffer);
  struct Release {
    Storage* s;
    ~Release() { s->release(); }
  } release{storage};
  int64_t itemsize = item_size(dtype);
  check_value(nbytes > 0 && count != 0, "frombuffer: both the length of the buffer (", nbytes, ") and count (", count, ") must not be 0.");
  check_value(offset >= 0 && offset < nbytes, "frombuffer: offset (", offset, " bytes) must be non-negative and smaller than the buffer (", nbytes, " bytes).");
  check_value(count > 0 || (nbytes - offset) % itemsize == 0, "frombuffer: the ", nbytes - offset, " bytes after the offset are not a multiple of the ",
              itemsize, " bytes of an element of ", dtype, ".");
  int64_t n = count < 0 ? (nbytes - offset) / itemsize : count;
  check_value(offset + n * itemsize <= nbytes, "frombuffer: ", n, " elements of ", itemsize, " bytes from offset ", offset, " need more than the buffer's ", nbytes,
              " bytes.");
  Storage* shifted = Storage::wrap(storage->data() + offset, nbytes - offset, Device{}, [](void* s) { static_cast<Storage*>(s)->release(); }, storage);
  storage->retain();
  Tensor x = from_storage(shifted, dtype, {n}, {1}, 0);
  shifted->release();
  if (requires_grad) require_grad(x, true);
  return x;
}

void bind_storage(nb::module_& m) {
  nb::class_<StorageHandle>(m, "UntypedStorage", "One flat piece of memory, which tensors are views of.")
      .def("data_ptr", [](const StorageHandle& s) { return reinterpret_cast<uintptr_t>(s.storage->data()); })
      .def("nbytes", [](const StorageHandle& s) { return s.storage->nbytes(); })
      .def("size", [](const StorageHandle& s) { return s.storage->nbytes(); })
      .def("__len__", [](const StorageHandle& s) { return s.storage->nbytes(); })
      .def("resizable", [](const StorageHandle& s) { return s.storage->is_resizable(); })
      .def("resize_", [](StorageHandle& s, int64_t nbytes) -> StorageHandle& {
        check(nbytes >= 0, "resize_: expected a number of bytes, got ", nbytes, ".");
        s.storage->resize(nbytes);
        return s;
      }, "nbytes"_a)
      .def_prop_ro("device", [](const StorageHandle& s) { return s.storage->device(); })
      .def("__getitem__", [](const StorageHandle& s, int64_t i) {
        int64_t n = s.storage->nbytes();
        check_index(i >= -n && i < n, "UntypedStorage: index ", i, " is out of range for ", n, " bytes.");
        check(s.storage->device().is_cpu(), "UntypedStorage: only the bytes of CPU memory can be read one by one.");
        return static_cast<uint8_t>(s.storage->data()[i < 0 ? i + n : i]);
      }, "index"_a)
      .def("__eq__", [](const StorageHandle& s, nb::handle other) {
        return nb::isinstance<StorageHandle>(other) && nb::cast<const StorageHandle&>(other).storage == s.storage;
      })
      .def("__hash__", [](const StorageHandle& s) { return reinterpret_cast<uintptr_t>(s.storage) >> 4; });
  def_method("untyped_storage", [](const Tensor& x) { return StorageHandle(x.storage()); }, "The memory that the tensor is a view of.");
}

}  // namespace

std::optional<Tensor> tensor_of_ndarray(PyObject* object) {
  if (!is_ndarray(object)) return std::nullopt;
  return from_ndarray(object);
}

void bind_interop(nb::module_& m) {
  bind_storage(m);
  m.def("from_numpy", [](nb::handle array) {
    check_type(is_ndarray(array.ptr()), "from_numpy: expected a numpy.ndarray, got ", Py_TYPE(array.ptr())->tp_name, ".");
    return from_ndarray(array.ptr());
  }, "ndarray"_a.none(), "A tensor that shares the memory of the array.");
  m.def("from_dlpack", &from_dlpack, "ext_tensor"_a, "A tensor that shares the memory of an array of another library.");
  m.def("frombuffer", &from_buffer, "buffer"_a, nb::kw_only(), "dtype"_a, "count"_a = -1, "offset"_a = 0, "requires_grad"_a = false,
        "A 1-d tensor that shares the memory of an object with the buffer protocol.");
  def_method("numpy", &to_numpy, nb::kw_only(), "force"_a = false, "An array that shares the memory of the tensor.");
  def_method("__dlpack_device__", [](const Tensor& x) {
    return nb::make_tuple(x.is_cpu() ? nb::device::cpu::value : nb::device::cuda::value, x.is_cpu() ? 0 : x.device().index);
  });
  def_method("__dlpack__", [](const Tensor& x, const nb::kwargs& options) {
    if (x.requires_grad()) {
      PyErr_SetString(PyExc_BufferError, "__dlpack__: the tensor requires grad, which DLPack cannot express. Use tensor.detach().");
      throw_python_error();
    }
    return nb::cast(as_ndarray<nb::array_api>(x)).attr("__dlpack__")(**options);
  });
}

}  // namespace facula
