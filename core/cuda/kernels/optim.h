// The steps of the optimisers over all parameters of a dtype in one launch: the rules of
// math/optim.h on numbers.
#pragma once
#include "cuda/kernels/optim_arguments.h"
#include "math/arithmetic.h"
#include "math/optim.h"

namespace facula {

// What a rule reads and writes of one element.
template <class T, int kNumStates>
struct OptimElement {
  using V = Wide<T>;
  V values[2 + kNumStates];

  FACULA_FN void load(char* const* arrays, int64_t at) {
#pragma unroll
    for (int i = 0; i < 2 + kNumStates; ++i)
      if (arrays[i]) values[i] = V(reinterpret_cast<const T*>(arrays[i])[at]);
  }
  // All but the gradient.
  FACULA_FN void store(char* const* arrays, int64_t at) const {
#pragma unroll
    for (int i = 0; i < 2 + kNumStates; ++i)
      if (i != 1 && arrays[i]) reinterpret_cast<T*>(arrays[i])[at] = T(values[i]);
  }
  FACULA_FN V param() const { return values[0]; }
  FACULA_FN V grad() const { return values[1]; }
  FACULA_FN V state(int i) const { return values[2 + i]; }
  FACULA_FN void set_param(V v) { values[0] = v; }
  FACULA_FN void set_state(int i, V v) { values[2 + i] = v; }
};

template <class Rule, class T>
FACULA_FN void optim_step(const OptimArguments& a) {
  // The parameter that the block is for: the last that starts at it or before.
  int low = 0, high = a.n_slices;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (a.slices[middle].first_block <= int64_t(blockIdx.x))
      low = middle;
    else
      high = middle;
  }
  const OptimSlice& slice = a.slices[low];
  Rule rule;
  memcpy(&rule, slice.rule, sizeof(Rule));
  char* arrays[2 + Rule::kNumStates];
  for (int i = 0; i < 2 + Rule::kNumStates; ++i) arrays[i] = slice.arrays[i];
  int64_t n = slice.n;
  int64_t at = (int64_t(blockIdx.x) - slice.first_block) * kOptimBlock + threadIdx.x;
  // Loads of several elements are in flight before the first store, which might alias them.
  OptimElement<T, Rule::kNumStates> elements[kOptimPerThread];
#pragma unroll
  for (int i = 0; i < kOptimPerThread; ++i)
    if (at + i * kOptimThreads < n) elements[i].load(arrays, at + i * kOptimThreads);
#pragma unroll
  for (int i = 0; i < kOptimPerThread; ++i) {
    if (at + i * kOptimThreads >= n) continue;
    rule.update(elements[i]);
    elements[i].store(arrays, at + i * kOptimThreads);
  }
}

#define FACULA_STEP(Rule, name)                         \
  template <class T>                                    \
  FACULA_FN void name##_step(const OptimArguments& a) { \
    optim_step<math::Rule<double>, T>(a);               \
  }
FACULA_OPTIM_RULES(FACULA_STEP)
#undef FACULA_STEP

}  // namespace facula
