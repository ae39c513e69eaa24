// Rows of a table by index, and sums of them.
#include <nanobind/stl/tuple.h>

#include <cstring>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "bind/sparse.h"
#include "cpu/nn/embedding.h"
#include "cuda/index/places.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "walk/reduction.h"
#include "walk/walk.h"

namespace facula {

namespace {

constexpr int64_t kRowGrain = 65536;  // elements of a task

const cpu::EmbeddingKernels& kernels_of(const Tensor& x) {
  check_computed(x.dtype());
  return cpu::get_embedding_table().kernels[static_cast<int>(x.dtype())];
}

// As int64, contiguous; the shape is kept.
Tensor checked_indices(const char* op, const char* name, const Tensor& indices) {
  check(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32, op, ": expected ", name,
        " of dtype int64 or int32, got ", indices,
        ". Convert them with .long(). (Expected tensor to have one of the following scalar types: "
        "Long, Int)");
  return contiguous(cast_to(indices, DType::Int64));
}

// Derivatives call it again: the memory of the indices may have been written to since. On a GPU
// they are checked as they are used.
void check_range(const char* op, ErrorKind kind, const Tensor& indices, int64_t n_rows) {
  if (!indices.is_cpu()) return;
  const int64_t* values = indices.data_as<int64_t>();
  for (int64_t i = 0; i < indices.numel(); ++i) {
    if (__builtin_expect(values[i] >= 0 && values[i] < n_rows, 1)) continue;
    Dims position(indices.sizes().size());
    for (int64_t d = indices.dim() - 1, rest = i; d >= 0; rest /= indices.size(d), --d)
      position[d] = rest % indices.size(d);
    fail(kind, op, ": index ", values[i], " at position ", position,
         " is out of range for a table of ", n_rows, " rows, expected 0 <= index < ", n_rows,
         ". (index out of range in self)");
  }
}

// The gradient of a table as a sparse tensor: row indices[i] has values[i], those of equal indices
// are still to be added. Row padding_idx is left out.
Tensor sparse_rows(const char* op, const Tensor& values, const Tensor& indices, int64_t n_rows,
                   int64_t padding_idx, bool scale_by_freq) {
  check(!scale_by_freq, op,
        ": scale_grad_by_freq not supported with sparse gradients. Leave out "
        "one of the two options.");
  int64_t size = values.size(-1);
  return sparse::call("rows", reshape(indices, {indices.numel()}),
                      reshape(values, {indices.numel(), size}), n_rows, padding_idx);
}

std::vector<int64_t> frequencies(const int64_t* indices, int64_t n, int64_t n_rows) {
  std::vector<int64_t> counts(n_rows);
  for (int64_t i = 0; i < n; ++i) ++counts[indices[i]];
  return counts;
}

// A table of the sums of rows: row[indices[i]] += source(i) * factor(i), in the order of i. A
// factor of 0 leaves the row out. Each task has rows of its own, and looks through all indices.
template <class Source, class Factor>
Tensor sum_rows(const Tensor& like, int64_t n_rows, const int64_t* indices, int64_t n,
                const Source& source, const Factor& factor) {
  int64_t size = like.size(-1);
  Tensor sums = empty({n_rows, size}, wide_dtype(like.dtype()));
  if (sums.numel() == 0) return cast_to(sums, like.dtype());
  auto add = kernels_of(like).add_scaled;
  char* to = sums.data();
  int64_t row_bytes = size * sums.itemsize();
  int64_t grain = std::max({int64_t(1), kRowGrain / size, ceil_div(n_rows, 16)});
  parallel_for(n_rows, grain, [&](int64_t begin, int64_t end) {
    std::memset(to + begin * row_bytes, 0, (end - begin) * row_bytes);
    for (int64_t i = 0; i < n; ++i)
      if (indices[i] >= begin && indices[i] < end)
        if (double f = factor(i); f != 0) add(to + indices[i] * row_bytes, source(i), f, size);
  });
  return cast_to(sums, like.dtype());
}

Tensor embedding(const Tensor& weight, const Tensor& given, int64_t padding_idx, bool scale_by_freq,
                 bool sparse);

// How often each row was asked for.
Tensor row_counts(const Tensor& indices, int64_t n_rows, DType dtype) {
  Device device = indices.device();
  return index_add(zeros({n_rows}, dtype, device), 0, reshape(indices, {indices.numel()}),
                   full({indices.numel()}, 1, dtype, device));
}

// What embedding_backward() sums, with tensor operations, for other devices.
Tensor sum_rows_on_device(const Tensor& g, const Tensor& indices, int64_t n_rows,
                          int64_t padding_idx, bool scale_by_freq) {
  DType wide = wide_dtype(g.dtype());
  int64_t n = indices.numel(), size = g.size(-1);
  Tensor sums = index_add(zeros({n_rows, size}, wide, g.device()), 0, reshape(indices, {n}),
                          to_dtype(reshape(g, {n, size}), wide));
  if (scale_by_freq)
    sums = sums / unsqueeze(clamp_min(row_counts(indices, n_rows, wide), Scalar(1)), 1);
  if (padding_idx >= 0) {
    Tensor row = select(sums, 0, padding_idx);
    fill_(row, 0);
  }
  return to_dtype(sums, g.dtype());
}

// The gradient of the table from that of the rows, which are (*, size).
Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t n_rows,
                          int64_t padding_idx, bool scale_by_freq) {
  Tensor y;
  {
    NoGradGuard guard;
    check_range("embedding", ErrorKind::Index, indices, n_rows);
    Tensor g = contiguous(grad);
    if (g.is_cpu()) {
      const int64_t *index = indices.data_as<int64_t>(), n = indices.numel();
      std::vector<int64_t> counts;
      if (scale_by_freq) counts = frequencies(index, n, n_rows);
      const char* from = g.data();
      int64_t row_bytes = g.size(-1) * g.itemsize();
      y = sum_rows(
          g, n_rows, index, n, [&](int64_t i) { return from + i * row_bytes; },
          [&](int64_t i) {
            if (index[i] == padding_idx) return 0.0;
            return scale_by_freq ? 1.0 / static_cast<double>(counts[index[i]]) : 1.0;
          });
    } else {
      y = sum_rows_on_device(g, indices, n_rows, padding_idx, scale_by_freq);
    }
  }
  return record(
      "EmbeddingDenseBackwardBackward0", y, {grad}, [=, saved = save(indices)](const Tensor& gg) {
        Tensor indices = saved, rows = embedding(gg, indices, padding_idx, false, false);
        Tensor is_kept = unsqueeze(ne(indices, wrapped_number(padding_idx)), -1);
        if (!scale_by_freq) return rows * is_kept;
        Tensor counts = row_counts(indices, n_rows, gg.dtype());
        return rows * is_kept / embedding(unsqueeze(counts, -1), indices, -1, false, false);
      });
}

// Row padding_idx, where it is at least 0, gets no gradient. With scale_by_freq the gradient of a
// row is divided by how often it was asked for.
Tensor embedding(const Tensor& weight, const Tensor& given, int64_t padding_idx, bool scale_by_freq,
                 bool sparse) {
  check(weight.dim() == 2, "embedding: expected a weight of two dimensions, got ", weight, ".");
  check_same_device("embedding", {weight, given});
  Tensor indices = checked_indices("embedding", "indices", given);
  int64_t n_rows = weight.size(0);
  check_range("embedding", ErrorKind::Index, indices, n_rows);
  Tensor y;
  {
    NoGradGuard guard;
    Dims sizes = indices.sizes();
    sizes.push_back(weight.size(1));
    y = alias(reshape(index_select(weight, 0, reshape(indices, {indices.numel()})), sizes));
  }
  if (!is_floating(weight.dtype())) {
    check_real_derivative("embedding", weight, weight);
    return y;
  }
  return record("EmbeddingBackward0", y, {weight}, [=, indices = save(indices)](const Tensor& g) {
    if (sparse) return sparse_rows("embedding", g, indices, n_rows, padding_idx, scale_by_freq);
    return embedding_backward(g, indices, n_rows, padding_idx, scale_by_freq);
  });
}

// ---- embedding_bag

enum class BagMode : int64_t { Sum, Mean, Max };

struct BagOptions {
  BagMode mode;
  bool scale_by_freq;
  bool has_last_offset;  // offsets end with the number of indices
  int64_t padding_idx;   // left out of all bags; none where negative
  bool sparse;           // the gradient of the table is a sparse tensor
};

// Which indices belong to which bag. Padding belongs to none: -1.
struct Bags {
  std::vector<int64_t> begins;  // one more than there are bags
  std::vector<int64_t> bag_of, sizes;
  int64_t count() const { return static_cast<int64_t>(sizes.size()); }
};

Bags bags_of(const Tensor& indices, const Tensor& offsets, const BagOptions& options) {
  const int64_t *offset = offsets.data_as<int64_t>(), *index = indices.data_as<int64_t>();
  int64_t n = indices.numel(), n_bags = offsets.numel();
  Bags bags;
  bags.begins.assign(offset, offset + n_bags);
  if (options.has_last_offset) {
    check(n_bags >= 1,
          "embedding_bag: include_last_offset: expected at least one offset, got none.");
    --n_bags;
    check(offset[n_bags] <= n,
          "embedding_bag: include_last_offset: expected a last offset of at most ", n,
          ", the number of indices, got ", offset[n_bags], ".");
  } else {
    bags.begins.push_back(n);
  }
  check(offsets.numel() == 0 || bags.begins[0] == 0,
        "embedding_bag: expected offsets[0] to be 0, got ", bags.begins[0], ".");
  for (int64_t b = 0; b < n_bags; ++b)
    check(bags.begins[b] <= bags.begins[b + 1],
          "embedding_bag: expected offsets that increase up to ", n,
          ", the number of indices, got offsets[", b, "] = ", bags.begins[b], " before ",
          bags.begins[b + 1], ".");
  bags.bag_of.assign(n, -1);
  bags.sizes.assign(n_bags, 0);
  for (int64_t b = 0; b < n_bags; ++b)
    for (int64_t i = bags.begins[b]; i < bags.begins[b + 1]; ++i)
      if (index[i] != options.padding_idx) {
        bags.bag_of[i] = b;
        ++bags.sizes[b];
      }
  return bags;
}

Tensor tensor_of(const std::vector<int64_t>& values) {
  Tensor y = empty({static_cast<int64_t>(values.size())}, DType::Int64);
  std::copy(values.begin(), values.end(), y.data_as<int64_t>());
  return y;
}

void sum_bags(const Tensor& y, const Tensor& weight, const int64_t* index, const Bags& bags,
              const Tensor& factors, bool is_mean) {
  int64_t size = weight.size(1), row_bytes = size * weight.itemsize();
  const cpu::EmbeddingKernels& k = kernels_of(weight);
  const char* from = weight.data();
  char* to = y.data();
  const double* factor = factors.defined() ? factors.data_as<double>() : nullptr;
  int64_t grain = std::max<int64_t>(1, kRowGrain / 8 / std::max<int64_t>(1, size));
  parallel_for(bags.count(), grain, [&](int64_t begin, int64_t end) {
    std::vector<double> sum(size);  // room for a row of any type
    char* row = reinterpret_cast<char*>(sum.data());
    for (int64_t b = begin; b < end; ++b) {
      std::fill(sum.begin(), sum.end(), 0.0);
      int64_t first = bags.begins[b];
      k.add_rows(row, from, index + first, bags.bag_of.data() + first,
                 factor ? factor + first : nullptr, bags.begins[b + 1] - first, size);
      double n = static_cast<double>(std::max<int64_t>(1, bags.sizes[b]));
      k.store_scaled(to + b * row_bytes, row, is_mean ? 1 / n : 1, size);
    }
  });
}

// Without branches, which would be guessed wrong often.
template <class T>
void take_larger(const T* values, int64_t place, int64_t n, T* __restrict most,
                 int64_t* __restrict places) {
  for (int64_t j = 0; j < n; ++j) {
    bool takes = Wide<T>(values[j]) > Wide<T>(most[j]);
    most[j] = takes ? values[j] : most[j];
    places[j] = takes ? place : places[j];
  }
}

// The largest of each column, and the row it is in; of equal ones the first.
void max_bags(const Tensor& y, const Tensor& rows, const Tensor& weight, const int64_t* index,
              const Bags& bags) {
  int64_t size = weight.size(1);
  visit_dtype(weight.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>) {
      const T* from = weight.data_as<T>();
      T* to = y.data_as<T>();
      int64_t* row = rows.data_as<int64_t>();
      parallel_for(bags.count(), std::max<int64_t>(1, kRowGrain / 8 / std::max<int64_t>(1, size)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t b = begin; b < end; ++b) {
                       bool is_first = true;
                       for (int64_t i = bags.begins[b]; i < bags.begins[b + 1]; ++i) {
                         if (bags.bag_of[i] < 0) continue;
                         const T* values = from + index[i] * size;
                         if (is_first) {
                           std::copy_n(values, size, to + b * size);
                           std::fill_n(row + b * size, size, index[i]);
                         } else {
                           take_larger(values, index[i], size, to + b * size, row + b * size);
                         }
                         is_first = false;
                       }
                     }
                   });
    }
  });
}

// What each row was multiplied by, but for the weights per sample.
std::vector<double> coefficients_of(const Bags& bags, const int64_t* index, int64_t n_rows,
                                    const BagOptions& options) {
  int64_t n = static_cast<int64_t>(bags.bag_of.size());
  std::vector<double> result(n, 1.0);
  std::vector<int64_t> counts;
  if (options.scale_by_freq) counts = frequencies(index, n, n_rows);
  for (int64_t i = 0; i < n; ++i) {
    if (bags.bag_of[i] < 0) {
      result[i] = 0;
      continue;
    }
    if (options.mode == BagMode::Mean) result[i] /= static_cast<double>(bags.sizes[bags.bag_of[i]]);
    if (options.scale_by_freq) result[i] /= static_cast<double>(counts[index[i]]);
  }
  return result;
}

// From tensors alone, where the gradient is sparse or is to be differentiated again.
TensorList composed_bag_backward(const Tensor& g, const Tensor& weight, const Tensor& indices,
                                 const Tensor& bag_of, const Tensor& coefficients,
                                 const Tensor& per_sample, const BagOptions& options, Needs need) {
  Tensor of_each = index_select(g, 0, clamp_min(bag_of, Scalar(0)));
  Tensor factor = to_dtype(coefficients, g.dtype());
  TensorList grads(2);
  if (need[1]) {
    Tensor dots = sum(of_each * index_select(weight, 0, indices), {1});
    grads[1] = dots * ne(factor, wrapped_number(0));
  }
  if (need[0]) {
    if (per_sample.defined()) factor = factor * per_sample;
    Tensor values = of_each * unsqueeze(factor, -1);
    grads[0] = options.sparse ? sparse_rows("embedding_bag", values, indices, weight.size(0),
                                            options.padding_idx, options.scale_by_freq)
                              : index_add(zeros(weight.sizes(), g.dtype()), 0, indices, values);
  }
  return grads;
}

TensorList bag_backward(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                        const Tensor& bag_of, const Tensor& coefficients, const Tensor& per_sample,
                        const BagOptions& options, Needs need) {
  if (options.sparse ||
      (is_grad_enabled() && (grad.requires_grad() || weight.requires_grad() ||
                             (per_sample.defined() && per_sample.requires_grad()))))
    return composed_bag_backward(grad, weight, indices, bag_of, coefficients, per_sample, options,
                                 need);
  Tensor g = contiguous(grad), w = contiguous(weight);
  const int64_t *index = indices.data_as<int64_t>(), *bag = bag_of.data_as<int64_t>();
  check_range("embedding_bag", ErrorKind::Runtime, indices, w.size(0));
  // The caller has them too, in mode 'mean'.
  for (int64_t i = 0; i < bag_of.numel(); ++i)
    check(bag[i] < g.size(0), "embedding_bag: the bag of index ", i, " was changed to ", bag[i],
          " of ", g.size(0), " bags before the derivative.");
  const double* factor = coefficients.data_as<double>();
  Tensor samples =
      per_sample.defined() ? contiguous(cast_to(per_sample, DType::Float64)) : Tensor();
  const double* sample = samples.defined() ? samples.data_as<double>() : nullptr;
  const char *upstream = g.data(), *from = w.data();
  int64_t n = indices.numel(), size = w.size(1), row_bytes = size * w.itemsize();
  TensorList grads(2);
  if (need[0])
    grads[0] = sum_rows(
        g, w.size(0), index, n, [&](int64_t i) { return upstream + bag[i] * row_bytes; },
        [&](int64_t i) { return bag[i] < 0 ? 0.0 : factor[i] * (sample ? sample[i] : 1); });
  if (need[1]) {
    Tensor dots = zeros({n}, DType::Float64);
    double* dot = dots.data_as<double>();
    auto kernel = kernels_of(w).dot;
    int64_t grain = std::max<int64_t>(1, kRowGrain / 4 / std::max<int64_t>(1, size));
    parallel_for(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (bag[i] >= 0)
          dot[i] = kernel(upstream + bag[i] * row_bytes, from + index[i] * row_bytes, size);
    });
    grads[1] = cast_to(dots, per_sample.dtype());
  }
  return grads;
}

using BagResult = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// Sums and means of bags with tensor operations, for other devices. Padding belongs to a bag behind
// the last, which is cut off.
BagResult composed_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                        const Tensor& per_sample, const BagOptions& options) {
  Device device = weight.device();
  int64_t n = indices.numel(), n_bags = offsets.numel() - (options.has_last_offset ? 1 : 0);
  int64_t size = weight.size(1);
  Tensor bag_of, bag, sizes, is_kept;
  {
    NoGradGuard guard;
    check(offsets.numel() > 0 || n == 0, "embedding_bag: expected offsets[0] to be 0, got none.");
    if (offsets.numel() > 0 && !offsets.is_meta()) {
      int64_t first = item(select(offsets, 0, 0)).to_int();
      check(first == 0, "embedding_bag: expected offsets[0] to be 0, got ", first, ".");
    }
    // The last bag that begins at or before each index.
    Tensor begins = narrow(offsets, 0, 0, n_bags), number = arange(0, n, 1, DType::Int64, device);
    bag_of = empty({n}, DType::Int64, device);
    cuda::search_sorted(bag_of, contiguous(begins), number, n_bags, n, /*is_right=*/true);
    bag_of = bag_of - 1;
    is_kept = ne(indices, wrapped_number(options.padding_idx));
    if (options.has_last_offset)
      is_kept = logical_and(is_kept, lt(number, select(offsets, 0, n_bags)));
    bag = where(is_kept, bag_of, wrapped_number(n_bags));
    bag_of = where(is_kept, bag_of, wrapped_number(-1));
    sizes = narrow(row_counts(bag, n_bags + 1, DType::Int64), 0, 0, n_bags);
  }
  Tensor rows = embedding(weight, indices, -1, options.scale_by_freq, false);
  if (per_sample.defined()) rows = rows * unsqueeze(per_sample, 1);
  Tensor y = narrow(index_add(zeros({n_bags + 1, size}, weight.dtype(), device), 0, bag, rows), 0,
                    0, n_bags);
  if (options.mode == BagMode::Mean) {
    y = y / unsqueeze(to_dtype(clamp_min(sizes, Scalar(1)), y.dtype()), 1);
    return {y, bag_of, sizes, sizes};
  }
  if (options.mode == BagMode::Max)
    return {y, bag_of, sizes, empty({n_bags, size}, DType::Int64, device)};
  Tensor none = zeros({n_bags}, DType::Int64, device);
  return {y, empty({0}, DType::Int64, device), none, none};
}

// A sum, mean or maximum of rows for each bag, which begins at its offset; the bag of each index;
// the number of indices in each bag; and the row of each maximum. What a mode does not need is
// empty or zero.
BagResult reduce_bags(const Tensor& weight, const Tensor& given_indices,
                      const Tensor& given_offsets, const Tensor& per_sample,
                      const BagOptions& options) {
  const char* op = "embedding_bag";
  check(weight.dim() == 2, op, ": expected a weight of two dimensions, got ", weight, ".");
  check(is_floating(weight.dtype()), op, ": expected a floating-point weight, got ", weight, ".");
  check_same_device(op, {weight, given_indices});
  check_same_device(op, {weight, given_offsets});
  if (per_sample.defined()) check_same_device(op, {weight, per_sample});
  check(given_indices.dim() == 1, op, ": expected indices of one dimension, got ", given_indices,
        ".");
  check(given_offsets.dim() == 1, op, ": expected offsets of one dimension, got ", given_offsets,
        ".");
  Tensor indices = checked_indices(op, "indices", given_indices),
         offsets = checked_indices(op, "offsets", given_offsets);
  check_range(op, ErrorKind::Runtime, indices, weight.size(0));
  if (per_sample.defined()) {
    check(options.mode == BagMode::Sum, op, ": expected per_sample_weights in mode 'sum' only.");
    check(per_sample.dtype() == weight.dtype(), op,
          ": expected per_sample_weights of the weight's dtype ", weight.dtype(), ", got ",
          per_sample, ".");
    check(per_sample.sizes() == indices.sizes(), op,
          ": expected per_sample_weights of the shape of indices ", indices.sizes(), ", got ",
          per_sample, ".");
  }
  if (!weight.is_cpu()) {
    // On meta a maximum has the form of a sum.
    if (options.mode != BagMode::Max || weight.is_meta())
      return composed_bags(weight, indices, offsets, per_sample, options);
    // Maxima are chosen by the CPU, which has a kernel for them.
    auto moved = [](const Tensor& x, Device device) { return to(x, device, x.dtype(), false); };
    auto [y, bag_of, sizes, rows] =
        reduce_bags(moved(weight, {}), moved(indices, {}), moved(offsets, {}), per_sample, options);
    Device device = weight.device();
    return {moved(y, device), moved(bag_of, device), moved(sizes, device), moved(rows, device)};
  }
  Bags bags = bags_of(indices, offsets, options);
  const int64_t* index = indices.data_as<int64_t>();
  int64_t n_bags = bags.count(), size = weight.size(1);
  Tensor w = detach(contiguous(detach(weight)));
  Tensor bag_of = tensor_of(bags.bag_of), bag_sizes = tensor_of(bags.sizes);
  if (options.mode == BagMode::Max) {
    Tensor y = zeros({n_bags, size}, w.dtype()), rows = full({n_bags, size}, -1, DType::Int64);
    max_bags(y, rows, w, index, bags);
    y = record("EmbeddingBagBackward0", y, {weight},
               [sizes = weight.sizes(), rows = save(rows)](const Tensor& g) {
                 Tensor row = rows;  // -1 in an empty bag
                 return scatter_add(zeros(sizes, g.dtype()), 0, clamp_min(row, Scalar(0)),
                                    g * ge(row, wrapped_number(0)));
               });
    return {y, bag_of, bag_sizes, rows};
  }
  Tensor y = empty({n_bags, size}, w.dtype());
  Tensor factors;
  if (per_sample.defined()) factors = contiguous(cast_to(detach(per_sample), DType::Float64));
  sum_bags(y, w, index, bags, factors, options.mode == BagMode::Mean);
  Tensor coefficients;
  if (is_grad_enabled() &&
      (weight.requires_grad() || (per_sample.defined() && per_sample.requires_grad()))) {
    std::vector<double> values = coefficients_of(bags, index, weight.size(0), options);
    coefficients = empty({indices.numel()}, DType::Float64);
    std::copy(values.begin(), values.end(), coefficients.data_as<double>());
  }
  y = record("EmbeddingBagBackward0", y, {weight, per_sample},
             [w = save(weight), i = save(indices), b = save(bag_of), c = save(coefficients),
              p = save(per_sample), options](const Tensor& g, Needs need) {
               return bag_backward(g, w, i, b, c, p, options, need);
             });
  if (options.mode == BagMode::Mean) return {y, bag_of, bag_sizes, bag_sizes};
  Tensor none = zeros({n_bags}, DType::Int64);
  return {y, empty({0}, DType::Int64), none, none};
}

BagResult embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                        bool scale_by_freq, int64_t mode, bool sparse,
                        const OptionalTensor& per_sample_weights, bool include_last_offset,
                        std::optional<int64_t> padding_idx) {
  check(mode >= 0 && mode <= 2, "embedding_bag: expected a mode from 0 to 2, got ", mode, ".");
  int64_t n_rows = weight.dim() > 0 ? weight.size(0) : 0, padding = padding_idx.value_or(-1);
  check(!padding_idx || (padding >= -n_rows && padding < n_rows),
        "embedding_bag: padding_idx must be within the number of embeddings, -", n_rows, " to ",
        n_rows - 1, ", got ", padding, ".");
  if (padding_idx && padding < 0) padding += n_rows;
  return reduce_bags(
      weight, indices, offsets, per_sample_weights,
      {static_cast<BagMode>(mode), scale_by_freq, include_last_offset, padding, sparse});
}

}  // namespace

FACULA_BINDINGS {
  m.def("embedding", &embedding, "weight"_a, "indices"_a, "padding_idx"_a = -1,
        "scale_grad_by_freq"_a = false, "sparse"_a = false,
        R"(Rows of a table by index.
    weight: the table.
    indices: which rows are wanted, int64 or int32.
    padding_idx: a row that gets no gradient.
    scale_grad_by_freq: whether gradients are divided by how often their row was asked for.
    sparse: whether the gradient of the table is a sparse tensor.

Shape:
    weight ``(V, D)``, indices ``(*)``; result ``(*, D)``.
    >>> facula.embedding(facula.tensor([[1.0, 2.0], [3.0, 4.0]]), facula.tensor([1, 1]))
    tensor([[3., 4.],
            [3., 4.]]))"_doc);
  m.def("embedding_bag", &embedding_bag, "weight"_a, "indices"_a, "offsets"_a,
        "scale_grad_by_freq"_a = false, "mode"_a = 0, "sparse"_a = false,
        "per_sample_weights"_or_none, "include_last_offset"_a = false, "padding_idx"_or_none,
        R"(Sums, means or maxima of rows of a table, for bags of indices.

Besides the result: the bag of each index, the size of each bag and the row of each maximum, where
the mode needs them.
    weight: the table.
    indices: which rows are taken, all bags one after the other.
    offsets: where each bag begins.
    scale_grad_by_freq: whether gradients are divided by how often their row was asked for.
    mode: 0 for sums, 1 for means, 2 for maxima.
    sparse: whether the gradient of the table is a sparse tensor.
    per_sample_weights: a factor for each index, for sums.
    include_last_offset: whether the last offset is where the last bag ends.
    padding_idx: a row that is left out.

Shape:
    weight ``(V, D)``, indices ``(N,)``, offsets ``(B,)``; result ``(B, D)``.
    >>> table = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> facula.embedding_bag(table, facula.tensor([0, 1, 1]), facula.tensor([0, 1]))[0]
    tensor([[1., 2.],
            [6., 8.]]))"_doc);
}

}  // namespace facula
