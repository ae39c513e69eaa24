#include <limits>

#include "base/integers.h"
#include "base/parallel.h"
#include "cuda/nn/nn.h"
#include "ops/nn/norm_parts.h"
#include "walk/reduction.h"

namespace facula {

namespace norm {

void check_floating(const char* op, const Tensor& x) {
  check_not_implemented(is_floating(x.dtype()), op, ": expected a floating-point input, got ", x,
                        ". Convert it with input.float().");
}

DType check_parameters(const char* op, const Tensor& x,
                       std::initializer_list<std::pair<const char*, TensorRef>> parameters) {
  DType dtype = x.dtype();
  bool is_first = true;
  for (const auto& [name, tensor] : parameters) {
    if (!tensor->defined()) continue;
    check_same_device(op, {x, *tensor});
    bool is_mixed = item_size(x.dtype()) == 2 && tensor->dtype() == DType::Float32;
    check(tensor->dtype() == (is_first && is_mixed ? DType::Float32 : dtype), op,
          ": mixed dtype: expected ", name, " to be ", dtype, ", got ", tensor->dtype(), ".");
    dtype = tensor->dtype();
    is_first = false;
  }
  return dtype;
}

void check_per_channel(const char* op, const char* name, const Tensor& parameter, const Tensor& x,
                       int64_t n_channels) {
  check(!parameter.defined() || (parameter.dim() == 1 && parameter.numel() == n_channels), op,
        ": expected ", name, " of ", n_channels, " elements, one per channel (dim 1) of the input ",
        x, ", got ", parameter.defined() ? parameter.sizes() : Dims(), ". (", name,
        " should contain ", n_channels, " elements)");
}

Doubles doubles_of(const Tensor& x) {
  Doubles values(x.numel());
  visit_numbers(x, [&](int64_t i, auto& number) { values[i] = static_cast<double>(number); });
  return values;
}
Doubles doubles_of(const Tensor& x, int64_t n, double otherwise) {
  return x.defined() ? doubles_of(x) : Doubles(static_cast<size_t>(n), otherwise);
}
Tensor tensor_of(const Doubles& values, const Dims& sizes, DType dtype) {
  Tensor y = empty(sizes, DType::Float64);
  std::copy(values.begin(), values.end(), y.data_as<double>());
  return cast_to(y, dtype);
}

Statistics statistics_of(const Tensor& x, const Dims& over, double eps, bool is_centered) {
  if (!is_centered) return {{}, rsqrt(mean(x * x, over, true) + eps)};
  auto [variance, center] = var_mean(x, over, 0, true);
  return {center, rsqrt(variance + eps)};
}

namespace {

Tensor centered(const Tensor& x, const Statistics& s) { return s.mean.defined() ? x - s.mean : x; }

Tensor sum_over(const Tensor& x, const Dims& dims) { return dims.empty() ? x : sum(x, dims); }

}  // namespace

Tensor composed_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const View& view,
                     const Statistics& s) {
  Tensor y = centered(x, s) * s.rstd;
  if (weight.defined()) y = y * reshape(to_dtype(weight, x.dtype()), view.weight_sizes);
  if (bias.defined()) y = y + reshape(to_dtype(bias, x.dtype()), view.weight_sizes);
  return y;
}

TensorList composed_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                             const Tensor& bias, const View& view, const Statistics& s,
                             bool is_from_input, Needs need) {
  DType wide = s.rstd.dtype();
  Tensor x = to_dtype(reshape(input, view.sizes), wide),
         g = to_dtype(reshape(grad, view.sizes), wide);
  Tensor normal = centered(x, s) * s.rstd;
  TensorList grads(3);
  if (need[0]) {
    Tensor upstream = weight.defined() ? g * reshape(to_dtype(weight, wide), view.weight_sizes) : g;
    Tensor along = upstream;
    if (is_from_input) {
      along = along - normal * mean(upstream * normal, view.over, true);
      if (s.mean.defined()) along = along - mean(upstream, view.over, true);
    }
    grads[0] = to_dtype(reshape(along * s.rstd, input.sizes()), input.dtype());
  }
  if (need[1])
    grads[1] = to_dtype(reshape(sum_over(g * normal, view.shared), weight.sizes()), weight.dtype());
  if (need[2]) grads[2] = to_dtype(reshape(sum_over(g, view.shared), bias.sizes()), bias.dtype());
  return grads;
}

Tensor wide_parameter(const Tensor& parameter, DType wide) {
  return parameter.defined() ? contiguous(cast_to(parameter, wide)) : parameter;
}

Tensor dense_parameter(const Tensor& parameter, DType wide) {
  if (!parameter.defined() || is_floating(parameter.dtype()))
    return parameter.defined() ? contiguous(parameter) : parameter;
  return wide_parameter(parameter, wide);
}

TensorList row_norm_gradients(const cuda::RowNorm& norm, const Tensor& g, const Tensor& weight,
                              const Tensor& bias, Needs need) {
  TensorList grads(3);
  if (need[0]) {
    grads[0] = empty(norm.x.sizes(), norm.x.dtype(), norm.x.device());
    cuda::row_norm_backward(norm, g, grads[0]);
  }
  auto gradient_of = [&](const Tensor& parameter) {
    return empty(parameter.sizes(), parameter.dtype(), parameter.device());
  };
  if (need[1]) grads[1] = gradient_of(weight);
  if (need[2]) grads[2] = gradient_of(bias);
  if (need[1] || need[2]) cuda::row_norm_parameters(norm, g, grads[1], grads[2]);
  return grads;
}

bool wants_history(const Tensor& g, const Tensor& x, const Tensor& weight) {
  return is_grad_enabled() &&
         (g.requires_grad() || x.requires_grad() || (weight.defined() && weight.requires_grad()));
}

}  // namespace norm

using namespace norm;

// ---- layer_norm and rms_norm, over the last dimensions, which are of `shape`

namespace {

void check_last_dims(const char* op, const Tensor& x, const Dims& shape) {
  check(!shape.empty(), op, ": expected normalized_shape to have at least one dimension, got ().");
  int64_t n = static_cast<int64_t>(shape.size());
  bool fits = x.dim() >= n;
  for (int64_t d = 0; fits && d < n; ++d) fits = x.size(x.dim() - n + d) == shape[d];
  check(fits, op, ": expected an input whose last dimensions are normalized_shape ", shape,
        ", got ", x, ". (Given normalized_shape, expected input with shape [*, ...])");
}

void check_shape(const char* op, const char* name, const Tensor& parameter, const Dims& shape) {
  check(!parameter.defined() || parameter.sizes() == shape, op, ": expected ", name,
        " of the shape of normalized_shape ", shape, ", got ",
        parameter.defined() ? parameter.sizes() : Dims(), ".");
}

View last_view(const Tensor& x, const Dims& shape) {
  View view{x.sizes(), {}, {}, shape};
  int64_t n_leading = x.dim() - static_cast<int64_t>(shape.size());
  for (int64_t d = 0; d < x.dim(); ++d) (d < n_leading ? view.shared : view.over).push_back(d);
  return view;
}

char* data_or_null(const Tensor& x) { return x.defined() ? x.data() : nullptr; }

int64_t numel_of(const Dims& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

TensorList layer_norm_backward(const Tensor& grad, const Tensor& input, const Dims& shape,
                               const Tensor& weight, const Tensor& bias, const Tensor& mean,
                               const Tensor& rstd, double eps, Needs need) {
  if (input.numel() == 0 || wants_history(grad, input, weight)) {
    View view = last_view(input, shape);
    Tensor x = to_dtype(input, rstd.dtype());
    return composed_backward(grad, input, weight, bias, view,
                             statistics_of(x, view.over, eps, mean.defined()), true, need);
  }
  Tensor x = contiguous(input), g = contiguous(grad);
  int64_t n = numel_of(shape), n_rows = x.numel() / n;
  if (!x.is_cpu())
    return row_norm_gradients(
        {n, 1, 1, eps, x, dense_parameter(weight, rstd.dtype()), {}, mean, rstd}, g, weight, bias,
        need);
  Tensor w = wide_parameter(weight, rstd.dtype());
  // Each block of rows has its own sums for weight and bias, which are joined in order.
  int64_t block = std::max<int64_t>(8, kGrain / 2 / n);
  int64_t n_blocks = ceil_div(n_rows, block);
  auto sums = [&](bool wanted) { return wanted ? empty({n_blocks, n}, rstd.dtype()) : Tensor(); };
  Tensor gx = need[0] ? empty(x.sizes(), x.dtype()) : Tensor();
  Tensor gw = sums(need[1]), gb = sums(need[2]);
  cpu::LayerNorm norm{n, eps, data_or_null(w), nullptr, data_or_null(mean), rstd.data()};
  const char *upstream = g.data(), *from = x.data();
  char *to = data_or_null(gx), *to_weight = data_or_null(gw), *to_bias = data_or_null(gb);
  int64_t row_bytes = n * rstd.itemsize();
  auto kernel = kernels_of(x).layer_norm_backward;
  parallel_for(n_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernel(norm, to, upstream, from, to_weight ? to_weight + i * row_bytes : nullptr,
             to_bias ? to_bias + i * row_bytes : nullptr, i * block,
             std::min(n_rows, (i + 1) * block));
  });
  auto joined = [&](const Tensor& parts, const Tensor& parameter) {
    return cast_to(reshape(sum(parts, {0}), shape), parameter.dtype());
  };
  return {gx, need[1] ? joined(gw, weight) : Tensor(), need[2] ? joined(gb, bias) : Tensor()};
}

// With means, or without them.
NormResult norm_of_rows(const char* node, const Tensor& input, const Dims& shape,
                        const Tensor& weight, const Tensor& bias, double eps, bool is_centered) {
  DType wide = wide_dtype(input.dtype());
  View view = last_view(input, shape);
  Device device = input.device();
  Dims per_row = input.sizes();
  for (int64_t d : view.over) per_row[d] = 1;
  Tensor mean = is_centered ? empty(per_row, wide, device) : Tensor(), rstd, y;
  if (input.numel() == 0) {
    if (is_centered) mean = zeros(per_row, wide, device);
    rstd = full(per_row, std::numeric_limits<double>::quiet_NaN(), wide, device);
    y = empty(input.sizes(), input.dtype(), device);
  } else if (!input.is_cpu()) {
    NoGradGuard guard;
    Tensor x = contiguous(input);
    rstd = empty(per_row, wide, device);
    y = empty(x.sizes(), x.dtype(), device);
    cuda::row_norm({numel_of(shape), 1, 1, eps, x, dense_parameter(weight, wide),
                    dense_parameter(bias, wide), mean, rstd},
                   y);
  } else {
    rstd = empty(per_row, wide);
    NoGradGuard guard;
    Tensor x = contiguous(input);
    y = empty(x.sizes(), x.dtype());
    Tensor w = wide_parameter(weight, wide), b = wide_parameter(bias, wide);
    int64_t n = numel_of(shape);
    cpu::LayerNorm norm{n, eps, data_or_null(w), data_or_null(b), data_or_null(mean), rstd.data()};
    auto kernel = kernels_of(x).layer_norm;
    const char* from = x.data();
    char* to = y.data();
    parallel_for(x.numel() / n, rows_of_task(n),
                 [&](int64_t begin, int64_t end) { kernel(norm, to, from, begin, end); });
  }
  y = record(node, y, {input, weight, bias},
             [shape, eps, x = save(input), w = save(weight), b = save(bias), mean = save(mean),
              rstd = save(rstd)](const Tensor& g, Needs need) {
               return layer_norm_backward(g, x, shape, w, b, mean, rstd, eps, need);
             });
  return {y, mean, rstd};
}

// With statistics in the dtype of the sums.
NormResult norm_of_last(const Tensor& x, const Dims& shape, const OptionalTensor& weight,
                        const OptionalTensor& bias, double eps) {
  check_last_dims("layer_norm", x, shape);
  check_shape("layer_norm", "weight", weight, shape);
  check_shape("layer_norm", "bias", bias, shape);
  check_floating("layer_norm", x);
  check_parameters("layer_norm", x, {{"weight", weight}, {"bias", bias}});
  return norm_of_rows("NativeLayerNormBackward0", x, shape, weight, bias, eps, true);
}

NormResult native_layer_norm(const Tensor& x, const Dims& shape, const OptionalTensor& weight,
                             const OptionalTensor& bias, double eps) {
  auto [y, mean, rstd] = norm_of_last(x, shape, weight, bias, eps);
  if (!x.is_cpu()) return {y, mean, rstd};
  DType dtype = (weight.defined() ? weight : bias.defined() ? bias : x).dtype();
  return {y, cast_to(mean, dtype), cast_to(rstd, dtype)};
}

Tensor layer_norm(const Tensor& x, const Dims& shape, const OptionalTensor& weight,
                  const OptionalTensor& bias, double eps, bool) {
  return std::get<0>(norm_of_last(x, shape, weight, bias, eps));
}

// By the root of the mean square alone. By default eps is that of the dtype.
Tensor rms_norm(const Tensor& x, const Dims& shape, const OptionalTensor& weight,
                std::optional<double> eps) {
  check(!shape.empty(),
        "rms_norm: expected normalized_shape to have at least one dimension, got ().");
  check_shape("rms_norm", "weight", weight, shape);
  check_value(x.dim() >= static_cast<int64_t>(shape.size()),
              "rms_norm: expected an input with the dimensions of normalized_shape ", shape,
              ", got ", x, ".");
  check_last_dims("rms_norm", x, shape);
  if (weight.defined()) check_same_device("rms_norm", {x, weight});
  check_not_implemented(is_differentiable(x.dtype()),
                        "rms_norm: expected a floating-point input, got ", x,
                        ". Convert it with input.float().");
  bool is_double = x.dtype() == DType::Float64 || x.dtype() == DType::Complex128;
  double least = is_double ? std::numeric_limits<double>::epsilon()
                           : static_cast<double>(std::numeric_limits<float>::epsilon());
  if (is_complex(x.dtype())) {
    View view = last_view(x, shape);
    return composed_norm(contiguous(x), weight, {}, view,
                         statistics_of(x, view.over, eps.value_or(least), false));
  }
  return std::get<0>(
      norm_of_rows("FusedRmsNormBackward0", x, shape, weight, {}, eps.value_or(least), false));
}

}  // namespace

FACULA_BINDINGS {
  m.def("layer_norm", &layer_norm, "input"_a, "normalized_shape"_a, "weight"_or_none,
        "bias"_or_none, "eps"_a = 1e-5, "cudnn_enable"_a = true,
        R"(The last dimensions brought to mean 0 and variance 1, then scaled and shifted.
    input: the elements, floating point.
    normalized_shape: sizes of the dimensions that have one mean.
    weight: factors of the shape ``normalized_shape``.
    bias: summands of the shape ``normalized_shape``.
    eps: what is added to the variance, against a division by zero.
    cudnn_enable: has no effect.
    >>> facula.layer_norm(facula.tensor([[1.0, 3.0]]), (2,), eps=0.0)
    tensor([[-1.,  1.]]))"_doc);
  m.def("native_layer_norm", &native_layer_norm, "input"_a, "normalized_shape"_a, "weight"_a.none(),
        "bias"_a.none(), "eps"_a,
        R"(``layer_norm`` with the means and the inverse standard deviations.
    input: the elements, floating point.
    normalized_shape: sizes of the dimensions that have one mean.
    weight: factors of the shape ``normalized_shape``, or None for 1.
    bias: summands of the shape ``normalized_shape``, or None for 0.
    eps: what is added to the variance, against a division by zero.
    >>> facula.native_layer_norm(facula.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)[1]
    tensor([[2.]]))"_doc);
  m.def("rms_norm", &rms_norm, "input"_a, "normalized_shape"_a, "weight"_or_none, "eps"_or_none,
        R"(The last dimensions divided by the root of their mean square, then scaled.
    input: the elements, floating point.
    normalized_shape: sizes of the dimensions that are divided by one number.
    weight: factors of the shape ``normalized_shape``.
    eps: what is added to the mean square; by default the dtype's ``finfo.eps``.
    >>> facula.rms_norm(facula.tensor([[3.0, 4.0, 0.0, 0.0]]), (4,))
    tensor([[1.2000, 1.6000, 0.0000, 0.0000]]))"_doc);
}

}  // namespace facula
