// Conversions of dtype, device and memory format.
#include "autograd/node.h"
#include "bind/bind.h"
#include "cuda/pinned.h"
#include "ops/ops.h"
#include "tensor/backend.h"

namespace facula {

namespace {

// Whether the strides, not just the places of the elements, are those of channels_last: with a
// single channel or pixel the two formats differ in nothing else.
bool has_channels_last_strides(const Tensor& x) {
  int64_t n = x.dim();
  if ((n != 4 && n != 5) || x.numel() == 0 || x.stride(1) == 0) return false;
  int64_t end = x.stride(1) * x.size(1);  // of the dims so far: channels, then pixels
  for (int64_t dim = n - 1; dim >= 2; --dim) {
    if (x.stride(dim) < end) return false;
    end = x.stride(dim) * x.size(dim);
  }
  return x.stride(0) >= end && end > x.stride(1);  // images of one element say nothing
}

}  // namespace

Tensor empty_pinned_like(const Tensor& x, DType dtype, MemoryFormat format) {
  Tensor y = empty_like(x, dtype, Device{}, format);  // for its strides
  int64_t nbytes = y.numel() * y.itemsize();
  if (nbytes == 0) return y;
  Storage* storage = cuda::allocate_pinned(nbytes);
  Tensor pinned = from_storage(storage, dtype, y.sizes(), y.strides(), 0);
  storage->release();
  return pinned;
}

Tensor to(const Tensor& x, Device device, DType dtype, bool copy, MemoryFormat format) {
  if (!device.is_cpu()) device = backend_of(device).resolve(device);
  // Asked for the contiguous format, only a tensor in the other format is converted, as in PyTorch.
  MemoryFormat held = !has_channels_last_strides(x) ? MemoryFormat::Contiguous
                      : x.dim() == 5                ? MemoryFormat::ChannelsLast3d
                                                    : MemoryFormat::ChannelsLast;
  bool same_layout = format == MemoryFormat::Preserve || format == held;
  if (device == x.device() && dtype == x.dtype() && same_layout && !copy) return x;
  // A copy that is not waited for needs memory that stays in its place.
  bool is_to_pin = NonBlockingGuard::is_on() && device.is_cpu() && x.device().is_cuda();
  Tensor y = is_to_pin ? empty_pinned_like(x, dtype, format) : empty_like(x, dtype, device, format);
  copy_into(y, x);
  return record("ToCopyBackward0", y, {x},
                [device = x.device(), dtype = x.dtype()](const Tensor& g) {
                  Tensor r = is_complex(g.dtype()) && !is_complex(dtype) ? real(g) : g;
                  return to(r, device, dtype, false);
                });
}

Tensor to_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return to(x, x.device(), dtype, false);
}

// ---- bindings

namespace {

using Format = std::optional<MemoryFormat>;

// x.to(device), x.to(dtype), x.to(device, dtype), x.to(other), with keywords for the rest.
struct ToTarget {
  std::optional<DType> dtype;
  std::optional<Device> device;
};

void add_target(ToTarget& target, nb::handle object) {
  DType dtype;
  Device device;
  if (object.is_none()) return;
  if (is_tensor(object.ptr())) {
    Tensor other = as_tensor(object.ptr());
    target = {other.dtype(), other.device()};
  } else if (dtype_from_object(object.ptr(), dtype)) {
    check_type(!target.dtype, "to: the dtype is given twice.");
    target.dtype = dtype;
  } else {
    check_type(!PyBool_Check(object.ptr()) && device_from_object(object.ptr(), device),
               "to: expected a device, a dtype or a tensor, got ", nb::repr(object).c_str(), ".");
    check_type(!target.device, "to: the device is given twice.");
    target.device = device;
  }
}

Tensor to_from_python(const Tensor& x, const nb::args& args, std::optional<DeviceArg> device,
                      std::optional<DType> dtype, bool non_blocking, bool copy, Format format) {
  ToTarget target;
  size_t n_positional = args.size();
  // The trailing flags may be positional: to(dtype, non_blocking, copy).
  while (n_positional > 0 && PyBool_Check(args[n_positional - 1].ptr())) --n_positional;
  if (args.size() > n_positional) non_blocking = args[n_positional].ptr() == Py_True;
  if (args.size() - n_positional >= 2) copy = args[n_positional + 1].ptr() == Py_True;
  check_type(n_positional <= 2, "to: expected at most a device and a dtype, got ", n_positional,
             " arguments.");
  told_as("to", [&] {
    if (n_positional > 0) add_target(target, args[0]);
    if (n_positional > 1) {
      DType second;
      bool is_dtype = args[1].is_none() || dtype_from_object(args[1].ptr(), second);
      check_type(is_dtype, "to: expected a dtype as the second argument, got ",
                 nb::repr(args[1]).c_str(), ".");
      add_target(target, args[1]);
    }
    if (device) target.device = device->device;
  });
  if (dtype) target.dtype = dtype;
  NonBlockingGuard guard(non_blocking);
  return to(x, target.device.value_or(x.device()), target.dtype.value_or(x.dtype()), copy,
            format.value_or(MemoryFormat::Preserve));
}

void def_cast(const char* name, DType dtype) {
  std::string type = dtype_name(dtype);
  std::string doc = "The tensor converted to " + type + R"(; itself if it has this dtype.

Args:
    memory_format: the order of the result's elements in memory; None to keep it.

Example:
    >>> facula.tensor([0, 1]).)" +
                    name + "().dtype\n    torch." + type;
  def_method(
      name,
      [dtype](const Tensor& x, Format format) {
        return to(x, x.device(), dtype, false, format.value_or(MemoryFormat::Preserve));
      },
      "memory_format"_or_none, doc.c_str());
}

void bind_casts() {
  for (DType dtype : {DType::Bool, DType::BFloat16}) def_cast(dtype_name(dtype), dtype);
  def_cast("half", DType::Float16);
  def_cast("chalf", DType::Complex32);
  def_cast("float", DType::Float32);
  def_cast("double", DType::Float64);
  def_cast("byte", DType::UInt8);
  def_cast("char", DType::Int8);
  def_cast("short", DType::Int16);
  def_cast("int", DType::Int32);
  def_cast("long", DType::Int64);
  def_cast("cfloat", DType::Complex64);
  def_cast("cdouble", DType::Complex128);
}

}  // namespace

FACULA_BINDINGS {
  bind_casts();
  def_method("to", &to_from_python, "args"_a, nb::kw_only(), "device"_or_none, "dtype"_or_none,
             "non_blocking"_a = false, "copy"_a = false, "memory_format"_or_none,
             R"(The tensor on another device or in another dtype; itself if nothing changes.
    args: a device, a dtype, both, or a tensor whose device and dtype are meant.
    device: where the result lies.
    dtype: the dtype of the result.
    non_blocking: whether a copy between pinned memory and a GPU goes on beside what follows; the
        result of one to the CPU must not be read before the GPU is synchronised with.
    copy: whether the result is a copy even if nothing changes.
    memory_format: the order of the result's elements in memory.
    >>> facula.tensor([1, 2]).to(facula.float32)
    tensor([1., 2.]))"_doc);
  def_method(
      "type_as",
      [](const Tensor& x, const Tensor& other) {
        return to(x, other.device(), other.dtype(), false);
      },
      "other"_a, R"(The tensor converted to the dtype and moved to the device of another.
    other: the tensor whose dtype and device are taken.
    >>> facula.tensor([1, 2]).type_as(facula.zeros(1))
    tensor([1., 2.]))"_doc);
  def_method(
      "cpu",
      [](const Tensor& x, Format format) {
        return to(x, Device{}, x.dtype(), false, format.value_or(MemoryFormat::Preserve));
      },
      "memory_format"_or_none,
      R"(The tensor in main memory; itself if it is there already.
    memory_format: the order of the result's elements in memory; None to keep it.
    >>> facula.zeros(2).cpu().device
    device(type='cpu'))"_doc);
  def_method(
      "cuda",
      [](const Tensor& x, std::optional<DeviceArg> device, bool non_blocking, Format format) {
        NonBlockingGuard guard(non_blocking);
        Device target = device ? device->device : Device{DeviceType::CUDA, -1};
        check(target.is_cuda(), "cuda: expected a CUDA device, got ", target, ".");
        return to(x, target, x.dtype(), false, format.value_or(MemoryFormat::Preserve));
      },
      "device"_or_none, "non_blocking"_a = false, "memory_format"_or_none,
      R"(The tensor in the memory of a CUDA device; itself if it is there already.
    device: the CUDA device, or its number; None for the current one.
    non_blocking: whether a copy from pinned memory goes on beside what follows.
    memory_format: the order of the result's elements in memory; None to keep it.
    >>> x = facula.ones(2)
    >>> if facula.cuda.is_available():
    ...     x = x.cuda()
    >>> x.sum().item()
    2.0)"_doc);
}

}  // namespace facula
