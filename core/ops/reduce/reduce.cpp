#include "ops/reduce/reduce.h"

#include <algorithm>
#include <cmath>

#include "autograd/node.h"
#include "base/python_error.h"
#include "cpu/reduce/run_reduction.h"
#include "cuda/cuda.h"
#include "ops/nn/softmax_rows.h"
#include "ops/ops.h"
#include "ops/reduce/extrema.h"
#include "ops/reduce/scan.h"
#include "walk/lines.h"
#include "walk/reduction.h"

namespace facula {

namespace {

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
Tensor cast_input(const Tensor& x, std::optional<DType> dtype) {
  return dtype ? to_dtype(x, *dtype) : x;
}

}  // namespace

void run_reduction(const char* op, ReduceOp kernel, const Tensor& x, DimMask mask, DType read_dtype,
                   const Tensor& values, const Tensor& seconds, const ReduceParams& params) {
  check_not_implemented(cpu::has_reduction(kernel, read_dtype), op, ": not defined for ", x, ".");
  if (x.is_cpu()) return cpu::run_reduction(kernel, x, mask, read_dtype, values, seconds, params);
  cuda::run_reduction(op, kernel, x, mask, read_dtype, values, seconds, params);
}

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
  check(is_differentiable(dtype.value_or(input.dtype())),
        "mean: expected a floating-point or complex input, got ", input,
        ". Convert it with input.float(), or pass dtype=.");
  Tensor x = cast_input(input, dtype);
  DimMask mask = dim_mask("mean", dims, x.dim());
  int64_t n = reduced_numel(x, mask);
  Tensor y = empty(reduced_shape(x, mask, keepdim), x.dtype(), x.device());
  ReduceParams params;
  params.divisor = static_cast<double>(n);
  run_reduction("mean", ReduceOp::Mean, x, mask, wide_dtype(x.dtype()), y, {}, params);
  return record(dims.empty() ? "MeanBackward0" : "MeanBackward1", y, {x},
                [mask, keepdim, n, sizes = x.sizes()](const Tensor& g) {
                  return expand_back(g / static_cast<double>(n), sizes, mask, keepdim);
                });
}

// The elements that are not NaN.
Tensor nansum(const Tensor& input, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  DimMask mask = dim_mask("nansum", dims, input.dim());
  check(!is_complex(input.dtype()), "nansum: expected a real input, got ", input, ".");
  Tensor x = dtype && *dtype != wide_dtype(input.dtype()) ? to_dtype(input, *dtype) : input;
  DType out_dtype = dtype.value_or(is_differentiable(x.dtype()) ? x.dtype() : DType::Int64);
  Tensor y = empty(reduced_shape(x, mask, keepdim), out_dtype, x.device());
  run_reduction("nansum", ReduceOp::NanSum, x, mask, wide_dtype(x.dtype()), y);
  return record("NansumBackward0", y, {x}, [mask, keepdim, x = save(x)](const Tensor& g) {
    Tensor input = x;
    return to_dtype(expand_back(g, input.sizes(), mask, keepdim), input.dtype()) *
           logical_not(isnan(input));
  });
}

Tensor prod(const Tensor& input, std::optional<int64_t> maybe_dim, bool keepdim,
            std::optional<DType> dtype) {
  Tensor x = to_dtype(
      input, dtype.value_or(is_differentiable(input.dtype()) ? input.dtype() : DType::Int64));
  int64_t dim = maybe_dim ? wrap_dim("prod", *maybe_dim, x.dim()) : 0;
  DimMask mask = maybe_dim ? DimMask(1) << dim : ~DimMask(0);
  Tensor y = empty(reduced_shape(x, mask, keepdim), x.dtype(), x.device());
  run_reduction("prod", ReduceOp::Prod, x, mask, wide_dtype(x.dtype()), y);
  return record(maybe_dim ? "ProdBackward1" : "ProdBackward0", y, {x},
                [dim, mask, is_full = !maybe_dim, x = save(x)](const Tensor& g) {
                  Tensor input = x;
                  if (input.numel() == 0)
                    return zeros(input.sizes(), input.dtype(), input.device());
                  if (input.dim() == 0) return reshape(g, {});
                  // The product is the last of the running products, whose derivative minds zeros.
                  Tensor line = is_full ? reshape(input, {-1}) : input;
                  Tensor last = reshape(g, is_full ? Dims{1} : reduced_shape(input, mask, true));
                  int64_t size = line.size(dim);
                  Tensor index = full(last.sizes(), size - 1, DType::Int64, input.device());
                  return reshape(cumprod_backward(put_along(last, dim, index, size), line, dim),
                                 input.sizes());
                });
}

namespace {

Tensor truth(const char* op, ReduceOp which, const Tensor& x, const Dims& dims, bool keepdim) {
  DimMask mask = dim_mask(op, dims, x.dim());
  Tensor y = empty(reduced_shape(x, mask, keepdim),
                   x.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, x.device());
  run_reduction(op, which, x, mask, DType::Bool, y);
  return y;
}

struct Spread {
  Tensor spread, mean;
  double divisor;
  DimMask mask;
};

// Variance or its root, and the mean, without history.
Spread find_spread(const char* op, const Tensor& x, const Dims& dims, double correction,
                   bool keepdim, bool takes_root) {
  check(is_differentiable(x.dtype()), op, ": expected a floating-point or complex input, got ", x,
        ".");
  NoGradGuard guard;
  DimMask mask = dim_mask(op, dims, x.dim());
  int64_t n = reduced_numel(x, mask);
  if (static_cast<double>(n) <= correction &&
      PyErr_WarnFormat(
          PyExc_UserWarning, 1,
          "%s(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
          "elements reduced.",
          op))
    throw_python_error();
  Dims shape = reduced_shape(x, mask, keepdim);
  ReduceParams params;
  params.divisor = std::max(static_cast<double>(n) - correction, 0.0);
  params.takes_root = takes_root && !is_complex(x.dtype());
  if (is_complex(x.dtype())) {
    // The variance of a complex number is that of its parts, added.
    Tensor parts = view_as_real(x);
    Dims both = shape;
    both.push_back(2);
    Tensor spread = empty(both, parts.dtype(), x.device()),
           means = empty(both, DType::Float64, x.device());
    DimMask real_mask = mask & ((DimMask(1) << x.dim()) - 1);
    if (x.dim() == 0) real_mask = 0;
    run_reduction(op, ReduceOp::Moments, parts, real_mask, parts.dtype(), spread, means, params);
    Tensor total = sum(spread, {-1});
    return {takes_root ? sqrt(total) : total, mean(x, dims, keepdim), params.divisor, mask};
  }
  Tensor spread = empty(shape, x.dtype(), x.device()),
         means = empty(shape, DType::Float64, x.device());
  run_reduction(op, ReduceOp::Moments, x, mask, wide_dtype(x.dtype()), spread, means, params);
  return {spread, to_dtype(means, x.dtype()), params.divisor, mask};
}

// The gradient of x, from that of its variance.
Tensor var_backward(const Tensor& g, const Tensor& x, const Dims& dims, DimMask mask,
                    double divisor, bool keepdim) {
  Tensor kept = with_kept_dims(g, x.sizes(), mask, keepdim), center = mean(x, dims, true);
  if (divisor > 0) return kept * (2 / divisor) * (x - center);
  Tensor slope = where(eq(x, center), wrapped_number(NAN), wrapped_number(INFINITY));
  return to_dtype(kept * slope, x.dtype());
}

Tensor std_to_var(const Tensor& g, const Tensor& y) {
  return where(eq(y, wrapped_number(0)), scalar_tensor(0, g.dtype(), g.device()), g / (y * 2));
}

std::pair<Tensor, Tensor> spread_and_mean(const char* op, const char* node, const Tensor& x,
                                          const Dims& dims, double correction, bool keepdim,
                                          bool takes_root) {
  Spread found = find_spread(op, x, dims, correction, keepdim, takes_root);
  record_all(node, {found.spread, found.mean}, {x},
             [dims, mask = found.mask, divisor = found.divisor, keepdim, takes_root, x = save(x),
              y = save_output(found.spread)](const TensorList& gs, Needs) -> TensorList {
               Tensor input = x, total;
               if (gs[0].defined())
                 total = var_backward(takes_root ? std_to_var(gs[0], y) : gs[0], input, dims, mask,
                                      divisor, keepdim);
               if (gs[1].defined()) {
                 Tensor by_mean =
                     expand_back(gs[1] / static_cast<double>(reduced_numel(input, mask)),
                                 input.sizes(), mask, keepdim);
                 total = total.defined() ? total + by_mean : by_mean;
               }
               return {total};
             });
  return {found.spread, found.mean};
}

}  // namespace

Tensor any(const Tensor& x, const Dims& dims, bool keepdim) {
  return truth("any", ReduceOp::Any, x, dims, keepdim);
}
Tensor all(const Tensor& x, const Dims& dims, bool keepdim) {
  return truth("all", ReduceOp::All, x, dims, keepdim);
}

Tensor var(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  Spread found = find_spread("var", x, dims, correction, keepdim, false);
  return record("VarBackward0", found.spread, {x},
                [dims, mask = found.mask, divisor = found.divisor, keepdim, x = save(x)](
                    const Tensor& g) { return var_backward(g, x, dims, mask, divisor, keepdim); });
}

Tensor stddev(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  Spread found = find_spread("std", x, dims, correction, keepdim, true);
  return record("StdBackward0", found.spread, {x},
                [dims, mask = found.mask, divisor = found.divisor, keepdim, x = save(x),
                 y = save_output(found.spread)](const Tensor& g) {
                  return var_backward(std_to_var(g, y), x, dims, mask, divisor, keepdim);
                });
}

std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims, double correction,
                                   bool keepdim) {
  return spread_and_mean("var_mean", "VarMeanBackward0", x, dims, correction, keepdim, false);
}
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims, double correction,
                                   bool keepdim) {
  return spread_and_mean("std_mean", "StdMeanBackward0", x, dims, correction, keepdim, true);
}

namespace {

ReduceOp norm_kernel(double p) {
  if (std::isinf(p)) return p > 0 ? ReduceOp::NormMax : ReduceOp::NormMin;
  return p == 0   ? ReduceOp::Norm0
         : p == 1 ? ReduceOp::Norm1
         : p == 2 ? ReduceOp::Norm2
                  : ReduceOp::NormP;
}

// a, and 0 where `condition` holds: the derivative of a norm at 0 is taken as 0.
Tensor zero_where(const Tensor& condition, const Tensor& a) {
  return where(condition, scalar_tensor(0, a.dtype(), a.device()), a);
}

// The gradient of x; y and g have the reduced dimensions kept.
Tensor norm_backward(const Tensor& g, const Tensor& x, const Tensor& y, double p,
                     const Dims& dims) {
  Tensor zero = wrapped_number(0);
  if (p == 1) return g * sgn(x);
  if (p == 2) return zero_where(eq(y, zero), g / y) * x;
  if (std::isinf(p)) {
    Tensor is_there = to_dtype(eq(abs(x), y), y.dtype());
    return sgn(x) * (g / sum(is_there, dims, true) * is_there);
  }
  Tensor power = pow(abs(x), wrapped_number(p - 1));
  if (p < 1) power = zero_where(eq(x, zero), power);
  return sgn(x) * power * zero_where(eq(y, zero), g * pow(y, wrapped_number(1 - p)));
}

}  // namespace

Tensor vector_norm(const Tensor& input, double p, const Dims& dims, bool keepdim,
                   std::optional<DType> dtype) {
  const char* op = "linalg.vector_norm";
  check(is_differentiable(input.dtype()), op, ": expected a floating-point or complex input, got ",
        input, ".");
  check(!dtype || is_differentiable(*dtype), op,
        ": expected a floating-point or complex dtype, got ", dtype.value_or(input.dtype()), ".");
  Tensor x = cast_input(input, dtype);
  DimMask mask = dim_mask(op, dims, x.dim());
  if (reduced_numel(x, mask) == 0)
    check(p >= 0 && !std::isinf(p), op, ": the norm of order ", p,
          " is not defined for no elements, got ", x, ".");
  Tensor y = empty(reduced_shape(x, mask, keepdim), to_real_dtype(x.dtype()), x.device());
  ReduceParams params;
  params.p = p;
  run_reduction(op, norm_kernel(p), x, mask, wide_dtype(x.dtype()), y, {}, params);
  return record("LinalgVectorNormBackward0", y, {x},
                [p, dims, mask, keepdim, x = save(x), y = save_output(y)](const Tensor& g) {
                  Tensor input = x;
                  if (p == 0) return Tensor();
                  auto kept = [&](const Tensor& t) {
                    return with_kept_dims(t, input.sizes(), mask, keepdim);
                  };
                  return norm_backward(kept(g), input, kept(y), p, dims);
                });
}

namespace {

// Along one dimension, which is kept: in the order of memory, without a tensor of the exponentials.
Tensor logsumexp_along(const Tensor& x, int64_t dim) {
  Dims order, back(x.dim(), 0), sizes = {2};
  for (int64_t d = 0; d < x.dim(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return x.stride(a) > x.stride(b); });
  for (int64_t d = 0; d < x.dim(); ++d) {
    back[order[d]] = d;
    sizes.push_back(order[d] == dim ? 1 : x.size(order[d]));
  }
  Tensor stats = empty(sizes, wide_dtype(x.dtype()));
  run_softmax_rows(cpu::get_softmax_table().log_sum_exp, contiguous(permute(x, order)), back[dim],
                   stats.data(), nullptr);
  Tensor high = select(stats, 0, 0), y = where(isinf(high), high, high + select(stats, 0, 1));
  return to_dtype(contiguous(permute(y, back)), x.dtype());
}

}  // namespace

Tensor logsumexp(const Tensor& input, const Dims& dims, bool keepdim) {
  Tensor x = is_differentiable(input.dtype()) ? input : to_dtype(input, get_default_dtype());
  DimMask mask = dim_mask("logsumexp", dims, x.dim());
  Tensor y;
  {
    NoGradGuard guard;
    if (reduced_numel(x, mask) == 0 || x.numel() == 0) {
      y = log(sum(exp(x), dims, true));
    } else if (x.is_cpu() && is_floating(x.dtype()) && x.dim() > 0 &&
               (dims.size() == 1 || x.dim() == 1)) {
      y = logsumexp_along(x, dims.empty() ? 0 : wrap_dim("logsumexp", dims[0], x.dim()));
    } else {
      Tensor high = amax(real(x), dims, true);
      high = zero_where(isinf(high), high);
      y = log(sum(exp(x - high), dims, true)) + high;
    }
    if (!keepdim) y = alias(reshape(y, reduced_shape(x, mask, false)));
  }
  return record("LogsumexpBackward0", y, {x},
                [mask, keepdim, x = save(x), y = save_output(y)](const Tensor& g) {
                  Tensor input = x;
                  auto kept = [&](const Tensor& t) {
                    return with_kept_dims(t, input.sizes(), mask, keepdim);
                  };
                  // A result of -inf means that every element is: their weights are 0, not NaN.
                  Tensor high = kept(y);
                  high = is_complex(high.dtype())
                             ? high
                             : where(isneginf(high), scalar_tensor(0, high.dtype(), high.device()),
                                     high);
                  return kept(g) * conj(exp(input - high));
                });
}

Tensor sum_to_size(const Tensor& x, const Dims& sizes) {
  if (x.sizes() == sizes) return x;
  check(is_expandable_to(sizes, x.sizes()), "sum_to_size: a tensor of shape ", x.sizes(),
        " cannot be summed to ", sizes, ".");
  Dims dims;
  int64_t extra = x.dim() - static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i < extra || (sizes[i - extra] == 1 && x.size(i) != 1)) dims.push_back(i);
  return reshape(dims.empty() ? x : sum(x, dims, true), sizes);
}

}  // namespace facula
