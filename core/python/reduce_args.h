// What the bindings of reductions share.
#pragma once
#include "ops/ops.h"
#include "python/bind.h"
#include "python/return_types.h"

namespace facula {

using Out = std::optional<Tensor>;
using OutPair = std::optional<std::pair<Tensor, Tensor>>;
using OptionalDims = std::optional<Dims>;
using OptionalDim = std::optional<int64_t>;
using OptionalDType = std::optional<DType>;

inline const Tensor& out_of(const Out& out) {
  static const Tensor none{};
  return out ? *out : none;
}

// Two results as one object, stored in out=(first, second) where given.
inline nb::object pair_result(const char* name, std::pair<Tensor, Tensor> results, const OutPair& out = {}) {
  if (out) results = {into_out(name, results.first, out->first), into_out(name, results.second, out->second)};
  return named_result(name, {results.first, results.second});
}

}  // namespace facula
