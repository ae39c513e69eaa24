#include "ops/reduce.h"

#include "ops/ops.h"
#include "python/bind.h"

namespace facula {

namespace {

using Out = std::optional<Tensor>;
using OptionalDims = std::optional<Dims>;
using OptionalDType = std::optional<DType>;

const Tensor& out_of(const Out& out) {
  static const Tensor none{};
  return out ? *out : none;
}
const Dims& dims_of(const OptionalDims& dims) {
  static const Dims all{};
  return dims ? *dims : all;
}

// f(x, dims, keepdim, dtype): the function with out=, and the method.
template <Tensor (*f)(const Tensor&, const Dims&, bool, OptionalDType)>
void def_typed_reduction(nb::module_& m, const char* name, const char* doc) {
  m.def(name, [name](const Tensor& x, const OptionalDims& dim, bool keepdim, OptionalDType dtype, const Out& out) {
    return into_out(name, f(x, dims_of(dim), keepdim, dtype), out_of(out));
  }, "input"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(), "dtype"_a.none() = nb::none(),
        "out"_a.none() = nb::none(), doc);
  def_method(name, [](const Tensor& x, const OptionalDims& dim, bool keepdim, OptionalDType dtype) {
    return f(x, dims_of(dim), keepdim, dtype);
  }, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(), "dtype"_a.none() = nb::none(), doc);
}

}  // namespace

void bind_reduce(nb::module_& m) {
  def_typed_reduction<sum>(m, "sum", R"(Sum of the elements, of all or along dimensions.

Args:
    input: the elements; integers and bool are summed as int64.
    dim: the dimensions to sum over, an int or several; all by default.
    keepdim: keep them with size 1.
    dtype: dtype of the sum; the elements are converted first.
    out: where to put the result.

Example:
    >>> facula.sum(facula.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
)");
  def_typed_reduction<mean>(m, "mean", R"(Mean of the elements, of all or along dimensions.

Args:
    input: the elements, floating point or complex.
    dim: the dimensions to average over, an int or several; all by default.
    keepdim: keep them with size 1.
    dtype: dtype of the mean; the elements are converted first.
    out: where to put the result.

Example:
    >>> facula.mean(facula.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    tensor([1.5000, 3.5000])
)");
}

}  // namespace facula
