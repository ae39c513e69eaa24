#include "ops/reduce/sort.h"

#include <limits>
#include <numeric>
#include <tuple>

#include "autograd/node.h"
#include "base/parallel.h"
#include "bind/count.h"
#include "cpu/reduce/sort.h"
#include "cuda/reduce/sort.h"
#include "ops/index/places.h"
#include "ops/ops.h"
#include "ops/reduce/arguments.h"
#include "walk/lines.h"

namespace facula {

namespace {

// Calls f(values, indices, line, stride) for every line along the last dimension of `in`, values
// and indices; the results of a line are contiguous. One long line is left to the kernel, which
// cuts it itself.
template <class F>
void for_each_line_of(const Tensor& values, const Tensor& indices, const Tensor& in, F f) {
  if (in.numel() == 0) return;
  visit_dtype(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_v<T>)
      for_each_line({values, indices, in}, in.dim() - 1, 4 * in.size(-1),
                    [&](char** data, const int64_t* steps) {
                      f(reinterpret_cast<T*>(data[0]), reinterpret_cast<int64_t*>(data[1]),
                        reinterpret_cast<const T*>(data[2]), steps[2] / int64_t{sizeof(T)});
                    });
  });
}

// Results are computed with the dimension last and contiguous, then moved back into its place in
// `out`, a tensor of the memory order wanted.
Tensor move_back(const Tensor& lines, int64_t dim, const Tensor& out) {
  if (out.dim() == 0) return alias(reshape(lines, {}));
  if (dim == out.dim() - 1 && out.is_contiguous()) return lines;
  copy_into(out, transpose(lines, dim, -1));
  return out;
}

Tensor scatter_back(const Tensor& g, const Dims& sizes, int64_t dim, const Tensor& indices) {
  if (sizes.empty()) return g;
  return scatter(zeros(sizes, g.dtype(), g.device()), dim, indices, g);
}

void check_order(const char* op, const Tensor& x) {
  check(!is_complex(x.dtype()), op, ": complex numbers have no order, got ", x, ".");
}

void check_unique(const char* op, const Tensor& x) {
  check_not_implemented(!is_complex(x.dtype()), op, ": complex numbers have no order, got ", x,
                        ".");
}

// Unsigned numbers of more than 8 bits are put in order as signed ones, for which there are
// kernels: the first bit turned around, both have the same order.
Tensor with_turned_sign(const Tensor& x) {
  return bitwise_xor(
      x, wrapped_number(std::numeric_limits<int64_t>::min() >> (64 - 8 * x.itemsize())));
}
Tensor to_signed(const Tensor& x) { return to_dtype(with_turned_sign(x), carrier(x.dtype())); }
Tensor from_signed(const Tensor& x, DType dtype) { return with_turned_sign(to_dtype(x, dtype)); }
Unique from_signed(const Unique& found, DType dtype) {
  return {from_signed(found.values, dtype), found.inverse, found.counts};
}

}  // namespace

ValuesAndIndices sort(const Tensor& x, int64_t dim, bool descending, const char* node) {
  if (is_wide_unsigned(x.dtype())) {
    auto [values, indices] = sort(to_signed(x), dim, descending, node);
    return {from_signed(values, x.dtype()), indices};
  }
  dim = wrap_dim("sort", dim, x.dim());
  check_order("sort", x);
  Tensor values, indices;
  {
    NoGradGuard guard;
    Tensor plain = with_plain_bools(x);
    Tensor in = x.dim() == 0 ? reshape(plain, {1}) : transpose(plain, dim, -1);
    values = empty(in.sizes(), x.dtype(), x.device());
    indices = empty(in.sizes(), DType::Int64, x.device());
    int64_t n = in.size(-1);
    if (x.is_cpu()) {
      auto sort_row = kernel_of(cpu::get_sort_table().sort, x.dtype());
      for_each_line_of(values, indices, in,
                       [=](auto* out, int64_t* places, auto* line, int64_t step) {
                         sort_row(line, step, out, places, n, descending);
                       });
    } else {
      cuda::sort_lines(values, indices, contiguous(in), n, descending);
    }
    values = move_back(values, dim, empty_like(x));
    indices = move_back(indices, dim, empty_like(x, DType::Int64, x.device()));
  }
  record_all(
      node, {values, indices}, {x},
      [sizes = x.sizes(), dim, indices = save(indices)](const TensorList& gs, Needs) -> TensorList {
        return {gs[0].defined() ? scatter_back(gs[0], sizes, dim, indices) : Tensor()};
      });
  return {values, indices};
}

namespace {

ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim, bool largest) {
  dim = wrap_dim("topk", dim, x.dim());
  check(k >= 0 && k <= (x.dim() ? x.size(dim) : 1), "topk: expected k from 0 to ",
        x.dim() ? x.size(dim) : 1, ", the size of dimension ", dim, ", got ", k, ".");
  check_order("topk", x);
  check(x.dtype() != DType::Bool, "topk: not defined for bool.");
  if (x.dim() == 0) k = 1;  // PyTorch's answer to topk(0), too
  Tensor values, indices;
  {
    NoGradGuard guard;
    Tensor in = x.dim() == 0 ? reshape(x, {1}) : transpose(x, dim, -1);
    Dims sizes = in.sizes();
    int64_t n = sizes.back();
    sizes.back() = k;
    values = empty(sizes, x.dtype(), x.device());
    indices = empty(sizes, DType::Int64, x.device());
    if (x.is_cpu()) {
      auto topk_row = kernel_of(cpu::get_sort_table().topk, x.dtype());
      for_each_line_of(values, indices, in,
                       [=](auto* out, int64_t* places, auto* line, int64_t step) {
                         topk_row(line, step, out, places, n, k, largest);
                       });
    } else {
      cuda::sort_lines(values, indices, contiguous(in), n, largest);
    }
    Dims shape = x.sizes();
    if (!shape.empty()) shape[dim] = k;
    values = move_back(values, dim, empty(shape, x.dtype(), x.device()));
    indices = move_back(indices, dim, empty(shape, DType::Int64, x.device()));
  }
  record_all(
      "TopkBackward0", {values, indices}, {x},
      [sizes = x.sizes(), dim, indices = save(indices)](const TensorList& gs, Needs) -> TensorList {
        return {gs[0].defined() ? scatter_back(gs[0], sizes, dim, indices) : Tensor()};
      });
  return {values, indices};
}

// Groups of equal neighbours: order[i] is the element at place i, same(i, j) whether two elements
// are equal.
template <class Same>
Unique group(int64_t n, const int64_t* order, Same&& same, Tensor& firsts) {
  Unique result;
  result.inverse = empty({n}, DType::Int64);
  int64_t* inverse = result.inverse.data_as<int64_t>();
  std::vector<int64_t> first, count;
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || !same(order[i - 1], order[i])) {
      first.push_back(order[i]);
      count.push_back(0);
    }
    ++count.back();
    inverse[order[i]] = static_cast<int64_t>(first.size()) - 1;
  }
  int64_t n_groups = static_cast<int64_t>(first.size());
  firsts = empty({n_groups}, DType::Int64);
  result.counts = empty({n_groups}, DType::Int64);
  std::copy(first.begin(), first.end(), firsts.data_as<int64_t>());
  std::copy(count.begin(), count.end(), result.counts.data_as<int64_t>());
  return result;
}

// The same with tensor operations, for other devices. `starts` says which places begin a group;
// there is one at least.
Unique group_by_starts(const Tensor& order, const Tensor& starts, Tensor& firsts) {
  Tensor places = reshape(nonzero(starts), {-1});
  Tensor ends = cat({narrow(places, 0, 1, places.numel() - 1),
                     full({1}, order.numel(), DType::Int64, order.device())});
  Unique result;
  result.inverse = empty(order.sizes(), DType::Int64, order.device());
  write_at(
      "unique", restrided(result.inverse, order.sizes(), {0}), cumsum(starts, 0, DType::Int64) - 1,
      {order, order.numel(), 1, false, ErrorKind::Index, /*is_distinct=*/true}, WriteMode::Set);
  result.counts = ends - places;
  firsts = index_select(order, 0, places);
  return result;
}

// Whether each element, or row of a matrix, differs from the one before; the first does.
Tensor differ_from_last(const Tensor& rows) {
  int64_t n = rows.size(0);
  Tensor differs = ne(narrow(rows, 0, 1, n - 1), narrow(rows, 0, 0, n - 1));
  if (rows.dim() > 1) differs = any(differs, {1});
  return cat({full({1}, true, DType::Bool, rows.device()), differs});
}

// What there is of false and true, without a sort; x has elements.
Unique unique_bools(const Tensor& x) {
  int64_t n_true = item(sum(x)).to_int(), n_false = x.numel() - n_true;
  Tensor values = arange(n_false ? 0 : 1, n_true ? 2 : 1, 1, DType::Int64, x.device());
  Unique result;
  result.values = to_dtype(values, DType::Bool);
  result.inverse = n_false ? to_dtype(x, DType::Int64) : zeros(x.sizes(), DType::Int64, x.device());
  result.counts = where(result.values, wrapped_number(n_true), wrapped_number(n_false));
  return result;
}

Unique unique_flat(const Tensor& x, bool is_sorted) {
  if (is_wide_unsigned(x.dtype()))
    return from_signed(unique_flat(to_signed(x), is_sorted), x.dtype());
  NoGradGuard guard;
  Tensor flat = contiguous(reshape(with_plain_bools(x), {-1}));
  int64_t n = flat.numel();
  Tensor none = empty({0}, DType::Int64, x.device());
  if (n == 0) return {clone(flat), reshape(none, x.sizes()), clone(none)};
  if (is_sorted && flat.dtype() == DType::Bool) return unique_bools(reshape(flat, x.sizes()));
  Tensor sorted = flat, order;
  if (is_sorted) {
    std::tie(sorted, order) = sort(flat);
  } else {
    order = arange(0, n, 1, DType::Int64, x.device());
  }
  Tensor firsts;
  if (!x.is_cpu()) {
    Unique result = group_by_starts(order, differ_from_last(sorted), firsts);
    result.values = index_select(flat, 0, firsts);
    result.inverse = reshape(result.inverse, x.sizes());
    return result;
  }
  Unique result = visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = flat.data_as<T>();
    return group(
        n, order.data_as<int64_t>(), [data](int64_t i, int64_t j) { return data[i] == data[j]; },
        firsts);
  });
  result.values = index_select(flat, 0, firsts);
  result.inverse = reshape(result.inverse, x.sizes());
  return result;
}

// The values of unique_flat() alone: of elements in order the first of each run, without the places
// that they came from.
Tensor unique_values(const Tensor& x, bool is_sorted) {
  if (is_wide_unsigned(x.dtype())) return unique_flat(x, is_sorted).values;
  NoGradGuard guard;
  Tensor flat = contiguous(reshape(with_plain_bools(x), {-1}));
  int64_t n = flat.numel();
  if (n == 0) return clone(flat);
  if (is_sorted && flat.dtype() == DType::Bool) {
    // What there is of false and true, without a sort.
    flat = cat({reshape(all(flat), {1}), reshape(any(flat), {1})});
    n = 2;
  } else if (is_sorted) {
    flat = sort(flat).first;
  }
  if (!x.is_cpu()) return index_select(flat, 0, reshape(nonzero(differ_from_last(flat)), {-1}));
  Tensor found = empty({n}, flat.dtype());
  int64_t n_found = visit_dtype(flat.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = flat.data_as<T>();
    T* to = found.data_as<T>();
    to[0] = from[0];
    int64_t last = 0;
    // Whether two are equal is hard to predict: each is written, and stays if it is another.
    for (int64_t i = 1; i < n; ++i) {
      to[last + 1] = from[i];
      last += !(from[i] == from[i - 1]);
    }
    return last + 1;
  });
  // Few values must not hold on to the memory of all elements; many are left where they are.
  if (n_found < n / 2) return clone(narrow(found, 0, 0, n_found));
  resize_(found, {n_found});
  return found;
}

}  // namespace

Unique unique(const Tensor& x) {
  check_unique("unique", x);
  return unique_flat(x, true);
}

namespace {

Unique unique_consecutive(const Tensor& x) {
  check_unique("unique_consecutive", x);
  return unique_flat(x, false);
}

// The rows as slices along `dim` of a tensor like `x`. They lie one after the other in memory
// still, as PyTorch's do.
Tensor slices_of(const Tensor& rows, const Tensor& x, int64_t dim) {
  Dims sizes = movedim(x, {dim}, {0}).sizes();
  sizes[0] = rows.size(0);
  return movedim(reshape(rows, sizes), {0}, {dim});
}

Unique unique_rows(const Tensor& x, int64_t dim, bool is_consecutive) {
  if (is_wide_unsigned(x.dtype()))
    return from_signed(unique_rows(to_signed(x), dim, is_consecutive), x.dtype());
  const char* op = is_consecutive ? "unique_consecutive" : "unique";
  check_unique(op, x);
  NoGradGuard guard;
  dim = wrap_dim(op, dim, x.dim());
  check(x.dim() > 0, op, ": dim cannot be given for a 0-d tensor.");
  int64_t n = x.size(dim), width = 1;
  for (int64_t d = 0; d < x.dim(); ++d) width *= d == dim ? 1 : x.size(d);
  check(width > 0, op, ": there are ", n, " slices along dim ", dim,
        " but they have no elements, because the shape is ", x.sizes(), ".");
  Tensor none = empty({0}, DType::Int64, x.device());
  if (n == 0) return {clone(x), none, clone(none)};
  Tensor rows = contiguous(reshape(movedim(with_plain_bools(x), {dim}, {0}), {n, width}));
  if (!x.is_cpu()) {
    // By the last column first: each sort keeps what the ones before have done.
    Tensor sorted = arange(0, n, 1, DType::Int64, x.device()), firsts;
    for (int64_t column = is_consecutive ? -1 : width - 1; column >= 0; --column)
      sorted =
          index_select(sorted, 0, sort(index_select(select(rows, 1, column), 0, sorted)).second);
    Unique result =
        group_by_starts(sorted, differ_from_last(index_select(rows, 0, sorted)), firsts);
    result.values = slices_of(index_select(rows, 0, firsts), x, dim);
    return result;
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  Tensor firsts;
  Unique result = visit_dtype(x.dtype(), [&](auto tag) -> Unique {
    using T = typename decltype(tag)::type;
    if constexpr (is_complex_v<T>) {
      return {};
    } else {
      const T* data = rows.data_as<T>();
      auto less = [&](int64_t a, int64_t b) {
        return std::lexicographical_compare(data + a * width, data + (a + 1) * width,
                                            data + b * width, data + (b + 1) * width);
      };
      auto same = [&](int64_t a, int64_t b) {
        return std::equal(data + a * width, data + (a + 1) * width, data + b * width);
      };
      if (!is_consecutive) std::stable_sort(order.begin(), order.end(), less);
      return group(n, order.data(), same, firsts);
    }
  });
  result.values = slices_of(index_select(rows, 0, firsts), x, dim);
  return result;
}

nb::object into_pair(const char* name, const ValuesAndIndices& result, const OutPair& out) {
  auto [values, indices] = result;
  if (out) {
    check_out_dtype(name, values.dtype(), out->first);
    check_out_dtype(name, indices.dtype(), out->second);
    return named_result(name,
                        {into_out(name, values, out->first), into_out(name, indices, out->second)});
  }
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
  if (!dim && !inverse && !counts) {
    check_unique("unique", x);
    return nb::steal(wrap(unique_values(x, true)));
  }
  return chosen(dim ? unique_rows(x, *dim, false) : unique(x), inverse, counts);
}

nb::object unique_consecutive_from_python(const Tensor& x, bool inverse, bool counts,
                                          std::optional<int64_t> dim) {
  if (!dim && !inverse && !counts) {
    check_unique("unique_consecutive", x);
    return nb::steal(wrap(unique_values(x, false)));
  }
  return chosen(dim ? unique_rows(x, *dim, true) : unique_consecutive(x), inverse, counts);
}

// PyTorch's form with `stable` is another function, with another name for its derivative.
ValuesAndIndices sort_by(const Tensor& x, int64_t dim, bool descending,
                         std::optional<bool> stable) {
  return sort(x, dim, descending, stable ? "SortBackward1" : "SortBackward0");
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending, bool) {
  return sort(x, dim, descending).second;
}

void bind_sorts(nb::module_& m) {
  const char* sort_doc =
      R"(The values in order along a dimension, and where each came from.

The order of equal values is kept; NaN is the largest.
    input: the elements, which are real.
    dim: the dimension to sort along; the last by default.
    descending: whether to put the largest first.
    stable: accepted for PyTorch's sake: the order of equal values is always kept.
    out: a pair of tensors where to put the values and the indices.
    >>> facula.sort(facula.tensor([3, 1, 2])).values
    tensor([1, 2, 3]))"_doc;
  m.def(
      "sort",
      [](const Tensor& x, int64_t dim, bool descending, std::optional<bool> stable,
         const OutPair& out) {
        return into_pair("sort", sort_by(x, dim, descending, stable), out);
      },
      "input"_a, "dim"_a = -1, "descending"_a = false, "stable"_or_none, nb::kw_only(),
      "out"_or_none, sort_doc);
  m.def(
      "sort",
      [](const Tensor& x, bool stable, int64_t dim, bool descending, const OutPair& out) {
        return into_pair("sort", sort_by(x, dim, descending, stable), out);
      },
      "input"_a, nb::kw_only(), "stable"_a, "dim"_a = -1, "descending"_a = false, "out"_or_none,
      sort_doc);
  def_method(
      "sort",
      [](const Tensor& x, int64_t dim, bool descending, std::optional<bool> stable) {
        return into_pair("sort", sort_by(x, dim, descending, stable), {});
      },
      "dim"_a = -1, "descending"_a = false, "stable"_or_none, sort_doc);
  def_op(m, "argsort", &argsort, "dim"_a = -1, "descending"_a = false, "stable"_a = false,
         R"(The indices that sort a dimension.
    input: the elements, which are real.
    dim: the dimension to sort along; the last by default.
    descending: whether to put the largest first.
    stable: accepted for PyTorch's sake: the order of equal values is always kept.
    >>> facula.argsort(facula.tensor([3, 1, 2]))
    tensor([1, 2, 0]))"_doc);
  const char* msort_doc = R"(The values in order along the first dimension.
    input: the elements, which are real.
    out: where to put the result.
    >>> facula.msort(facula.tensor([3, 1, 2]))
    tensor([1, 2, 3]))"_doc;
  m.def(
      "msort",
      [](const Tensor& x, const Out& out) {
        return into_out("msort", sort(x, 0).first, out.value_or(Tensor()));
      },
      "input"_a, nb::kw_only(), "out"_or_none, msort_doc);
  def_method(
      "msort", [](const Tensor& x) { return sort(x, 0).first; }, msort_doc);
}

}  // namespace

FACULA_BINDINGS {
  bind_sorts(m);
  const char* topk_doc =
      R"(The k largest (or smallest) values along a dimension, best first, and where they are.
    input: the elements, real and not bool.
    k: how many values are wanted.
    dim: the dimension to look along; the last by default.
    largest: whether to take the largest values rather than the smallest.
    sorted: accepted for PyTorch's sake: the values are always in order.
    out: a pair of tensors where to put the values and the indices.
    >>> facula.topk(facula.tensor([3, 1, 2]), 2).values
    tensor([3, 2]))"_doc;
  m.def(
      "topk",
      [](const Tensor& x, Count k, int64_t dim, bool largest, bool, const OutPair& out) {
        return into_pair("topk", topk(x, k, dim, largest), out);
      },
      "input"_a, "k"_a, "dim"_a = -1, "largest"_a = true, "sorted"_a = true, nb::kw_only(),
      "out"_or_none, topk_doc);
  def_method(
      "topk",
      [](const Tensor& x, Count k, int64_t dim, bool largest, bool) {
        return into_pair("topk", topk(x, k, dim, largest), {});
      },
      "k"_a, "dim"_a = -1, "largest"_a = true, "sorted"_a = true, topk_doc);
  def_op(m, "unique", &unique_from_python, "sorted"_a = true, "return_inverse"_a = false,
         "return_counts"_a = false, "dim"_or_none,
         R"(The distinct values in order, or the distinct slices along a dimension.
    input: the elements, which are real.
    sorted: accepted for PyTorch's sake: the values are always in order.
    return_inverse: whether to give also the place of each element among the distinct ones.
    return_counts: whether to give also how often each distinct value occurs.
    dim: the dimension whose slices are compared; the elements by default.
    >>> facula.unique(facula.tensor([2, 1, 2]))
    tensor([1, 2]))"_doc);
  def_op(m, "unique_consecutive", &unique_consecutive_from_python, "return_inverse"_a = false,
         "return_counts"_a = false, "dim"_or_none,
         R"(The values with runs of equal neighbours reduced to one.
    input: the elements, which are real.
    return_inverse: whether to give also the place of each element's run in the result.
    return_counts: whether to give also how long each run is.
    dim: the dimension whose slices are compared; the elements by default.
    >>> facula.unique_consecutive(facula.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1]))"_doc);
}

}  // namespace facula
