#include "ops/reduce/order_stats.h"

#include <cmath>
#include <mutex>
#include <vector>

#include "autograd/node.h"
#include "base/scratch.h"
#include "cpu/reduce/order_stats.h"
#include "cpu/reduce/sort.h"
#include "ops/ops.h"
#include "ops/reduce/extrema.h"
#include "walk/lines.h"
#include "walk/reduction.h"

namespace facula {

namespace {

using cpu::Pick;

void check_ordered(const char* op, const Tensor& x) {
  check_not_implemented(x.is_cpu(), op, ": not available on ", x.device(),
                        " yet. Move the tensor with .cpu() first.");
  check_not_implemented(!is_complex(x.dtype()), op, ": not defined for ", x,
                        ": complex numbers have no order.");
}

void check_not_bool(const char* op, const Tensor& x) {
  check_not_implemented(x.dtype() != DType::Bool, op, ": not defined for ", x, ".");
}

void check_line(const char* op, const Tensor& x, int64_t dim) {
  check_index(x.dim() == 0 || x.size(dim) > 0, op, ": expected elements along dimension ", dim,
              ", got ", x, ".");
}

// One place per line, with `dim` kept.
Tensor pick_along(const char* op, const Tensor& x, int64_t dim, Pick pick, int64_t k) {
  Dims sizes = x.sizes();
  if (x.dim()) sizes[dim] = 1;
  Tensor indices = empty(sizes, DType::Int64, x.device());
  if (indices.numel() == 0) return indices;
  int64_t n = x.dim() ? x.size(dim) : 1;
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
    y = reshape(gather(flat, 0, pick_along(op, flat, 0, pick, 0)), {});
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

}  // namespace

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
    values.push_back(item(q.dim() ? select(q, 0, i) : q).to_double());
    check(values.back() >= 0 && values.back() <= 1, op, ": expected q from 0 to 1, got ",
          values.back(), ".");
  }
  Tensor x = lines_last(op, input, maybe_dim, keepdim);
  auto find = x.dtype() == DType::Float32 ? find_places<float> : find_places<double>;
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

Tensor searchsorted(const Tensor& sequence, const Tensor& input, bool is_right, bool as_int32,
                    const Tensor& sorter) {
  const char* op = "searchsorted";
  NoGradGuard guard;
  check(sequence.dim() > 0, op, ": expected a sequence with at least one dimension.");
  bool is_one = sequence.dim() == 1;
  check(is_one || !input->is_wrapped_number, op, ": a number needs a sequence of one dimension.");
  bool fits = input.dim() == sequence.dim() &&
              std::equal(input.sizes().begin(), input.sizes().end() - 1, sequence.sizes().begin());
  check(is_one || fits, op,
        ": expected sequences and values to agree in all but the last dimension, got ",
        sequence.sizes(), " and ", input.sizes(), ".");
  if (sorter.defined())
    check(sorter.sizes() == sequence.sizes() && sorter.dtype() == DType::Int64, op,
          ": expected sorter as int64 of shape ", sequence.sizes(), ", got ", sorter, ".");
  Tensor places = empty(input.sizes(), DType::Int64, input.device());
  if (input.numel() > 0) {
    for (const Tensor* x : {&sequence, &input}) {
      check_cpu(op, *x);
      check_not_implemented(x->dtype() != DType::Bool && !is_complex(x->dtype()), op,
                            ": expected real numbers, got ", x->dtype(), ".");
    }
    DType dtype = result_type({sequence, input});
    Tensor ordered =
        contiguous(to_dtype(sorter.defined() ? gather(sequence, -1, sorter) : sequence, dtype));
    Tensor values = contiguous(to_dtype(input, dtype));
    int64_t n = sequence.size(-1), width = is_one ? values.numel() : values.size(-1);
    int64_t item = values.itemsize(), *to = places.data_as<int64_t>();
    constexpr int64_t kGrain = 4096;
    parallel_for(values.numel(), kGrain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        int64_t line = begin / width, stop = std::min(end, (line + 1) * width);
        cpu::search_sorted(dtype, ordered.data() + line * n * item, n, values.data() + begin * item,
                           stop - begin, is_right, to + begin);
        begin = stop;
      }
    });
  }
  return as_int32 ? to_dtype(places, DType::Int32) : places;
}

Tensor count_bins(const Tensor& input, int64_t bins, double low, double high) {
  check_cpu("histc", input);
  check(input.dtype() == DType::Float32 || input.dtype() == DType::Float64,
        "histc: expected float32 or float64, got ", input, ".");
  check(bins > 0 && low < high, "histc: expected bins > 0 and low < high, got ", bins, ", ", low,
        " and ", high, ".");
  NoGradGuard guard;
  Tensor x = contiguous(input), y = zeros({bins}, DType::Int64);
  int64_t* counts = y.data_as<int64_t>();
  std::mutex mutex;
  auto count = [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int64_t kGrain = 65536;
    // Pieces are long enough to pay for counts of their own.
    parallel_for(x.numel(), std::max(kGrain, 4 * bins), [&](int64_t begin, int64_t end) {
      std::vector<int64_t> own(bins);
      cpu::count_bins(x.data_as<T>() + begin, end - begin, bins, static_cast<T>(low),
                      static_cast<T>(high), static_cast<T>(high - low), own.data());
      std::lock_guard lock(mutex);
      for (int64_t b = 0; b < bins; ++b) counts[b] += own[b];
    });
  };
  visit_dtype(x.dtype(), [&](auto tag) {
    if constexpr (std::is_floating_point_v<typename decltype(tag)::type>) count(tag);
  });
  return y;
}

}  // namespace facula
