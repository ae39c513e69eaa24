#include "ops/lines.h"

#include "ops/ops.h"

namespace facula {

namespace {

constexpr int64_t kLineGrain = 16384;

// Where the lines of each operand lie; dimension 0 is the innermost of those that count them.
struct Lines {
  int n_dims = 0;
  char* starts[kMaxOperands];
  int64_t steps[kMaxOperands], sizes[kMaxDims], strides[kMaxOperands][kMaxDims];
};

// Lines [begin, end). A constant number of operands, as for run_rows() in elementwise.cpp.
template <int n_operands>
void run_lines_of(const Lines& lines, int64_t begin, int64_t end, LineBody body) {
  char* base[kMaxOperands];
  int64_t at[kMaxDims];
  for (int i = 0; i < n_operands; ++i) base[i] = lines.starts[i];
  for (int64_t d = 0, rest = begin; d < lines.n_dims; ++d) {
    at[d] = rest % lines.sizes[d];
    rest /= lines.sizes[d];
    for (int i = 0; i < n_operands; ++i) base[i] += at[d] * lines.strides[i][d];
  }
  for (int64_t line = begin; line < end; ++line) {
    char* data[kMaxOperands];
    for (int i = 0; i < n_operands; ++i) data[i] = base[i];
    body(data, lines.steps);
    for (int d = 0; d < lines.n_dims; ++d) {
      for (int i = 0; i < n_operands; ++i) base[i] += lines.strides[i][d];
      if (++at[d] < lines.sizes[d]) break;
      for (int i = 0; i < n_operands; ++i) base[i] -= lines.sizes[d] * lines.strides[i][d];
      at[d] = 0;
    }
  }
}

}  // namespace

void for_each_line(std::initializer_list<TensorRef> operands, int64_t dim, int64_t line_cost,
                   LineBody body) {
  constexpr decltype(&run_lines_of<1>) run[kMaxOperands] = {run_lines_of<1>, run_lines_of<2>,
                                                            run_lines_of<3>, run_lines_of<4>,
                                                            run_lines_of<5>, run_lines_of<6>};
  const Tensor& first = **operands.begin();
  Lines lines;
  int k = 0;
  for (const TensorRef& x : operands) {
    lines.starts[k] = x->data();
    lines.steps[k] = first.dim() ? x->stride(dim) * x->itemsize() : 0;
    int n_dims = 0;
    for (int64_t d = first.dim() - 1; d >= 0; --d)
      if (d != dim) lines.strides[k][n_dims++] = x->stride(d) * x->itemsize();
    ++k;
  }
  int64_t n_lines = 1;
  for (int64_t d = first.dim() - 1; d >= 0; --d) {
    if (d == dim) continue;
    lines.sizes[lines.n_dims++] = first.size(d);
    n_lines *= first.size(d);
  }
  parallel_for(n_lines, std::max<int64_t>(1, kLineGrain / std::max<int64_t>(line_cost, 1)),
               [&](int64_t begin, int64_t end) { run[k - 1](lines, begin, end, body); });
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
