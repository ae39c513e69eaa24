#include "ops/creation.h"

#include "ops/ops.h"
#include "python/bind.h"
#include "python/new_tensor.h"

namespace facula {

namespace {

Device device_or_cpu(const std::optional<DeviceArg>& device) { return device ? device->device : Device{}; }

Tensor finish(Tensor x, bool requires_grad) {
  if (requires_grad) require_grad(x, true);
  return x;
}

template <class Make>
void def_factory(nb::module_& m, const char* name, Make make, const char* doc) {
  m.def(
      name,
      [name, make](const nb::args& size, std::optional<DType> dtype, std::optional<DeviceArg> device, bool requires_grad) {
        return finish(make(dims_from_args(name, size), dtype.value_or(get_default_dtype()), device_or_cpu(device)), requires_grad);
      },
      "size"_a, "dtype"_a.none() = nb::none(), "device"_a.none() = nb::none(), "requires_grad"_a = false, doc);
}

}  // namespace

void bind_creation(nb::module_& m) {
  m.def(
      "tensor",
      [](nb::handle data, std::optional<DType> dtype, std::optional<DeviceArg> device, bool requires_grad) {
        return finish(tensor_from_data(data.ptr(), dtype, device_or_cpu(device)), requires_grad);
      },
      "data"_a, nb::kw_only(), "dtype"_a.none() = nb::none(), "device"_a.none() = nb::none(), "requires_grad"_a = false,
      "A new tensor with a copy of the data: numbers, nested sequences, arrays.");
  def_factory(m, "empty", [](const Dims& s, DType t, Device d) { return empty(s, t, d); }, "A tensor of memory as it comes.");
  def_factory(m, "zeros", [](const Dims& s, DType t, Device d) { return full(s, 0, t, d); }, "A tensor of zeros.");
  def_factory(m, "ones", [](const Dims& s, DType t, Device d) { return full(s, 1, t, d); }, "A tensor of ones.");
}

}  // namespace facula
