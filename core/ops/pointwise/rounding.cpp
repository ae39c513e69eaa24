#include "ops/pointwise/rounding.h"

#include <cmath>

#include "base/number.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"
#include "ops/reduce/arguments.h"

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
                           {nan.value_or(0), posinf.value_or(limit), neginf.value_or(-limit)},
                           is_complex(x.dtype()) ? Into{} : into);
      if (is_complex(x.dtype())) y = view_as_complex(contiguous(y));
    }
  }
  return record("NanToNumBackward0", y, {x},
                [x = save(x)](const Tensor& g) { return g * isfinite(x); });
}

namespace {

std::pair<Tensor, Tensor> frexp(const Tensor& x) {
  check(is_floating(x.dtype()), "frexp: expected a floating-point input, got ", x, ".");
  Tensor y = apply_parametric("frexp", ParametricOp::mantissa, Kinds::FONLY, x, {}, Into{});
  Tensor exponent = apply_parametric("frexp", ParametricOp::exponent, Kinds::FONLY, x, {}, Into{});
  return {record("FrexpBackward0", y, {x},
                 [exponent](const Tensor& g) {
                   // In double, which has the power of every exponent of a smaller dtype.
                   Tensor power = exp2(neg(to_dtype(exponent, DType::Float64)));
                   return to_dtype(to_dtype(g, DType::Float64) * power, g.dtype());
                 }),
          to_dtype(exponent, DType::Int32)};
}

using Number = std::optional<double>;

Tensor nan_to_num_by(const Tensor& x, Number nan, Number posinf, Number neginf, const Into& into) {
  check_real_derivative("nan_to_num", x, x);
  return nan_to_num(x, nan, posinf, neginf, into);
}

}  // namespace

FACULA_BINDINGS {
  const char* frexp_doc =
      R"(Split each element into ``mantissa * 2**exponent``, with ``0.5 <= |mantissa| < 1``.

The exponents are int32. Zero, the infinities and NaN are their own mantissa, and their exponent is 0.
    input: the numbers, floating point.
    out: a pair of tensors, for the mantissas and for the exponents.
    >>> facula.frexp(facula.tensor([6.0, -0.5]))
    facula.return_types.frexp(
    mantissa=tensor([ 0.7500, -0.5000]),
    exponent=tensor([3, 0], dtype=torch.int32)))"_doc;
  def_pair_out(m, "frexp", &frexp, frexp_doc);
  std::string round_doc = docstring(
      "round",
      {"The nearest number of ``decimals`` decimals; halves go to the even neighbour.",
       "facula.tensor([0.5, 1.5, 2.4])", "tensor([0., 2., 2.])",
       "input: the elements.\n"
       "decimals: how many decimals are kept; below 0 it rounds to tens, hundreds and so on.\n"
       "out: where to put the result."});
  def_op_out(m, "round", round, nb::kw_only(), "decimals"_or_none, round_doc.c_str());
  def_op_in_place(m, "round", "round_", round, nb::kw_only(), "decimals"_or_none);
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
  def_op_out(m, "nan_to_num", nan_to_num_by, "nan"_or_none, "posinf"_or_none, "neginf"_or_none,
             doc.c_str());
  auto nan_to_num_ = [](Tensor x, Number nan, Number posinf, Number neginf) -> Tensor {
    if (is_differentiable(x.dtype()))
      return in_place("nan_to_num_", x, [&](const Tensor& t, const Into& into) {
        return nan_to_num(t, nan, posinf, neginf, into);
      });
    check_writable("nan_to_num_", x);  // also where x is expanded: nothing is written
    return x;
  };
  def_method("nan_to_num_", nan_to_num_, "nan"_or_none, "posinf"_or_none, "neginf"_or_none,
             doc_.c_str());
  m.def("nan_to_num_", nan_to_num_, "input"_a, "nan"_or_none, "posinf"_or_none, "neginf"_or_none,
        doc_.c_str());
}

}  // namespace facula
