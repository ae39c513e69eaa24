// What the host passes to the steps of optimisers; compiled on both sides.
#pragma once
#ifdef __CUDACC_RTC__
#include "cuda/kernels/types.h"
#else
#include <cstdint>
#endif

namespace facula {

constexpr int kOptimThreads = 256, kOptimPerThread = 8;
constexpr int kOptimBlock = kOptimThreads * kOptimPerThread;  // elements
constexpr int kOptimArrays = 5, kOptimRuleBytes = 128;

// A parameter: arrays of n elements in one order, of itself, its gradient and its states, some of
// which may be missing.
struct OptimSlice {
  char* arrays[kOptimArrays];
  int64_t n, first_block;
  alignas(double) unsigned char rule[kOptimRuleBytes];  // of math/optim.h over double, begun
};
struct OptimArguments {
  const OptimSlice* slices;
  int n_slices;
};

}  // namespace facula
