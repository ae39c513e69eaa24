#include "ops/pointwise/special.h"

#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

Tensor logit(const Tensor& x, std::optional<double> eps, const Into& into) {
  Tensor y;
  if (is_reduced_float(x.dtype())) {
    // Step by step as PyTorch, whose 16-bit results differ by more than a rounding.
    NoGradGuard guard;
    check_into("logit", into, x.sizes(), x.dtype(), {x});
    Tensor inside = eps ? clamp(x, Scalar(*eps), Scalar(1 - *eps)) : x;
    y = log(inside / (1 - inside));
  } else {
    ParametricOp op = eps ? ParametricOp::logit_inside : ParametricOp::logit;
    y = apply_parametric("logit", op, Kinds::F, x, {eps.value_or(0)}, into);
  }
  return record("LogitBackward0", y, {x}, [x = save(x), eps](const Tensor& g) {
    Tensor slope = g / (Tensor(x) * (1 - Tensor(x)));
    double low = eps.value_or(0), high = 1 - low;
    Tensor outside = logical_or(lt(x, wrapped_number(low)), gt(x, wrapped_number(high)));
    return where(outside, wrapped_number(eps ? 0.0 : std::numeric_limits<double>::quiet_NaN()),
                 slope);
  });
}

Tensor polygamma(int64_t n, const Tensor& x, const Into& into) {
  check(n >= 0, "polygamma: expected n of at least 0, got ", n, ".");
  Tensor y;
  if (n == 0) {
    NoGradGuard guard;
    y = digamma(x);
  } else {
    y = apply_parametric("polygamma", ParametricOp::polygamma, Kinds::F, x, {n}, into);
  }
  return record("PolygammaBackward0", y, {x},
                [x = save(x), n](const Tensor& g) { return g * polygamma(n + 1, x); });
}

Tensor mvlgamma(const Tensor& x, int64_t p, const Into& into) {
  check(p >= 1, "mvlgamma: expected p of at least 1, got ", p, ".");
  check(x.dtype() != DType::Bool, "mvlgamma: expected numbers, got ", x, ".");
  check_into_history("mvlgamma", into, {x});
  constexpr double kLogPi = 1.1447298858494002;
  double n = static_cast<double>(p);
  // All terms as one tensor: too many are refused by the allocator, not waited for.
  DType dtype = compute_dtype(Kinds::F, x.dtype());
  Tensor shifts = arange(0, n / -2, -0.5, dtype, x.device()), y;
  {
    NoGradGuard guard;
    y = sum(lgamma(unsqueeze(x, -1) + shifts), {-1}) + 0.25 * n * (n - 1) * kLogPi;
  }
  return record("MvlgammaBackward0", y, {x}, [x = save(x), shifts](const Tensor& g) {
    return g * sum(digamma(unsqueeze(x, -1) + shifts), {-1});
  });
}

static Tensor polygamma_of(const Tensor& x, int64_t n, const Into& into) {
  return polygamma(n, x, into);
}

FACULA_BINDINGS {
  std::string doc = docstring(
      "logit", {"``log(input / (1 - input))``, with ``input`` clamped to ``[eps, 1 - eps]`` where "
                "eps is given.",
                "facula.tensor([0.5, 0.9])", "tensor([0.0000, 2.1972])",
                "input: the probabilities.\n"
                "eps: how far from 0 and 1 the elements are kept; None does not clamp them.\n"
                "out: where to put the result."});
  def_op_out(m, "logit", logit, "eps"_or_none, doc.c_str());
  def_op_in_place(m, "logit", "logit_", logit, "eps"_or_none);

  doc = docstring("polygamma", {"The derivative of order ``n`` of the digamma function.",
                                "1, facula.tensor([1.0, 0.5])", "tensor([1.6449, 4.9348])",
                                "n: the order of the derivative, not negative.\n"
                                "input: the elements.\nout: where to put the result."});
  m.def(
      "polygamma",
      [](int64_t n, const Tensor& x, const Out& out) {
        return with_out("polygamma", out, [&](const Into& into) { return polygamma(n, x, into); });
      },
      "n"_a, "input"_a, nb::kw_only(), "out"_or_none, doc.c_str());
  def_method(
      "polygamma", [](const Tensor& x, int64_t n) { return polygamma(n, x); }, "n"_a, doc.c_str());
  def_in_place("polygamma", "polygamma_", polygamma_of, "n"_a);

  doc =
      docstring("mvlgamma", {"The logarithm of the multivariate gamma function of dimension ``p``.",
                             "facula.tensor([2.0, 3.0]), 2", "tensor([0.4516, 1.5502])",
                             "input: the elements, each above ``(p - 1) / 2``.\n"
                             "p: the dimension, 1 or more.\nout: where to put the result."});
  def_op_out(m, "mvlgamma", mvlgamma, "p"_a, doc.c_str());
  def_in_place("mvlgamma", "mvlgamma_", mvlgamma, "p"_a);
}

}  // namespace facula
