// Distances between rows, without derivatives: those are of the differences and their norms.
#include "cpu/linalg/distance.h"
#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "ops/ops.h"
#include "walk/reduction.h"

namespace facula {

namespace {

// Calls f(kernel, data of x1, of x2 and of the result) in the type to compute in, and returns the
// result in that of x1.
template <class F>
Tensor computed(const Tensor& x1, const Tensor& x2, const Dims& sizes, F f) {
  NoGradGuard guard;
  DType dtype = wide_dtype(x1.dtype());
  Tensor a = contiguous(to_dtype(x1, dtype)), b = contiguous(to_dtype(x2, dtype));
  Tensor y = empty(sizes, dtype, x1.device());
  const cpu::DistanceTable& table = cpu::get_distance_table();
  if (y.is_meta()) return to_dtype(y, x1.dtype());
  if (dtype == DType::Float64) {
    f(table.float64, a.data_as<double>(), b.data_as<double>(), y.data_as<double>());
  } else {
    f(table.float32, a.data_as<float>(), b.data_as<float>(), y.data_as<float>());
  }
  return to_dtype(y, x1.dtype());
}

// Rows that are worth giving to a thread, each of `work` numbers.
int64_t grain_of(int64_t work) { return ceil_div(1 << 15, std::max<int64_t>(work, 1)); }

// Of (*, n, m) and (*, r, m), with the same batches: (*, n, r).
// PyTorch's cdist passes NaN by where it looks for a maximum; its pdist does not.
Tensor row_distances(const Tensor& x1, const Tensor& x2, double p) {
  int64_t n = x1.size(-2), r = x2.size(-2), m = x1.size(-1);
  Dims sizes = x1.sizes();
  sizes.back() = r;
  int64_t n_rows = 1;
  for (int64_t d = 0; d + 1 < x1.dim(); ++d) n_rows *= x1.size(d);
  return computed(x1, x2, sizes, [&](auto kernel, auto* a, auto* b, auto* y) {
    parallel_for(n_rows, grain_of(r * m), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        kernel(a + i * m, b + i / n * r * m, r, m, p, true, y + i * r);
    });
  });
}

// Of all pairs of rows of (n, m), each once: (n (n - 1) / 2,).
Tensor pair_distances(const Tensor& x, double p) {
  int64_t n = x.size(0), m = x.size(1);
  return computed(x, x, {n * (n - 1) / 2}, [&](auto kernel, auto* a, auto*, auto* y) {
    parallel_for(n, grain_of(n * m / 2), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        kernel(a + i * m, a + (i + 1) * m, n - i - 1, m, p, false, y + i * (2 * n - i - 1) / 2);
    });
  });
}

}  // namespace

FACULA_BINDINGS {
  m.def("_row_distances", &row_distances, "x1"_a, "x2"_a, "p"_a);
  m.def("_pair_distances", &pair_distances, "input"_a, "p"_a);
}

}  // namespace facula
