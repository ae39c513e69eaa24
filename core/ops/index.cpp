#include "ops/index.h"

#include "autograd/node.h"
#include "ops/ops.h"

namespace facula {

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha) {
  dim = wrap_dim("index_add", dim, x.dim());
  Tensor y = clone(x);
  NoGradGuard guard;
  Tensor rows = contiguous(to_dtype(index, DType::Int64));
  for (int64_t i = 0; i < rows.numel(); ++i) {
    int64_t at = rows.data_as<int64_t>()[i];
    check_index(at >= 0 && at < x.size(dim), "index_add: index ", at, " is out of bounds for dimension ", dim, " with size ", x.size(dim), ".");
    Tensor row = select(y, dim, at);
    add_(row, select(source, dim, i), alpha);
  }
  return y;
}

}  // namespace facula
