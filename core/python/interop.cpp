#include "python/interop.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/node.h"
#include "base/warning.h"
#include "bind/bind.h"
#include "bind/default_device.h"
#include "bind/seam.h"
#include "ops/ops.h"
#include "python/new_tensor.h"
#include "tensor/sparse.h"

namespace facula {

namespace {

// The struct module's codes. int64 is 'l' where long has 8 bytes: NumPy's int64 there, while 'q' is
// its longlong.
const char* buffer_format(DType dtype) {
  static const char* formats[kNumDTypes] = {
      "?", "B",  "b",  "h", "i", sizeof(long) == 8 ? "l" : "q", "e", nullptr, "f",
      "d", "Zf", "Zd", "H", "I", sizeof(long) == 8 ? "L" : "Q"};
  return formats[static_cast<int>(dtype)];
}

// What an exported buffer keeps: the memory, which the tensor may give up before the buffer's end,
// and the geometry.
struct Export {
  Storage* storage;
  std::unique_ptr<Py_ssize_t[]> dims;  // sizes, then strides in bytes

  explicit Export(const Tensor& x) : storage(x.storage()), dims(new Py_ssize_t[2 * x.dim() + 1]) {
    storage->retain();
    storage->forbid_resize();
    for (int64_t i = 0; i < x.dim(); ++i) {
      dims[i] = x.size(i);
      dims[x.dim() + i] = x.stride(i) * x.itemsize();
    }
  }
  ~Export() { storage->release(); }
};

bool is_fortran_contiguous(const Tensor& x) {
  int64_t expected = 1;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (x.size(i) != 1 && x.stride(i) != expected) return x.numel() == 0;
    expected *= x.size(i);
  }
  return true;
}

// Why no buffer of x can be given, as Python's protocol wants it: a BufferError.
const char* buffer_refusal(const Tensor& x, int flags) {
  if (seam::dispatches(Py_TYPE(x.get())))
    return "a Tensor whose class has __torch_dispatch__ has no buffer: its elements are where that "
           "finds them.";
  if (is_sparse(x)) return "a sparse Tensor has no buffer. Use tensor.to_dense() first.";
  if (x.requires_grad()) return "a Tensor that requires grad has no buffer. Use tensor.detach().";
  if (x.is_meta()) return "a Tensor on the device meta has no elements, and so no buffer.";
  if (x.is_conj())
    return "a conjugate view has no buffer. Use tensor.resolve_conj(), which is a copy.";
  if (x.is_neg()) return "a negated view has no buffer. Use tensor.resolve_neg(), which is a copy.";
  if (!x.is_cpu())
    return "a Tensor on a CUDA device has no buffer. Use tensor.cpu() to copy it to main memory "
           "first.";
  if (x.dtype() == DType::BFloat16)
    return "the buffer protocol has no bfloat16. Convert the Tensor with tensor.float().";
  if (!buffer_format(x.dtype()))
    return "the buffer protocol has no such dtype. Convert the Tensor with tensor.to(dtype).";
  bool wants_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                 (flags & PyBUF_STRIDES) != PyBUF_STRIDES;
  bool wants_f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
  bool wants_any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
  bool is_f = is_fortran_contiguous(x);
  if ((wants_c && !x.is_contiguous()) || (wants_f && !is_f) ||
      (wants_any && !x.is_contiguous() && !is_f))
    return "the Tensor is not contiguous. Use tensor.contiguous().";
  return nullptr;
}

void release_buffer(void* context) {
  auto* view = static_cast<Py_buffer*>(context);
  PyBuffer_Release(view);
  delete view;
}

struct HeapBuffer {
  Py_buffer* view = new Py_buffer;
  HeapBuffer(PyObject* object, int flags) {
    if (PyObject_GetBuffer(object, view, flags) != 0) {
      delete view;
      throw_python_error();
    }
  }
  ~HeapBuffer() {
    if (view) release_buffer(view);
  }
  // The memory as a storage, which then owns the buffer.
  Storage* into_storage(char* data, int64_t nbytes) {
    Storage* storage = Storage::wrap(data, nbytes, Device{}, release_buffer, view);
    view = nullptr;
    return storage;
  }
};

Tensor own_storage(Storage* storage, DType dtype, const Dims& sizes, const Dims& strides) {
  Tensor x = from_storage(storage, dtype, sizes, strides, 0);
  storage->release();
  return x;
}

PyObject* numpy_attribute(const char* name) {  // borrowed; null if NumPy was not imported
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* numpy = modules ? PyDict_GetItemString(modules, "numpy") : nullptr;
  if (!numpy) return nullptr;
  PyObject* value = PyObject_GetAttrString(numpy, name);
  if (!value) {
    PyErr_Clear();  // NumPy is being imported
    return nullptr;
  }
  Py_DECREF(value);  // the module keeps it
  return value;
}

bool is_numpy_instance(PyObject* object, const char* name) {
  // Numbers and containers of Python itself are seen at once; np.float64, a subclass of float, is
  // not.
  constexpr unsigned long kBuiltin = Py_TPFLAGS_LONG_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS |
                                     Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_UNICODE_SUBCLASS;
  if (PyFloat_CheckExact(object) || PyType_FastSubclass(Py_TYPE(object), kBuiltin)) return false;
  PyObject* type = numpy_attribute(name);
  return type && PyType_Check(type) &&
         PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(type));
}

const char* kReadOnly =
    "The given buffer is not writable, and tensors are always writable: writing to this tensor is "
    "writing to memory that its owner "
    "protects. Copy it first.";

struct Buffered {
  int64_t count = -1;
  int64_t offset = 0;
};

Tensor from_buffer(PyObject* object, DType dtype, Buffered range) {
  check_value(PyObject_CheckBuffer(object),
              "frombuffer: expected an object with the buffer protocol, got ",
              Py_TYPE(object)->tp_name, ".");
  int64_t itemsize = item_size(dtype);
  HeapBuffer buffer(object, PyBUF_SIMPLE);
  int64_t nbytes = buffer.view->len;
  check_value(nbytes > 0 && range.count != 0, "frombuffer: both buffer length (", nbytes,
              ") and count (", range.count, ") must not be 0.");
  check_value(range.offset >= 0 && range.offset < nbytes, "frombuffer: expected an offset of 0 to ",
              nbytes - 1, " (the buffer's length - 1), got ", range.offset, ".");
  int64_t available = nbytes - range.offset, count = range.count;
  if (count < 0) {
    check_value(available % itemsize == 0, "frombuffer: buffer length after the offset (",
                available, " bytes) is not a multiple of the element size (", itemsize, ").");
    count = available / itemsize;
  }
  check_value(count <= available / itemsize, "frombuffer: ", count, " elements of ", itemsize,
              " bytes are more than the buffer's ", available, " bytes after the offset.");
  if (buffer.view->readonly) warn_user(kReadOnly);
  Storage* storage =
      buffer.into_storage(static_cast<char*>(buffer.view->buf) + range.offset, count * itemsize);
  return own_storage(storage, dtype, {count}, {1});
}

// The tensor over the object's own memory where there is such a thing.
std::optional<Tensor> shared_memory(PyObject* object, std::optional<DType> dtype) {
  if (is_tensor(object)) return as_tensor(object);
  if (is_numpy_array(object)) return from_numpy(object, true);
  if (is_numpy_scalar(object)) return std::nullopt;
  if (has_dlpack(object) || PyCapsule_CheckExact(object)) return from_dlpack(object);
  if (PyObject_CheckBuffer(object))
    return from_buffer(object, dtype.value_or(get_default_dtype()), {});
  return std::nullopt;
}

Tensor as_tensor_from_python(nb::handle data, std::optional<DType> dtype,
                             std::optional<DeviceArg> device) {
  if (is_tensor(data.ptr())) {
    Tensor x = as_tensor(data.ptr());
    return to(x, device ? device->device : x.device(), dtype.value_or(x.dtype()), false);
  }
  Device target = device_or_default(device);
  if (is_numpy_array(data.ptr())) {
    Tensor x = from_numpy(data.ptr(), true);
    return to(x, target, dtype.value_or(x.dtype()), false);
  }
  return tensor_from_data(data.ptr(), dtype, target);
}

Tensor asarray(nb::handle object, std::optional<DType> dtype, std::optional<DeviceArg> device,
               std::optional<bool> copy, std::optional<bool> requires_grad) {
  std::optional<Tensor> shared = shared_memory(object.ptr(), dtype);
  Tensor x;
  if (shared) {
    Device target = device ? device->device : shared->device();
    DType type = dtype.value_or(shared->dtype());
    bool must_copy = type != shared->dtype() ||
                     (target != shared->device() && !(target.is_cuda() && target.index < 0));
    check_value(!must_copy || copy.value_or(true),
                "asarray: a copy is needed for this dtype or device, but copy=False was given.");
    x = to(*shared, target, type, copy.value_or(false));
  } else {
    check_value(copy.value_or(true), "asarray: a copy is needed of an object of type ",
                Py_TYPE(object.ptr())->tp_name, ", but copy=False was given.");
    x = tensor_from_data(object.ptr(), dtype, device_or_default(device));
  }
  if (x.requires_grad() && !requires_grad.value_or(true)) x = detach(x);
  if (!x.requires_grad() && requires_grad.value_or(false)) require_grad(x, true);
  return x;
}

// NumPy has one object for each of its own dtypes, by which arrays are recognised without a
// question of an attribute. Dtypes that programs make are kept as well, up to a number; the GIL
// guards it.
std::vector<std::pair<nb::object, DType>>& known_dtypes() {
  static auto* known = new std::vector<std::pair<nb::object, DType>>;  // outlives the interpreter
  return *known;
}

std::optional<DType> known_dtype(PyObject* dtype) {
  for (const auto& [object, type] : known_dtypes())
    if (object.ptr() == dtype) return type;
  return std::nullopt;
}

void remember_dtype(const nb::object& dtype, DType type) {
  if (known_dtypes().size() < 32) known_dtypes().emplace_back(dtype, type);
}

}  // namespace

int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  Tensor x = as_tensor(self);
  try {
    if (const char* refusal = buffer_refusal(x, flags)) {
      PyErr_SetString(PyExc_BufferError, refusal);
      return -1;
    }
    auto kept = std::make_unique<Export>(x);
    view->buf = x.data();
    view->len = x.numel() * x.itemsize();
    view->itemsize = x.itemsize();
    view->readonly = 0;
    // Without a shape it is one run of bytes: memoryview reads the shape of more dimensions unseen.
    view->ndim = (flags & PyBUF_ND) ? static_cast<int>(x.dim()) : 1;
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(buffer_format(x.dtype())) : nullptr;
    view->shape = (flags & PyBUF_ND) ? kept->dims.get() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? kept->dims.get() + x.dim() : nullptr;
    view->suboffsets = nullptr;
    view->internal = kept.release();
  } catch (...) {
    set_python_exception();
    return -1;
  }
  view->obj = wrap(x);
  return 0;
}

void tensor_releasebuffer(PyObject*, Py_buffer* view) {
  delete static_cast<Export*>(view->internal);
}

bool is_numpy_array(PyObject* object) { return is_numpy_instance(object, "ndarray"); }
bool is_numpy_scalar(PyObject* object) { return is_numpy_instance(object, "generic"); }

DType dtype_of_numpy(const char* op, PyObject* object) {
  nb::object dtype = nb::handle(object).attr("dtype");
  if (std::optional<DType> known = known_dtype(dtype.ptr())) return *known;
  std::string kind = nb::cast<std::string>(dtype.attr("kind"));
  int64_t itemsize = nb::cast<int64_t>(dtype.attr("itemsize"));
  for (int i = 0; i < kNumDTypes; ++i) {
    DType type = static_cast<DType>(i);
    const char* own = type == DType::Bool ? "b"
                      : is_unsigned(type) ? "u"
                      : is_integral(type) ? "i"
                      : is_floating(type) ? "f"
                      : is_complex(type)  ? "c"
                                          : "";
    if (type != DType::BFloat16 && kind == own && itemsize == item_size(type)) {
      if (nb::cast<bool>(dtype.attr("isnative"))) remember_dtype(dtype, type);
      return type;
    }
  }
  fail(ErrorKind::Type, op, ": no dtype is NumPy's ", nb::str(nb::handle(dtype)).c_str(),
       ". Convert the array to float64, float32, float16, complex128, complex64, int64, int32, "
       "int16, int8, uint64, uint32, uint16, uint8 or bool. (can't convert np.ndarray of that "
       "type)");
}

Tensor from_numpy(PyObject* array, bool warn_if_read_only) {
  check_type(is_numpy_array(array), "from_numpy: expected np.ndarray (got ",
             Py_TYPE(array)->tp_name, ").");
  DType dtype = dtype_of_numpy("from_numpy", array);
  nb::object its_dtype = nb::handle(array).attr("dtype");
  check_value(known_dtype(its_dtype.ptr()) || nb::cast<bool>(its_dtype.attr("isnative")),
              "from_numpy: expected an array in the byte order of this machine. Use "
              "array.astype(array.dtype.newbyteorder('=')).");
  HeapBuffer buffer(array, PyBUF_STRIDED_RO);
  Py_buffer& view = *buffer.view;
  Dims sizes(view.ndim), strides(view.ndim);
  int64_t extent = 1;
  bool is_empty = false;
  for (int i = 0; i < view.ndim; ++i) {
    check_value(view.strides[i] >= 0 || view.shape[i] < 2,
                "from_numpy: at least one stride of the given array is negative, which tensors do "
                "not have. Copy it with array.copy().");
    check_value(view.strides[i] % view.itemsize == 0,
                "from_numpy: the strides of the given array are not multiples of the element size. "
                "Copy it with array.copy().");
    sizes[i] = view.shape[i];
    strides[i] = std::max<int64_t>(view.strides[i] / view.itemsize, 0);
    is_empty |= sizes[i] == 0;
    extent += (sizes[i] - 1) * strides[i];
  }
  if (view.readonly && warn_if_read_only) warn_user(kReadOnly);
  Storage* storage =
      buffer.into_storage(static_cast<char*>(view.buf), is_empty ? 0 : extent * item_size(dtype));
  return own_storage(storage, dtype, sizes, strides);
}

FACULA_BINDINGS {
  def_state(
      m, "_is_plain",
      [](const Tensor& x) {
        return Py_TYPE(x.get()) == tensor_type && x.is_cpu() && !x.requires_grad() &&
               !x.is_lazy() && !is_stored_only(x.dtype()) && x.dtype() != DType::BFloat16;
      },
      "x"_a, "Whether the memory of the tensor is surely that of an array of NumPy.");
  def_state(
      m, "from_numpy", [](nb::handle array) { return from_numpy(array.ptr(), true); },
      "ndarray"_a.none(),
      R"(A tensor over the memory of a NumPy array: writes to one are seen in the other.
    ndarray: the array, of a dtype that tensors have.
    >>> import numpy
    >>> array = numpy.zeros(2)
    >>> x = facula.from_numpy(array)
    >>> array[0] = 1
    >>> x
    tensor([1., 0.], dtype=torch.float64))"_doc);
  m.def(
      "as_tensor", &as_tensor_from_python, "data"_a.none(), "dtype"_or_none, "device"_or_none,
      R"(The data as a tensor, without a copy where its memory can be shared (tensors, NumPy arrays).
    data: a number, nested sequences of numbers, an array or a tensor.
    dtype: the dtype of the result; None to infer it.
    device: where the result is made; None for that of a tensor, else the default device.
    >>> x = facula.ones(2)
    >>> facula.as_tensor(x) is x
    True)"_doc);
  m.def("asarray", &asarray, "obj"_a.none(), nb::kw_only(), "dtype"_or_none, "device"_or_none,
        "copy"_or_none, "requires_grad"_or_none,
        R"(The object as a tensor, sharing its memory where possible: arrays, DLPack, buffers.
    obj: a number, nested sequences of numbers, an array, a buffer or a tensor.
    dtype: the dtype of the result; None to infer it.
    device: where the result is made; None for that of a tensor, else the default device.
    copy: True for a copy in any case, False to raise where a copy is needed, None for either.
    requires_grad: whether operations on the result are recorded; None to leave a tensor as it is.
    >>> facula.asarray([1, 2])
    tensor([1, 2]))"_doc);
  def_state(
      m, "frombuffer",
      [](nb::handle buffer, DType dtype, int64_t count, int64_t offset, bool requires_grad) {
        Tensor x = from_buffer(buffer.ptr(), dtype, {count, offset});
        if (requires_grad) require_grad(x, true);
        return x;
      },
      "buffer"_a.none(), nb::kw_only(), "dtype"_a, "count"_a = -1, "offset"_a = 0,
      "requires_grad"_a = false,
      R"(A 1-d tensor over the memory of an object with the buffer protocol.
    buffer: an object with the buffer protocol, such as a bytearray.
    dtype: the dtype of the elements.
    count: the number of elements; -1 for all that the buffer holds.
    offset: the number of bytes to leave out at the beginning.
    requires_grad: whether operations on the result are recorded.
    >>> facula.frombuffer(bytearray([1, 0, 2, 0]), dtype=facula.int16)
    tensor([1, 2], dtype=torch.int16))"_doc);
}

}  // namespace facula
