// Bindings of functions that make tensors, which share their last arguments: dtype=, layout=,
// device=, pin_memory= and requires_grad=.
#pragma once
#include "autograd/node.h"
#include "bind/default_device.h"
#include "cuda/device.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

namespace facula {

struct FactoryOptions {
  std::optional<DType> dtype;
  std::optional<DeviceArg> device;
  Device place() const { return device_or_default(device); }
};

inline bool is_strided(nb::handle layout) {
  return layout.is_none() || nb::repr(layout).c_str() == std::string("torch.strided");
}

// Dense memory is all that most factories make.
inline void check_strided(nb::handle layout) {
  check_not_implemented(is_strided(layout), "layout: expected torch.strided or None, got ",
                        nb::repr(layout).c_str(),
                        ". Make the tensor with sparse_coo_tensor, or convert a dense one "
                        "with to_sparse().");
}

inline Tensor with_grad(Tensor x, bool requires_grad) {
  if (requires_grad) require_grad(x, true);
  return x;
}

// In page-locked memory, where there is a GPU to copy to.
inline Tensor pinned_if(bool is_wanted, const Tensor& x) {
  if (!is_wanted) return x;
  check(x.is_cpu(), "pin_memory: only tensors of the CPU can be pinned, got one on ", x.device(),
        ".");
  if (cuda::device_count() == 0) return x;
  Tensor y = empty_pinned_like(x, x.dtype());
  copy_into(y, x);
  return y;
}

// The docstring with the arguments that factories share, before its example.
inline std::string factory_doc(std::string doc, const char* more = "") {
  std::string shared = doc.find("\nArgs:\n") == std::string::npos ? "\nArgs:\n" : "";
  shared += R"(    dtype: the dtype of the result; None for the usual one.
    layout: the layout of the result; ``zeros`` and ``empty`` also make sparse tensors.
    device: where the result is made; None for the usual device.
    pin_memory: whether the memory is page-locked, for copies to a GPU that are not waited for;
        has no effect where there is no GPU.
    requires_grad: whether operations on the result are recorded.
)";
  size_t example = doc.find("\nExample:");  // there is none in an overload without a docstring
  return example == std::string::npos ? doc : doc.insert(example, shared + more);
}

#define FACULA_FACTORY_ARGUMENTS                                               \
  "dtype"_or_none, "layout"_or_none, "device"_or_none, "pin_memory"_a = false, \
                                                       "requires_grad"_a = false

template <class... Args, class... Extra>
void def_factory(nb::module_& m, const char* name, Tensor (*make)(const FactoryOptions&, Args...),
                 const char* doc, const Extra&... extra) {
  m.def(
      name,
      [make](Args... args, std::optional<DType> dtype, nb::handle layout,
             std::optional<DeviceArg> device, bool pin_memory, bool requires_grad) {
        check_strided(layout);
        return with_grad(pinned_if(pin_memory, make({dtype, device}, args...)), requires_grad);
      },
      extra..., FACULA_FACTORY_ARGUMENTS, factory_doc(doc).c_str());
}

// The function that fills a tensor of the form of its input.
template <class... Args, class... Extra>
void def_like(nb::module_& m, const char* name, void (*fill)(Tensor&, Args...), const char* doc,
              const Extra&... extra) {
  m.def(
      name,
      [fill](const Tensor& x, Args... args, std::optional<DType> dtype, nb::handle layout,
             std::optional<DeviceArg> device, bool pin_memory, bool requires_grad,
             MemoryFormat format) {
        check_strided(layout);
        Tensor y =
            empty_like(x, dtype.value_or(x.dtype()), device ? device->device : x.device(), format);
        y = pinned_if(pin_memory, y);
        fill(y, args...);
        return with_grad(y, requires_grad);
      },
      "input"_a, extra..., FACULA_FACTORY_ARGUMENTS, "memory_format"_a = MemoryFormat::Preserve,
      factory_doc(doc, "    memory_format: the order of the result's elements in memory.\n")
          .c_str());
}

}  // namespace facula
