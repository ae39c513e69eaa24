#include "ops/pointwise/unary.h"

#include <cmath>
#include <limits>

#include "autograd/node.h"
#include "base/number.h"
#include "ops/inplace.h"
#include "ops/ops.h"
#include "ops/pointwise/apply.h"
#include "ops/result.h"

namespace facula {

namespace {

constexpr double kLn2 = 0.6931471805599453, kLn10 = 2.302585092994046,
                 kTwoOverSqrtPi = 1.1283791670955126;
constexpr double kPi = 3.141592653589793;

// Whether the text of a formula has `name` as a word of its own.
constexpr bool mentions(const char* text, char name) {
  auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (const char* c = text; *c; ++c) {
    bool begins = c == text || !in_word(c[-1]);
    if (*c == name && begins && !in_word(c[1])) return true;
  }
  return false;
}

Tensor zeros_like(const Tensor& x) { return zeros(x.sizes(), x.dtype(), x.device()); }

// (pi x cos(pi x) - sin(pi x)) / (pi x^2), 0 at 0.
Tensor sinc_backward(const Tensor& g, const Tensor& x) {
  Tensor turned = x * kPi;
  Tensor slope = (turned * cos(turned) - sin(turned)) / (turned * x);
  return where(eq(x, wrapped_number(0)), zeros_like(g), g * conj(slope));
}

// The part of g across the direction of x, divided by |x|; real signs are constant.
Tensor sgn_backward(const Tensor& g, const Tensor& x, const Tensor& y) {
  if (!is_complex(x.dtype())) return zeros_like(g);
  Tensor size = abs(x);
  Tensor along = real(g * conj(y));
  return where(eq(size, wrapped_number(0)), zeros_like(g), (g - y * along) / size);
}

// i0(x) - i1(x) / x, 1/2 at 0.
Tensor i1_backward(const Tensor& g, const Tensor& x, const Tensor& y) {
  Tensor is_zero = eq(x, wrapped_number(0));
  Tensor safe = where(is_zero, wrapped_number(1.0), x);
  return g * where(is_zero, wrapped_number(0.5), i0(safe) - y / safe);
}

}  // namespace

// The in-place form writes into x at once where no copy of the old x is needed.
#define UNARY(name, node, kinds, formula, gradient)                                            \
  static Tensor record_##name(Tensor result, const Tensor& input) {                            \
    constexpr bool uses_x = mentions(#gradient, 'x'), uses_y = mentions(#gradient, 'y');       \
    SavedTensor saved_x = save(uses_x ? input : Tensor()),                                     \
                saved_y = save_output(uses_y ? result : Tensor());                             \
    return record(node, result, {input},                                                       \
                  [x = saved_x, y = saved_y](const Tensor& g) -> Tensor { return gradient; }); \
  }                                                                                            \
  Tensor name(const Tensor& x) {                                                               \
    return record_##name(apply_unary(#name, UnaryOp::name, Kinds::kinds, x), x);               \
  }                                                                                            \
  Tensor& name##_(Tensor& x) {                                                                 \
    bool has_history = is_grad_enabled() && x.requires_grad();                                 \
    if (has_history && (mentions(#gradient, 'x') || x.is_view()))                              \
      return in_place(#name "_", x, [](const Tensor& t) { return name(t); });                  \
    check_inplace(#name "_", x);                                                               \
    apply_unary_(#name "_", UnaryOp::name, Kinds::kinds, x);                                   \
    if (has_history) rebase_history(x, record_##name(alias(x), x));                            \
    return x;                                                                                  \
  }
#include "tables/unary.def"
#undef UNARY

Tensor abs(const Tensor& x) {
  Tensor y;
  if (is_complex(x.dtype())) {
    NoGradGuard guard;
    y = hypot(real(x), imag(x));
  } else {
    y = apply_parametric("abs", ParametricOp::abs, Kinds::NUM, x);
  }
  return record("AbsBackward0", y, {x}, [x = save(x)](const Tensor& g) { return g * sgn(x); });
}

Tensor angle(const Tensor& x) {
  Tensor y;
  {
    NoGradGuard guard;
    if (is_complex(x.dtype())) {
      y = contiguous(atan2(imag(x), real(x)));
    } else {
      Tensor wide = cast_to(x, compute_dtype(Kinds::F, x.dtype()));
      Tensor half_turn = scalar_tensor(kPi, wide.dtype(), wide.device());
      y = where(isnan(wide), wide,
                where(lt(wide, wrapped_number(0)), half_turn, wrapped_number(0)));
    }
  }
  return record("AngleBackward0", y, {x}, [x = save(x)](const Tensor& g) -> Tensor {
    if (!is_complex(x.raw().dtype())) return zeros_like(g);
    Tensor z = x;
    Tensor size = square(real(z)) + square(imag(z));
    Tensor turned = complex(neg(imag(z)), real(z));
    return where(eq(size, wrapped_number(0)), wrapped_number(0), g * turned / size);
  });
}

Tensor positive(const Tensor& x) {
  check(x.dtype() != DType::Bool, "positive: + is not defined for bool, got ", x, ".");
  return x;
}

Tensor square(const Tensor& x) { return pow(x, wrapped_number(2)); }

Tensor round(const Tensor& x, std::optional<int64_t> given) {
  int64_t decimals = given.value_or(0);
  Tensor y;
  if (decimals == 0) {
    // Integers are only taken where no decimals are given, as in PyTorch.
    y = given ? apply_parametric("round", ParametricOp::round_up, Kinds::FONLY, x, 1)
              : apply_parametric("round", ParametricOp::round, Kinds::NUM, x);
  } else {
    double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
    ParametricOp op = decimals > 0 ? ParametricOp::round_up : ParametricOp::round_down;
    y = apply_parametric("round", op, Kinds::FONLY, x, scale);
  }
  return record(!given ? "RoundBackward0" : "RoundBackward1", y, {x},
                [](const Tensor& g) { return zeros_like(g); });
}

Tensor logit(const Tensor& x, std::optional<double> eps) {
  Tensor y;
  if (is_reduced_float(x.dtype())) {
    // Step by step as PyTorch, whose 16-bit results differ by more than a rounding.
    NoGradGuard guard;
    check_destination("logit", x.sizes(), x.dtype(), {x});
    Tensor inside = eps ? clamp(x, Scalar(*eps), Scalar(1 - *eps)) : x;
    y = log(inside / (1 - inside));
  } else {
    ParametricOp op = eps ? ParametricOp::logit_inside : ParametricOp::logit;
    y = apply_parametric("logit", op, Kinds::F, x, eps.value_or(0));
  }
  return record("LogitBackward0", y, {x}, [x = save(x), eps](const Tensor& g) {
    Tensor slope = g / (Tensor(x) * (1 - Tensor(x)));
    double low = eps.value_or(0), high = 1 - low;
    Tensor outside = logical_or(lt(x, wrapped_number(low)), gt(x, wrapped_number(high)));
    return where(outside, wrapped_number(eps ? 0.0 : std::numeric_limits<double>::quiet_NaN()),
                 slope);
  });
}

Tensor nan_to_num(const Tensor& x, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  check_destination("nan_to_num", x.sizes(), x.dtype(), {x}, OutDType::Same);
  Tensor y;
  {
    NoGradGuard guard;
    if (!is_differentiable(x.dtype())) {
      y = clone(x);
    } else {
      Tensor parts = is_complex(x.dtype()) ? view_as_real(x) : x;
      double limit = largest(parts.dtype());
      y = apply_parametric("nan_to_num of parts", ParametricOp::nan_to_num, Kinds::FONLY, parts,
                           nan.value_or(0), posinf.value_or(limit), neginf.value_or(-limit));
      if (is_complex(x.dtype())) y = view_as_complex(contiguous(y));
    }
  }
  return record("NanToNumBackward0", y, {x},
                [x = save(x)](const Tensor& g) { return g * isfinite(x); });
}

Tensor polygamma(int64_t n, const Tensor& x) {
  check(n >= 0, "polygamma: expected n of at least 0, got ", n, ".");
  Tensor y;
  if (n == 0) {
    NoGradGuard guard;
    y = digamma(x);
  } else {
    y = apply_parametric("polygamma", ParametricOp::polygamma, Kinds::F, x, n);
  }
  return record("PolygammaBackward0", y, {x},
                [x = save(x), n](const Tensor& g) { return g * polygamma(n + 1, x); });
}

Tensor mvlgamma(const Tensor& x, int64_t p) {
  check(p >= 1, "mvlgamma: expected p of at least 1, got ", p, ".");
  check(x.dtype() != DType::Bool, "mvlgamma: expected numbers, got ", x, ".");
  check_destination_history("mvlgamma", {x});
  TensorList terms;
  for (int64_t j = 0; j < p; ++j) terms.push_back(lgamma(x - 0.5 * static_cast<double>(j)));
  return sum(stack(terms, -1), {-1}) + 0.25 * static_cast<double>(p * (p - 1)) * std::log(kPi);
}

// ---- derivatives with kernels of their own

Tensor tanh_backward(const Tensor& g, const Tensor& y) {
  if (is_complex(y.dtype())) return g * conj(1 - square(y));
  Tensor d = apply_binary("tanh_backward", BinaryOp::tanh_backward, g, y, y.dtype());
  return record(
      "TanhBackwardBackward0", d, {g, y},
      [g = save(g), y = save(y)](const Tensor& gg, Needs need) -> TensorList {
        return {need[0] ? tanh_backward(gg, y) : Tensor(), need[1] ? gg * g * y * -2 : Tensor()};
      });
}

Tensor sigmoid_backward(const Tensor& g, const Tensor& y) {
  if (is_complex(y.dtype())) return g * conj((1 - y) * y);
  Tensor d = apply_binary("sigmoid_backward", BinaryOp::sigmoid_backward, g, y, y.dtype());
  return record("SigmoidBackwardBackward0", d, {g, y},
                [g = save(g), y = save(y)](const Tensor& gg, Needs need) -> TensorList {
                  return {need[0] ? sigmoid_backward(gg, y) : Tensor(),
                          need[1] ? gg * g * (1 - Tensor(y) * 2) : Tensor()};
                });
}

}  // namespace facula
