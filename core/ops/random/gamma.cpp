// Gamma and Dirichlet numbers, whose samples have derivatives by their parameters.
#include <array>
#include <tuple>

#include "math/sample_slopes.h"
#include "ops/random/binding.h"
#include "ops/random/draw.h"
#include "random/sampling.h"

namespace facula {

namespace {

// f(TypeTag<T>) for float32 and float64.
template <class F>
void visit_wide(const char* op, const Tensor& x, F&& f) {
  visit_floating(op, x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_reduced_float_v<T>)
      fail(ErrorKind::NotImplemented, op, ": expected float32 or float64, got ", x, ".");
    else
      f(tag);
  });
}

Tensor expanded_on_host(const Tensor& x, const Dims& sizes) {
  return contiguous(on_host(expand(x, sizes)));
}

// y = slope(precision, inputs...) for each element, computed in double.
template <class Slope, class... Inputs>
Tensor each_slope(const char* op, const Slope& slope, const Tensor& first, const Inputs&... rest) {
  check(((first.dtype() == rest.dtype()) && ...), op, ": expected tensors of one dtype, got ",
        first, " and others.");
  NoGradGuard guard;
  Dims sizes = first.sizes();
  ((sizes = broadcast_shapes(op, sizes, rest.sizes())), ...);
  Tensor y = empty(sizes, first.dtype(), first.device());
  if (y.is_meta()) return y;
  visit_wide(op, first, [&](auto tag) {
    using T = typename decltype(tag)::type;
    TensorList inputs = {expanded_on_host(first, sizes), expanded_on_host(rest, sizes)...};
    std::array<const T*, 1 + sizeof...(rest)> in;
    for (size_t i = 0; i < in.size(); ++i) in[i] = inputs[i].template data_as<T>();
    draw_into<T>(y, [&](T* out, int64_t n, const Dims&) {
      parallel_for(n, 256, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          out[i] = static_cast<T>(std::apply(
              [&](auto... p) { return slope(math::kSlopePrecision<T>, double(p[i])...); }, in));
        }
      });
    });
  });
  return y;
}

// The backward of a slope. PyTorch has no derivatives of these derivatives either.
auto refusal(const char* op) {
  return [op](const Tensor&, Needs) -> TensorList {
    fail(ErrorKind::NotImplemented, op, ": the derivative of a sample has no derivative.");
  };
}

Tensor standard_gamma_grad(const Tensor& alpha, const Tensor& sample) {
  Tensor y = each_slope(
      "_standard_gamma_grad",
      [](double precision, double a, double x) { return math::gamma_slope(a, x, precision); },
      alpha, sample);
  return record("StandardGammaGradBackward0", y, {alpha, sample}, refusal("_standard_gamma_grad"));
}

Tensor dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  Tensor y = each_slope(
      "_dirichlet_grad",
      [](double precision, double x, double a, double total) {
        return math::beta_slope(x, a, total, precision);
      },
      x, alpha, total);
  return record("DirichletGradBackward0", y, {x, alpha, total}, refusal("_dirichlet_grad"));
}

Tensor standard_gamma(const Tensor& alpha, const GeneratorArg& source) {
  Generator& generator = or_default(source, alpha.device());
  Tensor y = empty(alpha.sizes(), alpha.dtype(), alpha.device());
  if (!y.is_meta()) {
    NoGradGuard guard;
    visit_wide("_standard_gamma", alpha, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Tensor host = contiguous(on_host(alpha));
      const T* alphas = host.template data_as<T>();
      draw_into<T>(y, [&](T* out, int64_t n, const Dims&) {
        run_draw(n, [&] { sample_standard_gamma(out, alphas, n, generator); });
      });
    });
  }
  return record("StandardGammaBackward0", y, {alpha},
                [alpha = save(alpha), y = save_output(y)](const Tensor& g) {
                  return g * standard_gamma_grad(alpha, y);
                });
}

Tensor dirichlet(const Tensor& alpha, const GeneratorArg& source) {
  Generator& generator = or_default(source, alpha.device());
  Tensor y = empty(alpha.sizes(), alpha.dtype(), alpha.device());
  if (!y.is_meta()) {
    NoGradGuard guard;
    visit_wide("_sample_dirichlet", alpha, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Tensor host = contiguous(on_host(alpha));
      const T* alphas = host.template data_as<T>();
      int64_t n_categories = alpha.dim() > 0 ? alpha.size(-1) : 1;
      draw_into<T>(y, [&](T* out, int64_t n, const Dims&) {
        if (n == 0) return;
        run_draw(n,
                 [&] { sample_dirichlet(out, alphas, n / n_categories, n_categories, generator); });
      });
    });
  }
  return record("SampleDirichletBackward0", y, {alpha},
                [alpha = save(alpha), y = save_output(y)](const Tensor& g) {
                  Tensor a = alpha, x = y;
                  Tensor slope = dirichlet_grad(x, a, sum(a, {-1}, /*keepdim=*/true));
                  return slope * (g - sum(x * g, {-1}, /*keepdim=*/true));
                });
}

}  // namespace

FACULA_BINDINGS {
  m.def("_standard_gamma", &standard_gamma, "input"_a, "generator"_or_none,
        R"(Gamma numbers of the shapes in input and rate 1.
    input: the shapes, float32 or float64.
    generator: where the random numbers come from; None for the default generator.)"_doc);
  m.def("_standard_gamma_grad", &standard_gamma_grad, "input"_a, "output"_a,
        R"(The derivatives of gamma numbers by their shapes.
    input: the shapes, float32 or float64.
    output: the numbers that were drawn.)"_doc);
  m.def("_sample_dirichlet", &dirichlet, "input"_a, "generator"_or_none,
        R"(Numbers that sum to 1 along the last dimension, of Dirichlet's distribution.
    input: the concentrations, float32 or float64.
    generator: where the random numbers come from; None for the default generator.)"_doc);
  m.def("_dirichlet_grad", &dirichlet_grad, "x"_a, "alpha"_a, "total"_a,
        R"(The derivatives of beta numbers by their first concentration, divided by 1 - x.
    x: the numbers that were drawn.
    alpha: the first concentrations.
    total: the sums of both concentrations.)"_doc);
}

}  // namespace facula
