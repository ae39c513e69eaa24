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

// For operations whose out= must have the dtype of the result.
inline void check_out_dtype(const char* name, const Tensor& result, const Tensor& out) {
  check(out.dtype() == result.dtype(), name, ": expected out to have dtype ", result.dtype(),
        ", got ", out.dtype(), ".");
}
inline Tensor into_exact_out(const char* name, const Tensor& result, const Tensor& out) {
  if (out.defined()) check_out_dtype(name, result, out);
  return into_out(name, result, out);
}

// Two results as one object, stored in out=(first, second) where given. Both are checked before one
// is written.
inline nb::object pair_result(const char* name, std::pair<Tensor, Tensor> results,
                              const OutPair& out = {}) {
  if (out) {
    check_out_dtype(name, results.first, out->first);
    check_out_dtype(name, results.second, out->second);
    results = {into_out(name, results.first, out->first),
               into_out(name, results.second, out->second)};
  }
  return named_result(name, {results.first, results.second});
}

}  // namespace facula
