// What the bindings of reductions share.
#pragma once
#include <nanobind/stl/pair.h>

#include "bind/return_types.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

namespace facula {

using OutPair = std::optional<std::pair<Tensor, Tensor>>;
using OptionalDims = std::optional<Dims>;
using OptionalDim = std::optional<int64_t>;
using OptionalDType = std::optional<DType>;

inline const Dims& dims_of(const OptionalDims& dims) {
  static const Dims all{};
  return dims ? *dims : all;
}

// For operations whose out= must have the dtype of the result.
inline void check_same_dtype(const char* name, const Tensor& result, const Tensor& out) {
  check(out.dtype() == result.dtype(), name, ": expected out to have dtype ", result.dtype(),
        ", got ", out.dtype(), ".");
}
inline Tensor into_exact_out(const char* name, const Tensor& result, const Out& out) {
  if (!out) return result;
  check_same_dtype(name, result, *out);
  return into_out(name, result, *out);
}

// Two results of x as one object, stored in out=(first, second) where given. Both are checked
// before one is written.
template <class F>
nb::object pair_result(const char* name, const Tensor& x, const OutPair& out, F&& f) {
  if (out) {
    check_out_history(name, x.requires_grad());
    check_no_partial_overlap(name, out->first, x);
    check_no_partial_overlap(name, out->second, x);
  }
  std::pair<Tensor, Tensor> results = f();
  if (out) {
    check_same_dtype(name, results.first, out->first);
    check_same_dtype(name, results.second, out->second);
    results = {into_out(name, results.first, out->first),
               into_out(name, results.second, out->second)};
  }
  return named_result(name, {results.first, results.second});
}
inline nb::object pair_result(const char* name, const std::pair<Tensor, Tensor>& results) {
  return named_result(name, {results.first, results.second});
}

// The function f(input, ..., out) with two results, and the method without out=.
template <class... Args, class... Extra>
void def_pair_out(nb::module_& m, const char* name,
                  std::pair<Tensor, Tensor> (*f)(const Tensor&, Args...), const Extra&... extra) {
  auto to_out = [name, f](const Tensor& x, Args... args, const OutPair& out) {
    return pair_result(name, x, out, [&] { return f(x, args...); });
  };
  def_with_out(m, name, to_out, extra...);
  def_method(
      name, [name, f](const Tensor& x, Args... args) { return pair_result(name, f(x, args...)); },
      extra...);
}

}  // namespace facula
