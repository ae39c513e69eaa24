// What the kernels of attention.h are given.
#pragma once
#ifndef __CUDACC_RTC__
#include <cstdint>
#else
#include "cuda/kernels/types.h"
#endif

namespace facula {

constexpr int kAttentionRows = 32, kAttentionWidth = 128;  // of a block; columns at most

// Rows of heads of a batch, whose columns are neighbours; steps in elements.
struct AttentionSide {
  char* data;
  int64_t batch, head, row;
};

struct AttentionArguments {
  AttentionSide query, key, value, out;
  float* stats;  // of each row, the logarithm of the sum of the exponentials of its scores
  int64_t n_heads, n_queries, n_keys;
  int width, value_width;
  float scale;
  bool is_causal;
  // For gradients.
  AttentionSide grad, to_query, to_key, to_value;
  float* dots;
};

}  // namespace facula
