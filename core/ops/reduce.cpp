#include "ops/reduce.h"

#include "autograd/node.h"
#include "ops/ops.h"
#include "ops/reduction.h"

namespace facula {

namespace {

using cpu::ReduceOp;

// A result or its gradient, with the reduced dimensions back as ones.
Tensor with_kept_dims(const Tensor& g, const Dims& sizes, DimMask mask, bool keepdim) {
  if (keepdim || g.dim() == static_cast<int64_t>(sizes.size()) || g.dim() == 0) return g;
  Dims kept = sizes;
  for (size_t d = 0; d < kept.size(); ++d)
    if (is_in(mask, d)) kept[d] = 1;
  return reshape(g, kept);
}

Tensor expand_back(const Tensor& g, const Dims& sizes, DimMask mask, bool keepdim) {
  return expand(with_kept_dims(g, sizes, mask, keepdim), sizes);
}

// x as the dtype= argument says, part of the history.
Tensor cast_input(const Tensor& x, std::optional<DType> dtype) { return dtype ? to_dtype(x, *dtype) : x; }

}  // namespace

Tensor sum(const Tensor& input, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  Tensor x = dtype && *dtype != wide_dtype(input.dtype()) ? to_dtype(input, *dtype) : input;
  DimMask mask = dim_mask("sum", dims, x.dim());
  DType out_dtype = dtype.value_or(is_differentiable(x.dtype()) ? x.dtype() : DType::Int64);
  Tensor y = empty(reduced_shape(x, mask, keepdim), out_dtype, x.device());
  run_reduction("sum", ReduceOp::Sum, x, mask, wide_dtype(x.dtype()), y);
  return record(dims.empty() ? "SumBackward0" : "SumBackward1", y, {x},
                [mask, keepdim, sizes = x.sizes(), dtype = x.dtype()](const Tensor& g) {
                  return to_dtype(expand_back(g, sizes, mask, keepdim), dtype);
                });
}

Tensor mean(const Tensor& input, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  check(is_differentiable(dtype.value_or(input.dtype())), "mean: could not infer output dtype. Input dtype must be either a floating "
        "point or complex dtype, got ", input, ". Convert it with input.float(), or pass dtype=.");
  Tensor x = cast_input(input, dtype);
  DimMask mask = dim_mask("mean", dims, x.dim());
  int64_t n = reduced_numel(x, mask);
  Tensor y = empty(reduced_shape(x, mask, keepdim), x.dtype(), x.device());
  cpu::ReduceParams params;
  params.divisor = static_cast<double>(n);
  run_reduction("mean", ReduceOp::Mean, x, mask, wide_dtype(x.dtype()), y, {}, params);
  return record(dims.empty() ? "MeanBackward0" : "MeanBackward1", y, {x}, [mask, keepdim, n, sizes = x.sizes()](const Tensor& g) {
    return expand_back(g / static_cast<double>(n), sizes, mask, keepdim);
  });
}

Tensor sum_to_size(const Tensor& x, const Dims& sizes) {
  if (x.sizes() == sizes) return x;
  check(is_expandable_to(sizes, x.sizes()), "sum_to_size: a tensor of shape ", x.sizes(), " cannot be summed to ", sizes, ".");
  Dims dims;
  int64_t extra = x.dim() - static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i < extra || (sizes[i - extra] == 1 && x.size(i) != 1)) dims.push_back(i);
  return reshape(dims.empty() ? x : sum(x, dims, true), sizes);
}

}  // namespace facula
