// The inverse of max pooling, as far as there is one.
#include <algorithm>
#include <atomic>

#include "autograd/node.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "cpu/nn/pool.h"
#include "ops/ops.h"
#include "tensor/format.h"
#include "walk/reduction.h"

namespace facula {

namespace {

constexpr const char* kNames[] = {"max_unpool1d", "max_unpool2d", "max_unpool3d"};
constexpr const char* kNodes[] = {"MaxUnpool1DBackward0", "MaxUnpool2DBackward0",
                                  "MaxUnpool3DBackward0"};

constexpr int64_t kUnpoolGrain = 16384;  // elements written by a task

void check_range(const char* op, const Tensor& indices, int64_t n_out, const Dims& output_size) {
  int64_t low = item(amin(indices, {}, false)).to_int();
  int64_t high = item(amax(indices, {}, false)).to_int();
  check(low >= 0 && high < n_out, op, ": index ", low < 0 ? low : high,
        " is out of range for an output of ", output_size, ".");
}

// x and indices with n dimensions that become one of n_out elements.
Tensor unpool_on_cpu(const char* op, const Tensor& input, const Tensor& places, const Dims& sizes,
                     const Dims& output_size, MemoryFormat format) {
  Tensor y = empty(sizes, input.dtype(), input.device(), format);
  int64_t n_out = checked_numel(output_size), n = static_cast<int64_t>(output_size.size());
  if (y.numel() == 0) {
    if (places.numel() > 0) check_range(op, places, n_out, output_size);
    return y;
  }
  Tensor x = contiguous(input, format), indices = contiguous(places, format);
  int64_t inner = format == MemoryFormat::Contiguous ? 1 : x.size(1), n_in = 1;
  for (int64_t d = x.dim() - n; d < x.dim(); ++d) n_in *= x.size(d);
  char* to = y.data();
  const char* from = x.data();
  const int64_t* at = indices.data_as<int64_t>();
  cpu::UnpoolKernel kernel = kernel_of(cpu::get_pool_table().unpool, x.dtype());
  std::atomic<bool> is_inside = true;
  parallel_for(y.numel() / (n_out * inner), std::max<int64_t>(1, kUnpoolGrain / (n_out * inner)),
               [&](int64_t begin, int64_t end) {
                 if (!kernel(to, from, at, n_out, n_in, inner, begin, end)) is_inside = false;
               });
  if (!is_inside) check_range(op, indices, n_out, output_size);
  return y;
}

// Zeros, with the elements of x at the places that max pooling over n dimensions gave as indices.
Tensor max_unpool(const Tensor& x, const Tensor& indices, int n, const Dims& output_size) {
  const char* op = kNames[n - 1];
  check(indices.dtype() == DType::Int64, op, ": expected int64 indices, got ", indices, ".");
  check_not_implemented(is_floating(x.dtype()), op, ": not implemented for ", x,
                        ". Convert it with input.float().");
  check(x.sizes() == indices.sizes(), op, ": expected input and indices of the same shape, got ", x,
        " and ", indices, ".");
  check(x.dim() == n + 1 || x.dim() == n + 2, op, ": expected an input of ", n + 1,
        " dimensions, or ", n + 2, " with a batch, got ", x, ".");
  for (int64_t d = x.dim() == n + 2; d < x.dim(); ++d)
    check(x.size(d) > 0, op, ": expected sizes that are not 0 (that of the batch may be), got ", x,
          ".");
  check(static_cast<int>(output_size.size()) == n, op, ": expected an output_size of ", n,
        " numbers, got ", output_size, ".");
  Dims sizes = x.sizes(), flat_sizes(x.sizes().begin(), x.sizes().end() - n);
  for (int i = 0; i < n; ++i) sizes[x.dim() - n + i] = output_size[i];
  int64_t n_out = checked_numel(output_size), from = x.dim() - n;
  flat_sizes.push_back(n_out);
  Tensor y;
  {
    NoGradGuard guard;
    MemoryFormat format = n == 2 && x.dim() == 4 ? format_of(x) : MemoryFormat::Contiguous;
    if (x.is_cpu()) {
      y = unpool_on_cpu(op, x, indices, sizes, output_size, format);
    } else {
      Tensor flat = flatten(indices, from, -1);
      y = scatter(zeros(flat_sizes, x.dtype(), x.device()), -1, flat, flatten(x, from, -1));
      y = contiguous(alias(reshape(y, sizes)), format);
    }
  }
  return record(kNodes[n - 1], y, {x},
                [indices = save(indices), sizes = x.sizes(), from](const Tensor& g) {
                  Tensor flat = flatten(indices, from, -1);
                  return reshape(gather(flatten(g, from, -1), -1, flat), sizes);
                });
}

}  // namespace

FACULA_BINDINGS {
  m.def("_max_unpool", &max_unpool, "input"_a, "indices"_a, "n"_a, "output_size"_a);
}

}  // namespace facula
