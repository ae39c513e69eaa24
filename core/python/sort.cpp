#include "ops/reduce/sort.h"

#include <nanobind/stl/tuple.h>

#include "bind/bind.h"
#include "bind/return_types.h"
#include "ops/ops.h"

namespace facula {

namespace {

using OutPair = std::optional<std::tuple<Tensor, Tensor>>;

nb::object pair(const char* name, const std::tuple<Tensor, Tensor>& result, const OutPair& out) {
  auto [values, indices] = result;
  if (out)
    return named_result(name, {into_out(name, values, std::get<0>(*out)),
                               into_out(name, indices, std::get<1>(*out))});
  return named_result(name, {values, indices});
}

// What the caller asked for: the values alone, or a tuple.
nb::object chosen(const Unique& found, bool inverse, bool counts) {
  if (!inverse && !counts) return nb::steal(wrap(found.values));
  nb::list parts;
  parts.append(found.values);
  if (inverse) parts.append(found.inverse);
  if (counts) parts.append(found.counts);
  return nb::tuple(parts);
}

nb::object unique_from_python(const Tensor& x, bool, bool inverse, bool counts,
                              std::optional<int64_t> dim) {
  return chosen(dim ? unique_rows(x, *dim, false) : unique(x), inverse, counts);
}

nb::object unique_consecutive_from_python(const Tensor& x, bool inverse, bool counts,
                                          std::optional<int64_t> dim) {
  return chosen(dim ? unique_rows(x, *dim, true) : unique_consecutive(x), inverse, counts);
}

// PyTorch's form with `stable` is another function, with another name for its derivative.
std::tuple<Tensor, Tensor> sort_by(const Tensor& x, int64_t dim, bool descending,
                                   std::optional<bool> stable) {
  return sort(x, dim, descending, stable ? "SortBackward1" : "SortBackward0");
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending, bool) {
  return std::get<1>(sort(x, dim, descending));
}

}  // namespace

FACULA_BINDINGS {
  m.def(
      "sort",
      [](const Tensor& x, int64_t dim, bool descending, std::optional<bool> stable,
         const OutPair& out) { return pair("sort", sort_by(x, dim, descending, stable), out); },
      "input"_a, "dim"_a = -1, "descending"_a = false, "stable"_a.none() = nb::none(),
      nb::kw_only(), "out"_a.none() = nb::none(),
      R"(The values in order along a dimension, and where each came from. The order of equal values is kept; NaN is the largest.

Example:
    >>> facula.sort(facula.tensor([3, 1, 2])).values
    tensor([1, 2, 3]))");
  m.def(
      "sort",
      [](const Tensor& x, bool stable, int64_t dim, bool descending, const OutPair& out) {
        return pair("sort", sort_by(x, dim, descending, stable), out);
      },
      "input"_a, nb::kw_only(), "stable"_a, "dim"_a = -1, "descending"_a = false,
      "out"_a.none() = nb::none());
  def_method(
      "sort",
      [](const Tensor& x, int64_t dim, bool descending, std::optional<bool> stable) {
        return pair("sort", sort_by(x, dim, descending, stable), {});
      },
      "dim"_a = -1, "descending"_a = false, "stable"_a.none() = nb::none());
  def_op(m, "argsort", &argsort, "dim"_a = -1, "descending"_a = false, "stable"_a = false,
         R"(The indices that sort a dimension.

Example:
    >>> facula.argsort(facula.tensor([3, 1, 2]))
    tensor([1, 2, 0]))");
  m.def(
      "msort",
      [](const Tensor& x, const std::optional<Tensor>& out) {
        return into_out("msort", std::get<0>(sort(x, 0)), out.value_or(Tensor()));
      },
      "input"_a, nb::kw_only(), "out"_a.none() = nb::none(),
      "The values in order along the first dimension.");
  def_method("msort", [](const Tensor& x) { return std::get<0>(sort(x, 0)); });
  m.def(
      "topk",
      [](const Tensor& x, int64_t k, int64_t dim, bool largest, bool, const OutPair& out) {
        return pair("topk", topk(x, k, dim, largest), out);
      },
      "input"_a, "k"_a, "dim"_a = -1, "largest"_a = true, "sorted"_a = true, nb::kw_only(),
      "out"_a.none() = nb::none(),
      R"(The k largest (or smallest) values along a dimension, best first, and where they are.

Example:
    >>> facula.topk(facula.tensor([3, 1, 2]), 2).values
    tensor([3, 2]))");
  def_method(
      "topk",
      [](const Tensor& x, int64_t k, int64_t dim, bool largest, bool) {
        return pair("topk", topk(x, k, dim, largest), {});
      },
      "k"_a, "dim"_a = -1, "largest"_a = true, "sorted"_a = true);
  def_op(m, "unique", &unique_from_python, "sorted"_a = true, "return_inverse"_a = false,
         "return_counts"_a = false, "dim"_a.none() = nb::none(),
         R"(The distinct values in order, or the distinct slices along a dimension.

Example:
    >>> facula.unique(facula.tensor([2, 1, 2]))
    tensor([1, 2]))");
  def_op(m, "unique_consecutive", &unique_consecutive_from_python, "return_inverse"_a = false,
         "return_counts"_a = false, "dim"_a.none() = nb::none(),
         R"(The values with runs of equal neighbours reduced to one.

Example:
    >>> facula.unique_consecutive(facula.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1]))");
}

}  // namespace facula
