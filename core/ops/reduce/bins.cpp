// Where values belong among sorted ones: the intervals they fall into, and how many in each.
#include <mutex>
#include <vector>

#include "base/parallel.h"
#include "cpu/reduce/order_stats.h"
#include "cuda/index/places.h"
#include "ops/reduce/arguments.h"
#include "ops/reduce/extrema.h"

namespace facula {

namespace {

// Where the elements of input belong in sequences, which lie in the last dimension in increasing
// order, or are put in it by a sorter.
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
  check(sequence.device() == input.device() || input->is_wrapped_number, op,
        ": expected the sequence and the values on one device, got ", sequence, " and ", input,
        ".");
  Tensor places = empty(input.sizes(), DType::Int64, input.device());
  if (input.numel() > 0) {
    DType dtype = result_type({sequence, input});
    check_not_implemented(dtype != DType::Bool && !is_complex(dtype), op,
                          ": expected real numbers, got ", dtype, ".");
    // Each element of the sequence is compared often, so short ones are widened once.
    DType wide = dtype;
    if (item_size(dtype) < 4) wide = is_floating_kind(dtype) ? DType::Float32 : DType::Int32;
    Tensor ordered = sorter.defined() ? gather(sequence, -1, sorter) : sequence;
    ordered = contiguous(to_dtype(to_dtype(ordered, dtype), wide));
    Tensor values = contiguous(to_dtype(to_dtype(input, dtype), wide));
    int64_t n = sequence.size(-1), width = is_one ? values.numel() : values.size(-1);
    if (!values.is_cpu()) {
      cuda::search_sorted(places, ordered, values, n, width, is_right);
      return as_int32 ? to_dtype(places, DType::Int32) : places;
    }
    int64_t item = values.itemsize(), *to = places.data_as<int64_t>();
    constexpr int64_t kGrain = 4096;
    parallel_for(values.numel(), kGrain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        int64_t line = begin / width, stop = std::min(end, (line + 1) * width);
        cpu::get_order_table().search_sorted(wide, ordered.data() + line * n * item, n,
                                             values.data() + begin * item, stop - begin, is_right,
                                             to + begin);
        begin = stop;
      }
    });
  }
  return as_int32 ? to_dtype(places, DType::Int32) : places;
}

// How many elements of x, float32 or float64, fall into each of equal intervals from low to high,
// the ends included.
Tensor count_bins(const Tensor& input, int64_t bins, double low, double high) {
  check(input.dtype() == DType::Float32 || input.dtype() == DType::Float64,
        "histc: expected float32 or float64, got ", input, ".");
  check(bins > 0 && low < high, "histc: expected bins > 0 and low < high, got ", bins, ", ", low,
        " and ", high, ".");
  NoGradGuard guard;
  Tensor x = contiguous(input), y = zeros({bins}, DType::Int64, x.device());
  if (!x.is_cpu()) {
    cuda::count_bins(x, low, high, y);
    return y;
  }
  int64_t* counts = y.data_as<int64_t>();
  std::mutex mutex;
  auto count = [&](auto tag, auto count_in) {
    using T = typename decltype(tag)::type;
    constexpr int64_t kGrain = 65536;
    // Pieces are long enough to pay for counts of their own.
    parallel_for(x.numel(), std::max(kGrain, 4 * bins), [&](int64_t begin, int64_t end) {
      std::vector<int64_t> own(bins);
      count_in(x.data_as<T>() + begin, end - begin, bins, static_cast<T>(low), static_cast<T>(high),
               static_cast<T>(high - low), own.data());
      std::lock_guard lock(mutex);
      for (int64_t b = 0; b < bins; ++b) counts[b] += own[b];
    });
  };
  const cpu::OrderTable& table = cpu::get_order_table();
  x.dtype() == DType::Float32 ? count(TypeTag<float>(), table.count_floats)
                              : count(TypeTag<double>(), table.count_doubles);
  return y;
}

// How often each number from 0 on occurs in a vector of integers; at least `length` counts.
Tensor count_numbers(const Tensor& input, int64_t length) {
  NoGradGuard guard;
  Tensor x = contiguous(to_dtype(input, DType::Int64));
  auto [low, high] = aminmax(x, std::nullopt, false);
  int64_t least = item(low).to_int(), largest = item(high).to_int();
  check(least >= 0, "bincount: expected no negative number, got ", least, ".");
  length = std::max(largest + (largest < INT64_MAX), length);
  Tensor counts = zeros({length}, DType::Int64, x.device());
  if (!x.is_cpu()) {
    cuda::count_numbers(x, counts);
    return counts;
  }
  const int64_t* from = x.data_as<int64_t>();
  int64_t* to = counts.data_as<int64_t>();
  constexpr int64_t kGrain = 65536, kTables = 4;
  if (kTables * length > kGrain / 4) {
    for (int64_t i = 0; i < x.numel(); ++i) ++to[from[i]];
    return counts;
  }
  std::mutex mutex;
  parallel_for(x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    // In turns, as equal neighbours would wait for each other.
    std::vector<int64_t> own(kTables * length);
    int64_t* tables[kTables];
    for (int64_t k = 0; k < kTables; ++k) tables[k] = own.data() + k * length;
    for (int64_t i = begin; i < end; ++i) ++tables[i % kTables][from[i]];
    std::lock_guard lock(mutex);
    for (int64_t i = 0; i < length; ++i)
      for (const int64_t* table : tables) to[i] += table[i];
  });
  return counts;
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
  m.def("_count_bins", &count_bins, "input"_a, "bins"_a, "low"_a, "high"_a,
        "The counts of histc(): int64, of an input of float32 or float64.");
  m.def("_count_numbers", &count_numbers, "input"_a, "length"_a,
        "The counts of bincount() without weights, of a vector that is not empty.");
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
      "side"_or_none, "out"_or_none, "sorter"_or_none,
      R"(Where values belong in sorted sequences.
    sorted_sequence: sequences in the last dimension, in increasing order.
    input: the values; a tensor with the same other dimensions, or of any shape for one sequence.
    out_int32: whether to give places as int32 rather than int64.
    right: whether to put values behind elements that are equal, rather than before them.
    side: ``"left"`` or ``"right"``, another way to say ``right``.
    out: where to put the result.
    sorter: indices that put an unsorted sequence in order.
    >>> facula.searchsorted(facula.tensor([1, 3, 5]), facula.tensor([3, 6]))
    tensor([1, 3]))"_doc);
  m.def(
      "bucketize",
      [](const Operand& values, const Tensor& boundaries, bool as_int32, bool right,
         const Out& out) {
        check(boundaries.dim() == 1, "bucketize: expected boundaries as a vector, got ",
              boundaries.sizes(), ".");
        return search("bucketize", boundaries, values, right, as_int32, out, {});
      },
      "input"_a, "boundaries"_a, nb::kw_only(), "out_int32"_a = false, "right"_a = false,
      "out"_or_none,
      R"(The number of the interval between boundaries that each value falls into.
    input: the values, a tensor or a number.
    boundaries: a vector in increasing order.
    out_int32: whether to give places as int32 rather than int64.
    right: whether a boundary belongs to the interval that begins, rather than ends, at it.
    out: where to put the result.
    >>> facula.bucketize(facula.tensor([3, 6, 9]), facula.tensor([1, 3, 5, 7, 9]))
    tensor([1, 3, 4]))"_doc);
}

}  // namespace facula
