#include "ops/order_stats.h"

#include <nanobind/stl/pair.h>

#include "python/out.h"
#include "python/reduce_args.h"

namespace facula {

namespace {

using Along = ValuesAndIndices (*)(const Tensor&, int64_t, bool);

template <Along f>
void def_along(nb::module_& m, const char* name, std::optional<int64_t> default_dim,
               const char* doc) {
  auto function = [name](const Tensor& x, int64_t dim, bool keepdim, const OutPair& out) {
    return pair_result(name, x, out, [&] { return f(x, dim, keepdim); });
  };
  auto method = [name](const Tensor& x, int64_t dim, bool keepdim) {
    return pair_result(name, f(x, dim, keepdim));
  };
  if (default_dim) {
    m.def(name, function, "input"_a, "dim"_a = *default_dim, "keepdim"_a = false, nb::kw_only(),
          "out"_a.none() = nb::none(), doc);
    def_method(name, method, "dim"_a = *default_dim, "keepdim"_a = false, doc);
  } else {
    m.def(name, function, "input"_a, "dim"_a, "keepdim"_a = false, nb::kw_only(),
          "out"_a.none() = nb::none(), doc);
    def_method(name, method, "dim"_a, "keepdim"_a = false, doc);
  }
}

void def_quantile(nb::module_& m, const char* name, bool ignore_nan, const char* doc) {
  auto compute = [ignore_nan](const Tensor& x, const Operand& q, OptionalDim dim, bool keepdim,
                              const std::string& interpolation) {
    return quantile(x, q, dim, keepdim, interpolation, ignore_nan);
  };
  m.def(
      name,
      [=](const Tensor& x, const Operand& q, OptionalDim dim, bool keepdim,
          const std::string& interpolation, const Out& out) {
        return with_out(name, out, [&] { return compute(x, q, dim, keepdim, interpolation); });
      },
      "input"_a, "q"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
      "interpolation"_a = "linear", "out"_a.none() = nb::none(), doc);
  def_method(name, compute, "q"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
             "interpolation"_a = "linear", doc);
}

}  // namespace

void bind_order_stats(nb::module_& m) {
  constexpr const char* median_doc =
      R"(The middle element, of all or along a dimension; the lower of two. NaN if there is one.

Shape:
    input ``(*)``; result ``()`` without ``dim``, else values and indices of the reduced shape.

Example:
    >>> facula.median(facula.tensor([3.0, 1.0, 2.0]))
    tensor(2.)
)";
  m.def(
      "median", [](const Tensor& x) { return median(x); }, "input"_a, median_doc);
  def_method(
      "median", [](const Tensor& x) { return median(x); }, median_doc);
  def_along<median>(m, "median", {}, median_doc);
  constexpr const char* nanmedian_doc =
      R"(The middle of the elements that are not NaN, of all or along a dimension; the lower of two.

Example:
    >>> facula.nanmedian(facula.tensor([3.0, facula.nan, 2.0]))
    tensor(2.)
)";
  m.def(
      "nanmedian", [](const Tensor& x) { return nanmedian(x); }, "input"_a, nanmedian_doc);
  def_method(
      "nanmedian", [](const Tensor& x) { return nanmedian(x); }, nanmedian_doc);
  def_along<nanmedian>(m, "nanmedian", {}, nanmedian_doc);
  def_along<mode>(
      m, "mode", -1,
      R"(The most frequent value along a dimension (the smallest of several), and its last index.

Example:
    >>> facula.mode(facula.tensor([1, 2, 2, 3])).values
    tensor(2)
)");
  constexpr const char* kth_doc =
      R"(The ``k``-th smallest element along a dimension, counted from 1, and its index.

Example:
    >>> facula.kthvalue(facula.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
)";
  m.def(
      "kthvalue",
      [](const Tensor& x, int64_t k, int64_t dim, bool keepdim, const OutPair& out) {
        return pair_result("kthvalue", x, out, [&] {
          ValuesAndIndices result = kthvalue(x, k, dim, keepdim);
          if (out) check_apart("kthvalue", result.first, out->first, {x});
          return result;
        });
      },
      "input"_a, "k"_a, "dim"_a = -1, "keepdim"_a = false, nb::kw_only(),
      "out"_a.none() = nb::none(), kth_doc);
  def_method(
      "kthvalue",
      [](const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
        return pair_result("kthvalue", kthvalue(x, k, dim, keepdim));
      },
      "k"_a, "dim"_a = -1, "keepdim"_a = false, kth_doc);
  def_quantile(m, "quantile", false, R"(The value below which a share ``q`` of the elements lies.

Args:
    input: the elements, float32 or float64.
    q: a probability, or a vector of them, which becomes the first dimension of the result.
    dim: the dimension; all elements by default.
    keepdim: keep the dimension with size 1.
    interpolation: between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"`` or ``"nearest"``.
    out: where to put the result.

Example:
    >>> facula.quantile(facula.tensor([0.0, 1.0, 2.0]), 0.25)
    tensor(0.5000)
)");
  def_quantile(m, "nanquantile", true, R"(As ``quantile``, of the elements that are not NaN.

Example:
    >>> facula.nanquantile(facula.tensor([0.0, facula.nan, 2.0]), 0.5)
    tensor(1.)
)");
}

}  // namespace facula
