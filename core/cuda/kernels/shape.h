// Operands over one shape, and the sizes of tensors that kernels divide by.
#pragma once
#ifdef __CUDACC_RTC__
#include "cuda/kernels/types.h"
#include "math/primitives.h"
#else
#include <cstdint>
#endif

namespace facula {

// More dimensions than this, which do not continue each other in memory, are refused.
constexpr int kShapeDims = 24;

template <int kOperands>
struct Shape {
  int64_t numel;
  int n_dims;
  int64_t sizes[kShapeDims];               // the innermost first
  int64_t strides[kOperands][kShapeDims];  // bytes
};

// A number below 2^31 by which others below 2^31 are divided, by a multiplication: for n up to 2^k,
// m = floor(2^32 (2^k - n) / n) + 1 makes i / n the same as (i m / 2^32 + i) / 2^k for all such i.
struct Divisor {
  uint32_t n = 1, multiplier = 1;
  int shift = 0;

  Divisor() = default;
  // Of an empty dimension nothing is counted; its number is as good as another.
  Divisor(int64_t number) : n(number > 0 ? static_cast<uint32_t>(number) : 1) {
    while (int64_t(1) << shift < number) ++shift;
    uint64_t rest = (uint64_t(1) << shift) - n;
    multiplier = static_cast<uint32_t>((rest << 32) / n + 1);
  }
  operator int() const { return static_cast<int>(n); }
};

#ifdef __CUDACC_RTC__

// The number of this thread among all of a grid of one dimension.
FACULA_FN int64_t thread_number() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }

// i / n, and what is left: in 32 bits where they hold both, which is many times faster.
FACULA_FN int64_t divide(int64_t i, int64_t n, int64_t& rest) {
  int64_t quotient = uint64_t(i | n) >> 32 ? i / n : int64_t(uint32_t(i) / uint32_t(n));
  rest = i - quotient * n;
  return quotient;
}

FACULA_FN int64_t quotient(int64_t i, int64_t n) {
  int64_t rest;
  return divide(i, n, rest);
}

FACULA_FN int divide(int i, const Divisor& n, int& rest) {
  auto high = uint32_t(uint64_t(uint32_t(i)) * n.multiplier >> 32);
  int quotient = int((high + uint32_t(i)) >> n.shift);
  rest = i - quotient * n;
  return quotient;
}
FACULA_FN int quotient(int i, const Divisor& n) {
  int rest;
  return divide(i, n, rest);
}

// Where element i lies in each operand.
template <int kOperands>
FACULA_FN void find_offsets(const Shape<kOperands>& shape, int64_t i, int64_t* offsets) {
  for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
  for (int d = 0; d < shape.n_dims; ++d) {
    int64_t at;
    i = divide(i, shape.sizes[d], at);
    for (int k = 0; k < kOperands; ++k) offsets[k] += at * shape.strides[k][d];
  }
}

#endif

}  // namespace facula
