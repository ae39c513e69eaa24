#include "ops/pointwise/rounding.h"

#include <cmath>

#include "base/number.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

Tensor round(const Tensor& x, std::optional<int64_t> given, const Into& into) {
  int64_t decimals = given.value_or(0);
  Tensor y;
  if (decimals == 0) {
    // Integers are only taken where no decimals are given, as in PyTorch.
    y = given ? apply_parametric("round", ParametricOp::round_up, Kinds::FONLY, x, {1}, into)
              : apply_parametric("round", ParametricOp::round, Kinds::NUM, x, {}, into);
  } else {
    double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
    ParametricOp op = decimals > 0 ? ParametricOp::round_up : ParametricOp::round_down;
    y = apply_parametric("round", op, Kinds::FONLY, x, {scale}, into);
  }
  return record(!given ? "RoundBackward0" : "RoundBackward1", y, {x},
                [](const Tensor& g) { return zeros(g.sizes(), g.dtype(), g.device()); });
}

Tensor nan_to_num(const Tensor& x, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf, const Into& into) {
  check_into("nan_to_num", into, x.sizes(), x.dtype(), {x}, OutDType::Same);
  Tensor y;
  {
    NoGradGuard guard;
    if (!is_differentiable(x.dtype())) {
      y = clone(x);
    } else {
      Tensor parts = is_complex(x.dtype()) ? view_as_real(x) : x;
      double limit = largest(parts.dtype());
      y = apply_parametric("nan_to_num", ParametricOp::nan_to_num, Kinds::FONLY, parts,
                           {nan.value_or(0), posinf.value_or(limit), neginf.value_or(-limit)});
      if (is_complex(x.dtype())) y = view_as_complex(contiguous(y));
    }
  }
  return record("NanToNumBackward0", y, {x},
                [x = save(x)](const Tensor& g) { return g * isfinite(x); });
}

namespace {

using Decimals = std::optional<int64_t>;
using Number = std::optional<double>;

void bind_round(nb::module_& m) {
  std::string doc = docstring("round",
                              {"The nearest number of ``decimals`` decimals; halves go to the even "
                               "neighbour.",
                               "facula.tensor([0.5, 1.5, 2.4])", "tensor([0., 2., 2.])",
                               "input: the elements.\n"
                               "decimals: how many decimals are kept; below 0 it rounds to tens, "
                               "hundreds and so on.\n"
                               "out: where to put the result."}),
              doc_ = in_place_doc("round");
  m.def(
      "round",
      [](const Tensor& x, Decimals decimals, const Out& out) {
        return with_out("round", out, [&](const Into& into) { return round(x, decimals, into); });
      },
      "input"_a, nb::kw_only(), "decimals"_a.none() = nb::none(), "out"_a.none() = nb::none(),
      doc.c_str());
  def_method(
      "round", [](const Tensor& x, Decimals decimals) { return round(x, decimals); }, nb::kw_only(),
      "decimals"_a.none() = nb::none(), doc.c_str());
  auto round_ = [](Tensor x, Decimals decimals) -> Tensor {
    return in_place("round_", x,
                    [&](const Tensor& t, const Into& into) { return round(t, decimals, into); });
  };
  def_method("round_", round_, nb::kw_only(), "decimals"_a.none() = nb::none(), doc_.c_str());
  m.def("round_", round_, "input"_a, nb::kw_only(), "decimals"_a.none() = nb::none(), doc_.c_str());
}

}  // namespace

FACULA_BINDINGS {
  bind_round(m);
  std::string
      doc = docstring(
          "nan_to_num",
          {"NaN and the infinities replaced by numbers; by default 0 and the largest finite "
           "ones.",
           "facula.tensor([facula.nan, 1.0]), nan=5.0", "tensor([5., 1.])",
           "input: the elements.\nnan: what takes the place of NaN; 0 by default.\n"
           "posinf: what takes the place of infinity; the largest number by default.\n"
           "neginf: what takes the place of minus infinity; the smallest number by default.\n"
           "out: where to put the result."}),
      doc_ = in_place_doc("nan_to_num");
  auto none = nb::none();
  m.def(
      "nan_to_num",
      [](const Tensor& x, Number nan, Number posinf, Number neginf, const Out& out) {
        check_real_derivative("nan_to_num", x, x);
        return with_out("nan_to_num", out,
                        [&](const Into& into) { return nan_to_num(x, nan, posinf, neginf, into); });
      },
      "input"_a, "nan"_a.none() = none, "posinf"_a.none() = none, "neginf"_a.none() = none,
      nb::kw_only(), "out"_a.none() = none, doc.c_str());
  def_method(
      "nan_to_num",
      [](const Tensor& x, Number nan, Number posinf, Number neginf) {
        check_real_derivative("nan_to_num", x, x);
        return nan_to_num(x, nan, posinf, neginf);
      },
      "nan"_a.none() = none, "posinf"_a.none() = none, "neginf"_a.none() = none, doc.c_str());
  auto nan_to_num_ = [](Tensor x, Number nan, Number posinf, Number neginf) -> Tensor {
    if (is_differentiable(x.dtype()))
      return in_place("nan_to_num_", x, [&](const Tensor& t, const Into& into) {
        return nan_to_num(t, nan, posinf, neginf, into);
      });
    check_writable("nan_to_num_", x);  // also where x is expanded: nothing is written
    return x;
  };
  def_method("nan_to_num_", nan_to_num_, "nan"_a.none() = none, "posinf"_a.none() = none,
             "neginf"_a.none() = none, doc_.c_str());
  m.def("nan_to_num_", nan_to_num_, "input"_a, "nan"_a.none() = none, "posinf"_a.none() = none,
        "neginf"_a.none() = none, doc_.c_str());
}

}  // namespace facula
