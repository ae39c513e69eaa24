#include "python/storage.h"

#include <structmember.h>

#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/ops.h"
#include "python/new_tensor.h"
#include "tensor/shared_memory.h"

namespace facula {

bool is_any_thread_computing();  // without the interpreter lock, in module.cpp

namespace {

struct StorageObject {
  PyObject_HEAD Storage* storage;  // owned
  PyObject* weakrefs;
};

PyTypeObject* storage_type = nullptr;

Storage* storage_of(PyObject* self) { return reinterpret_cast<StorageObject*>(self)->storage; }

// Takes over the caller's reference to the storage.
PyObject* new_object(Storage* storage) {
  auto* self = reinterpret_cast<StorageObject*>(storage_type->tp_alloc(storage_type, 0));
  if (!self) {
    storage->release();
    throw_python_error();
  }
  self->storage = storage;
  storage->python_object = self;
  return reinterpret_cast<PyObject*>(self);
}

void storage_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<StorageObject*>(self);
  if (object->weakrefs) PyObject_ClearWeakRefs(self);
  object->storage->python_object = nullptr;
  object->storage->release();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// UntypedStorage(nbytes), UntypedStorage([1, 2, 3]), both with device=.
PyObject* storage_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"size", "device", nullptr};
    PyObject *size = nullptr, *where = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:UntypedStorage", const_cast<char**>(names),
                                     &size, &where))
      throw_python_error();
    Device device;
    if (where != Py_None)
      check_type(device_from_object(where, device), "UntypedStorage: expected a device.");
    int64_t nbytes = 0;
    if (size && !index_from_object(size, nbytes)) {
      check_type(PySequence_Check(size) && !PyUnicode_Check(size),
                 "UntypedStorage: expected a number of bytes or a sequence of ints, got ",
                 Py_TYPE(size)->tp_name, ".");
      Tensor bytes = tensor_from_data(size, DType::UInt8, device);
      bytes.storage()->retain();
      return new_object(bytes.storage());
    }
    check(nbytes >= 0, "UntypedStorage: expected a size of at least 0, got ", nbytes, ".");
    Tensor memory = empty({nbytes}, DType::UInt8, device);
    memory.storage()->retain();
    return new_object(memory.storage());
  });
}

PyObject* storage_device(PyObject* self, void*) {
  return guarded([&] { return nb::cast(storage_of(self)->device()).release().ptr(); });
}
PyObject* storage_cdata(PyObject* self, void*) { return PyLong_FromVoidPtr(storage_of(self)); }
Py_ssize_t storage_len(PyObject* self) { return storage_of(self)->nbytes(); }

void make_storage_type(nb::module_& m) {
  static PyGetSetDef properties[] = {
      {"device", storage_device, nullptr, "Where the memory is.", nullptr},
      {"_cdata", storage_cdata, nullptr, "A number that tells storages apart.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)},
      {Py_tp_new, reinterpret_cast<void*>(storage_new)},
      {Py_tp_getset, properties},
      {Py_tp_members, members},
      {Py_mp_length, reinterpret_cast<void*>(storage_len)},
      {Py_sq_length, reinterpret_cast<void*>(storage_len)},
      {Py_tp_doc,
       const_cast<char*>("One flat piece of memory, in bytes. Tensors are views of it.\n\n"
                         "Example:\n"
                         "    >>> x = facula.zeros(2, 2)\n"
                         "    >>> x.untyped_storage().nbytes(), x[0].untyped_storage().nbytes()\n"
                         "    (16, 16)")},
      {0, nullptr}};
  static PyType_Spec spec = {"facula.UntypedStorage", sizeof(StorageObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  storage_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!storage_type) throw nb::python_error();
  m.attr("UntypedStorage") = nb::handle(reinterpret_cast<PyObject*>(storage_type));
}

template <class F, class... Extra>
void def_storage_method(const char* name, F&& f, const Extra&... extra) {
  nb::cpp_function_def(std::forward<F>(f),
                       nb::scope(nb::handle(reinterpret_cast<PyObject*>(storage_type))),
                       nb::name(name), nb::is_method(), extra...);
}

Storage* checked_storage(const char* op, nb::handle object) {
  std::optional<StorageArg> arg = storage_from_object(object.ptr());
  check_type(arg.has_value(), op, ": expected a storage, got ", Py_TYPE(object.ptr())->tp_name,
             ".");
  return arg->storage;
}

// The bytes that a tensor of this geometry needs; raises for what is no geometry.
int64_t needed_nbytes(const char* op, const Dims& sizes, const Dims& strides, int64_t offset,
                      DType dtype) {
  check(sizes.size() == strides.size(), op, ": expected a stride for each size, got ", strides,
        " for ", sizes, ".");
  check(offset >= 0, op, ": invalid storage offset ", offset);
  if (checked_numel(sizes) == 0) return 0;
  __int128 extent = static_cast<__int128>(offset) + 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    check(strides[i] >= 0, op, ": strides must not be negative, got ", strides, ".");
    extent += static_cast<__int128>(sizes[i] - 1) * strides[i];
    check(extent < (static_cast<__int128>(1) << 58), op, ": sizes ", sizes, " and strides ",
          strides, " reach further than memory does.");
  }
  return static_cast<int64_t>(extent) * item_size(dtype);
}

Tensor tensor_over(nb::handle source, DType dtype, int64_t offset, const Dims& sizes,
                   const Dims& strides) {
  Storage* storage = checked_storage("tensor", source);
  int64_t needed = needed_nbytes("tensor", sizes, strides, offset, dtype);
  check(needed <= storage->nbytes(), "tensor: sizes ", sizes, ", strides ", strides, " and offset ",
        offset, " of ", dtype, " need ", needed, " bytes, but the storage has ", storage->nbytes(),
        ".");
  return from_storage(storage, dtype, sizes, strides, offset);
}

// x looks at other memory from now on.
Tensor set_(Tensor x, nb::handle source, int64_t offset, std::optional<Dims> size,
            std::optional<Dims> stride) {
  check_inplace("set_", x);
  check(!x.requires_grad() || !is_grad_enabled(),
        "set_: the tensor has a history, which other memory would make wrong. Use detach() first.");
  Tensor value;
  if (source.is_none()) {
    value = empty({0}, x.dtype(), x.device());
  } else if (is_tensor(source.ptr()) && !size) {
    value = as_tensor(source.ptr());
  } else {
    Storage* storage = is_tensor(source.ptr()) ? as_tensor(source.ptr()).storage()
                                               : checked_storage("set_", source);
    Dims sizes = size ? *size : Dims{storage->nbytes() / x.itemsize()};
    Dims strides = stride && !stride->empty() ? *stride : contiguous_strides(sizes);
    int64_t needed = needed_nbytes("set_", sizes, strides, offset, x.dtype());
    if (needed > storage->nbytes()) storage->resize(needed);
    value = from_storage(storage, x.dtype(), sizes, strides, offset);
  }
  DType source_dtype = value.dtype();
  if (is_tensor(source.ptr()))
    source_dtype = as_tensor(source.ptr()).dtype();
  else if (auto arg = storage_from_object(source.ptr()))
    source_dtype = arg->dtype.value_or(x.dtype());
  check(source_dtype == x.dtype(), "set_: expected a source of ", x.dtype(), ", got ", source_dtype,
        ".");
  check(value.device() == x.device(), "set_: expected a source on ", x.device(), ", got one on ",
        value.device(), ".");
  replace_data(x, value);
  Py_CLEAR(x->base);
  bump_version(x);
  return x;
}

SharedBy shared_by(bool by_descriptor) {
  return by_descriptor ? SharedBy::Descriptor : SharedBy::Segment;
}

}  // namespace

std::optional<StorageArg> storage_from_object(PyObject* object) {
  if (Py_TYPE(object) == storage_type) return StorageArg{storage_of(object), std::nullopt};
  // TypedStorage is written in Python: an UntypedStorage and a dtype.
  if (std::strcmp(Py_TYPE(object)->tp_name, "TypedStorage") != 0 ||
      !PyObject_HasAttrString(object, "_untyped_storage"))
    return std::nullopt;
  nb::object untyped = nb::handle(object).attr("_untyped_storage");
  DType dtype;
  if (Py_TYPE(untyped.ptr()) != storage_type ||
      !dtype_from_object(nb::object(nb::handle(object).attr("dtype")).ptr(), dtype))
    return std::nullopt;
  return StorageArg{storage_of(untyped.ptr()), dtype};  // the typed storage keeps the untyped one
}

PyObject* storage_object(Storage* storage) {
  if (storage->python_object) {
    auto* object = static_cast<PyObject*>(storage->python_object);
    Py_INCREF(object);
    return object;
  }
  storage->retain();
  return new_object(storage);
}

namespace {

void bind_size() {
  def_storage_method(
      "nbytes", [](nb::handle self) { return checked_storage("nbytes", self)->nbytes(); },
      R"(The number of bytes.
    >>> facula.zeros(2, 3).untyped_storage().nbytes()
    24)"_doc);
  def_storage_method(
      "__sizeof__",
      [](nb::handle self) {
        return checked_storage("__sizeof__", self)->nbytes() +
               static_cast<int64_t>(sizeof(StorageObject));
      },
      "The bytes that the storage takes, its memory included.");
  // For those who compare addresses and do not write there.
  def_storage_method(
      "_address",
      [](nb::handle self) {
        return reinterpret_cast<uintptr_t>(checked_storage("_address", self)->data());
      },
      "The address of the first byte, to be compared with others.");
  def_storage_method(
      "data_ptr",
      [](nb::handle self) {
        Storage* storage = checked_storage("data_ptr", self);
        storage->forbid_keeping();
        return reinterpret_cast<uintptr_t>(storage->data());
      },
      R"(The address of the first byte in memory.
    >>> x = facula.zeros(2)
    >>> x.untyped_storage().data_ptr() == x.data_ptr()
    True)"_doc);
  def_storage_method(
      "resizable",
      [](nb::handle self) { return checked_storage("resizable", self)->is_resizable(); },
      R"(Whether resize_() is allowed: memory that other libraries own or look at keeps its size.
    >>> facula.zeros(2).untyped_storage().resizable()
    True)"_doc);
  def_storage_method(
      "resize_",
      [](nb::object self, int64_t size) {
        check(size >= 0, "resize_: expected a size of at least 0, got ", size, ".");
        checked_storage("resize_", self)->resize(size);
        return self;
      },
      "size"_a, R"(Changes the number of bytes of the storage; what fits is kept.
    size: the new number of bytes.
    >>> facula.UntypedStorage(4).resize_(8).nbytes()
    8)"_doc);
}

void bind_sharing(nb::module_& m) {
  def_storage_method(
      "_slice",
      [](nb::handle self, int64_t start, int64_t stop) {
        Storage* parent = checked_storage("UntypedStorage", self);
        check_index(0 <= start && start <= stop && stop <= parent->nbytes(),
                    "UntypedStorage: bytes ", start, " to ", stop, " of ", parent->nbytes(), ".");
        parent->retain();
        parent->forbid_resize();
        auto end = [](void* context) { static_cast<Storage*>(context)->release(); };
        return nb::steal(new_object(
            Storage::wrap(parent->data() + start, stop - start, parent->device(), end, parent)));
      },
      "start"_a, "stop"_a, "A storage of some of the bytes, which shares the memory.");
  def_storage_method(
      "is_shared",
      [](nb::handle self) {
        Storage* storage = checked_storage("is_shared", self);
        return storage->device().is_cuda() || is_shared(*storage);
      },
      R"(Whether other processes can use the memory: shared memory, or that of a CUDA device.
    >>> facula.zeros(2).untyped_storage().is_shared()
    False)"_doc);
  def_storage_method(
      "_share",
      [](nb::handle self, bool by_descriptor) {
        // A queue shares what is put into it in a thread of its own: a kernel may be at work on the
        // memory that is left.
        share_memory(*checked_storage("share_memory_", self), shared_by(by_descriptor),
                     is_any_thread_computing());
      },
      "by_descriptor"_a);
  def_storage_method("_shared_handle", [](nb::handle self) {
    SharedHandle handle = shared_handle(*checked_storage("send", self));
    return nb::make_tuple(handle.by == SharedBy::Descriptor, handle.number);
  });
  m.def(
      "_open_shared",
      [](bool by_descriptor, int number, int64_t nbytes) {
        Storage* storage = open_shared({shared_by(by_descriptor), number}, nbytes);
        nb::object object = nb::steal(storage_object(storage));
        storage->release();  // the object has its own reference
        return object;
      },
      "by_descriptor"_a, "number"_a, "nbytes"_a);
}

}  // namespace

FACULA_BINDINGS {
  make_storage_type(m);
  bind_size();
  bind_sharing(m);
  def_method(
      "untyped_storage", [](const Tensor& x) { return nb::steal(storage_object(x.storage())); },
      R"(The memory that the tensor looks at, the same object for all of its views.
    >>> x = facula.ones(2, 3)
    >>> x.t().untyped_storage() is x.untyped_storage()
    True)"_doc);
  def_method(
      "set_", &set_, "source"_or_none, "storage_offset"_a = 0, "size"_or_none, "stride"_or_none,
      R"(Looks at the memory of another tensor or of a storage from now on; a storage that is too small grows.
    source: a tensor or a storage; None for no memory at all.
    storage_offset: where the tensor begins in the storage, in elements; needs ``size``.
    size: the new shape; None for that of a source tensor, or a vector of all that a storage holds.
    stride: the distances of neighbours along each dimension, in elements; None for no gaps.
    >>> x = facula.arange(4)
    >>> facula.tensor([], dtype=facula.int64).set_(x.untyped_storage(), 1, (3,))
    tensor([1, 2, 3]))"_doc);
  m.def("_tensor_over", &tensor_over, "storage"_a, "dtype"_a, "storage_offset"_a, "size"_a,
        "stride"_a);
}

}  // namespace facula
