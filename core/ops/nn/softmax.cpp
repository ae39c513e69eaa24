#include "ops/nn/softmax.h"

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "cuda/nn/nn.h"
#include "ops/nn/softmax_rows.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "walk/reduction.h"

namespace facula {

namespace {

constexpr int64_t kSoftmaxGrain = 16384;

Tensor input_of(const char* op, const Tensor& input, std::optional<DType> dtype, const Into& into) {
  Tensor x = dtype ? to_dtype(input, *dtype) : input;
  check_into(op, into, x.sizes(), x.dtype(), {x}, OutDType::Same);
  check_not_implemented(is_floating(x.dtype()) || x.numel() == 0, op,
                        ": expected a floating-point input, got ", x,
                        ". Convert it with input.float().");
  check_real_derivative(op, x, x);
  return x;
}

// The result is contiguous.
Tensor run_forward(const Tensor& input, int64_t dim, bool is_log) {
  NoGradGuard guard;
  Tensor x = contiguous(input), y = empty(x.sizes(), x.dtype(), x.device());
  const cpu::SoftmaxTable& table = cpu::get_softmax_table();
  if (y.numel() == 0) return y;
  if (!x.is_cpu())
    cuda::softmax(y, x, dim, is_log);
  else
    run_softmax_rows(is_log ? table.log_softmax : table.softmax, x, dim, y.data(), nullptr);
  return y;
}

Tensor run_gradient(const Tensor& grad, const Tensor& result, int64_t dim, bool is_log) {
  NoGradGuard guard;
  Tensor g = contiguous(grad), y = contiguous(result), gx = empty(g.sizes(), g.dtype(), g.device());
  const cpu::SoftmaxTable& table = cpu::get_softmax_table();
  if (gx.numel() == 0) return gx;
  if (!g.is_cpu())
    cuda::softmax_backward(gx, g, y, dim, is_log);
  else
    run_softmax_rows(is_log ? table.log_softmax_backward : table.softmax_backward, g, dim,
                     gx.data(), y.data());
  return gx;
}

}  // namespace

void run_softmax_rows(const cpu::SoftmaxTable::Row& row, const Tensor& x, int64_t dim, char* y,
                      const char* b) {
  cpu::SoftmaxShape shape = {x.dim() ? x.size(dim) : 1, 1, 0};
  for (int64_t d = dim + 1; d < x.dim(); ++d) shape.inner *= x.size(d);
  shape.n_rows = x.numel() / shape.size;
  int64_t columns = std::min(shape.inner, cpu::kSoftmaxColumns);
  int64_t n_tasks = shape.n_rows / shape.inner * ceil_div(shape.inner, columns);
  const char* from = x.data();
  cpu::SoftmaxKernel kernel = kernel_of(row, x.dtype());
  parallel_for(n_tasks, std::max<int64_t>(1, kSoftmaxGrain / (shape.size * columns)),
               [&](int64_t begin, int64_t end) { kernel(y, from, b, shape, begin, end); });
}

Tensor softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype, const Into& into) {
  dim = wrap_dim("softmax", dim, input.dim());
  Tensor x = input_of("softmax", input, dtype, into);
  Tensor y = run_forward(x, dim, /*is_log=*/false);
  return record("SoftmaxBackward0", y, {x},
                [dim, y = save_output(y)](const Tensor& g) { return softmax_backward(g, y, dim); });
}

Tensor log_softmax(const Tensor& input, int64_t dim, std::optional<DType> dtype, const Into& into) {
  dim = wrap_dim("log_softmax", dim, input.dim());
  Tensor x = input_of("log_softmax", input, dtype, into);
  Tensor y = run_forward(x, dim, /*is_log=*/true);
  return record("LogSoftmaxBackward0", y, {x}, [dim, y = save_output(y)](const Tensor& g) {
    return log_softmax_backward(g, y, dim);
  });
}

// y * (g - sum(g * y)).
Tensor softmax_backward(const Tensor& g, const Tensor& y, int64_t dim) {
  Tensor gx = run_gradient(g, y, dim, /*is_log=*/false);
  return record("SoftmaxBackwardDataBackward0", gx, {g, y},
                [dim, g = save(g), y = save(y)](const Tensor& h, Needs need) -> TensorList {
                  Tensor upstream = g, weight = y;
                  Tensor to_y;
                  if (need[1]) {
                    Tensor dot = sum(upstream * weight, {dim}, true);
                    to_y = h * (upstream - dot) - upstream * sum(h * weight, {dim}, true);
                  }
                  return {need[0] ? softmax_backward(h, weight, dim) : Tensor(), to_y};
                });
}

// g - exp(y) * sum(g).
Tensor log_softmax_backward(const Tensor& g, const Tensor& y, int64_t dim) {
  Tensor gx = run_gradient(g, y, dim, /*is_log=*/true);
  return record("LogSoftmaxBackwardDataBackward0", gx, {g, y},
                [dim, g = save(g), y = save(y)](const Tensor& h, Needs need) -> TensorList {
                  Tensor weight = exp(Tensor(y));
                  return {need[0] ? h - sum(h * weight, {dim}, true) : Tensor(),
                          need[1] ? neg(h * weight * sum(Tensor(g), {dim}, true)) : Tensor()};
                });
}

FACULA_BINDINGS {
  def_op_out(m, "softmax", &softmax, "dim"_a, "dtype"_or_none,
             R"(Exponentials along a dimension, scaled to a sum of 1.
    input: logits, floating point.
    dim: the dimension that sums to 1.
    dtype: dtype of the result; the logits are converted first.
    out: where to put the result.
    >>> facula.softmax(facula.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000]))"_doc);
  def_op_out(m, "log_softmax", &log_softmax, "dim"_a, "dtype"_or_none,
             R"(Logarithm of softmax, without its loss of precision.
    input: logits, floating point.
    dim: the dimension along which the probabilities sum to 1.
    dtype: dtype of the result; the logits are converted first.
    out: where to put the result.
    >>> facula.log_softmax(facula.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931]))"_doc);
}

}  // namespace facula
