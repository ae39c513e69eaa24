#include "ops/pointwise/activation.h"

#include <limits>

#include "autograd/node.h"
#include "base/number.h"
#include "ops/inplace.h"
#include "ops/ops.h"
#include "ops/pointwise/apply.h"
#include "ops/result.h"

namespace facula {

namespace {

Tensor number(Scalar value) { return wrapped_number(value); }

// The kernel of a derivative; where that is itself to be differentiated, what tensor operations
// make of it.
template <class Composed>
Tensor derivative(const char* name, BinaryOp op, const Tensor& g, const Tensor& x,
                  std::initializer_list<Scalar> numbers, const Composed& composed) {
  if (wants_history(g, x)) return composed();
  Scalar p[3] = {0, 0, 0};
  std::copy(numbers.begin(), numbers.end(), p);
  return apply_binary(name, op, g, x, x.dtype(), p[0], p[1], p[2]);
}

Tensor elu_backward(const Tensor& g, const Tensor& x, double alpha, double scale,
                    double input_scale) {
  double slope = alpha * scale * input_scale;
  return derivative("elu_backward", BinaryOp::elu_backward, g, x, {slope, scale, input_scale}, [&] {
    return where(le(x, number(0)), g * exp(x * input_scale) * slope, g * scale);
  });
}

Tensor elu_named(const char* node, const char* name, const Tensor& x, double alpha, double scale,
                 double input_scale) {
  Tensor y =
      apply_parametric(name, ParametricOp::elu, Kinds::FONLY, x, alpha * scale, scale, input_scale);
  return record(node, y, {x}, [x = save(x), alpha, scale, input_scale](const Tensor& g) {
    return elu_backward(g, x, alpha, scale, input_scale);
  });
}

// The same for a function made of straight pieces, whose derivative does not depend on where in a
// piece x is.
Tensor derivative_of_pieces(const char* node, const char* name, BinaryOp op, const Tensor& g,
                            const Tensor& x, Scalar p0, Scalar p1 = 0) {
  Tensor d = apply_binary(name, op, g, x, x.dtype(), p0, p1);
  return record(node, d, {g, x}, [=, x = save(x)](const Tensor& gg, Needs need) -> TensorList {
    return {need[0] ? derivative_of_pieces(node, name, op, gg, x, p0, p1) : Tensor(),
            need[1] ? zeros(gg.sizes(), gg.dtype(), gg.device()) : Tensor()};
  });
}

// The forms in place of functions made of straight pieces write x once: the result lies in the
// piece in which x did, so that it serves for the derivative.
template <class Record>
Tensor& write_over(const char* op, Tensor& x, ParametricOp kernel, Kinds kinds, Scalar p0,
                   Scalar p1, const Record& record_result) {
  check_inplace(op, x);
  bool has_history = is_grad_enabled() && x.requires_grad();
  apply_parametric_(op, kernel, kinds, x, p0, p1);
  if (has_history) rebase_history(x, record_result(alias(x)));
  return x;
}

bool is_view_with_history(const Tensor& x) {
  return is_grad_enabled() && x.requires_grad() && x.is_view();
}

// `place` is x, or the result where it was written over x.
Tensor record_leaky_relu(const Tensor& y, const Tensor& x, SavedTensor place, Scalar slope) {
  return record("LeakyReluBackward0", y, {x}, [x = std::move(place), slope](const Tensor& g) {
    return derivative_of_pieces("LeakyReluBackwardBackward0", "leaky_relu_backward",
                                BinaryOp::leaky_relu_backward, g, x, slope);
  });
}

Tensor record_hardtanh(const Tensor& y, const Tensor& x, SavedTensor place, Scalar low,
                       Scalar high) {
  return record("HardtanhBackward0", y, {x}, [x = std::move(place), low, high](const Tensor& g) {
    return derivative_of_pieces("HardtanhBackwardBackward0", "hardtanh_backward",
                                BinaryOp::hardtanh_backward, g, x, low, high);
  });
}

// For those of which PyTorch refuses the dtype before it looks at out=.
void check_floating(const char* name, const Tensor& x) {
  check_destination_history(name, {x});
  check_not_implemented(is_floating(x.dtype()), name, ": expected a floating-point input, got ", x,
                        ". Convert it with input.float().");
}

// An integer bound of an integer tensor.
Scalar bound_of(const Tensor& x, Scalar bound) {
  check_fits("hardtanh", "bound", bound, is_floating(x.dtype()) ? x.dtype() : DType::Int64);
  return is_floating(x.dtype()) ? bound : Scalar(bound.to<int64_t>());
}

std::pair<Scalar, Scalar> hardtanh_limits(const Tensor& x, Scalar min_val, Scalar max_val) {
  check(x.dtype() != DType::Bool, "hardtanh: not supported for ", x, ".");
  Scalar low = bound_of(x, min_val), high = bound_of(x, max_val);
  check(x.dtype() != DType::UInt8 || (low.to_double() >= 0 && high.to_double() >= 0),
        "hardtanh: expected limits of at least 0 for ", x, ", got ", low.to_double(), " and ",
        high.to_double(), ".");
  for (Scalar bound : {low, high}) check_fits("hardtanh", "bound", bound, x.dtype());
  return {low, high};
}

}  // namespace

Tensor threshold(const Tensor& x, Scalar threshold, Scalar value) {
  check_fits("threshold", "threshold", threshold, x.dtype());
  check_fits("threshold", "value", value, x.dtype());
  Tensor y =
      apply_parametric("threshold", ParametricOp::threshold, Kinds::NUM, x, threshold, value);
  return record("ThresholdBackward0", y, {x}, [x = save(x), threshold](const Tensor& g) {
    return threshold_backward(g, x, threshold);
  });
}

Tensor elu(const Tensor& x, Scalar alpha, Scalar scale, Scalar input_scale) {
  return elu_named("EluBackward0", "elu", x, alpha.to_double(), scale.to_double(),
                   input_scale.to_double());
}
Tensor selu(const Tensor& x) {
  return elu_named("EluBackward0", "selu", x, 1.6732632423543772, 1.0507009873554805, 1);
}
Tensor celu(const Tensor& x, Scalar alpha) {
  check(alpha.to_double() != 0, "celu: alpha cannot be 0.");
  return elu_named("CeluBackward0", "celu", x, alpha.to_double(), 1, 1 / alpha.to_double());
}

Tensor gelu(const Tensor& x, bool use_tanh) {
  Tensor y = apply_parametric("gelu", use_tanh ? ParametricOp::gelu_tanh : ParametricOp::gelu,
                              Kinds::FONLY, x);
  return record("GeluBackward0", y, {x},
                [x = save(x), use_tanh](const Tensor& g) { return gelu_backward(g, x, use_tanh); });
}

Tensor leaky_relu(const Tensor& x, Scalar slope) {
  Tensor y = apply_parametric("leaky_relu", ParametricOp::leaky_relu, Kinds::FONLY, x, slope);
  return record_leaky_relu(y, x, save(x), slope);
}
Tensor& leaky_relu_(Tensor& x, Scalar slope) {
  // A negative slope hides the sign of x.
  if (is_view_with_history(x) || slope.to_double() < 0)
    return in_place("leaky_relu_", x, [&](const Tensor& t) { return leaky_relu(t, slope); });
  auto record_result = [&](const Tensor& y) {
    return record_leaky_relu(y, x, save_output(y), slope);
  };
  return write_over("leaky_relu_", x, ParametricOp::leaky_relu, Kinds::FONLY, slope, 0,
                    record_result);
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  check(x.dtype() == weight.dtype(), "prelu: expected a weight of the input's dtype ", x.dtype(),
        ", got ", weight, ".");
  check(weight.dim() <= 1, "prelu: expected a weight of one dimension at most, got ", weight, ".");
  Tensor w = weight;
  if (weight.numel() != 1) {
    int64_t n_channels = x.dim() > 1 ? x.size(1) : 1;
    check(x.dim() > 0 && n_channels == weight.numel(), "prelu: expected a weight of 1 or of ",
          n_channels, " elements, one per channel (dim 1) of the input ", x, ", got ", weight, ".");
  }
  if (x.dim() == 0) {
    w = reshape(weight, {});
  } else if (x.dim() > 1 && weight.dim() == 1) {
    Dims sizes(x.dim());
    std::fill(sizes.begin(), sizes.end(), 1);
    sizes[1] = weight.numel();
    w = reshape(weight, sizes);
  }
  Tensor y = apply_binary("prelu", BinaryOp::prelu, x, w, x.dtype());
  return record("PreluKernelBackward0", y, {x, w},
                [saved_x = save(x), w = save(w)](const Tensor& g, Needs need) -> TensorList {
                  Tensor x = saved_x, is_above = gt(x, number(0));
                  return {need[0] ? where(is_above, g, g * Tensor(w)) : Tensor(),
                          need[1] ? where(is_above, number(0), g * x) : Tensor()};
                });
}

Tensor glu(const Tensor& x, int64_t dim) {
  check(x.dim() > 0, "glu: expected at least one dimension, got a 0-d tensor.");
  check_not_implemented(is_floating(x.dtype()), "glu: expected a floating-point input, got ", x,
                        ".");
  int64_t at = wrap_dim("glu", dim, x.dim());
  check(x.size(at) % 2 == 0, "glu: expected an even size in dimension ", dim,
        ", which is cut into halves, got ", x.sizes(), ".");
  auto halves = [at](const Tensor& x) {
    int64_t n = x.size(at) / 2;
    return std::pair(narrow(x, at, 0, n), narrow(x, at, n, n));
  };
  Tensor y;
  {
    NoGradGuard guard;
    auto [values, gates] = halves(x);
    y = apply_binary("glu", BinaryOp::glu, values, gates, x.dtype());
  }
  return record("GluBackward0", y, {x}, [x = save(x), at, halves](const Tensor& g) {
    auto [values, gates] = halves(x);
    Tensor open = sigmoid(gates);
    return cat({g * open, sigmoid_backward(g * values, open)}, at);
  });
}

Tensor softplus(const Tensor& x, Scalar beta, Scalar threshold) {
  Tensor y = apply_parametric("softplus", ParametricOp::softplus, Kinds::FONLY, x, beta, threshold);
  return record("SoftplusBackward0", y, {x}, [saved = save(x), beta, threshold](const Tensor& g) {
    Tensor x = saved;
    return derivative("softplus_backward", BinaryOp::softplus_backward, g, x, {beta, threshold},
                      [&] {
                        Tensor scaled = x * beta;
                        return where(gt(scaled, number(threshold)), g, g * sigmoid(scaled));
                      });
  });
}

Tensor log_sigmoid(const Tensor& x) {
  check_floating("logsigmoid", x);
  Tensor y = apply_unary("logsigmoid", UnaryOp::logsigmoid, Kinds::FONLY, x);
  return record("LogSigmoidBackward0", y, {x}, [saved = save(x)](const Tensor& g) {
    Tensor x = saved;
    // That of softplus(-x), with its sign turned twice.
    return derivative("logsigmoid_backward", BinaryOp::softplus_backward, g, x,
                      {-1, std::numeric_limits<double>::infinity()},
                      [&] { return g * sigmoid(neg(x)); });
  });
}

Tensor hardshrink(const Tensor& x, Scalar lambd) {
  Tensor y = apply_parametric("hardshrink", ParametricOp::hardshrink, Kinds::FONLY, x, lambd);
  return record("HardshrinkBackward0", y, {x}, [x = save(x), lambd](const Tensor& g) {
    return derivative_of_pieces("HardshrinkBackwardBackward0", "hardshrink_backward",
                                BinaryOp::shrink_backward, g, x, lambd);
  });
}

Tensor softshrink(const Tensor& x, Scalar lambd) {
  check_floating("softshrink", x);
  check(lambd.to_double() >= 0, "softshrink: expected lambd to be at least 0, got ",
        lambd.to_double(), ".");
  Tensor y = apply_parametric("softshrink", ParametricOp::softshrink, Kinds::FONLY, x, lambd);
  return record("SoftshrinkBackward0", y, {x}, [x = save(x), lambd](const Tensor& g) {
    return derivative_of_pieces("SoftshrinkBackwardBackward0", "softshrink_backward",
                                BinaryOp::shrink_backward, g, x, lambd);
  });
}

Tensor hardtanh(const Tensor& x, Scalar min_val, Scalar max_val) {
  auto [low, high] = hardtanh_limits(x, min_val, max_val);
  Tensor y = apply_parametric("hardtanh", ParametricOp::clamp, Kinds::NUM, x, low, high);
  return record_hardtanh(y, x, save(x), low, high);
}
Tensor& hardtanh_(Tensor& x, Scalar min_val, Scalar max_val) {
  if (is_view_with_history(x))
    return in_place("hardtanh_", x, [&](const Tensor& t) { return hardtanh(t, min_val, max_val); });
  auto [low, high] = hardtanh_limits(x, min_val, max_val);
  auto record_result = [&, low = low, high = high](const Tensor& y) {
    return record_hardtanh(y, x, save_output(y), low, high);
  };
  return write_over("hardtanh_", x, ParametricOp::clamp, Kinds::NUM, low, high, record_result);
}

// ---- derivatives

Tensor threshold_backward(const Tensor& g, const Tensor& x, Scalar threshold) {
  return derivative_of_pieces("ThresholdBackwardBackward0", "threshold_backward",
                              BinaryOp::threshold_backward, g, x, threshold);
}

Tensor silu_backward(const Tensor& g, const Tensor& x) {
  auto composed = [&] {
    Tensor y = sigmoid(x);
    return g * conj(y * (1 + x * (1 - y)));
  };
  if (is_complex(x.dtype())) return composed();
  return derivative("silu_backward", BinaryOp::silu_backward, g, x, {}, composed);
}

Tensor gelu_backward(const Tensor& g, const Tensor& x, bool use_tanh) {
  BinaryOp op = use_tanh ? BinaryOp::gelu_tanh_backward : BinaryOp::gelu_backward;
  return derivative("gelu_backward", op, g, x, {}, [&] {
    if (!use_tanh) {
      constexpr double inverse_sqrt_2pi = 0.3989422804014327, sqrt_half = 0.7071067811865476;
      return g * ((erf(x * sqrt_half) + 1) * 0.5 + x * exp(square(x) * -0.5) * inverse_sqrt_2pi);
    }
    constexpr double sqrt_2_over_pi = 0.7978845608028654;
    Tensor t = tanh((x + x * x * x * 0.044715) * sqrt_2_over_pi);
    Tensor slope = (square(x) * (3 * 0.044715) + 1) * sqrt_2_over_pi;
    return g * ((t + 1) * 0.5 + x * (1 - square(t)) * slope * 0.5);
  });
}

Tensor mish_backward(const Tensor& g, const Tensor& x) {
  return derivative("mish_backward", BinaryOp::mish_backward, g, x, {}, [&] {
    Tensor t = tanh(softplus(x));
    return g * (t + x * (1 - square(t)) * sigmoid(x));
  });
}

Tensor hardsigmoid_backward(const Tensor& g, const Tensor& x) {
  return derivative("hardsigmoid_backward", BinaryOp::hardsigmoid_backward, g, x, {},
                    [&] { return where(lt(abs(x), number(3)), g / 6, number(0)); });
}

Tensor hardswish_backward(const Tensor& g, const Tensor& x) {
  return derivative("hardswish_backward", BinaryOp::hardswish_backward, g, x, {}, [&] {
    Tensor inside = where(lt(x, number(3)), g * (x / 3 + 0.5), g);
    return where(le(x, number(-3)), number(0), inside);
  });
}

}  // namespace facula
