#include "ops/reduce/reduce.h"

#include <nanobind/stl/pair.h>

#include <cmath>

#include "autograd/node.h"
#include "ops/reduce/arguments.h"
#include "ops/reduce/extrema.h"

namespace facula {

namespace {

const Dims& dims_of(const OptionalDims& dims) {
  static const Dims all{};
  return dims ? *dims : all;
}

// f(x, dims, keepdim, dtype): the function with out=, which PyTorch's sum takes only together with
// dim, and the method.
template <Tensor (*f)(const Tensor&, const Dims&, bool, OptionalDType), bool kOutNeedsDim = false>
void def_typed_reduction(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, const OptionalDims& dim, bool keepdim, OptionalDType dtype,
             const Out& out) {
        check_type(!kOutNeedsDim || dim || !out, name, ": out= is only taken together with dim.");
        return with_out(name, out, [&] { return f(x, dims_of(dim), keepdim, dtype); });
      },
      "input"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
      "dtype"_a.none() = nb::none(), "out"_a.none() = nb::none(), doc);
  def_method(
      name,
      [](const Tensor& x, const OptionalDims& dim, bool keepdim, OptionalDType dtype) {
        return f(x, dims_of(dim), keepdim, dtype);
      },
      "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
      "dtype"_a.none() = nb::none(), doc);
}

// f(x, dims, keepdim).
template <Tensor (*f)(const Tensor&, const Dims&, bool, const Into&)>
void def_reduction(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, const OptionalDims& dim, bool keepdim, const Out& out) {
        return with_out(name, out,
                        [&](const Into& into) { return f(x, dims_of(dim), keepdim, into); });
      },
      "input"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
      "out"_a.none() = nb::none(), doc);
  def_method(
      name,
      [](const Tensor& x, const OptionalDims& dim, bool keepdim) {
        return f(x, dims_of(dim), keepdim, Into{});
      },
      "dim"_a.none() = nb::none(), "keepdim"_a = false, doc);
}

// any and all: no dimensions, given as (), leave every element a reduction of its own.
template <Tensor (*f)(const Tensor&, const Dims&, bool)>
Tensor truth(const Tensor& x, const OptionalDims& dim, bool keepdim) {
  if (!dim || !dim->empty()) return f(x, dims_of(dim), keepdim);
  NoGradGuard guard;
  return f(unsqueeze(x, -1), {-1}, false);
}
template <Tensor (*f)(const Tensor&, const Dims&, bool)>
void def_truth(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, const OptionalDims& dim, bool keepdim, const Out& out) {
        return into_exact_out(name, truth<f>(x, dim, keepdim), out);
      },
      "input"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
      "out"_a.none() = nb::none(), doc);
  def_method(name, truth<f>, "dim"_a.none() = nb::none(), "keepdim"_a = false, doc);
}

// max and min: of all elements, along a dimension, or of two tensors.
template <Tensor (*full)(const Tensor&, const Into&),
          ValuesAndIndices (*along)(const Tensor&, int64_t, bool),
          Tensor (*binary)(const Tensor&, const Tensor&, const Into&)>
void def_extremum(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, const Out& out) {
        return with_out(name, out, [&](const Into& into) { return full(x, into); });
      },
      "input"_a, nb::kw_only(), "out"_a.none() = nb::none(), doc);
  m.def(
      name,
      [name](const Tensor& x, int64_t dim, bool keepdim, const OutPair& out) {
        return pair_result(name, x, out, [&] { return along(x, dim, keepdim); });
      },
      "input"_a, "dim"_a, "keepdim"_a = false, nb::kw_only(), "out"_a.none() = nb::none(), doc);
  m.def(
      name,
      [name](const Tensor& x, const Tensor& other, const Out& out) {
        return with_out(name, out, [&](const Into& into) { return binary(x, other, into); });
      },
      "input"_a, "other"_a, nb::kw_only(), "out"_a.none() = nb::none(), doc);
  def_method(
      name, [](const Tensor& x) { return full(x, Into{}); }, doc);
  def_method(
      name,
      [name](const Tensor& x, int64_t dim, bool keepdim) {
        return pair_result(name, along(x, dim, keepdim));
      },
      "dim"_a, "keepdim"_a = false, doc);
  def_method(
      name, [](const Tensor& x, const Tensor& other) { return binary(x, other, Into{}); },
      "other"_a, doc);
}

template <Tensor (*f)(const Tensor&, OptionalDim, bool)>
void def_arg(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, OptionalDim dim, bool keepdim, const Out& out) {
        return into_exact_out(name, f(x, dim, keepdim), out);
      },
      "input"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
      "out"_a.none() = nb::none(), doc);
  def_method(
      name, [](const Tensor& x, OptionalDim dim, bool keepdim) { return f(x, dim, keepdim); },
      "dim"_a.none() = nb::none(), "keepdim"_a = false, doc);
}

// ---- var and std: (unbiased), (dim, unbiased, keepdim) or (dim, *, correction, keepdim)

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
      "input"_a, "dim"_a.none() = nb::none(), "unbiased"_a.none() = nb::none(), "keepdim"_a = false,
      nb::kw_only(), "correction"_a.none() = nb::none(), "out"_a.none() = nb::none(), doc);
  def_method(name, compute, "dim"_a.none() = nb::none(), "unbiased"_a.none() = nb::none(),
             "keepdim"_a = false, nb::kw_only(), "correction"_a.none() = nb::none(), doc);
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
      "input"_a, "dim"_a.none() = nb::none(), "unbiased"_a.none() = nb::none(), "keepdim"_a = false,
      nb::kw_only(), "correction"_a.none() = nb::none(), doc);
}

// ---- norm

// The order p: a number, None or 'fro' (both 2).
double norm_order(nb::handle p) {
  if (p.is_none()) return 2;
  if (nb::isinstance<nb::str>(p)) {
    std::string name = nb::cast<std::string>(p);
    check_not_implemented(
        name != "nuc",
        "norm: the nuclear norm needs singular values, which are not available yet.");
    check(name == "fro", "norm: order '", name,
          "' is not supported: expected a number, 'fro' or 'nuc'.");
    return 2;
  }
  Scalar number;
  check_type(scalar_from_object(p.ptr(), number) && !number.is_complex(),
             "norm: p must be a number, 'fro' or 'nuc', got ", nb::repr(p).c_str(), ".");
  return number.to_double();
}

Tensor norm(const Tensor& x, nb::handle p, const OptionalDims& dim, bool keepdim,
            OptionalDType dtype) {
  double order = norm_order(p);
  return told_as("norm", [&] { return vector_norm(x, order, dims_of(dim), keepdim, dtype); });
}

void bind_norms(nb::module_& m) {
  constexpr const char* norm_doc =
      R"(The ``p``-norm of all elements, or along dimensions, taken as one vector.

Args:
    input: the elements, floating point or complex.
    p: the order: any number, infinite too; ``"fro"`` is 2.
    dim: the dimensions, an int or several; all by default.
    keepdim: keep them with size 1.
    out: where to put the result.
    dtype: dtype to which the elements are converted first.

Example:
    >>> facula.norm(facula.tensor([3.0, 4.0]))
    tensor(5.)
)";
  m.def(
      "norm",
      [](const Tensor& x, nb::handle p, const OptionalDims& dim, bool keepdim, const Out& out,
         OptionalDType dtype) {
        return with_out("norm", out, [&] { return norm(x, p, dim, keepdim, dtype); });
      },
      "input"_a, "p"_a.none() = "fro", "dim"_a.none() = nb::none(), "keepdim"_a = false,
      "out"_a.none() = nb::none(), "dtype"_a.none() = nb::none(), norm_doc);
  def_method("norm", norm, "p"_a.none() = "fro", "dim"_a.none() = nb::none(), "keepdim"_a = false,
             "dtype"_a.none() = nb::none(), norm_doc);
  m.def(
      "linalg_vector_norm",
      [](const Tensor& x, Scalar ord, const OptionalDims& dim, bool keepdim, OptionalDType dtype,
         const Out& out) {
        return with_out("linalg.vector_norm", out, [&] {
          return vector_norm(x, ord.to_double(), dims_of(dim), keepdim, dtype);
        });
      },
      "input"_a, "ord"_a = Scalar(2), "dim"_a.none() = nb::none(), "keepdim"_a = false,
      nb::kw_only(), "dtype"_a.none() = nb::none(), "out"_a.none() = nb::none(),
      "The norm of order ``ord`` of vectors: ``facula.linalg.vector_norm``.");
}

void bind_spreads(nb::module_& m) {
  constexpr const char* doc = R"(Spread of the elements around their mean.

Args:
    input: the elements, floating point or complex.
    dim: the dimensions, an int or several; all by default.
    unbiased: divide by one less than the number of elements; the old way to say ``correction=1``.
    keepdim: keep the dimensions with size 1.
    correction: subtracted from the number of elements in the divisor; 1 by default.
    out: where to put the result.

Example:
    >>> facula.var(facula.tensor([1.0, 2.0, 3.0])), facula.std(facula.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(1.))
)";
  def_spread<var>(m, "var", doc);
  def_spread<stddev>(m, "std", doc);
  constexpr const char* pair_doc =
      R"(Spread and mean of the elements in one pass; the arguments are those of ``var``.

Example:
    >>> facula.var_mean(facula.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
)";
  def_spread_and_mean<var_mean>(m, "var_mean", pair_doc);
  def_spread_and_mean<std_mean>(m, "std_mean", pair_doc);
}

void bind_extrema(nb::module_& m) {
  def_extremum<max, max, maximum>(
      m, "max",
      R"(The largest element: of all, along a dimension with its index, or of two tensors element by element.

Of equal elements along a dimension the first counts; NaN is larger than everything.

Example:
    >>> facula.max(facula.tensor([1.0, 3.0, 2.0]))
    tensor(3.)
    >>> facula.max(facula.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=1).indices
    tensor([1, 0])
)");
  def_extremum<min, min, minimum>(
      m, "min",
      R"(The smallest element: of all, along a dimension with its index, or of two tensors element by element.

Of equal elements along a dimension the first counts; NaN is smaller than everything.

Example:
    >>> facula.min(facula.tensor([1.0, 3.0, 2.0]))
    tensor(1.)
)");
  def_reduction<amax>(
      m, "amax", R"(The largest element of all or along dimensions; equal ones share the gradient.

Example:
    >>> facula.amax(facula.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=(0, 1))
    tensor(4.)
)");
  def_reduction<amin>(
      m, "amin", R"(The smallest element of all or along dimensions; equal ones share the gradient.

Example:
    >>> facula.amin(facula.tensor([[1.0, 3.0], [4.0, 2.0]]), dim=0)
    tensor([1., 2.])
)");
  def_arg<argmax>(
      m, "argmax",
      R"(Index of the largest element, of all (counted in order) or along a dimension; the first of equal ones.

Example:
    >>> facula.argmax(facula.tensor([1.0, 3.0, 2.0]))
    tensor(1)
)");
  def_arg<argmin>(
      m, "argmin",
      R"(Index of the smallest element, of all (counted in order) or along a dimension; the first of equal ones.

Example:
    >>> facula.argmin(facula.tensor([2.0, 1.0, 3.0]))
    tensor(1)
)");
  constexpr const char* aminmax_doc =
      R"(The smallest and the largest element, of all or along a dimension.

Example:
    >>> facula.aminmax(facula.tensor([2.0, 1.0, 3.0])).max
    tensor(3.)
)";
  m.def(
      "aminmax",
      [](const Tensor& x, OptionalDim dim, bool keepdim, const OutPair& out) {
        return pair_result("aminmax", x, out, [&] { return aminmax(x, dim, keepdim); });
      },
      "input"_a, nb::kw_only(), "dim"_a.none() = nb::none(), "keepdim"_a = false,
      "out"_a.none() = nb::none(), aminmax_doc);
  def_method(
      "aminmax",
      [](const Tensor& x, OptionalDim dim, bool keepdim) {
        return pair_result("aminmax", aminmax(x, dim, keepdim));
      },
      nb::kw_only(), "dim"_a.none() = nb::none(), "keepdim"_a = false, aminmax_doc);
}

}  // namespace

FACULA_BINDINGS {
  def_typed_reduction<sum, true>(m, "sum", R"(Sum of the elements, of all or along dimensions.

Args:
    input: the elements; integers and bool are summed as int64.
    dim: the dimensions to sum over, an int or several; all by default.
    keepdim: keep them with size 1.
    dtype: dtype of the sum; the elements are converted first.
    out: where to put the result.

Example:
    >>> facula.sum(facula.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
)");
  def_typed_reduction<mean>(m, "mean", R"(Mean of the elements, of all or along dimensions.

Args:
    input: the elements, floating point or complex.
    dim: the dimensions to average over, an int or several; all by default.
    keepdim: keep them with size 1.
    dtype: dtype of the mean; the elements are converted first.
    out: where to put the result.

Example:
    >>> facula.mean(facula.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    tensor([1.5000, 3.5000])
)");
  def_typed_reduction<nansum>(
      m, "nansum", R"(Sum of the elements that are not NaN; the arguments are those of ``sum``.

Example:
    >>> facula.nansum(facula.tensor([1.0, facula.nan, 2.0]))
    tensor(3.)
)");
  constexpr const char* prod_doc = R"(Product of the elements, of all or along one dimension.

Args:
    input: the elements; integers and bool are multiplied as int64.
    dim: the dimension; all elements by default.
    keepdim: keep it with size 1.
    dtype: dtype of the product; the elements are converted first.
    out: where to put the result.

Example:
    >>> facula.prod(facula.tensor([2.0, 3.0]))
    tensor(6.)
)";
  m.def(
      "prod",
      [](const Tensor& x, OptionalDim dim, bool keepdim, OptionalDType dtype, const Out& out) {
        check_type(dim || !out, "prod: out= is only taken together with dim.");
        return with_out("prod", out, [&] { return prod(x, dim, keepdim, dtype); });
      },
      "input"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
      "dtype"_a.none() = nb::none(), "out"_a.none() = nb::none(), prod_doc);
  def_method(
      "prod",
      [](const Tensor& x, OptionalDim dim, bool keepdim, OptionalDType dtype) {
        return prod(x, dim, keepdim, dtype);
      },
      "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
      "dtype"_a.none() = nb::none(), prod_doc);
  def_truth<any>(m, "any", R"(Whether any element is not zero, of all or along dimensions.

Example:
    >>> facula.any(facula.tensor([[False, True], [False, False]]), dim=1)
    tensor([ True, False])
)");
  def_truth<all>(m, "all", R"(Whether all elements are not zero, of all or along dimensions.

Example:
    >>> facula.all(facula.tensor([1, 2, 0]))
    tensor(False)
)");
  constexpr const char* logsumexp_doc =
      R"(Logarithm of the sum of exponentials along dimensions, without overflow.

Example:
    >>> facula.logsumexp(facula.tensor([1000.0, 1000.0]), dim=0)
    tensor(1000.6932)
)";
  m.def(
      "logsumexp",
      [](const Tensor& x, const Dims& dim, bool keepdim, const Out& out) {
        return with_out("logsumexp", out, [&] { return logsumexp(x, dim, keepdim); });
      },
      "input"_a, "dim"_a, "keepdim"_a = false, nb::kw_only(), "out"_a.none() = nb::none(),
      logsumexp_doc);
  def_method(
      "logsumexp",
      [](const Tensor& x, const Dims& dim, bool keepdim) { return logsumexp(x, dim, keepdim); },
      "dim"_a, "keepdim"_a = false, logsumexp_doc);
  bind_extrema(m);
  bind_spreads(m);
  bind_norms(m);
}

}  // namespace facula
