// The inverse of max pooling, as far as there is one.
#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/ops.h"
#include "tensor/format.h"

namespace facula {

namespace {

constexpr const char* kNames[] = {"max_unpool1d", "max_unpool2d", "max_unpool3d"};
constexpr const char* kNodes[] = {"MaxUnpool1DBackward0", "MaxUnpool2DBackward0",
                                  "MaxUnpool3DBackward0"};

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
  Tensor flat = flatten(indices, from, -1), y;
  {
    NoGradGuard guard;
    if (flat.numel() > 0 && !flat.is_meta()) {
      int64_t low = item(amin(flat, {}, false)).to_int();
      int64_t high = item(amax(flat, {}, false)).to_int();
      check(low >= 0 && high < n_out, op, ": index ", low < 0 ? low : high,
            " is out of range for an output of ", output_size, ".");
    }
    y = scatter(zeros(flat_sizes, x.dtype(), x.device()), -1, flat, flatten(x, from, -1));
    y = alias(reshape(y, sizes));
    y = contiguous(y, n == 2 && x.dim() == 4 ? format_of(x) : MemoryFormat::Contiguous);
  }
  return record(kNodes[n - 1], y, {x},
                [indices = save(flat), sizes = x.sizes(), from](const Tensor& g) {
                  return reshape(gather(flatten(g, from, -1), -1, indices), sizes);
                });
}

}  // namespace

FACULA_BINDINGS {
  m.def("_max_unpool", &max_unpool, "input"_a, "indices"_a, "n"_a, "output_size"_a);
}

}  // namespace facula
