// Random tensors whose parameters are tensors: normal and multinomial.
#include <cmath>
#include <limits>

#include "bind/count.h"
#include "cuda/index/places.h"
#include "ops/random/binding.h"
#include "ops/random/draw.h"
#include "ops/random/random.h"
#include "ops/result.h"
#include "random/sampling.h"

namespace facula {

namespace {

void check_stds(const Tensor& std) {
  check(!is_complex(std.dtype()), "normal: expected a real std, got ", std, ".");
  if (std.is_meta()) return;
  NoGradGuard guard;
  Tensor values = contiguous(to(std, Device{}, DType::Float64, false));
  const double* v = values.data_as<double>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    check(v[i] >= 0, "normal: expected every std to be >= 0, got ", v[i], ".");
  }
}

// What the samples are written to: out in the right shape, or a new tensor.
Tensor normal_target(const Tensor& out, const Dims& shape, const Tensor& mean_or_std,
                     bool wants_grad) {
  if (!out.defined()) {
    check_samples_differentiable("normal", mean_or_std);
    return empty(shape, mean_or_std.dtype(), mean_or_std.device());
  }
  check(!wants_grad || !is_grad_enabled(),
        "normal: out= takes no part in differentiation, but an argument requires grad.");
  check_not_implemented(is_differentiable(out.dtype()),
                        "normal: expected out of a floating-point dtype, got ", out, ".");
  resize_out("normal", out, shape);
  return out;
}

Tensor zero_like_gradient(const Tensor& g, const Dims& sizes, DType dtype) {
  return zeros(sizes, dtype, g.device());
}

Tensor normal(const Tensor& mean, const Tensor& std, const GeneratorArg& generator,
              const OptionalTensor& out) {
  check_stds(std);
  check_same_device("normal", {mean, std});
  Tensor y = normal_target(out, broadcast_shapes("normal", mean.sizes(), std.sizes()), mean,
                           mean.requires_grad() || std.requires_grad());
  {
    NoGradGuard guard;
    normal_(y, 0, 1, or_default(generator, y.device()));
    add_(mul_(y, std), mean);
  }
  return record("NormalBackward3", y, {mean, std},
                [m = mean.sizes(), s = std.sizes(), m_type = mean.dtype(), s_type = std.dtype()](
                    const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? zero_like_gradient(g, m, m_type) : Tensor(),
                          need[1] ? zero_like_gradient(g, s, s_type) : Tensor()};
                });
}

Tensor normal(const Tensor& mean, double std, const GeneratorArg& generator,
              const OptionalTensor& out) {
  check(std >= 0, "normal: expected std >= 0, got ", std, ".");
  Tensor y = normal_target(out, mean.sizes(), mean, mean.requires_grad());
  {
    NoGradGuard guard;
    normal_(y, 0, std, or_default(generator, y.device()));
    add_(y, mean);
  }
  return record("NormalBackward1", y, {mean},
                [](const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); });
}

Tensor normal(double mean, const Tensor& std, const GeneratorArg& generator,
              const OptionalTensor& out) {
  check_stds(std);
  Tensor y = normal_target(out, std.sizes(), std, std.requires_grad());
  {
    NoGradGuard guard;
    normal_(y, 0, 1, or_default(generator, y.device()));
    add_(mul_(y, std), scalar_tensor(mean, y.dtype()));
  }
  return record("NormalBackward2", y, {std},
                [](const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); });
}

// Weights of the CPU, one row of them or several.
void check_weights(const Tensor& weights) {
  Tensor lowest = to_dtype(amin(weights, {-1}), DType::Float64),
         highest = to_dtype(amax(weights, {-1}), DType::Float64);
  const double *low = lowest.data_as<double>(), *high = highest.data_as<double>();
  auto is_weight = [](double x) { return x >= 0 && x <= std::numeric_limits<double>::max(); };
  for (int64_t row = 0; row < lowest.numel(); ++row) {
    if (is_weight(low[row]) && is_weight(high[row]) && high[row] > 0) continue;
    Tensor line = contiguous(
        to_dtype(weights.dim() == 2 ? select(weights, 0, row) : weights, DType::Float64));
    const double* weight = line.data_as<double>();
    for (int64_t j = 0; j < line.numel(); ++j)
      check(is_weight(weight[j]), "multinomial: weight ", j, " of row ", row, " is ", weight[j],
            ", expected a finite number that is not negative.");
    fail(ErrorKind::Runtime, "multinomial: the weights of row ", row,
         " sum to 0, expected a positive sum.");
  }
}

// The same with tensor operations, for other devices.
Tensor draw_on_device(const Tensor& weights, int64_t n_samples, bool has_replacement,
                      Generator& generator) {
  Tensor is_weight = logical_and(ge(weights, wrapped_number(0)), isfinite(weights));
  Tensor is_row = logical_and(all(is_weight, {-1}), gt(sum(weights, {-1}), wrapped_number(0)));
  check(item(all(is_row)).to_bool(),
        "multinomial: expected weights that are finite and not negative, and a positive sum in "
        "each row.");
  if (!has_replacement || n_samples == 1) {
    Tensor draws = empty(weights.sizes(), weights.dtype(), weights.device());
    Tensor order = sort(weights / exponential_(draws, 1, generator), -1, true).second;
    return contiguous(narrow(order, -1, 0, n_samples));
  }
  Tensor totals = cumsum(to_dtype(weights, DType::Float64), -1);
  totals = contiguous(totals / narrow(totals, -1, weights.size(-1) - 1, 1));
  Dims sizes = weights.sizes();
  sizes.back() = n_samples;
  Tensor u = empty(sizes, DType::Float64, weights.device());
  Tensor y = empty(sizes, DType::Int64, weights.device());
  cuda::draw_samples(u, {Distribution::Uniform, 0, 1}, generator);
  // Behind equal totals: a category without weight is never drawn.
  cuda::search_sorted(y, totals, u, weights.size(-1), n_samples, /*is_right=*/true);
  return y;
}

Tensor draw_categories(const Tensor& weights, int64_t n_samples, bool has_replacement,
                       Generator& generator) {
  check(weights.dim() == 1 || weights.dim() == 2,
        "multinomial: expected weights of 1 or 2 dims, got ", weights, ".");
  check(is_floating(weights.dtype()), "multinomial: expected floating-point weights, got ", weights,
        ". Convert them with input.float().");
  check(n_samples > 0, "multinomial: expected num_samples > 0, got ", n_samples, ".");
  int64_t n_categories = weights.size(-1);
  check(has_replacement || n_samples <= n_categories, "multinomial: cannot draw ", n_samples,
        " samples without replacement from ", n_categories, " categories.");
  int64_t n_rows = weights.dim() == 2 ? weights.size(0) : 1;
  Dims sizes = weights.dim() == 2 ? Dims{n_rows, n_samples} : Dims{n_samples};
  if (n_rows == 0 || weights.is_meta()) return empty(sizes, DType::Int64, weights.device());
  check(n_categories > 0, "multinomial: expected at least one category, got ", weights, ".");
  NoGradGuard guard;
  if (!weights.is_cpu() && generator.kind() == GeneratorKind::Philox)
    return draw_on_device(weights, n_samples, has_replacement, generator);
  Tensor y = empty(sizes, DType::Int64);
  Tensor host = contiguous(to(weights, Device{}, weights.dtype(), false));
  check_weights(host);
  visit_floating("multinomial", weights.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* w = host.template data_as<T>();
    int64_t* out = y.data_as<int64_t>();
    // One sample is the same distribution either way; PyTorch takes the second.
    if (has_replacement && n_samples > 1) {
      run_draw(host.numel() + y.numel(),
               [&] { sample_multinomial(out, w, n_rows, n_categories, n_samples, generator); });
      return;
    }
    Tensor draws = empty_like(to(weights, Device{}, weights.dtype(), false));
    draws = contiguous(exponential_(draws, 1, generator));
    if (n_samples == 1) {
      Tensor keys = host / draws, largest = empty(sizes, keys.dtype());
      run_reduction("multinomial", ReduceOp::argmax, keys, DimMask(1) << (keys.dim() - 1),
                    wide_dtype(keys.dtype()), largest, y);
      return;
    }
    const T* d = draws.data_as<T>();
    run_draw(host.numel(), [&] { choose_by_draws(out, w, d, n_rows, n_categories, n_samples); });
  });
  return to(y, weights.device(), DType::Int64, false);
}

Tensor multinomial(const Tensor& input, Count num_samples, bool replacement,
                   const GeneratorArg& generator, const OptionalTensor& out) {
  check(!out.defined() || out.dtype() == DType::Int64,
        "multinomial: expected out of dtype int64, got ", out.defined() ? out : input, ".");
  Tensor y =
      draw_categories(input, num_samples, replacement, or_default(generator, input.device()));
  if (out.defined() && out.sizes() != y.sizes()) resize_(out, y.sizes());
  return into_out("multinomial", y, out);
}

Tensor normal_of_size(const FactoryOptions& options, double mean, double std, const Dims& size,
                      const GeneratorArg& generator, const OptionalTensor& out) {
  Tensor x = target_of("normal", size, options, get_default_dtype(), out);
  return normal_(x, mean, std, or_default(generator, x.device()));
}

template <class Mean, class Std>
using Normal = Tensor (*)(Mean, Std, const GeneratorArg&, const OptionalTensor&);

}  // namespace

FACULA_BINDINGS {
  Normal<const Tensor&, const Tensor&> of_tensors = &normal;
  m.def("normal", of_tensors, "mean"_a, "std"_a, nb::kw_only(), "generator"_or_none, "out"_or_none,
        R"(Normal numbers; mean and std are tensors or numbers, or numbers and a size.
    mean: the means.
    std: the standard deviations.
    size: the shape of the result, where mean and std are numbers.
    generator: where the random numbers come from; None for the default generator.
    out: where to put the result.
    dtype: the dtype of the result of a size; None for the default one.
    layout: the layout of the result of a size, which is strided.
    device: where the result of a size is made; None for the usual device.
    pin_memory: has no effect.
    requires_grad: whether operations on the result of a size are recorded.
    >>> facula.normal(facula.tensor([1.0, 2.0]), 0.0)
    tensor([1., 2.]))"_doc);
  Normal<const Tensor&, double> of_means = &normal;
  m.def("normal", of_means, "mean"_a, "std"_a = 1.0, nb::kw_only(), "generator"_or_none,
        "out"_or_none);
  Normal<double, const Tensor&> of_stds = &normal;
  m.def("normal", of_stds, "mean"_a, "std"_a, nb::kw_only(), "generator"_or_none, "out"_or_none);
  def_factory(m, "normal", &normal_of_size, "", "mean"_a, "std"_a, "size"_a, nb::kw_only(),
              "generator"_or_none, "out"_or_none);
  def_op(m, "multinomial", &multinomial, "num_samples"_a, "replacement"_a = false, nb::kw_only(),
         "generator"_or_none, "out"_or_none, R"(Indices drawn with the weights in each row of input.
    input: weights, which need not sum to 1; a vector or a matrix.
    num_samples: the number of indices drawn from each row.
    replacement: whether an index may be drawn twice.
    generator: where the random numbers come from; None for the default generator.
    out: where to put the result.
    >>> facula.multinomial(facula.tensor([0.0, 1.0]), 2, replacement=True)
    tensor([1, 1]))"_doc);
}

}  // namespace facula
