// Conversions of dtype, device and memory format, and questions about a tensor.
#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/ops.h"

namespace facula {

namespace {

using Format = std::optional<MemoryFormat>;

// The format that x has in memory; contiguous where it is none of them.
MemoryFormat suggested_format(const Tensor& x) {
  for (MemoryFormat format : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
    if (!x.is_contiguous() && x.is_contiguous(format)) return format;
  return MemoryFormat::Contiguous;
}

Tensor resized(const char* op, const Tensor& x, const Dims& sizes, Format format) {
  check(!x.requires_grad(), op, ": a tensor that requires grad cannot be resized.");
  check(format != MemoryFormat::Preserve, op, ": memory_format=preserve_format is not supported.");
  if (!format) {
    resize_(x, sizes);
    return x;
  }
  size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  check(format == MemoryFormat::Contiguous || sizes.size() == rank, op, ": expected ", rank,
        " dimensions for this memory_format, got ", sizes, ".");
  resize_(x, sizes, *format);
  return x;
}

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
  if (args.size() - n_positional >= 2) copy = args[n_positional + 1].ptr() == Py_True;
  check_type(n_positional <= 2, "to: expected at most a device and a dtype, got ", n_positional,
             " arguments.");
  told_as("to", [&] {
    for (size_t i = 0; i < n_positional; ++i) add_target(target, args[i]);
    if (device) target.device = device->device;
  });
  if (dtype) target.dtype = dtype;
  return to(x, target.device.value_or(x.device()), target.dtype.value_or(x.dtype()), copy,
            format.value_or(MemoryFormat::Preserve));
}

void def_cast(const char* name, DType dtype) {
  def_method(
      name,
      [dtype](const Tensor& x, Format format) {
        return to(x, x.device(), dtype, false, format.value_or(MemoryFormat::Preserve));
      },
      "memory_format"_a.none() = nb::none(),
      "The tensor in another dtype; itself if it has it already.");
}

}  // namespace

FACULA_BINDINGS {
  def_method("to", &to_from_python, "args"_a, nb::kw_only(), "device"_a.none() = nb::none(),
             "dtype"_a.none() = nb::none(), "non_blocking"_a = false, "copy"_a = false,
             "memory_format"_a.none() = nb::none(),
             R"(The tensor on another device or in another dtype; itself if nothing changes.

Example:
    >>> facula.tensor([1, 2]).to(facula.float32)
    tensor([1., 2.]))");
  for (int i = 0; i < kNumDTypes; ++i)
    if (static_cast<DType>(i) == DType::Bool || static_cast<DType>(i) == DType::BFloat16)
      def_cast(kDTypeNames[i], static_cast<DType>(i));
  def_cast("half", DType::Float16);
  def_cast("float", DType::Float32);
  def_cast("double", DType::Float64);
  def_cast("byte", DType::UInt8);
  def_cast("char", DType::Int8);
  def_cast("short", DType::Int16);
  def_cast("int", DType::Int32);
  def_cast("long", DType::Int64);
  def_cast("cfloat", DType::Complex64);
  def_cast("cdouble", DType::Complex128);
  def_method(
      "type_as",
      [](const Tensor& x, const Tensor& other) {
        return to(x, other.device(), other.dtype(), false);
      },
      "other"_a, "The tensor with the dtype and device of another.");
  def_method(
      "cpu",
      [](const Tensor& x, Format format) {
        return to(x, Device{}, x.dtype(), false, format.value_or(MemoryFormat::Preserve));
      },
      "memory_format"_a.none() = nb::none(), "The tensor in main memory; itself if it is there.");
  def_method(
      "cuda",
      [](const Tensor& x, std::optional<DeviceArg> device, bool, Format format) {
        Device target = device ? device->device : Device{DeviceType::CUDA, -1};
        check(target.is_cuda(), "cuda: expected a CUDA device, got ", target, ".");
        return to(x, target, x.dtype(), false, format.value_or(MemoryFormat::Preserve));
      },
      "device"_a.none() = nb::none(), "non_blocking"_a = false,
      "memory_format"_a.none() = nb::none(), "The tensor on a CUDA device.");

  m.def(
      "result_type",
      [](const Operand& a, const Operand& b) {
        return result_type({a.tensor, b.tensor});
      },
      "tensor1"_a, "tensor2"_a, "The dtype of an arithmetic result of the two.");
  def_op(
      m, "is_floating_point", [](const Tensor& x) { return is_floating(x.dtype()); },
      "Whether the dtype is a floating-point type.");
  def_op(
      m, "is_complex", [](const Tensor& x) { return is_complex(x.dtype()); },
      "Whether the dtype is complex.");
  def_op(
      m, "is_signed",
      [](const Tensor& x) { return x.dtype() != DType::Bool && x.dtype() != DType::UInt8; },
      "Whether the dtype has negative values.");
  def_op(
      m, "is_nonzero",
      [](const Tensor& x) {
        check(x.numel() == 1, "is_nonzero: expected a tensor of one element, got ", x, ".");
        return item(x).to_bool();
      },
      "Whether the only element is not zero.");
  def_op(
      m, "is_same_size",
      [](const Tensor& x, const Tensor& other) { return x.sizes() == other.sizes(); }, "other"_a,
      "Whether both have the same shape.");
  m.def(
      "is_tensor", [](nb::handle object) { return is_tensor(object.ptr()); }, "obj"_a,
      "Whether the object is a tensor.");
  m.def(
      "numel", [](const Tensor& x) { return x.numel(); }, "input"_a, "The number of elements.");
  def_method(
      "nelement", [](const Tensor& x) { return x.numel(); }, "The number of elements.");
  def_method(
      "ndimension", [](const Tensor& x) { return x.dim(); }, "The number of dimensions.");
  def_method(
      "get_device", [](const Tensor& x) { return int(x.device().index); },
      "The number of the CUDA device, -1 on the CPU.");
  def_method(
      "is_set_to",
      [](const Tensor& x, const Tensor& y) {
        return x.storage() == y.storage() && x.offset() == y.offset() && x.sizes() == y.sizes() &&
               x.strides() == y.strides();
      },
      "tensor"_a, "Whether both are the same view of the same storage.");
  def_method(
      "is_pinned", [](const Tensor&) { return false; }, "Whether the memory is page-locked.");

  def_method(
      "view_as", [](const Tensor& x, const Tensor& other) { return view(x, other.sizes()); },
      "other"_a, "The view with the shape of another tensor.");
  def_method(
      "reshape_as", [](const Tensor& x, const Tensor& other) { return reshape(x, other.sizes()); },
      "other"_a, "reshape to the shape of another tensor.");
  def_method(
      "expand_as", [](const Tensor& x, const Tensor& other) { return expand(x, other.sizes()); },
      "other"_a, "expand to the shape of another tensor.");
  def_op(
      m, "broadcast_to",
      [](const Tensor& x, const Dims& size) {
        return told_as("broadcast_to", [&] { return expand(x, size); });
      },
      "size"_a, "The view expanded to a larger shape.");
  def_method(
      "sum_to_size",
      [](const Tensor& x, const nb::args& args) {
        Dims size = dims_from_args("sum_to_size", args);
        return size.empty() ? sum(x) : sum_to_size(x, size);
      },
      "Sums the dimensions along which a tensor of this size was broadcast.");
  def_method(
      "resize_",
      [](Tensor x, const nb::args& size, Format format) {
        Dims sizes = dims_from_args("resize_", size);
        return told_as("resize_", [&] { return resized("resize_", x, sizes, format); });
      },
      "size"_a, nb::kw_only(), "memory_format"_a.none() = nb::none(),
      "Another shape for this tensor itself; its storage grows where it must.");
  auto resize_as = [](Tensor x, const Tensor& other, Format format) {
    if (format == MemoryFormat::Preserve) format = suggested_format(other);
    return resized("resize_as_", x, other.sizes(), format);
  };
  const char* doc = "resize_ to the shape of another tensor.";
  m.def("resize_as_", resize_as, "input"_a, "the_template"_a, nb::kw_only(),
        "memory_format"_a.none() = nb::none(), doc);
  def_method("resize_as_", resize_as, "the_template"_a, nb::kw_only(),
             "memory_format"_a.none() = nb::none(), doc);
}

}  // namespace facula
