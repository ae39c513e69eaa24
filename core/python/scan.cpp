#include "ops/reduce/scan.h"

#include <nanobind/stl/pair.h>

#include "ops/reduce/arguments.h"

namespace facula {

namespace {

template <Tensor (*f)(const Tensor&, int64_t, OptionalDType, const Into&)>
void def_scan(nb::module_& m, const char* name, const char* name_in_place, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, int64_t dim, OptionalDType dtype, const Out& out) {
        return with_out(name, out, [&](const Into& into) { return f(x, dim, dtype, into); });
      },
      "input"_a, "dim"_a, nb::kw_only(), "dtype"_a.none() = nb::none(), "out"_a.none() = nb::none(),
      doc);
  def_method(
      name,
      [](const Tensor& x, int64_t dim, OptionalDType dtype) { return f(x, dim, dtype, Into{}); },
      "dim"_a, nb::kw_only(), "dtype"_a.none() = nb::none(), doc);
  def_method(
      name_in_place,
      [name_in_place](Tensor x, int64_t dim, OptionalDType dtype) {
        check(!dtype || *dtype == x.dtype(), name_in_place,
              ": the dtype argument must be that of the tensor, got ", dtype.value_or(x.dtype()),
              " and ", x, ".");
        check_not_implemented(x.dtype() != DType::Bool || x.numel() == 0 || x.dim() == 0,
                              name_in_place, ": not defined for ", x, ".");
        return in_place(name_in_place, x, [&](const Tensor& t, const Into& into) {
          return f(t, dim, t.dtype(), into);
        });
      },
      "dim"_a, nb::kw_only(), "dtype"_a.none() = nb::none());
}

template <std::pair<Tensor, Tensor> (*f)(const Tensor&, int64_t)>
void def_pair_scan(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [name](const Tensor& x, int64_t dim, const OutPair& out) {
        return pair_result(name, x, out, [&] { return f(x, dim); });
      },
      "input"_a, "dim"_a, nb::kw_only(), "out"_a.none() = nb::none(), doc);
  def_method(
      name, [name](const Tensor& x, int64_t dim) { return pair_result(name, f(x, dim)); }, "dim"_a,
      doc);
}

}  // namespace

FACULA_BINDINGS {
  constexpr const char* logcumsumexp_doc =
      R"(Logarithm of the running sum of exponentials along a dimension, without overflow.

Example:
    >>> facula.logcumsumexp(facula.tensor([0.0, 0.0]), dim=0)
    tensor([0.0000, 0.6931])
)";
  m.def(
      "logcumsumexp",
      [](const Tensor& x, int64_t dim, const Out& out) {
        return with_out("logcumsumexp", out,
                        [&](const Into& into) { return logcumsumexp(x, dim, into); });
      },
      "input"_a, "dim"_a, nb::kw_only(), "out"_a.none() = nb::none(), logcumsumexp_doc);
  def_method(
      "logcumsumexp", [](const Tensor& x, int64_t dim) { return logcumsumexp(x, dim); }, "dim"_a,
      logcumsumexp_doc);
  def_scan<cumsum>(m, "cumsum", "cumsum_", R"(Running sum along a dimension.

Args:
    input: the elements; integers and bool are summed as int64.
    dim: the dimension.
    dtype: dtype of the result; the elements are converted first.
    out: where to put the result.

Example:
    >>> facula.cumsum(facula.tensor([1, 2, 3]), dim=0)
    tensor([1, 3, 6])
)");
  def_scan<cumprod>(m, "cumprod", "cumprod_", R"(Running product along a dimension.

Args:
    input: the elements; integers and bool are multiplied as int64.
    dim: the dimension.
    dtype: dtype of the result; the elements are converted first.
    out: where to put the result.

Example:
    >>> facula.cumprod(facula.tensor([1, 2, 3]), dim=0)
    tensor([1, 2, 6])
)");
  def_pair_scan<cummax>(
      m, "cummax",
      R"(Running maximum along a dimension, and where it was found: of equal elements the last counts.

Example:
    >>> facula.cummax(facula.tensor([1, 3, 2]), dim=0).indices
    tensor([0, 1, 1])
)");
  def_pair_scan<cummin>(
      m, "cummin",
      R"(Running minimum along a dimension, and where it was found: of equal elements the last counts.

Example:
    >>> facula.cummin(facula.tensor([3, 1, 2]), dim=0).values
    tensor([3, 1, 1])
)");
}

}  // namespace facula
