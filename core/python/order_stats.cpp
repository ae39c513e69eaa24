#include "ops/reduce/order_stats.h"

#include <nanobind/stl/pair.h>

#include "ops/reduce/arguments.h"
#include "ops/result_binding.h"

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

Tensor search(const char* op, const Tensor& sequence, const Tensor& values, bool is_right,
              bool as_int32, const Out& out, const Out& sorter) {
  DType dtype = as_int32 ? DType::Int32 : DType::Int64;
  check(!out || out->dtype() == dtype, op, ": expected out of ", dtype, ", got ",
        out ? out->dtype() : dtype, ".");
  return with_out(op, out, [&] {
    return searchsorted(sequence, values, is_right, as_int32, sorter.value_or(Tensor()));
  });
}

}  // namespace

FACULA_BINDINGS {
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
  m.def("_count_bins", &count_bins, "input"_a, "bins"_a, "low"_a, "high"_a,
        "The counts of histc() on the CPU: int64, of an input of float32 or float64.");
  m.def(
      "searchsorted",
      [](const Tensor& sequence, const Operand& values, bool as_int32, bool right,
         const std::optional<std::string>& side, const Out& out, const Out& sorter) {
        check(!side || side == "left" || side == "right",
              "searchsorted: expected side 'left' or 'right', got '", side.value_or(""), "'.");
        check(!right || side != "left",
              "searchsorted: right=True and side='left' contradict each other.");
        return search("searchsorted", sequence, values, right || side == "right", as_int32, out,
                      sorter);
      },
      "sorted_sequence"_a, "input"_a, nb::kw_only(), "out_int32"_a = false, "right"_a = false,
      "side"_a.none() = nb::none(), "out"_a.none() = nb::none(), "sorter"_a.none() = nb::none(),
      R"(Where values belong in sorted sequences.

Args:
    sorted_sequence: sequences in the last dimension, in increasing order.
    input: the values; a tensor with the same other dimensions, or anything for one sequence.
    out_int32: give int32 rather than int64.
    right: behind elements that are equal, rather than before them.
    side: ``"left"`` or ``"right"``, another way to say ``right``.
    out: where to put the result.
    sorter: indices that put an unsorted sequence in order.

Example:
    >>> facula.searchsorted(facula.tensor([1, 3, 5]), facula.tensor([3, 6]))
    tensor([1, 3])
)");
  m.def(
      "bucketize",
      [](const Operand& values, const Tensor& boundaries, bool as_int32, bool right,
         const Out& out) {
        check(boundaries.dim() == 1, "bucketize: expected boundaries as a vector, got ",
              boundaries.sizes(), ".");
        return search("bucketize", boundaries, values, right, as_int32, out, {});
      },
      "input"_a, "boundaries"_a, nb::kw_only(), "out_int32"_a = false, "right"_a = false,
      "out"_a.none() = nb::none(),
      R"(The number of the interval between boundaries that each value falls into.

Args:
    input: the values, a tensor or a number.
    boundaries: a vector in increasing order.
    out_int32: give int32 rather than int64.
    right: a boundary belongs to the interval that begins, rather than ends, at it.
    out: where to put the result.

Example:
    >>> facula.bucketize(facula.tensor([3, 6, 9]), facula.tensor([1, 3, 5, 7, 9]))
    tensor([1, 3, 4])
)");
}

}  // namespace facula
