// Variance and standard deviation.
#include "ops/reduce/spread.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "autograd/node.h"
#include "base/warning.h"
#include "ops/ops.h"
#include "ops/reduce/arguments.h"

namespace facula {

namespace {

struct Spread {
  Tensor spread, mean;
  double divisor;
  DimMask mask;
};

// Variance or its root, and the mean, without history.
Spread find_spread(const char* op, const Tensor& x, const Dims& dims, double correction,
                   bool keepdim, bool takes_root) {
  check(is_differentiable(x.dtype()), op, ": expected a floating-point or complex input, got ", x,
        ".");
  NoGradGuard guard;
  DimMask mask = dim_mask(op, dims, x.dim());
  int64_t n = reduced_numel(x, mask);
  if (static_cast<double>(n) <= correction)
    warn_user((std::string(op) +
               "(): degrees of freedom is <= 0. Correction should be strictly less than the number "
               "of elements reduced.")
                  .c_str());
  Dims shape = reduced_shape(x, mask, keepdim);
  ReduceParams params;
  params.divisor = std::max(static_cast<double>(n) - correction, 0.0);
  params.takes_root = takes_root && !is_complex(x.dtype());
  if (is_complex(x.dtype())) {
    // The variance of a complex number is that of its parts, added.
    Tensor parts = view_as_real(x);
    Dims both = shape;
    both.push_back(2);
    Tensor spread = empty(both, parts.dtype(), x.device()),
           means = empty(both, DType::Float64, x.device());
    DimMask real_mask = mask & ((DimMask(1) << x.dim()) - 1);
    if (x.dim() == 0) real_mask = 0;
    run_reduction(op, ReduceOp::moments, parts, real_mask, parts.dtype(), spread, means, params);
    Tensor total = sum(spread, {-1});
    Tensor center = to_dtype(view_as_complex(means), x.dtype());
    return {takes_root ? sqrt(total) : total, center, params.divisor, mask};
  }
  Tensor spread = empty(shape, x.dtype(), x.device()),
         means = empty(shape, DType::Float64, x.device());
  run_reduction(op, ReduceOp::moments, x, mask, wide_dtype(x.dtype()), spread, means, params);
  return {spread, to_dtype(means, x.dtype()), params.divisor, mask};
}

// The gradient of x, from that of its variance.
Tensor var_backward(const Tensor& g, const Tensor& x, const Dims& dims, DimMask mask,
                    double divisor, bool keepdim) {
  Tensor kept = with_kept_dims(g, x.sizes(), mask, keepdim), center = mean(x, dims, true);
  if (divisor > 0) return kept * (2 / divisor) * (x - center);
  Tensor slope = where(eq(x, center), wrapped_number(NAN), wrapped_number(INFINITY));
  return to_dtype(kept * slope, x.dtype());
}

Tensor std_to_var(const Tensor& g, const Tensor& y) {
  return where(eq(y, wrapped_number(0)), scalar_tensor(0, g.dtype()), g / (y * 2));
}

std::pair<Tensor, Tensor> spread_and_mean(const char* op, const char* node, const Tensor& x,
                                          const Dims& dims, double correction, bool keepdim,
                                          bool takes_root) {
  Spread found = find_spread(op, x, dims, correction, keepdim, takes_root);
  record_all(node, {found.spread, found.mean}, {x},
             [dims, mask = found.mask, divisor = found.divisor, keepdim, takes_root, x = save(x),
              y = save_output(found.spread)](const TensorList& gs, Needs) -> TensorList {
               Tensor input = x, total;
               if (gs[0].defined())
                 total = var_backward(takes_root ? std_to_var(gs[0], y) : gs[0], input, dims, mask,
                                      divisor, keepdim);
               if (gs[1].defined()) {
                 Tensor share = gs[1] / static_cast<double>(reduced_numel(input, mask));
                 Tensor by_mean =
                     expand(with_kept_dims(share, input.sizes(), mask, keepdim), input.sizes());
                 total = total.defined() ? total + by_mean : by_mean;
               }
               return {total};
             });
  return {found.spread, found.mean};
}

}  // namespace

Tensor var(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  Spread found = find_spread("var", x, dims, correction, keepdim, false);
  return record("VarBackward0", found.spread, {x},
                [dims, mask = found.mask, divisor = found.divisor, keepdim, x = save(x)](
                    const Tensor& g) { return var_backward(g, x, dims, mask, divisor, keepdim); });
}

std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims, double correction,
                                   bool keepdim) {
  return spread_and_mean("var_mean", "VarMeanBackward0", x, dims, correction, keepdim, false);
}

namespace {

Tensor stddev(const Tensor& x, const Dims& dims, double correction, bool keepdim) {
  Spread found = find_spread("std", x, dims, correction, keepdim, true);
  return record("StdBackward0", found.spread, {x},
                [dims, mask = found.mask, divisor = found.divisor, keepdim, x = save(x),
                 y = save_output(found.spread)](const Tensor& g) {
                  return var_backward(std_to_var(g, y), x, dims, mask, divisor, keepdim);
                });
}

std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims, double correction,
                                   bool keepdim) {
  return spread_and_mean("std_mean", "StdMeanBackward0", x, dims, correction, keepdim, true);
}

// Arguments: (unbiased), (dim, unbiased, keepdim) or (dim, *, correction, keepdim)

struct SpreadArgs {
  Dims dims;
  double correction;
};

SpreadArgs spread_args(const char* op, nb::handle dim, std::optional<bool> unbiased,
                       const std::optional<Scalar>& correction) {
  check_type(!unbiased || !correction, op, ": takes unbiased or correction, not both.");
  SpreadArgs args = {{}, correction ? correction->to_double() : 1};
  if (PyBool_Check(dim.ptr())) {
    check_type(!unbiased && !correction, op,
               ": expected an int or a tuple of ints as dim, got a bool.");
    unbiased = dim.ptr() == Py_True;
  } else if (!dim.is_none()) {
    check_type(nb::try_cast(dim, args.dims), op,
               ": expected an int or a tuple of ints as dim, got ", nb::repr(dim).c_str(), ".");
  }
  if (unbiased) args.correction = *unbiased ? 1 : 0;
  return args;
}

template <Tensor (*f)(const Tensor&, const Dims&, double, bool)>
void def_spread(nb::module_& m, const char* name, const char* doc) {
  auto compute = [name](const Tensor& x, nb::handle dim, std::optional<bool> unbiased, bool keepdim,
                        const std::optional<Scalar>& correction) {
    SpreadArgs args = spread_args(name, dim, unbiased, correction);
    return f(x, args.dims, args.correction, keepdim);
  };
  m.def(
      name,
      [=](const Tensor& x, nb::handle dim, std::optional<bool> unbiased, bool keepdim,
          const std::optional<Scalar>& correction, const Out& out) {
        return with_out(name, out, [&] { return compute(x, dim, unbiased, keepdim, correction); });
      },
      "input"_a, "dim"_or_none, "unbiased"_or_none, "keepdim"_a = false, nb::kw_only(),
      "correction"_or_none, "out"_or_none, doc);
  def_method(name, compute, "dim"_or_none, "unbiased"_or_none, "keepdim"_a = false, nb::kw_only(),
             "correction"_or_none, doc);
}

template <std::pair<Tensor, Tensor> (*f)(const Tensor&, const Dims&, double, bool)>
void def_spread_and_mean(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, nb::handle dim, std::optional<bool> unbiased, bool keepdim,
             const std::optional<Scalar>& correction) {
        SpreadArgs args = spread_args(name, dim, unbiased, correction);
        return f(x, args.dims, args.correction, keepdim);
      },
      "input"_a, "dim"_or_none, "unbiased"_or_none, "keepdim"_a = false, nb::kw_only(),
      "correction"_or_none, doc);
}

}  // namespace

FACULA_BINDINGS {
  const std::string args = R"(

Args:
    input: the elements, floating point or complex.
    dim: the dimensions to reduce, an int or several; all by default.
    unbiased: the old way to choose ``correction``: True for 1, False for 0.
    keepdim: whether to keep the reduced dimensions with size 1.
    correction: what is subtracted from the number of elements in the divisor; 1 by default.
)";
  auto doc = [&](const char* sentence, bool takes_out, const char* example) {
    return sentence + args + (takes_out ? "    out: where to put the result.\n" : "") +
           "\nExample:\n    >>> facula." + example + "\n";
  };
  def_spread<var>(m, "var",
                  doc("The variance of the elements, of all or along dimensions.", true,
                      "var(facula.tensor([1.0, 2.0, 4.0]))\n    tensor(2.3333)")
                      .c_str());
  def_spread<stddev>(m, "std",
                     doc("The standard deviation of the elements, of all or along dimensions.",
                         true, "std(facula.tensor([1.0, 2.0, 4.0]))\n    tensor(1.5275)")
                         .c_str());
  def_spread_and_mean<var_mean>(
      m, "var_mean",
      doc("The variance and the mean of the elements, of all or along dimensions.", false,
          "var_mean(facula.tensor([1.0, 2.0, 3.0]))\n    (tensor(1.), tensor(2.))")
          .c_str());
  def_spread_and_mean<std_mean>(
      m, "std_mean",
      doc("The standard deviation and the mean of the elements, of all or along dimensions.", false,
          "std_mean(facula.tensor([1.0, 2.0, 3.0]))\n    (tensor(1.), tensor(2.))")
          .c_str());
}

}  // namespace facula
