// What the host passes to kernels; compiled on both sides.
#pragma once
#ifdef __CUDACC_RTC__
#include "cuda/kernels/types.h"
#else
#include <cstdint>
#endif

namespace facula {

#ifndef __CUDACC_RTC__
// A number of any dtype, in the first bytes.
struct Word {
  uint64_t bits[2];
};
#endif

// Elements that a thread of the dense kernel computes, by the size of the largest: 16-bit ones,
// too, are read 16 bytes at a time.
constexpr int pack_size(int64_t largest_bytes) { return largest_bytes <= 2 ? 8 : 4; }
constexpr int kMaxCudaOperands = 4;  // the output and three inputs
constexpr int kMaxNumbers = 3;
constexpr int kShortDims = 6;
constexpr int kLongDims = 64;

enum class OperandKind : int {
  Tensor,
  Number,  // one element in device memory
  Host,    // a 0-d tensor of the CPU, whose value travels with the launch
};

struct Operand {
  char* data;
  Word word;  // of Host: a number of the wide type of the operand's dtype
  OperandKind kind;
};

struct DenseArguments {
  int64_t numel;
  Operand operands[kMaxCudaOperands];
  Word numbers[kMaxNumbers];
};

template <int kDims>
struct StridedArguments {
  int64_t numel;
  int n_dims;
  Operand operands[kMaxCudaOperands];
  Word numbers[kMaxNumbers];
  int64_t sizes[kDims];  // the innermost first
  int64_t strides[kMaxCudaOperands][kDims];
};
using ShortArguments = StridedArguments<kShortDims>;
using LongArguments = StridedArguments<kLongDims>;

constexpr int kReduceThreads = 256;
// Elements that a reduction reads at once where it can: 16 bytes, of the smallest ones 8.
constexpr int reduce_pack(int64_t item_size) { return item_size == 1 ? 8 : int(16 / item_size); }

struct ReduceNumbers {
  double p, divisor;
  bool takes_root;
};
struct ReduceAxis {
  int64_t size;
  int64_t stride;  // bytes
};

// n_out reductions of n_in elements. Several threads, `n_lanes` of them, share one; each result is
// cut into n_pieces.
template <int kDims>
struct ReduceArgumentsOf {
  const char* data;
  char* values;
  char* seconds;   // null where the operation has one result
  char* partials;  // accumulators, n_pieces to a result; null where that is 1
  int64_t n_out, n_in;
  int64_t n_pieces, piece_size;
  int n_lanes;
  bool lanes_are_neighbours;  // in the block: neighbouring threads share a result, else they have
                              // neighbouring results
  ReduceNumbers numbers;
  int n_kept, n_reduced;
  ReduceAxis kept[kDims];
  ReduceAxis reduced[kDims];
};
using ReduceArguments = ReduceArgumentsOf<kShortDims>;
using LongReduceArguments = ReduceArgumentsOf<kLongDims>;

}  // namespace facula
