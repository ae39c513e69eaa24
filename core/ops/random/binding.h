// What the bindings of the random family share.
#pragma once
#include <nanobind/stl/shared_ptr.h>

#include "ops/factory.h"
#include "random/generator.h"

namespace facula {

using GeneratorArg = std::shared_ptr<Generator>;

// For tensors of this device. Who names the default generator means what the thread draws from.
inline Generator& or_default(const GeneratorArg& generator, Device device) {
  if (!generator) return *default_generator(device);
  return generator == process_generator() ? *default_generator() : *generator;
}

// What a function writes its numbers to: `out` in this shape, or an empty tensor.
inline Tensor target_of(const char* op, const Dims& size, const FactoryOptions& options,
                        DType default_dtype, const Tensor& out) {
  if (!out.defined()) return empty(size, options.dtype.value_or(default_dtype), options.place());
  check(!options.dtype || *options.dtype == out.dtype(), op, ": expected out of the given dtype ",
        options.dtype.value_or(out.dtype()), ", got ", out, ".");
  check_inplace(op, out);  // before anything about it changes
  if (out.sizes() != size) resize_(out, size);
  return out;
}

}  // namespace facula
