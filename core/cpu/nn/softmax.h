// Softmax and its kin over a (outer, size, inner) tensor, contiguous: the middle dimension is
// normalised.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

struct SoftmaxShape {
  int64_t size;
  int64_t inner;  // 1: rows are contiguous, else `inner` rows lie side by side
  int64_t n_rows;
};

// `a` and `b` as the row needs them: softmax and log_softmax read a; the derivatives read the
// gradient a and the result b. Rows [begin, end) for inner == 1; otherwise blocks of
// kSoftmaxColumns columns of the outer slices.
using SoftmaxKernel = void (*)(char* y, const char* a, const char* b, SoftmaxShape shape,
                               int64_t begin, int64_t end);

constexpr int64_t kSoftmaxColumns = 64;

struct SoftmaxTable {
  using Row = std::array<SoftmaxKernel, kNumDTypes>;
  Row softmax;
  Row log_softmax;
  Row softmax_backward;      // b * (a - sum(a * b))
  Row log_softmax_backward;  // a - exp(b) * sum(a)
  // For cross entropy. Of each row, in the type it is computed in: y[0][row] its maximum, y[1][row]
  // the logarithm of the sum of the exponentials of what is below it.
  Row log_sum_exp;
  Row scaled_softmax;  // exp(a - b[0][row] - b[1][row]) * b[2][row]
};

FACULA_KERNEL_TABLE(SoftmaxTable, softmax_table)

}  // namespace facula::cpu
