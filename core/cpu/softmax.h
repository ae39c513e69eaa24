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
};

FACULA_KERNEL_TABLE(SoftmaxTable, softmax_table)

}  // namespace facula::cpu
