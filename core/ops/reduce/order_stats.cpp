// Elements picked by their rank.
#include <cmath>
#include <vector>

#include "autograd/node.h"
#include "base/scratch.h"
#include "cpu/reduce/order_stats.h"
#include "cpu/reduce/sort.h"
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
    *reinterpret_cast<int64_t*>(data[0]) = cpu::pick_index(pick, dtype, data[1], steps[1], n, k);
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

enum class Interpolation { Linear, Lower, Higher, Midpoint, Nearest };

Interpolation interpolation_named(const char* op, const std::string& name) {
  if (name == "linear") return Interpolation::Linear;
  if (name == "lower") return Interpolation::Lower;
  if (name == "higher") return Interpolation::Higher;
  if (name == "midpoint") return Interpolation::Midpoint;
  check(name == "nearest", op,
        ": expected 'linear', 'lower', 'higher', 'midpoint' or 'nearest' as interpolation, got '",
        name, "'.");
  return Interpolation::Nearest;
}

// Between which two elements of each line the quantiles lie, and how far.
struct QuantilePlaces {
  Tensor low, high;  // int64; the dimension counts the quantiles
  Tensor weight;     // in the dtype of x
};

// The same with tensor operations, for other devices.
QuantilePlaces find_places_on_device(const Tensor& x, int64_t dim, const std::vector<double>& q,
                                     Interpolation mode, bool ignore_nan) {
  NoGradGuard guard;
  auto [values, order] = sort(x, dim);
  int64_t n = x.size(dim);
  Tensor wanted = empty({static_cast<int64_t>(q.size())}, DType::Float64);
  std::copy(q.begin(), q.end(), wanted.data_as<double>());
  Dims shape(x.dim(), 1);
  shape[dim] = wanted.numel();
  wanted = reshape(to(wanted, x.device(), x.dtype(), false), shape);
  Tensor n_nan = sum(isnan(values), {dim}, true), last = wrapped_number(n - 1);
  Tensor n_numbers = sub(wrapped_number(n), n_nan);
  Tensor is_nan = ignore_nan ? eq(n_numbers, wrapped_number(0)) : gt(n_nan, wrapped_number(0));
  Tensor top =
      to_dtype(ignore_nan ? n_numbers - 1 : expand(to_dtype(last, DType::Int64), {}), x.dtype());
  Tensor rank =
      where(is_nan, to_dtype(last, x.dtype()), wanted * to(top, x.device(), x.dtype(), false));
  if (mode == Interpolation::Lower) rank = floor(rank);
  if (mode == Interpolation::Higher) rank = ceil(rank);
  if (mode == Interpolation::Nearest) rank = round(rank);
  Tensor low = floor(rank);
  Tensor weight =
      mode == Interpolation::Midpoint ? full(rank.sizes(), 0.5, x.dtype(), x.device()) : rank - low;
  auto at = [&](const Tensor& place) { return gather(order, dim, to_dtype(place, DType::Int64)); };
  return {at(low), at(ceil(rank)), weight};
}

template <class T>
QuantilePlaces find_places(const Tensor& x, int64_t dim, const std::vector<double>& q,
                           Interpolation mode, bool ignore_nan) {
  Dims sizes = x.sizes();
  sizes[dim] = static_cast<int64_t>(q.size());
  QuantilePlaces places = {empty(sizes, DType::Int64), empty(sizes, DType::Int64),
                           empty(sizes, x.dtype())};
  int64_t n = x.size(dim);
  if (places.low.numel() == 0) return places;
  auto find = [&](char** data, const int64_t* steps) {
    Scratch<T> sorted(n);
    Scratch<int64_t> order(n);
    cpu::sort_row(reinterpret_cast<const T*>(data[3]), steps[3] / int64_t{sizeof(T)}, sorted.data(),
                  order.data(), n, /*descending=*/false);
    int64_t n_numbers = n;
    while (n_numbers > 0 && std::isnan(sorted.data()[n_numbers - 1])) --n_numbers;
    bool is_nan = ignore_nan ? n_numbers == 0 : n_numbers < n;
    for (size_t i = 0; i < q.size(); ++i) {
      // NaN sorts last: the last place gives it as the result.
      double rank = static_cast<double>(n - 1);
      if (!is_nan) rank = static_cast<T>(q[i]) * static_cast<T>((ignore_nan ? n_numbers : n) - 1);
      if (mode == Interpolation::Lower) rank = std::floor(rank);
      if (mode == Interpolation::Higher) rank = std::ceil(rank);
      if (mode == Interpolation::Nearest) rank = std::nearbyint(rank);
      int64_t low = static_cast<int64_t>(rank), high = static_cast<int64_t>(std::ceil(rank));
      double weight = mode == Interpolation::Midpoint ? 0.5 : rank - static_cast<double>(low);
      *reinterpret_cast<int64_t*>(data[0] + i * steps[0]) = order.data()[low];
      *reinterpret_cast<int64_t*>(data[1] + i * steps[1]) = order.data()[high];
      *reinterpret_cast<T*>(data[2] + i * steps[2]) = static_cast<T>(weight);
    }
  };
  for_each_line({places.low, places.high, places.weight, x}, dim, n * 8, find);
  return places;
}

// The elements to order in the last dimension, before it the shape of one quantile.
Tensor lines_last(const char* op, const Tensor& x, std::optional<int64_t> maybe_dim, bool keepdim) {
  if (maybe_dim) {
    int64_t dim = wrap_dim(op, *maybe_dim, x.dim());
    if (keepdim && x.dim()) return transpose(unsqueeze(x, -1), dim, -1);
    if (x.dim()) return movedim(x, {dim}, {-1});
  }
  Dims shape(keepdim ? x.dim() : 0, 1);
  shape.push_back(-1);
  return reshape(x, shape);
}

// Zero, with the derivative of the ranks by q: a step of q is one of the last rank times as much.
Tensor move_of_rank(const Tensor& x, const Tensor& q, bool ignore_nan) {
  Tensor last = ignore_nan ? sum(logical_not(isnan(x)), {-1}, true) - 1
                           : wrapped_number(static_cast<double>(x.size(-1) - 1));
  return (q - detach(q)) * last;
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

// q: one probability (0-d) or several (1-d), which become the first dimension. Of all elements
// without a dim.
Tensor quantile(const Tensor& input, const Tensor& q, std::optional<int64_t> maybe_dim,
                bool keepdim, const std::string& interpolation, bool ignore_nan) {
  const char* op = ignore_nan ? "nanquantile" : "quantile";
  Interpolation mode = interpolation_named(op, interpolation);
  check(input.dtype() == DType::Float32 || input.dtype() == DType::Float64, op,
        ": expected an input of float32 or float64, got ", input, ".");
  check(q.dim() <= 1, op, ": expected a number or a vector as q, got ", q, ".");
  check(q.dtype() == input.dtype() || q->is_wrapped_number, op,
        ": expected q of the input's dtype, got ", q, " and ", input, ".");
  check(input.numel() > 0, op, ": expected an input with elements, got ", input, ".");
  check_ordered(op, input);
  std::vector<double> values;
  for (int64_t i = 0; i < q.numel(); ++i) {
    NoGradGuard guard;
    values.push_back(q.is_meta() ? 0 : item(q.dim() ? select(q, 0, i) : q).to_double());
    check(values.back() >= 0 && values.back() <= 1, op, ": expected q from 0 to 1, got ",
          values.back(), ".");
  }
  Tensor x = lines_last(op, input, maybe_dim, keepdim);
  auto find = !x.is_cpu()                   ? find_places_on_device
              : x.dtype() == DType::Float32 ? find_places<float>
                                            : find_places<double>;
  QuantilePlaces places = find(x, x.dim() - 1, values, mode, ignore_nan);
  Tensor y = gather(x, -1, places.low);
  if (mode == Interpolation::Linear || mode == Interpolation::Midpoint) {
    Tensor weight = places.weight;
    if (mode == Interpolation::Linear && q.requires_grad())
      weight = weight + move_of_rank(x, q, ignore_nan);
    y = y + weight * (gather(x, -1, places.high) - y);
  }
  if (q.dim() == 0) return select(y, -1, 0);
  // The quantiles come first, then what is left of the input's shape.
  Dims order{y.dim() - 1};
  for (int64_t d = 0; d + 1 < y.dim(); ++d) order.push_back(d);
  return permute(y, order);
}

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

// median and nanmedian: of all elements, or along a dimension.
template <Tensor (*full)(const Tensor&), Along along>
void def_median(nb::module_& m, const char* name, const std::string& doc) {
  m.def(
      name, [](const Tensor& x) { return full(x); }, "input"_a, doc.c_str());
  def_method(
      name, [](const Tensor& x) { return full(x); }, doc.c_str());
  def_along<along>(m, name, {}, doc.c_str());
}

void def_quantile(nb::module_& m, const char* name, bool ignore_nan, const std::string& doc) {
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
      "interpolation"_a = "linear", "out"_a.none() = nb::none(), doc.c_str());
  def_method(name, compute, "q"_a, "dim"_a.none() = nb::none(), "keepdim"_a = false, nb::kw_only(),
             "interpolation"_a = "linear", doc.c_str());
}

void bind_quantiles(nb::module_& m) {
  const std::string args = R"(

Args:
    input: the elements, float32 or float64.
    q: a probability, or a vector of them, which becomes the first dimension of the result.
    dim: the dimension to look along; all elements by default.
    keepdim: whether to keep the reduced dimensions with size 1.
    interpolation: what to give for a place between two elements: ``"linear"``, ``"lower"``,
        ``"higher"``, ``"midpoint"`` or ``"nearest"``.
    out: where to put the result.

Example:
    >>> facula.)";
  def_quantile(m, "quantile", false,
               "The value below which a share ``q`` of the elements lies." + args +
                   R"(quantile(facula.tensor([0.0, 1.0, 2.0]), 0.25)
    tensor(0.5000)
)");
  def_quantile(m, "nanquantile", true,
               "The value below which a share ``q`` of the elements that are not NaN lies." + args +
                   R"(nanquantile(facula.tensor([0.0, facula.nan, 2.0]), 0.5)
    tensor(1.)
)");
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
  def_along<mode>(
      m, "mode", -1,
      R"(The most frequent value along a dimension (the smallest of several), and its last index.

Args:
    input: the elements, which are real.
    dim: the dimension to look along; the last by default.
    keepdim: whether to keep the dimension with size 1.
    out: a pair of tensors where to put the values and the indices.

Example:
    >>> facula.mode(facula.tensor([1, 2, 2, 3])).values
    tensor(2)
)");
  constexpr const char* kth_doc =
      R"(The ``k``-th smallest element along a dimension, counted from 1, and its index.

Args:
    input: the elements, real and not bool.
    k: which element is wanted, 1 for the smallest.
    dim: the dimension to look along; the last by default.
    keepdim: whether to keep the dimension with size 1.
    out: a pair of tensors where to put the values and the indices.

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
  bind_quantiles(m);
}

}  // namespace facula
