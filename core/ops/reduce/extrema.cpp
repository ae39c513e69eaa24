#include "ops/reduce/extrema.h"

#include "autograd/node.h"
#include "ops/ops.h"
#include "ops/result.h"
#include "walk/lines.h"
#include "walk/reduction.h"

namespace facula {

namespace {

void check_ordered(const char* op, const Tensor& x) {
  check_not_implemented(!is_complex(x.dtype()), op, ": not defined for ", x,
                        ": complex numbers have no order.");
}

void check_not_empty(const char* op, const Tensor& x) {
  check(x.numel() > 0, op, ": expected an input with elements where there is no dim, got ", x, ".");
}

void check_dims_not_empty(const char* op, const Tensor& x, DimMask mask) {
  if (x.numel() > 0) return;
  for (int64_t d = 0; d < x.dim(); ++d)
    check_index(!is_in(mask, d) || x.size(d) > 0, op, ": expected elements along dimension ", d,
                ", got ", x, ".");
}

// The elements of x that are equal to the kept result y, each with its share of the gradient g,
// which has the form of y.
Tensor share_evenly(const Tensor& x, const Tensor& y, const Tensor& g, DimMask mask) {
  Tensor is_there = to_dtype(eq(x, y), x.dtype());
  Tensor n_there;
  {
    NoGradGuard guard;
    Dims dims;
    for (int64_t d = 0; d < x.dim(); ++d)
      if (is_in(mask, d)) dims.push_back(d);
    n_there = x.dim() ? sum(is_there, dims, true) : is_there;
  }
  return g / n_there * is_there;
}

Tensor with_kept_dims(const Tensor& y, const Tensor& x, DimMask mask, bool keepdim) {
  return keepdim || x.dim() == 0 ? y : reshape(y, reduced_shape(x, mask, true));
}

Tensor reduce_values(const char* op, ReduceOp which, const Tensor& x, DimMask mask, bool keepdim) {
  check_ordered(op, x);
  Tensor y = empty(reduced_shape(x, mask, keepdim), x.dtype(), x.device());
  if (y.numel() == 0) return y;
  run_reduction(op, which, x, mask, is_integral(x.dtype()) ? x.dtype() : wide_dtype(x.dtype()), y);
  return y;
}

Tensor amost(const char* op, const char* node, ReduceOp which, const Tensor& x, const Dims& dims,
             bool keepdim, const Into& into) {
  DimMask mask = dim_mask(op, dims, x.dim());
  if (dims.empty()) check_not_empty(op, x);
  check_dims_not_empty(op, x, mask);
  check_into(op, into, reduced_shape(x, mask, keepdim), x.dtype(), {x}, OutDType::Same);
  Tensor y = reduce_values(op, which, x, mask, keepdim);
  return record(node, y, {x}, [mask, keepdim, x = save(x), y = save_output(y)](const Tensor& g) {
    Tensor input = x;
    return share_evenly(input, with_kept_dims(y, input, mask, keepdim),
                        with_kept_dims(g, input, mask, keepdim), mask);
  });
}

Tensor most_of_all(const char* op, const char* node, ReduceOp which, const Tensor& x,
                   const Into& into) {
  check_not_empty(op, x);
  check_into(op, into, {}, x.dtype(), {x});
  return record_shared(node, x, reduce_values(op, which, x, ~DimMask(0), false));
}

// Values and indices along one dimension.
ValuesAndIndices find_along(const char* op, ReduceOp which, const Tensor& x, int64_t dim,
                            const Dims& shape) {
  DimMask mask = DimMask(1) << dim;
  Tensor values = empty(shape, x.dtype(), x.device()),
         indices = empty(shape, DType::Int64, x.device());
  run_reduction(op, which, x, mask, wide_dtype(x.dtype()), values, indices);
  return {values, indices};
}

// The gradient of the values goes to the elements that were picked.
Tensor record_picked(const char* node, const Tensor& x, int64_t dim, const Tensor& values,
                     const Tensor& indices) {
  return record(node, values, {x},
                [dim, indices = save(indices), sizes = x.sizes()](const Tensor& g) {
                  Dims kept = sizes;
                  if (!kept.empty()) kept[dim] = 1;
                  return put_along(reshape(g, kept), dim, reshape(indices, kept),
                                   sizes.empty() ? 1 : sizes[dim]);
                });
}

ValuesAndIndices most_along(const char* op, const char* node, ReduceOp which, const Tensor& x,
                            int64_t dim, bool keepdim) {
  dim = wrap_dim(op, dim, x.dim());
  check_dims_not_empty(op, x, DimMask(1) << dim);
  check(!is_complex(x.dtype()), op, ": expected a real input, got ", x, ".");
  auto [values, indices] =
      find_along(op, which, x, dim, reduced_shape(x, DimMask(1) << dim, keepdim));
  return {record_picked(node, x, dim, values, indices), indices};
}

Tensor arg_most(const char* op, ReduceOp which, const Tensor& x, std::optional<int64_t> dim,
                bool keepdim) {
  check(!is_complex(x.dtype()) && x.dtype() != DType::Bool, op,
        ": expected a real input that is not bool, got ", x, ".");
  if (dim) {
    int64_t at = wrap_dim(op, *dim, x.dim());
    check_dims_not_empty(op, x, DimMask(1) << at);
    return find_along(op, which, x, at, reduced_shape(x, DimMask(1) << at, keepdim)).second;
  }
  check_index(x.numel() > 0, op, ": expected an input with elements where there is no dim, got ", x,
              ".");
  NoGradGuard guard;
  return find_along(op, which, reshape(x, {-1}), 0, keepdim ? Dims(x.dim(), 1) : Dims{}).second;
}

}  // namespace

ValuesAndIndices values_at(const char* node, const Tensor& x, int64_t dim, bool keepdim,
                           Tensor indices) {
  Tensor values;
  {
    NoGradGuard guard;
    values = gather(x, dim, indices);
    if (!keepdim && x.dim()) {
      Dims sizes = reduced_shape(x, DimMask(1) << dim, false);
      values = reshape(values, sizes);
      indices = reshape(indices, sizes);
    }
  }
  // What reshape() returns are views; the results of an operation are not.
  values = alias(values);
  indices = alias(indices);
  return {record_picked(node, x, dim, values, indices), indices};
}

Tensor record_shared(const char* node, const Tensor& x, const Tensor& y) {
  return record(node, y, {x}, [x = save(x), y = save_output(y)](const Tensor& g) {
    return share_evenly(x, y, g, ~DimMask(0));
  });
}

Tensor max(const Tensor& x, const Into& into) {
  return most_of_all("max", "MaxBackward1", ReduceOp::Max, x, into);
}
Tensor min(const Tensor& x, const Into& into) {
  return most_of_all("min", "MinBackward1", ReduceOp::Min, x, into);
}

ValuesAndIndices max(const Tensor& x, int64_t dim, bool keepdim) {
  return most_along("max", "MaxBackward0", ReduceOp::ArgMax, x, dim, keepdim);
}
ValuesAndIndices min(const Tensor& x, int64_t dim, bool keepdim) {
  return most_along("min", "MinBackward0", ReduceOp::ArgMin, x, dim, keepdim);
}

Tensor amax(const Tensor& x, const Dims& dims, bool keepdim, const Into& into) {
  return amost("amax", "AmaxBackward0", ReduceOp::Max, x, dims, keepdim, into);
}
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim, const Into& into) {
  return amost("amin", "AminBackward0", ReduceOp::Min, x, dims, keepdim, into);
}

std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  check(dim || x.numel() > 0,
        "aminmax: expected an input with elements where there is no dim, got ", x, ".");
  DimMask mask = dim ? DimMask(1) << wrap_dim("aminmax", *dim, x.dim()) : ~DimMask(0);
  check_dims_not_empty("aminmax", x, mask);
  Tensor low = reduce_values("aminmax", ReduceOp::Min, x, mask, keepdim),
         high = reduce_values("aminmax", ReduceOp::Max, x, mask, keepdim);
  record_all("AminmaxBackward0", {low, high}, {x},
             [mask, keepdim, x = save(x), low = save_output(low), high = save_output(high)](
                 const TensorList& gs, Needs) -> TensorList {
               Tensor input = x, total;
               auto share = [&](const Tensor& g, const Tensor& y) {
                 if (!g.defined()) return;
                 Tensor part = share_evenly(input, with_kept_dims(y, input, mask, keepdim),
                                            with_kept_dims(g, input, mask, keepdim), mask);
                 total = total.defined() ? total + part : part;
               };
               share(gs[0], low);
               share(gs[1], high);
               return {total};
             });
  return {low, high};
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_most("argmax", ReduceOp::ArgMax, x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_most("argmin", ReduceOp::ArgMin, x, dim, keepdim);
}

}  // namespace facula
