#include "ops/scan.h"

#include "autograd/node.h"
#include "cpu/scan.h"
#include "ops/lines.h"
#include "ops/ops.h"
#include "ops/reduction.h"

namespace facula {

namespace {

using Row = cpu::ScanTable::Row;

Loop loop_of(const char* op, const Row& row, const Tensor& x) {
  check_not_implemented(x.is_cpu(), op, ": not available on ", x.device(),
                        " yet. Move the tensor with .cpu() first.");
  Loop loop = row[static_cast<int>(x.dtype())];
  check_not_implemented(loop != nullptr, op, ": not defined for ", x, ".");
  return loop;
}

// In the dtype of the result: what dtype= says, int64 for integers and bool.
Tensor cast_for_scan(const Tensor& x, std::optional<DType> dtype) {
  return to_dtype(x, dtype.value_or(is_differentiable(x.dtype()) ? x.dtype() : DType::Int64));
}

Tensor running_sum(const char* node, const Tensor& x, int64_t dim, bool from_end) {
  Tensor y = empty(x.sizes(), x.dtype(), x.device());
  Loop loop = loop_of("cumsum", cpu::get_scan_table().cumsum, x);
  from_end ? run_lines_reversed({y, x}, dim, loop) : run_lines({y, x}, dim, loop);
  return record(node, y, {x}, [dim, from_end](const Tensor& g) {
    return running_sum("CumsumBackward0", g, dim, !from_end);
  });
}

bool has_no_zero(const Tensor& x) {
  NoGradGuard guard;
  Tensor y = empty({}, DType::Bool, x.device());
  run_reduction("cumprod", cpu::ReduceOp::All, x, ~DimMask(0), DType::Bool, y);
  return *y.data_as<bool>();
}

std::pair<Tensor, Tensor> running_extremum(const char* op, const char* node, const Row& row,
                                           const Tensor& x, int64_t dim) {
  dim = wrap_dim(op, dim, x.dim());
  Tensor values = empty(x.sizes(), x.dtype(), x.device());
  Tensor indices = empty(x.sizes(), DType::Int64, x.device());
  run_lines({values, indices, x}, dim, loop_of(op, row, x));
  values = record(node, values, {x}, [dim, indices = save(indices)](const Tensor& g) {
    Tensor where = indices;
    return put_along(g, dim, where, where.dim() ? where.size(dim) : 1);
  });
  return {values, indices};
}

}  // namespace

Tensor cumsum(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  dim = wrap_dim("cumsum", dim, input.dim());
  return running_sum("CumsumBackward0", cast_for_scan(input, dtype), dim, false);
}

Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  dim = wrap_dim("cumprod", dim, input.dim());
  Tensor x = cast_for_scan(input, dtype);
  Tensor y = empty(x.sizes(), x.dtype(), x.device());
  run_lines({y, x}, dim, loop_of("cumprod", cpu::get_scan_table().cumprod, x));
  return record("CumprodBackward0", y, {x},
                [dim, x = save(x)](const Tensor& g) { return cumprod_backward(g, x, dim); });
}

// See Note [Derivative of a running product] in cpu/scan.cpp.
Tensor cumprod_backward(const Tensor& g, const Tensor& input, int64_t dim) {
  Tensor x = conj(input);
  // Without zeros the formula by division differentiates to any order.
  if (is_grad_enabled() && has_no_zero(x))
    return running_sum("CumsumBackward0", g * cumprod(x, dim), dim, true) / x;
  Tensor y = empty(x.sizes(), x.dtype(), x.device());
  run_lines({y, g, x}, dim, loop_of("cumprod", cpu::get_scan_table().cumprod_backward, x));
  return record("CumprodBackwardBackward0", y, {g, x},
                [dim, g = save(g), x = save(x)](const Tensor& h, Needs) -> TensorList {
                  check_not_implemented(
                      !is_grad_enabled(),
                      "cumprod: the third derivative at an input with zeros is not available.");
                  Tensor upstream = conj(g), base = conj(x);
                  Tensor to_g = empty(base.sizes(), base.dtype(), base.device()),
                         to_x = empty(base.sizes(), base.dtype(), base.device());
                  run_lines(
                      {to_g, to_x, h, upstream, base}, dim,
                      loop_of("cumprod", cpu::get_scan_table().cumprod_double_backward, base));
                  return {to_g, to_x};
                });
}

std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) {
  return running_extremum("cummax", "CummaxBackward0", cpu::get_scan_table().cummax, x, dim);
}

std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) {
  return running_extremum("cummin", "CumminBackward0", cpu::get_scan_table().cummin, x, dim);
}

}  // namespace facula
