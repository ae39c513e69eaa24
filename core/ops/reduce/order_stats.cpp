// Elements picked by their rank.
#include <cmath>

#include "autograd/node.h"
#include "bind/count.h"
#include "cpu/reduce/order_stats.h"
#include "ops/reduce/arguments.h"
#include "walk/lines.h"

namespace facula {

namespace {

using cpu::Pick;

void check_not_bool(const char* op, const Tensor& x) {
  check_not_implemented(x.dtype() != DType::Bool, op, ": not defined for ", x, ".");
}

void check_line(const char* op, const Tensor& x, int64_t dim) {
  check_index(x.dim() == 0 || x.size(dim) > 0, op, ": expected elements along dimension ", dim,
              ", got ", x, ".");
}

// The same from sorted lines, with tensor operations, for other devices. NaN is last.
Tensor pick_sorted(const Tensor& x, int64_t dim, Pick pick, int64_t k, const Dims& sizes) {
  NoGradGuard guard;
  auto [values, places] = sort(x, dim);
  int64_t n = x.size(dim);
  Tensor rank;
  if (pick == Pick::Kth) {
    return clone(reshape(narrow(places, dim, k, 1), sizes), MemoryFormat::Contiguous);
  } else if (pick == Pick::Mode) {
    // How many equal elements there are up to each: where that is most, the last of them ends.
    Dims shape(x.dim(), 1);
    shape[dim] = n;
    Tensor number = reshape(arange(0, n, 1, DType::Int64, x.device()), shape);
    Tensor differs = ne(narrow(values, dim, 1, n - 1), narrow(values, dim, 0, n - 1));
    Tensor first = full(narrow(values, dim, 0, 1).sizes(), true, DType::Bool, x.device());
    Tensor starts = where(cat({first, differs}, dim), number, wrapped_number(0));
    Tensor most = empty(sizes, DType::Int64, x.device());
    rank = empty(sizes, DType::Int64, x.device());
    run_reduction("mode", ReduceOp::argmax, number - cummax(starts, dim).first, DimMask(1) << dim,
                  DType::Int64, most, rank);
    rank = reshape(rank, first.sizes());
  } else {
    Tensor n_nan = sum(isnan(values), {dim}, true), n_numbers = sub(wrapped_number(n), n_nan);
    Tensor middle = floor_divide(n_numbers - 1, wrapped_number(2));
    rank = pick == Pick::Median ? where(gt(n_nan, wrapped_number(0)), n_numbers, middle)
                                : clamp_min(middle, Scalar(0));
  }
  return reshape(gather(places, dim, rank), sizes);
}

// One place per line, with `dim` kept.
Tensor pick_along(const char* op, const Tensor& x, int64_t dim, Pick pick, int64_t k) {
  Dims sizes = x.sizes();
  if (x.dim()) sizes[dim] = 1;
  Tensor indices = empty(sizes, DType::Int64, x.device());
  if (indices.numel() == 0) return indices;
  int64_t n = x.dim() ? x.size(dim) : 1;
  if (!x.is_cpu()) return pick_sorted(x.dim() ? x : reshape(x, {1}), dim, pick, k, sizes);
  DType dtype = x.dtype();
  for_each_line({indices, with_plain_bools(x)}, dim, n * 4, [&](char** data, const int64_t* steps) {
    *reinterpret_cast<int64_t*>(data[0]) =
        cpu::get_order_table().pick_index(pick, dtype, data[1], steps[1], n, k);
  });
  return indices;
}

ValuesAndIndices pick_values(const char* op, const char* node, const Tensor& x, int64_t dim,
                             bool keepdim, Pick pick, int64_t k = 0) {
  check_line(op, x, dim);
  if (pick != Pick::Mode) check_not_bool(op, x);
  check_ordered(op, x);
  Tensor indices = pick_along(op, x, dim, pick, k);
  return values_at(node, x, dim, keepdim, indices);
}

Tensor median_of_all(const char* op, const char* node, const Tensor& x, Pick pick) {
  check_ordered(op, x);
  Tensor y;
  {
    NoGradGuard guard;
    if (x.numel() == 0) return full({}, NAN, x.dtype(), x.device());
    check_not_bool(op, x);
    Tensor flat = reshape(x, {-1});
    check_line(op, flat, 0);
    y = alias(reshape(gather(flat, 0, pick_along(op, flat, 0, pick, 0)), {}));
  }
  return record_shared(node, x, y);
}

Tensor median(const Tensor& x) {
  return median_of_all("median", "MedianBackward0", x, Pick::Median);
}
Tensor nanmedian(const Tensor& x) {
  return median_of_all("nanmedian", "NanmedianBackward0", x, Pick::NanMedian);
}

ValuesAndIndices median(const Tensor& x, int64_t dim, bool keepdim) {
  dim = wrap_dim("median", dim, x.dim());
  return pick_values("median", "MedianBackward1", x, dim, keepdim, Pick::Median);
}

ValuesAndIndices nanmedian(const Tensor& x, int64_t dim, bool keepdim) {
  dim = wrap_dim("nanmedian", dim, x.dim());
  return pick_values("nanmedian", "NanmedianBackward1", x, dim, keepdim, Pick::NanMedian);
}

ValuesAndIndices mode(const Tensor& x, int64_t dim, bool keepdim) {
  dim = wrap_dim("mode", dim, x.dim());
  if (is_complex(x.dtype()) && (x.dim() == 0 || x.numel() == 0)) {
    // There is nothing to compare.
    check_line("mode", x, dim);
    check_real_derivative("mode", x, x);
    Dims sizes = reduced_shape(x, DimMask(1) << dim, keepdim);
    return {full(sizes, x.dim() ? Scalar(0) : item(x), x.dtype(), x.device()),
            zeros(sizes, DType::Int64, x.device())};
  }
  return pick_values("mode", "ModeBackward0", x, dim, keepdim, Pick::Mode);
}

ValuesAndIndices kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  dim = wrap_dim("kthvalue", dim, x.dim());
  int64_t n = x.dim() ? x.size(dim) : 1;
  check_index(n > 0, "kthvalue: expected elements along dimension ", dim, ", got ", x, ".");
  check(k >= 1 && k <= n, "kthvalue: expected k from 1 to ", n, ", the size of dimension ", dim,
        ", got ", k, ".");
  return pick_values("kthvalue", "KthvalueBackward0", x, dim, keepdim, Pick::Kth, k - 1);
}

using Along = ValuesAndIndices (*)(const Tensor&, int64_t, bool);

// median and nanmedian: of all elements, or along a dimension.
template <Tensor (*full)(const Tensor&), Along along>
void def_median(nb::module_& m, const char* name, const std::string& doc) {
  m.def(
      name, [](const Tensor& x) { return full(x); }, "input"_a, doc.c_str());
  def_method(
      name, [](const Tensor& x) { return full(x); }, doc.c_str());
  def_pair_out(m, name, along, "dim"_a, "keepdim"_a = false, doc.c_str());
}

}  // namespace

FACULA_BINDINGS {
  const std::string median_args = R"(

Args:
    input: the elements, real and not bool.
    dim: the dimension to look along; then the result has values and indices.
    keepdim: whether to keep the dimension with size 1.
    out: a pair of tensors where to put the values and the indices.

Example:
    >>> facula.)";
  def_median<median, median>(
      m, "median",
      "The middle element, of all or along a dimension; the lower of two. NaN if there is one." +
          median_args + R"(median(facula.tensor([3.0, 1.0, 2.0]))
    tensor(2.)
)");
  def_median<nanmedian, nanmedian>(m, "nanmedian",
                                   "The middle of the elements that are not NaN, of all or along a "
                                   "dimension; the lower of two." +
                                       median_args +
                                       R"(nanmedian(facula.tensor([3.0, facula.nan, 2.0]))
    tensor(2.)
)");
  def_pair_out(
      m, "mode", &mode, "dim"_a = -1, "keepdim"_a = false,
      R"(The most frequent value along a dimension (the smallest of several), and its last index.
    input: the elements, which are real.
    dim: the dimension to look along; the last by default.
    keepdim: whether to keep the dimension with size 1.
    out: a pair of tensors where to put the values and the indices.
    >>> facula.mode(facula.tensor([1, 2, 2, 3])).values
    tensor(2))"_doc);
  const char* kth_doc =
      R"(The ``k``-th smallest element along a dimension, counted from 1, and its index.
    input: the elements, real and not bool.
    k: which element is wanted, 1 for the smallest.
    dim: the dimension to look along; the last by default.
    keepdim: whether to keep the dimension with size 1.
    out: a pair of tensors where to put the values and the indices.
    >>> facula.kthvalue(facula.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.))"_doc;
  m.def(
      "kthvalue",
      [](const Tensor& x, Count k, int64_t dim, bool keepdim, const OutPair& out) {
        return pair_result("kthvalue", x, out, [&] {
          ValuesAndIndices result = kthvalue(x, k, dim, keepdim);
          if (out) check_apart("kthvalue", result.first, out->first, {x});
          return result;
        });
      },
      "input"_a, "k"_a, "dim"_a = -1, "keepdim"_a = false, nb::kw_only(), "out"_or_none, kth_doc);
  def_method(
      "kthvalue",
      [](const Tensor& x, Count k, int64_t dim, bool keepdim) {
        return pair_result("kthvalue", kthvalue(x, k, dim, keepdim));
      },
      "k"_a, "dim"_a = -1, "keepdim"_a = false, kth_doc);
}

}  // namespace facula
