// DLPack: tensors of other libraries over the same memory.
// https://dmlc.github.io/dlpack/latest/c_api.html
#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/ops.h"
#include "python/interop.h"
#include "tensor/backend.h"

namespace facula {

namespace {

// ---- the C structs of the standard

struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null if contiguous
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};

enum DeviceCode : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kComplex = 5, kBool = 6,
                  kFloat8_e4m3fn = 10, kFloat8_e4m3fnuz = 11, kFloat8_e5m2 = 12,
                  kFloat8_e5m2fnuz = 13, kFloat8_e8m0fnu = 14;

uint8_t type_code(DType t) {
  if (t == DType::Bool) return kBool;
  if (is_unsigned(t)) return kUInt;
  if (t == DType::BFloat16) return kBFloat;
  if (t == DType::Float8_e4m3fn) return kFloat8_e4m3fn;
  if (t == DType::Float8_e4m3fnuz) return kFloat8_e4m3fnuz;
  if (t == DType::Float8_e5m2) return kFloat8_e5m2;
  if (t == DType::Float8_e5m2fnuz) return kFloat8_e5m2fnuz;
  if (t == DType::Float8_e8m0fnu) return kFloat8_e8m0fnu;
  return is_integral(t) ? kInt : is_floating(t) ? kFloat : kComplex;
}

template <class Managed>
constexpr const char* kName =
    std::is_same_v<Managed, DLManagedTensor> ? "dltensor" : "dltensor_versioned";
template <class Managed>
constexpr const char* kUsedName =
    std::is_same_v<Managed, DLManagedTensor> ? "used_dltensor" : "used_dltensor_versioned";

// ---- out

// The managed tensor and what it points to, in one piece.
template <class Managed>
struct Exported {
  Managed managed{};
  Storage* storage;
  Dims sizes, strides;

  explicit Exported(const Tensor& x)
      : storage(x.storage()), sizes(x.sizes()), strides(x.strides()) {
    storage->retain();
    storage->forbid_resize();
    // Dimensions of at most one element have no stride to speak of; consumers expect the contiguous
    // one.
    for (int64_t i = 0; i < x.dim(); ++i)
      if (sizes[i] < 2) strides[i] = 1;
    DLTensor& t = managed.dl_tensor;
    t.data = x.address();
    t.device = {x.is_cpu() ? kCpu : kCuda, x.is_cpu() ? 0 : x.device().index};
    t.ndim = static_cast<int32_t>(x.dim());
    t.dtype = {type_code(x.dtype()), static_cast<uint8_t>(x.itemsize() * 8), 1};
    t.shape = sizes.data();
    t.strides = strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](Managed* m) {
      if (!Py_IsInitialized())
        return;  // a library that outlives the interpreter: the memory ends with the process
      PyGILState_STATE state = PyGILState_Ensure();
      auto* self = static_cast<Exported*>(m->manager_ctx);
      self->storage->release();
      delete self;
      PyGILState_Release(state);
    };
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
      managed.major = 1;
      managed.minor = 0;
    }
  }
};

// A capsule that nobody took its tensor out of frees it.
template <class Managed>
void destroy_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName<Managed>)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName<Managed>));
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed>
nb::object to_capsule(const Tensor& x) {
  auto* exported = new Exported<Managed>(x);
  PyObject* capsule = PyCapsule_New(&exported->managed, kName<Managed>, destroy_capsule<Managed>);
  if (!capsule) {
    exported->managed.deleter(&exported->managed);
    throw_python_error();
  }
  return nb::steal(capsule);
}

// ---- in

[[noreturn]] void refuse(const std::string& op, const std::string& why) {
  PyErr_SetString(PyExc_BufferError, (op + ": " + why).c_str());
  throw_python_error();
}
[[noreturn]] void refuse(const std::string& why) { refuse("from_dlpack", why); }

DType dtype_from(DLDataType type) {
  if (type.lanes == 1)
    for (int i = 0; i < kNumDTypes; ++i)
      if (type_code(static_cast<DType>(i)) == type.code && kItemSizes[i] * 8 == type.bits)
        return static_cast<DType>(i);
  refuse("no dtype has the type code " + std::to_string(type.code) + " with " +
         std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) + " lanes.");
}

Device device_from(DLDevice device) {
  if (device.device_type == kCpu || device.device_type == kCudaHost) return {};
  if (device.device_type == kCuda || device.device_type == kCudaManaged) {
    Device cuda{DeviceType::CUDA, static_cast<int8_t>(device.device_id)};
    return backend_of(cuda).resolve(cuda);
  }
  refuse("the memory is on a device of kind " + std::to_string(device.device_type) +
         "; expected the CPU (1) or CUDA (2).");
}

template <class Managed>
Tensor take(PyObject* capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName<Managed>));
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>)
    if (managed->major > 1)
      refuse("the capsule has version " + std::to_string(managed->major) +
             " of DLPack; expected 1.");
  const DLTensor& t = managed->dl_tensor;
  DType dtype = dtype_from(t.dtype);
  Device device = device_from(t.device);
  if (t.ndim < 0 || t.ndim > kMaxDims)
    refuse("expected at most " + std::to_string(kMaxDims) + " dimensions, got " +
           std::to_string(t.ndim) + ".");
  Dims sizes(t.shape, t.shape + t.ndim);
  int64_t numel = checked_numel(sizes);
  Dims strides = t.strides ? Dims(t.strides, t.strides + t.ndim) : contiguous_strides(sizes);
  int64_t extent = numel ? 1 : 0;
  for (int32_t i = 0; i < t.ndim; ++i) {
    if (strides[i] < 0 && sizes[i] > 1)
      refuse("the strides are negative, which tensors do not have. Copy the array first.");
    strides[i] = std::max<int64_t>(strides[i], 0);
    int64_t reach;
    if (__builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &reach) ||
        __builtin_add_overflow(extent, numel ? reach : 0, &extent) || extent > INT64_MAX / 16)
      refuse("sizes and strides reach further than an int64 can count.");
  }
  auto end = [](void* context) {
    auto* m = static_cast<Managed*>(context);
    if (m->deleter) m->deleter(m);
  };
  Storage* storage = Storage::wrap(static_cast<char*>(t.data) + t.byte_offset,
                                   extent * item_size(dtype), device, end, managed);
  PyCapsule_SetName(capsule, kUsedName<Managed>);
  Tensor x = from_storage(storage, dtype, sizes, strides, 0);
  storage->release();
  return x;
}

Tensor from_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kName<DLManagedTensorVersioned>))
    return take<DLManagedTensorVersioned>(capsule);
  check(PyCapsule_IsValid(capsule, kName<DLManagedTensor>),
        "from_dlpack: expected a DLPack capsule that was not used yet, got ",
        Py_TYPE(capsule)->tp_name, ". A capsule gives its tensor once.");
  return take<DLManagedTensor>(capsule);
}

}  // namespace

bool has_dlpack(PyObject* object) {
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__dlpack__");
}

Tensor from_dlpack(PyObject* object) {
  if (PyCapsule_CheckExact(object)) return from_capsule(object);
  return nb::cast<Tensor>(
      nb::module_::import_("facula.utils.dlpack").attr("from_dlpack")(nb::handle(object)));
}

FACULA_BINDINGS {
  m.def(
      "_to_dlpack",
      [](const Tensor& x, bool versioned) {
        if (x.is_meta())
          refuse("__dlpack__", "Cannot pack tensors on meta, which have no elements.");
        if (x.is_lazy())
          refuse("__dlpack__", std::string("the memory of a ") +
                                   (x.is_conj() ? "conjugate" : "negated") +
                                   " view does not hold its elements. Use tensor.resolve_" +
                                   (x.is_conj() ? "conj" : "neg") + "() first, which is a copy.");
        return versioned ? to_capsule<DLManagedTensorVersioned>(x) : to_capsule<DLManagedTensor>(x);
      },
      "input"_a, "versioned"_a);
  m.def(
      "_from_dlpack", [](nb::handle capsule) { return from_capsule(capsule.ptr()); },
      "capsule"_a.none());
  m.def(
      "_current_stream",
      [](DeviceArg device) {
        return reinterpret_cast<uintptr_t>(backend_of(device.device).current_stream(device.device));
      },
      "device"_a);
}

}  // namespace facula
