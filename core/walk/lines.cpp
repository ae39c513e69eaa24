#include "walk/lines.h"

#include <algorithm>

namespace facula {

namespace {

constexpr int64_t kLineGrain = 16384;

// Where the lines of each operand lie; dimension 0 is the innermost of those that count them.
struct Lines {
  int n_operands, n_dims = 0;
  char* starts[kMaxOperands];
  int64_t steps[kMaxOperands], sizes[kMaxDims], strides[kMaxDims][kMaxOperands];
};

// A dimension that continues the one before it in every operand becomes part of it.
void append(Lines& lines, int64_t size, const int64_t* strides) {
  if (size == 1) return;
  int last = lines.n_dims - 1;
  bool continues = last >= 0;
  for (int i = 0; continues && i < lines.n_operands; ++i)
    continues = strides[i] == lines.strides[last][i] * lines.sizes[last];
  if (continues) {
    lines.sizes[last] *= size;
    return;
  }
  std::copy_n(strides, lines.n_operands, lines.strides[lines.n_dims]);
  lines.sizes[lines.n_dims++] = size;
}

// Lines [begin, end).
void run_lines(const Lines& lines, int64_t begin, int64_t end, LinesBody body) {
  for (int64_t line = begin, n; line < end; line += n) {
    char* data[kMaxOperands];
    std::copy_n(lines.starts, lines.n_operands, data);
    int64_t rest = line;
    for (int d = 0; d < lines.n_dims; ++d, rest /= lines.sizes[d - 1])
      for (int i = 0; i < lines.n_operands; ++i)
        data[i] += rest % lines.sizes[d] * lines.strides[d][i];
    n = std::min(lines.sizes[0] - line % lines.sizes[0], end - line);
    body(data, lines.steps, lines.strides[0], n);
  }
}

}  // namespace

void for_many_lines(std::initializer_list<TensorRef> operands, int64_t dim, int64_t line_cost,
                    LinesBody body) {
  const Tensor& first = **operands.begin();
  Lines lines;
  lines.n_operands = 0;
  for (const TensorRef& x : operands) {
    lines.starts[lines.n_operands] = x->data();
    lines.steps[lines.n_operands++] = first.dim() ? x->stride(dim) * x->itemsize() : 0;
  }
  int64_t n_lines = 1;
  for (int64_t d = first.dim() - 1; d >= 0; --d) {
    if (d == dim) continue;
    int64_t strides[kMaxOperands], *stride = strides;
    for (const TensorRef& x : operands) *stride++ = x->stride(d) * x->itemsize();
    append(lines, first.size(d), strides);
    n_lines *= first.size(d);
  }
  if (lines.n_dims == 0) {  // one line
    std::fill_n(lines.strides[0], lines.n_operands, 0);
    lines.sizes[lines.n_dims++] = 1;
  }
  parallel_for(n_lines, std::max<int64_t>(1, kLineGrain / std::max<int64_t>(line_cost, 1)),
               [&](int64_t begin, int64_t end) { run_lines(lines, begin, end, body); });
}

void for_each_line(std::initializer_list<TensorRef> operands, int64_t dim, int64_t line_cost,
                   LineBody body) {
  size_t n_operands = operands.size();
  for_many_lines(
      operands, dim, line_cost,
      [&](char** data, const int64_t* steps, const int64_t* line_steps, int64_t n_lines) {
        char* line[kMaxOperands];
        for (int64_t l = 0; l < n_lines; ++l) {
          for (size_t i = 0; i < n_operands; ++i) line[i] = data[i] + l * line_steps[i];
          body(line, steps);
        }
      });
}

}  // namespace facula
