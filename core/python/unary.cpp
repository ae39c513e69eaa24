#include "ops/pointwise/unary.h"

#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

Tensor& abs_(Tensor& x) {
  check(!is_complex(x.dtype()), "abs_: expected a real tensor, got ", x, ". Use abs().");
  return in_place("abs_", x, [](const Tensor& t) { return abs(t); });
}
// Also where x is expanded: nothing is written.
Tensor& unchanged(const char* name, Tensor& x) {
  check_writable(name, x);
  return x;
}
Tensor conjugate(const Tensor& x) { return is_complex(x.dtype()) ? conj_physical(x) : x; }
Tensor& conjugate_(Tensor& x) {
  return is_complex(x.dtype()) ? conj_physical_(x) : unchanged("conj_physical_", x);
}
Tensor& square_(Tensor& x) {
  return in_place("square_", x, [](const Tensor& t) { return square(t); });
}

void bind_exponentials(nb::module_& m) {
  def_unary(
      m, {"exp"}, exp,
      {"The exponential of each element.", "facula.tensor([0.0, 1.0])", "tensor([1.0000, 2.7183])"},
      exp_);
  def_unary(m, {"exp2"}, exp2,
            {"2 to the power of each element.", "facula.tensor([0.0, 3.0])", "tensor([1., 8.])"},
            exp2_);
  def_unary(m, {"expm1"}, expm1,
            {"``exp(input) - 1``, exact also near zero.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 1.7183])"},
            expm1_);
  def_unary(m, {"log"}, log,
            {"The natural logarithm of each element.", "facula.tensor([1.0, 10.0])",
             "tensor([0.0000, 2.3026])"},
            log_);
  def_unary(
      m, {"log2"}, log2,
      {"The logarithm to base 2 of each element.", "facula.tensor([1.0, 8.0])", "tensor([0., 3.])"},
      log2_);
  def_unary(m, {"log10"}, log10,
            {"The logarithm to base 10 of each element.", "facula.tensor([1.0, 1000.0])",
             "tensor([0., 3.])"},
            log10_);
  def_unary(m, {"log1p"}, log1p,
            {"``log(1 + input)``, exact also near zero.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 0.6931])"},
            log1p_);
  def_unary(m, {"sqrt"}, sqrt,
            {"The square root of each element.", "facula.tensor([4.0, 9.0])", "tensor([2., 3.])"},
            sqrt_);
  def_unary(m, {"rsqrt"}, rsqrt,
            {"The reciprocal of the square root of each element.", "facula.tensor([4.0, 16.0])",
             "tensor([0.5000, 0.2500])"},
            rsqrt_);
  def_unary(m, {"square"}, square,
            {"The square of each element.", "facula.tensor([2, -3])", "tensor([4, 9])"}, square_);
  def_unary(m, {"reciprocal"}, reciprocal,
            {"``1 / input``.", "facula.tensor([2.0, 4.0])", "tensor([0.5000, 0.2500])"},
            reciprocal_);
}

void bind_trigonometry(nb::module_& m) {
  def_unary(m, {"sin"}, sin,
            {"The sine of each element, in radians.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 0.8415])"},
            sin_);
  def_unary(m, {"cos"}, cos,
            {"The cosine of each element, in radians.", "facula.tensor([0.0, 1.0])",
             "tensor([1.0000, 0.5403])"},
            cos_);
  def_unary(m, {"tan"}, tan,
            {"The tangent of each element, in radians.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 1.5574])"},
            tan_);
  def_unary(m, {"asin", "arcsin"}, asin,
            {"The angle in ``[-pi/2, pi/2]`` with this sine.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 1.5708])"},
            asin_);
  def_unary(m, {"acos", "arccos"}, acos,
            {"The angle in ``[0, pi]`` with this cosine.", "facula.tensor([0.0, 1.0])",
             "tensor([1.5708, 0.0000])"},
            acos_);
  def_unary(m, {"atan", "arctan"}, atan,
            {"The angle in ``(-pi/2, pi/2)`` with this tangent.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 0.7854])"},
            atan_);
  def_unary(m, {"sinh"}, sinh,
            {"The hyperbolic sine of each element.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 1.1752])"},
            sinh_);
  def_unary(m, {"cosh"}, cosh,
            {"The hyperbolic cosine of each element.", "facula.tensor([0.0, 1.0])",
             "tensor([1.0000, 1.5431])"},
            cosh_);
  def_unary(m, {"tanh"}, tanh,
            {"The hyperbolic tangent of each element.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 0.7616])"},
            tanh_);
  def_unary(m, {"asinh", "arcsinh"}, asinh,
            {"The inverse of ``sinh``.", "facula.tensor([0.0, 1.0])", "tensor([0.0000, 0.8814])"},
            asinh_);
  def_unary(m, {"acosh", "arccosh"}, acosh,
            {"The inverse of ``cosh``, for elements from 1 on.", "facula.tensor([1.0, 2.0])",
             "tensor([0.0000, 1.3170])"},
            acosh_);
  def_unary(m, {"atanh", "arctanh"}, atanh,
            {"The inverse of ``tanh``, for elements between -1 and 1.", "facula.tensor([0.0, 0.5])",
             "tensor([0.0000, 0.5493])"},
            atanh_);
  def_unary(m, {"deg2rad"}, deg2rad,
            {"Degrees as radians.", "facula.tensor([0.0, 180.0])", "tensor([0.0000, 3.1416])"},
            deg2rad_);
  def_unary(m, {"rad2deg"}, rad2deg,
            {"Radians as degrees.", "facula.tensor([0.0, 1.0])", "tensor([ 0.0000, 57.2958])"},
            rad2deg_);
  def_unary(
      m, {"sinc"}, sinc,
      {"``sin(pi x) / (pi x)``, 1 at 0.", "facula.tensor([0.0, 0.5])", "tensor([1.0000, 0.6366])"},
      sinc_);
}

void bind_special_functions(nb::module_& m) {
  def_unary(m, {"sigmoid"}, sigmoid,
            {"``1 / (1 + exp(-input))``.", "facula.tensor([0.0, 2.0])", "tensor([0.5000, 0.8808])"},
            sigmoid_);
  def_unary(m, {"erf"}, erf,
            {"The error function of each element.", "facula.tensor([0.0, 1.0])",
             "tensor([0.0000, 0.8427])"},
            erf_);
  def_unary(m, {"erfc"}, erfc,
            {"``1 - erf(input)``, exact also where that is close to zero.",
             "facula.tensor([0.0, 1.0])", "tensor([1.0000, 0.1573])"},
            erfc_);
  def_unary(m, {"erfinv"}, erfinv,
            {"The inverse of ``erf``, for elements between -1 and 1.", "facula.tensor([0.0, 0.5])",
             "tensor([0.0000, 0.4769])"},
            erfinv_);
  def_unary(m, {"lgamma"}, lgamma,
            {"The logarithm of the absolute value of the gamma function.",
             "facula.tensor([1.0, 4.0])", "tensor([0.0000, 1.7918])"},
            lgamma_);
  def_unary(m, {"digamma"}, digamma,
            {"The logarithmic derivative of the gamma function.", "facula.tensor([1.0, 2.0])",
             "tensor([-0.5772,  0.4228])"},
            digamma_);
  def_unary(m, {"i0"}, i0,
            {"The modified Bessel function of the first kind of order 0.",
             "facula.tensor([0.0, 1.0])", "tensor([1.0000, 1.2661])"},
            i0_);
  m.def("special_i1", special_i1, "input"_a,
        "The modified Bessel function of the first kind of order 1.");

  const char* logit_doc =
      R"(``log(input / (1 - input))``, with ``input`` clamped to ``[eps, 1 - eps]`` where eps is given.

Example:
    >>> facula.logit(facula.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972]))";
  m.def(
      "logit",
      [](const Tensor& x, std::optional<double> eps, const Out& out) {
        return with_out("logit", out, [&] { return logit(x, eps); });
      },
      "input"_a, "eps"_a.none() = nb::none(), nb::kw_only(), "out"_a.none() = nb::none(),
      logit_doc);
  def_method(
      "logit", [](const Tensor& x, std::optional<double> eps) { return logit(x, eps); },
      "eps"_a.none() = nb::none(), logit_doc);
  auto logit_ = [](Tensor x, std::optional<double> eps) -> Tensor {
    return in_place("logit_", x, [&](const Tensor& t) { return logit(t, eps); });
  };
  def_method("logit_", logit_, "eps"_a.none() = nb::none());
  m.def("logit_", logit_, "input"_a, "eps"_a.none() = nb::none());

  const char* polygamma_doc = R"(The derivative of order ``n`` of the digamma function.

Example:
    >>> facula.polygamma(1, facula.tensor([1.0, 0.5]))
    tensor([1.6449, 4.9348]))";
  m.def(
      "polygamma",
      [](int64_t n, const Tensor& x, const Out& out) {
        return with_out("polygamma", out, [&] { return polygamma(n, x); });
      },
      "n"_a, "input"_a, nb::kw_only(), "out"_a.none() = nb::none(), polygamma_doc);
  def_method(
      "polygamma", [](const Tensor& x, int64_t n) { return polygamma(n, x); }, "n"_a,
      polygamma_doc);
  def_method(
      "polygamma_",
      [](Tensor x, int64_t n) -> Tensor {
        return in_place("polygamma_", x, [n](const Tensor& t) { return polygamma(n, t); });
      },
      "n"_a);

  const char* mvlgamma_doc = R"(The logarithm of the multivariate gamma function of dimension ``p``.

Example:
    >>> facula.mvlgamma(facula.tensor([2.0, 3.0]), 2)
    tensor([0.4516, 1.5502]))";
  m.def(
      "mvlgamma",
      [](const Tensor& x, int64_t p, const Out& out) {
        return with_out("mvlgamma", out, [&] { return mvlgamma(x, p); });
      },
      "input"_a, "p"_a, nb::kw_only(), "out"_a.none() = nb::none(), mvlgamma_doc);
  def_method("mvlgamma", mvlgamma, "p"_a, mvlgamma_doc);
  def_method(
      "mvlgamma_",
      [](Tensor x, int64_t p) -> Tensor {
        return in_place("mvlgamma_", x, [p](const Tensor& t) { return mvlgamma(t, p); });
      },
      "p"_a);
}

void bind_rounding(nb::module_& m) {
  def_unary(m, {"floor"}, floor,
            {"The largest integer that is not above each element.", "facula.tensor([1.5, -1.5])",
             "tensor([ 1., -2.])"},
            floor_);
  def_unary(m, {"ceil"}, ceil,
            {"The smallest integer that is not below each element.", "facula.tensor([1.5, -1.5])",
             "tensor([ 2., -1.])"},
            ceil_);
  def_unary(
      m, {"trunc", "fix"}, trunc,
      {"Each element without its fraction.", "facula.tensor([1.5, -1.5])", "tensor([ 1., -1.])"},
      trunc_);
  def_unary(m, {"frac"}, frac,
            {"The fraction of each element, with its sign.", "facula.tensor([1.5, -1.5])",
             "tensor([ 0.5000, -0.5000])"},
            frac_);

  using Decimals = std::optional<int64_t>;
  const char* doc = R"(The nearest number of ``decimals`` decimals; halves go to the even neighbour.

Example:
    >>> facula.round(facula.tensor([0.5, 1.5, 2.4]))
    tensor([0., 2., 2.]))";
  m.def(
      "round",
      [](const Tensor& x, Decimals decimals, const Out& out) {
        return with_out("round", out, [&] { return round(x, decimals); });
      },
      "input"_a, nb::kw_only(), "decimals"_a.none() = nb::none(), "out"_a.none() = nb::none(), doc);
  def_method(
      "round", [](const Tensor& x, Decimals decimals) { return round(x, decimals); }, nb::kw_only(),
      "decimals"_a.none() = nb::none(), doc);
  auto round_ = [](Tensor x, Decimals decimals) -> Tensor {
    return in_place("round_", x, [&](const Tensor& t) { return round(t, decimals); });
  };
  def_method("round_", round_, nb::kw_only(), "decimals"_a.none() = nb::none());
  m.def("round_", round_, "input"_a, nb::kw_only(), "decimals"_a.none() = nb::none());
}

void bind_signs(nb::module_& m) {
  def_unary(
      m, {"abs", "absolute"}, abs,
      {"The absolute value of each element.", "facula.tensor([-1.0, 2.0])", "tensor([1., 2.])"},
      abs_);
  def_unary(m, {"neg", "negative"}, neg,
            {"``-input``.", "facula.tensor([-1.0, 2.0])", "tensor([ 1., -2.])"}, neg_);
  def_unary(m, {"sign"}, sign,
            {"-1, 0 or 1: the sign of each element.", "facula.tensor([-2.0, 0.0, 5.0])",
             "tensor([-1.,  0.,  1.])"},
            sign_);
  def_unary(m, {"sgn"}, sgn,
            {"``input / abs(input)``, 0 at 0, also for complex numbers.",
             "facula.tensor([-2.0, 0.0, 5.0])", "tensor([-1.,  0.,  1.])"},
            sgn_);
  def_predicate(
      m, "positive", positive,
      {"``input`` itself; refuses bool.", "facula.tensor([-1.0, 2.0])", "tensor([-1.,  2.])"});
  def_predicate(m, "angle", angle,
                {"The argument of each element: the angle of a complex number.",
                 "facula.tensor([-1.0, 2.0])", "tensor([3.1416, 0.0000])"});
  def_unary(
      m, {"bitwise_not"}, bitwise_not,
      {"All bits inverted; for bool, the negation.", "facula.tensor([0, 1])", "tensor([-1, -2])"},
      bitwise_not_);
  def_unary(
      m, {"conj_physical"}, conjugate,
      {"The complex conjugate of each element.", "facula.tensor([1 + 2j])", "tensor([1.-2.j])"},
      conjugate_);
  def_op(m, "conj", conj, R"(The complex conjugate of each element; a real tensor itself.

Example:
    >>> facula.conj(facula.tensor([1 + 2j]))
    tensor([1.-2.j]))");
  m.def("real", real, "input"_a, R"(The real part of each element, a view; a real tensor itself.

Example:
    >>> facula.real(facula.tensor([1 + 2j]))
    tensor([1.]))");
  m.def("imag", imag, "input"_a, R"(The imaginary part of each element of a complex tensor, a view.

Example:
    >>> facula.imag(facula.tensor([1 + 2j]))
    tensor([2.]))");
  def_op(
      m, "resolve_conj", [](const Tensor& x) { return x; },
      "``input`` itself: conjugates are never lazy here.");
  def_op(
      m, "resolve_neg", [](const Tensor& x) { return x; },
      "``input`` itself: negatives are never lazy here.");
  def_op(
      m, "is_conj", [](const Tensor&) { return false; }, "False: conjugates are never lazy here.");
  def_op(
      m, "is_neg", [](const Tensor&) { return false; }, "False: negatives are never lazy here.");

  const char* doc =
      R"(NaN and the infinities replaced by numbers; by default 0 and the largest finite ones.

Example:
    >>> facula.nan_to_num(facula.tensor([facula.nan, 1.0]), nan=5.0)
    tensor([5., 1.]))";
  using Number = std::optional<double>;
  auto none = nb::none();
  auto function = [](const Tensor& x, Number nan, Number posinf, Number neginf) {
    check_real_derivative("nan_to_num", x, x);
    return nan_to_num(x, nan, posinf, neginf);
  };
  m.def(
      "nan_to_num",
      [function](const Tensor& x, Number nan, Number posinf, Number neginf, const Out& out) {
        return with_out("nan_to_num", out, [&] { return function(x, nan, posinf, neginf); });
      },
      "input"_a, "nan"_a.none() = none, "posinf"_a.none() = none, "neginf"_a.none() = none,
      nb::kw_only(), "out"_a.none() = none, doc);
  def_method("nan_to_num", function, "nan"_a.none() = none, "posinf"_a.none() = none,
             "neginf"_a.none() = none, doc);
  auto nan_to_num_ = [](Tensor x, Number nan, Number posinf, Number neginf) -> Tensor {
    if (!is_differentiable(x.dtype())) return unchanged("nan_to_num_", x);
    return in_place("nan_to_num_", x,
                    [&](const Tensor& t) { return nan_to_num(t, nan, posinf, neginf); });
  };
  def_method("nan_to_num_", nan_to_num_, "nan"_a.none() = none, "posinf"_a.none() = none,
             "neginf"_a.none() = none);
  m.def("nan_to_num_", nan_to_num_, "input"_a, "nan"_a.none() = none, "posinf"_a.none() = none,
        "neginf"_a.none() = none);
}

}  // namespace

FACULA_BINDINGS {
  bind_exponentials(m);
  bind_trigonometry(m);
  bind_special_functions(m);
  bind_rounding(m);
  bind_signs(m);
}

}  // namespace facula
