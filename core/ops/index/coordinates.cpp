// Coordinates of sparse tensors: a column of `indices` for each value, with its index in every
// sparse dimension. A place is the number of a column among all of a tensor of these sizes, row by
// row. facula.sparse makes its operations of these.
#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "ops/index/places.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

namespace facula {

namespace {

constexpr int64_t kGrain = 16384;  // columns of a task
constexpr int64_t kBlock = 1024;   // of them, which stay in L1 from one dimension to the next

[[noreturn]] void fail_outside(const Tensor& indices, const Dims& sizes) {
  for (int64_t d = 0; d < indices.size(0); ++d) {
    auto [low, high] = aminmax(select(indices, 0, d));
    check(item(low).to_int() >= 0, "found negative index ", item(low).to_int(), " for dim ", d);
    check(item(high).to_int() < sizes[d], "size is inconsistent with indices: for dim ", d,
          ", size is ", sizes[d], " but found index ", item(high).to_int());
  }
  fail(ErrorKind::Runtime, "sparse indices were changed while they were used.");
}

Dims strides_of(const Dims& sizes, int64_t n_dims) {
  return contiguous_strides(Dims(sizes.begin(), sizes.begin() + n_dims));
}

// All bounds are brought to the CPU at once: each copy waits.
void check_inside_on_cuda(const Tensor& indices, const Dims& sizes) {
  if (indices.numel() == 0) return;
  auto [low, high] = aminmax(indices, 1);
  Tensor bounds = to(stack({low, high}), Device(), DType::Int64, false);
  const int64_t *lows = bounds.data_as<int64_t>(), *highs = lows + indices.size(0);
  for (int64_t d = 0; d < indices.size(0); ++d)
    if (lows[d] < 0 || highs[d] >= sizes[d]) fail_outside(indices, sizes);
}

Tensor places_on_cuda(const Tensor& indices, const Dims& sizes, bool is_inside) {
  if (!is_inside) check_inside_on_cuda(indices, sizes);
  const Dims strides = strides_of(sizes, indices.size(0));
  Tensor places = zeros({indices.size(1)}, DType::Int64, indices.device());
  for (int64_t d = 0; d < indices.size(0); ++d)
    places = places + select(indices, 0, d) * strides[d];
  return places;
}

Tensor scatter_on_cuda(const Tensor& indices, const Tensor& values, const Dims& sizes) {
  Tensor at = places_on_cuda(indices, sizes, false);
  // The sum of truths is whether one of them is True.
  bool is_bool = values.dtype() == DType::Bool;
  Tensor added = is_bool ? to_dtype(values, DType::Int64) : values;
  Dims rows = values.sizes();
  rows[0] = 1;
  for (int64_t d = 0; d < indices.size(0); ++d) rows[0] *= sizes[d];
  Tensor sums = index_add(zeros(rows, added.dtype(), values.device()), 0, at, added);
  return reshape(to_dtype(sums, values.dtype()), sizes);
}

void check_indices(const Tensor& indices, const Dims& sizes) {
  check(indices.dim() == 2 && indices.dtype() == DType::Int64 &&
            indices.size(0) <= static_cast<int64_t>(sizes.size()),
        "sparse: expected int64 indices, a row for each of at most ", sizes.size(),
        " dimensions, got ", indices, ".");
}

// Indices come from users and from files: all of them are compared with the sizes. On a GPU that is
// waited for, unless it is known that they are inside.
Tensor places(const Tensor& indices, const Dims& sizes, bool is_inside) {
  check_indices(indices, sizes);
  NoGradGuard guard;
  int64_t n_dims = indices.size(0), n = indices.size(1);
  if (!indices.is_cpu()) return places_on_cuda(indices, sizes, is_inside);
  const Dims strides = strides_of(sizes, n_dims);
  Tensor in = contiguous(indices), out = zeros({n}, DType::Int64);
  const int64_t* index = in.data_as<int64_t>();
  int64_t* place = out.data_as<int64_t>();
  std::atomic<bool> are_all_inside{true};
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    bool is_all = true;  // without a branch, so that the loops are of vectors
    for (int64_t block = begin; block < end; block += kBlock)
      for (int64_t d = 0; d < n_dims; ++d) {
        const int64_t* row = index + d * n;
        const auto size = static_cast<uint64_t>(sizes[d]);
        const auto stride = static_cast<uint64_t>(strides[d]);  // an index may be any number
        for (int64_t k = block; k < std::min(block + kBlock, end); ++k) {
          is_all &= static_cast<uint64_t>(row[k]) < size;
          place[k] = static_cast<int64_t>(static_cast<uint64_t>(place[k]) +
                                          static_cast<uint64_t>(row[k]) * stride);
        }
      }
    if (!is_all) are_all_inside = false;
  });
  if (!are_all_inside) fail_outside(in, sizes);
  return out;
}

bool is_rising(const Tensor& x) {
  NoGradGuard guard;
  int64_t n = x.numel();
  if (n < 2) return true;
  if (!x.is_cpu()) return item(all(gt(narrow(x, 0, 1, n - 1), narrow(x, 0, 0, n - 1)))).to_bool();
  Tensor in = contiguous(x);
  const int64_t* number = in.data_as<int64_t>();
  for (int64_t begin = 1; begin < n; begin += kBlock) {
    bool is_all = true;
    for (int64_t k = begin; k < std::min(begin + kBlock, n); ++k)
      is_all &= number[k - 1] < number[k];
    if (!is_all) return false;
  }
  return true;
}

// Adds rows of values to the places of their columns, in the order of the columns.
template <class T>
bool add_rows(const Tensor& indices, const Tensor& values, const Tensor& out) {
  const Dims strides = strides_of(out.sizes(), indices.size(0));
  const int64_t n_dims = indices.size(0), n = indices.size(1), width = values.numel() / n;
  const int64_t* index = indices.data_as<int64_t>();
  const T* from = values.data_as<T>();
  T* to = out.data_as<T>();
  for (int64_t k = 0; k < n; ++k) {
    int64_t place = 0;
    for (int64_t d = 0; d < n_dims; ++d) {
      int64_t i = index[d * n + k];
      if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(out.size(d))) return false;
      place += i * strides[d];
    }
    for (int64_t j = 0; j < width; ++j) {
      T& sum = to[place * width + j];
      sum = T(Wide<T>(sum) + Wide<T>(from[k * width + j]));
    }
  }
  return true;
}

// Zeros with the values added at their places.
Tensor scatter_places(const Tensor& indices, const Tensor& values, const Dims& sizes) {
  check_indices(indices, sizes);
  check(values.dim() > 0 && values.size(0) == indices.size(1) &&
            static_cast<int64_t>(sizes.size()) == indices.size(0) + values.dim() - 1 &&
            std::equal(values.sizes().begin() + 1, values.sizes().end(),
                       sizes.begin() + indices.size(0)),
        "sparse: expected a value for each index, got ", values, " and ", indices, ".");
  NoGradGuard guard;
  if (!indices.is_cpu()) return scatter_on_cuda(indices, values, sizes);
  if (adds_in_float(values, indices.size(1))) {
    Tensor sums = scatter_places(indices, to_dtype(values, DType::Float32), sizes);
    return to_dtype(sums, values.dtype());
  }
  Tensor out = zeros(sizes, values.dtype());
  if (values.numel() == 0) {
    places(indices, sizes, false);
    return out;
  }
  Tensor in = contiguous(indices), rows = contiguous(values);
  bool is_inside = true;
  visit_dtype(out.dtype(),
              [&](auto tag) { is_inside = add_rows<typename decltype(tag)::type>(in, rows, out); });
  if (!is_inside) fail_outside(in, sizes);
  return out;
}

}  // namespace

FACULA_BINDINGS {
  m.def("_places", &places, "indices"_a, "sizes"_a, "is_inside"_a = false,
        "The number of each column of indices among all places of a tensor of these sizes.");
  m.def("_is_rising", &is_rising, "numbers"_a, "Whether integers are sorted, each once.");
  m.def("_scatter_places", &scatter_places, "indices"_a, "values"_a, "sizes"_a,
        "The dense tensor of these values at these indices, equal ones added up. Not recorded.");
}

}  // namespace facula
