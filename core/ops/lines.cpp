#include "ops/lines.h"

#include "ops/ops.h"

namespace facula {

namespace {

constexpr int64_t kLineGrain = 16384;

}  // namespace

void for_each_line(std::initializer_list<TensorRef> operands, int64_t dim, int64_t line_cost,
                   LineBody body) {
  const Tensor& first = **operands.begin();
  int n_operands = static_cast<int>(operands.size()), n_dims = 0;
  char* starts[kMaxOperands];
  int64_t steps[kMaxOperands], sizes[kMaxDims], strides[kMaxOperands][kMaxDims];
  int64_t n_lines = 1;
  int k = 0;
  for (const TensorRef& x : operands) {
    starts[k] = x->data();
    steps[k] = first.dim() ? x->stride(dim) * x->itemsize() : 0;
    n_dims = 0;
    for (int64_t d = first.dim() - 1; d >= 0; --d)
      if (d != dim) strides[k][n_dims++] = x->stride(d) * x->itemsize();
    ++k;
  }
  n_dims = 0;
  for (int64_t d = first.dim() - 1; d >= 0; --d) {
    if (d == dim) continue;
    sizes[n_dims++] = first.size(d);
    n_lines *= first.size(d);
  }
  parallel_for(n_lines, std::max<int64_t>(1, kLineGrain / std::max<int64_t>(line_cost, 1)),
               [&](int64_t begin, int64_t end) {
                 char* base[kMaxOperands];
                 int64_t at[kMaxDims];
                 std::copy_n(starts, n_operands, base);
                 for (int64_t d = 0, rest = begin; d < n_dims; ++d) {
                   at[d] = rest % sizes[d];
                   rest /= sizes[d];
                   for (int i = 0; i < n_operands; ++i) base[i] += at[d] * strides[i][d];
                 }
                 for (int64_t line = begin; line < end; ++line) {
                   char* data[kMaxOperands];
                   std::copy_n(base, n_operands, data);
                   body(data, steps);
                   for (int d = 0; d < n_dims; ++d) {
                     for (int i = 0; i < n_operands; ++i) base[i] += strides[i][d];
                     if (++at[d] < sizes[d]) break;
                     for (int i = 0; i < n_operands; ++i) base[i] -= sizes[d] * strides[i][d];
                     at[d] = 0;
                   }
                 }
               });
}

void run_lines(std::initializer_list<TensorRef> operands, int64_t dim, Loop loop,
               const void* params) {
  const Tensor& first = **operands.begin();
  int64_t n = first.dim() ? first.size(dim) : 1;
  if (first.numel() == 0) return;
  for_each_line(operands, dim, n,
                [&](char** data, const int64_t* steps) { loop(data, steps, n, params); });
}

void run_lines_reversed(std::initializer_list<TensorRef> operands, int64_t dim, Loop loop) {
  const Tensor& first = **operands.begin();
  int64_t n = first.dim() ? first.size(dim) : 1;
  int n_operands = static_cast<int>(operands.size());
  if (first.numel() == 0) return;
  for_each_line(operands, dim, n, [&](char** data, const int64_t* steps) {
    int64_t back[kMaxOperands];
    for (int i = 0; i < n_operands; ++i) {
      data[i] += (n - 1) * steps[i];
      back[i] = -steps[i];
    }
    loop(data, back, n, nullptr);
  });
}

Tensor with_plain_bools(const Tensor& x) { return x.dtype() == DType::Bool ? clone(x) : x; }

Tensor put_along(const Tensor& g, int64_t dim, const Tensor& index, int64_t size) {
  Dims sizes = g.sizes();
  if (!sizes.empty()) sizes[dim] = size;
  // Many elements may meet in one: 16 bits would lose the small ones.
  DType wide = is_floating(g.dtype()) ? promote_types(g.dtype(), DType::Float32) : g.dtype();
  return to_dtype(scatter_add(zeros(sizes, wide, g.device()), dim, index, to_dtype(g, wide)),
                  g.dtype());
}

}  // namespace facula
