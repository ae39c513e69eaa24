// Attention in blocks of queries and keys. See Note [Blocked attention] in attention.cpp.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

// The rows of a (batch, head, row, column) tensor, whose columns lie together. Strides count
// elements.
struct HeadRows {
  char* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;
};

// What is added to the scores, of the type that is computed in; or bool, and what is false is left
// out.
struct AttentionMask {
  const char* data = nullptr;  // null: no mask
  bool is_bool = false;
  int64_t batch = 0, head = 0, row = 0, col = 0;
};

struct Attention {
  int64_t n_batch, n_heads, n_queries, n_keys, width, value_width;
  int64_t heads_per_key;    // so many heads of queries share one head of keys and values
  int64_t blocks_per_span;  // so many blocks of queries, at most kMaxSpan, share copies of the keys
  double scale;
  bool is_causal;
  HeadRows query, key, value, out;
  AttentionMask mask;
  char* logsumexp;  // of the scores, (batch, head, query), of the type that is computed in
};

// With several parts, which share the queries of a head, grad_key and grad_value are of the type
// that is computed in and have n_parts times as many batches, to be added.
struct AttentionGrad {
  HeadRows out, query, key, value;
  char* scores;  // null, or (batch, head, query, key) of the type that is computed in
  int64_t n_parts;
};

constexpr int64_t kAttentionQueries = 64;  // in a block
constexpr int64_t kMaxSpan = 4;

struct AttentionKernels {
  int64_t (*scratch_bytes)(const Attention& x);
  // Spans of queries [begin, end) of all heads.
  void (*forward)(const Attention& x, char* scratch, int64_t begin, int64_t end);
  int64_t (*backward_scratch_bytes)(const Attention& x);
  // Parts [begin, end) of all heads of keys.
  void (*backward)(const Attention& x, const AttentionGrad& grad, char* scratch, int64_t begin,
                   int64_t end);
};

struct AttentionTable {
  std::array<AttentionKernels, kNumDTypes> by_dtype;
};
FACULA_KERNEL_TABLE(AttentionTable, attention_table)

}  // namespace facula::cpu
