#include <algorithm>

#include "autograd/node.h"
#include "ops/nn/softmax_rows.h"
#include "ops/ops.h"
#include "ops/reduce/arguments.h"

namespace facula {

namespace {

// Along one dimension, which is kept: in the order of memory, without a tensor of the exponentials.
Tensor logsumexp_along(const Tensor& x, int64_t dim) {
  Dims order, back(x.dim(), 0), sizes = {2};
  for (int64_t d = 0; d < x.dim(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return x.stride(a) > x.stride(b); });
  for (int64_t d = 0; d < x.dim(); ++d) {
    back[order[d]] = d;
    sizes.push_back(order[d] == dim ? 1 : x.size(order[d]));
  }
  Tensor stats = empty(sizes, wide_dtype(x.dtype()));
  run_softmax_rows(cpu::get_softmax_table().log_sum_exp, contiguous(permute(x, order)), back[dim],
                   stats.data(), nullptr);
  Tensor high = select(stats, 0, 0), y = where(isinf(high), high, high + select(stats, 0, 1));
  return to_dtype(contiguous(permute(y, back)), x.dtype());
}

Tensor logsumexp(const Tensor& input, const Dims& dims, bool keepdim) {
  Tensor x = is_differentiable(input.dtype()) ? input : to_dtype(input, get_default_dtype());
  DimMask mask = dim_mask("logsumexp", dims, x.dim());
  Tensor y;
  {
    NoGradGuard guard;
    if (reduced_numel(x, mask) == 0 || x.numel() == 0) {
      y = log(sum(exp(x), dims, true));
    } else if (x.is_cpu() && is_floating(x.dtype()) && x.dim() > 0 &&
               (dims.size() == 1 || x.dim() == 1)) {
      y = logsumexp_along(x, dims.empty() ? 0 : wrap_dim("logsumexp", dims[0], x.dim()));
    } else {
      Tensor high = amax(real(x), dims, true);
      high = where(isinf(high), scalar_tensor(0, high.dtype()), high);
      y = log(sum(exp(x - high), dims, true)) + high;
    }
    if (!keepdim) y = alias(reshape(y, reduced_shape(x, mask, false)));
  }
  return record("LogsumexpBackward0", y, {x},
                [mask, keepdim, x = save(x), y = save_output(y)](const Tensor& g) {
                  Tensor input = x;
                  auto kept = [&](const Tensor& t) {
                    return with_kept_dims(t, input.sizes(), mask, keepdim);
                  };
                  // A result of -inf means that every element is: their weights are 0, not NaN.
                  Tensor high = kept(y);
                  high = is_complex(high.dtype())
                             ? high
                             : where(isneginf(high), scalar_tensor(0, high.dtype()), high);
                  return kept(g) * conj(exp(input - high));
                });
}

}  // namespace

FACULA_BINDINGS {
  const char* logsumexp_doc =
      R"(The logarithm of the sum of exponentials along dimensions, without overflow.
    input: the exponents; integers and bool become the default dtype.
    dim: the dimensions to sum over, an int or several.
    keepdim: whether to keep the reduced dimensions with size 1.
    out: where to put the result.
    >>> facula.logsumexp(facula.tensor([1000.0, 1000.0]), dim=0)
    tensor(1000.6932))"_doc;
  def_op_out(m, "logsumexp", &logsumexp, "dim"_a, "keepdim"_a = false, logsumexp_doc);
}

}  // namespace facula
