// Products with a matrix whose rows are lists of places: row r has values[k] in column columns[k]
// for k from starts[r] to starts[r + 1]. facula.sparse makes its products of these.
#include <atomic>
#include <vector>

#include "base/integers.h"
#include "base/parallel.h"
#include "cpu/nn/embedding.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "walk/reduction.h"
#include "walk/walk.h"

namespace facula {

namespace {

constexpr int64_t kGrain = 16384;  // multiplications of a task

struct Rows {
  Tensor starts, columns;
  const int64_t *start, *column;
  int64_t count, n_places;
};

// The lists come from users and from files: nothing outside of `n_columns` rows may be read.
Rows checked_rows(const char* op, const Tensor& starts, const Tensor& columns, int64_t n_columns) {
  check(starts.dim() == 1 && starts.numel() > 0 && columns.dim() == 1, op,
        ": expected vectors of starts and columns, got ", starts, " and ", columns, ".");
  check(starts.is_cpu() && columns.is_cpu(), op, ": is for tensors on the CPU.");
  Rows rows;
  rows.starts = contiguous(cast_to(starts, DType::Int64));
  rows.columns = contiguous(cast_to(columns, DType::Int64));
  rows.start = rows.starts.data_as<int64_t>();
  rows.column = rows.columns.data_as<int64_t>();
  rows.count = starts.numel() - 1;
  rows.n_places = columns.numel();
  bool is_sorted = rows.start[0] == 0 && rows.start[rows.count] == rows.n_places;
  for (int64_t r = 0; r < rows.count; ++r) is_sorted &= rows.start[r] <= rows.start[r + 1];
  check(is_sorted, op, ": expected starts that rise from 0 to the number of values, ",
        rows.n_places, ".");
  std::atomic<bool> is_inside{true};
  parallel_for(rows.n_places, kGrain, [&](int64_t begin, int64_t end) {
    bool all = true;  // without a branch, so that the loop is one of vectors
    for (int64_t k = begin; k < end; ++k)
      all &= static_cast<uint64_t>(rows.column[k]) < static_cast<uint64_t>(n_columns);
    if (!all) is_inside = false;
  });
  check(is_inside, op, ": an index is out of range for ", n_columns, " columns.");
  return rows;
}

// Rows of a task, where each of the places costs `per_place` multiplications.
int64_t grain_of(const Rows& rows, int64_t per_place) {
  int64_t work = rows.n_places * std::max<int64_t>(1, per_place) / std::max<int64_t>(1, rows.count);
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
}

// Rows of floating-point numbers, added with vectors.
void multiply_rows(const Rows& rows, const Tensor& values, const Tensor& dense, const Tensor& y) {
  auto kernels = cpu::get_embedding_table().kernels[static_cast<int>(y.dtype())];
  Tensor factors = contiguous(cast_to(values, DType::Float64));
  const double* factor = factors.data_as<double>();
  int64_t n = y.size(1), row_bytes = n * y.itemsize();
  int64_t sum_bytes = n * item_size(wide_dtype(y.dtype()));
  const char* from = dense.data();
  char* to = y.data();
  bool is_wide = row_bytes == sum_bytes;
  parallel_for(rows.count, grain_of(rows, n), [&](int64_t begin, int64_t end) {
    std::vector<char> sums(is_wide ? 0 : sum_bytes);
    for (int64_t r = begin; r < end; ++r) {
      char* sum = is_wide ? to + r * row_bytes : sums.data();
      std::memset(sum, 0, sum_bytes);
      for (int64_t k = rows.start[r]; k < rows.start[r + 1]; ++k)
        kernels.add_scaled(sum, from + rows.column[k] * row_bytes, factor[k], n);
      if (!is_wide) kernels.store_scaled(to + r * row_bytes, sum, 1, n);
    }
  });
}

// The same for every dtype, and for vectors.
template <class T>
void multiply_elements(const Rows& rows, const Tensor& values, const Tensor& dense,
                       const Tensor& y) {
  using W = Wide<T>;
  const T *value = values.data_as<T>(), *from = dense.data_as<T>();
  T* to = y.data_as<T>();
  int64_t n = y.size(1);
  parallel_for(rows.count, grain_of(rows, n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t j = 0; j < n; ++j) {
        W sum = W(0);
        for (int64_t k = rows.start[r]; k < rows.start[r + 1]; ++k)
          sum = sum + W(value[k]) * W(from[rows.column[k] * n + j]);
        to[r * n + j] = T(sum);
      }
  });
}

Tensor csr_mm(const Tensor& starts, const Tensor& columns, const Tensor& values,
              const Tensor& dense) {
  const char* op = "mm";
  check(dense.dim() == 2, op, ": expected a matrix, got ", dense, ".");
  check(values.dim() == 1 && values.numel() == columns.numel(), op,
        ": expected a value for each column, got ", values, ".");
  check(values.dtype() == dense.dtype(), op, ": expected factors of one dtype, got ",
        values.dtype(), " and ", dense.dtype(), ".");
  check_cpu(op, dense);
  check_cpu(op, values);
  Rows rows = checked_rows(op, starts, columns, dense.size(0));
  NoGradGuard guard;
  Tensor y = empty({rows.count, dense.size(1)}, dense.dtype());
  if (y.numel() == 0) return y;
  Tensor x = contiguous(dense), v = contiguous(values);
  if (is_floating(y.dtype()) && y.size(1) > 1) {
    multiply_rows(rows, v, x, y);
  } else {
    visit_dtype(y.dtype(),
                [&](auto tag) { multiply_elements<typename decltype(tag)::type>(rows, v, x, y); });
  }
  return y;
}

// For each place (r, c): the sum of a[r, j] * b[c, j] over j.
Tensor csr_dots(const Tensor& starts, const Tensor& columns, const Tensor& a, const Tensor& b) {
  const char* op = "sampled_addmm";
  check(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(1), op,
        ": expected matrices with rows of one length, got ", a, " and ", b, ".");
  check(a.dtype() == b.dtype() && is_floating(a.dtype()), op,
        ": expected floating-point matrices of one dtype, got ", a, " and ", b, ".");
  check_cpu(op, a);
  check_cpu(op, b);
  Rows rows = checked_rows(op, starts, columns, b.size(0));
  check(rows.count == a.size(0), op, ": expected ", rows.count, " rows, got ", a, ".");
  NoGradGuard guard;
  Tensor dots = empty({rows.n_places}, DType::Float64), left = contiguous(a), right = contiguous(b);
  double* to = dots.data_as<double>();
  auto dot = cpu::get_embedding_table().kernels[static_cast<int>(a.dtype())].dot;
  int64_t n = a.size(1), row_bytes = n * a.itemsize();
  const char *x = left.data(), *y = right.data();
  parallel_for(rows.count, grain_of(rows, n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t k = rows.start[r]; k < rows.start[r + 1]; ++k)
        to[k] = dot(x + r * row_bytes, y + rows.column[k] * row_bytes, n);
  });
  return cast_to(dots, a.dtype());
}

}  // namespace

FACULA_BINDINGS {
  m.def("_csr_mm", &csr_mm, "starts"_a, "columns"_a, "values"_a, "dense"_a,
        "A matrix of rows that are lists of places, times a dense one. Not recorded.");
  m.def("_csr_dots", &csr_dots, "starts"_a, "columns"_a, "a"_a, "b"_a,
        "The elements of ``a @ b.T`` at the places of a matrix. Not recorded.");
}

}  // namespace facula
