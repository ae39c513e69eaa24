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

  FACULA_FN V param() const { return values[0]; }
  FACULA_FN V grad() const { return values[1]; }
  FACULA_FN V state(int i) const { return values[2 + i]; }
  FACULA_FN void set_param(V v) { values[0] = v; }
  FACULA_FN void set_state(int i, V v) { values[2 + i] = v; }
};

// Neighbours, of which n are there. Read and written as one where all are and memory is aligned.
template <class T, int kNumStates>
struct OptimPack {
  static constexpr int kSize = 16 / sizeof(T);
  OptimElement<T, kNumStates> elements[kSize];

  FACULA_FN void load(char* const* arrays, int64_t at, int64_t n, bool is_aligned) {
#pragma unroll
    for (int i = 0; i < 2 + kNumStates; ++i) {
      if (!arrays[i]) continue;
      const T* from = reinterpret_cast<const T*>(arrays[i]) + at;
      if (is_aligned && n >= kSize) {
        Pack<T, kSize> pack = *reinterpret_cast<const Pack<T, kSize>*>(from);
#pragma unroll
        for (int j = 0; j < kSize; ++j) elements[j].values[i] = pack.values[j];
      } else {
#pragma unroll
        for (int j = 0; j < kSize; ++j)
          if (j < n) elements[j].values[i] = from[j];
      }
    }
  }
  // All but the gradient.
  FACULA_FN void store(char* const* arrays, int64_t at, int64_t n, bool is_aligned) const {
#pragma unroll
    for (int i = 0; i < 2 + kNumStates; ++i) {
      if (i == 1 || !arrays[i]) continue;
      T* to = reinterpret_cast<T*>(arrays[i]) + at;
      Pack<T, kSize> pack;
#pragma unroll
      for (int j = 0; j < kSize; ++j) pack.values[j] = T(elements[j].values[i]);
      if (is_aligned && n >= kSize) {
        *reinterpret_cast<Pack<T, kSize>*>(to) = pack;
      } else {
#pragma unroll
        for (int j = 0; j < kSize; ++j)
          if (j < n) to[j] = pack.values[j];
      }
    }
  }
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
  using Elements = OptimPack<T, Rule::kNumStates>;
  constexpr int kPacks = kOptimPerThread / Elements::kSize;
  uint64_t addresses = 0;
  for (char* array : arrays) addresses |= reinterpret_cast<uint64_t>(array);
  bool is_aligned = addresses % 16 == 0;
  int64_t first = (int64_t(blockIdx.x) - slice.first_block) * kOptimBlock;
  auto at = [&](int i) { return first + (i * kOptimThreads + threadIdx.x) * Elements::kSize; };
  // Loads of several packs are in flight before the first store, which might alias them.
  Elements packs[kPacks];
#pragma unroll
  for (int i = 0; i < kPacks; ++i)
    if (at(i) < slice.n) packs[i].load(arrays, at(i), slice.n - at(i), is_aligned);
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    if (at(i) >= slice.n) continue;
#pragma unroll
    for (int j = 0; j < Elements::kSize; ++j) rule.update(packs[i].elements[j]);
    packs[i].store(arrays, at(i), slice.n - at(i), is_aligned);
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
