#include "ops/reduce.h"

#include "ops/ops.h"
#include "python/bind.h"

namespace facula {

void bind_reduce(nb::module_& m) {
  def_op(m, "sum", [](const Tensor& x, std::optional<Dims> dim, bool keepdim, std::optional<DType> dtype) {
    return sum(x, dim.value_or(Dims{}), keepdim, dtype);
  }, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(), "dtype"_a.none() = nb::none());
}

}  // namespace facula
