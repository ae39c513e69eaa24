// Random tensors whose parameters are tensors: normal and multinomial.
#include <cmath>
#include <limits>

#include "ops/random/draw.h"
#include "ops/random/random.h"
#include "random/sampling.h"

namespace facula {

namespace {

void check_stds(const Tensor& std) {
  check(!is_complex(std.dtype()), "normal: expected a real std, got ", std, ".");
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
  resize_(out, shape);
  return out;
}

Tensor zero_like_gradient(const Tensor& g, const Dims& sizes, DType dtype) {
  return zeros(sizes, dtype, g.device());
}

}  // namespace

Tensor normal(const Tensor& mean, const Tensor& std, Generator& generator, const Tensor& out) {
  check_stds(std);
  check_same_device("normal", {mean, std});
  Tensor y = normal_target(out, broadcast_shapes("normal", mean.sizes(), std.sizes()), mean,
                           mean.requires_grad() || std.requires_grad());
  {
    NoGradGuard guard;
    normal_(y, 0, 1, generator);
    add_(mul_(y, std), mean);
  }
  return record("NormalBackward3", y, {mean, std},
                [m = mean.sizes(), s = std.sizes(), m_type = mean.dtype(), s_type = std.dtype()](
                    const Tensor& g, Needs need) -> TensorList {
                  return {need[0] ? zero_like_gradient(g, m, m_type) : Tensor(),
                          need[1] ? zero_like_gradient(g, s, s_type) : Tensor()};
                });
}

Tensor normal(const Tensor& mean, double std, Generator& generator, const Tensor& out) {
  check(std >= 0, "normal: expected std >= 0, got ", std, ".");
  Tensor y = normal_target(out, mean.sizes(), mean, mean.requires_grad());
  {
    NoGradGuard guard;
    normal_(y, 0, std, generator);
    add_(y, mean);
  }
  return record("NormalBackward1", y, {mean},
                [](const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); });
}

Tensor normal(double mean, const Tensor& std, Generator& generator, const Tensor& out) {
  check_stds(std);
  Tensor y = normal_target(out, std.sizes(), std, std.requires_grad());
  {
    NoGradGuard guard;
    normal_(y, 0, 1, generator);
    add_(mul_(y, std), scalar_tensor(mean, y.dtype(), y.device()));
  }
  return record("NormalBackward2", y, {std},
                [](const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); });
}

namespace {

template <class T>
void check_weights(const T* weights, int64_t n_rows, int64_t n_categories) {
  for (int64_t row = 0; row < n_rows; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < n_categories; ++j) {
      double weight = static_cast<Wide<T>>(weights[row * n_categories + j]);
      check(weight >= 0 && weight <= std::numeric_limits<double>::max(), "multinomial: weight ", j,
            " of row ", row, " is ", weight, ", expected a finite number that is not negative.");
      sum += weight;
    }
    check(sum > 0, "multinomial: the weights of row ", row, " sum to 0, expected a positive sum.");
  }
}

}  // namespace

Tensor multinomial(const Tensor& weights, int64_t n_samples, bool has_replacement,
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
  Tensor y = empty(weights.dim() == 2 ? Dims{n_rows, n_samples} : Dims{n_samples}, DType::Int64);
  if (n_rows == 0) return to(y, weights.device(), DType::Int64, false);
  check(n_categories > 0, "multinomial: expected at least one category, got ", weights, ".");
  NoGradGuard guard;
  Tensor host = contiguous(to(weights, Device{}, weights.dtype(), false));
  visit_floating("multinomial", weights.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* w = host.template data_as<T>();
    int64_t* out = y.data_as<int64_t>();
    check_weights(w, n_rows, n_categories);
    // One sample is the same distribution either way; PyTorch takes the second.
    if (has_replacement && n_samples > 1) {
      run_draw(host.numel() + y.numel(),
               [&] { sample_multinomial(out, w, n_rows, n_categories, n_samples, generator); });
      return;
    }
    Tensor draws = empty_like(to(weights, Device{}, weights.dtype(), false));
    draws = contiguous(exponential_(draws, 1, generator));
    const T* d = draws.data_as<T>();
    run_draw(host.numel(), [&] { choose_by_draws(out, w, d, n_rows, n_categories, n_samples); });
  });
  return to(y, weights.device(), DType::Int64, false);
}

}  // namespace facula
