// The loops of element-wise kernels. A program that is compiled at first use defines a formula and
// calls them.
#pragma once
#include "cuda/kernels/arguments.h"
#include "cuda/kernels/types.h"

namespace facula {

// In place of the types of the inputs that a kernel does not have.
struct None {};

constexpr int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

template <class Out, class A, class B, class C>
constexpr int pack_of() {
  return pack_size(larger(larger(sizeof(Out), sizeof(A)), larger(sizeof(B), sizeof(C))));
}

// A number stands for all elements of an operand that is no tensor of the full shape.
template <class T>
__device__ __forceinline__ Wide<T> load_number(const Operand& operand) {
  if (operand.kind == OperandKind::Host) return from_word<Wide<T>>(operand.word);
  return *reinterpret_cast<const T*>(operand.data);
}

template <class T, int kPack>
__device__ __forceinline__ void load_pack(const Operand& operand, int64_t i, bool is_whole, int n,
                                          Wide<T>* to) {
  if (operand.kind != OperandKind::Tensor) {
    Wide<T> number = load_number<T>(operand);
#pragma unroll
    for (int j = 0; j < kPack; ++j) to[j] = number;
  } else if (is_whole) {
    Pack<T, kPack> pack = *reinterpret_cast<const Pack<T, kPack>*>(operand.data + i * sizeof(T));
#pragma unroll
    for (int j = 0; j < kPack; ++j) to[j] = pack.values[j];
  } else {
    // Unrolled, as an index that is not known would put the array into memory.
#pragma unroll
    for (int j = 0; j < kPack; ++j)
      if (j < n) to[j] = reinterpret_cast<const T*>(operand.data)[i + j];
  }
}

template <class F, class A, class B, class C>
__device__ __forceinline__ auto apply(const F& f, A a, B b, C c) {
  if constexpr (std::is_same_v<B, None>) {
    return f(a);
  } else if constexpr (std::is_same_v<C, None>) {
    return f(a, b);
  } else {
    return f(a, b, c);
  }
}

// Inputs lie as the output does, or are numbers; memory is aligned for packs.
template <class Out, class A, class B, class C, class F>
__device__ __forceinline__ void run_dense(const DenseArguments& arguments, const F& f) {
  constexpr int kPack = pack_of<Out, A, B, C>();
  int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) * kPack;
  if (i >= arguments.numel) return;
  int n = arguments.numel - i < kPack ? int(arguments.numel - i) : kPack;
  bool is_whole = n == kPack;
  Wide<A> a[kPack];
  Wide<B> b[kPack];
  Wide<C> c[kPack];
  load_pack<A, kPack>(arguments.operands[1], i, is_whole, n, a);
  if constexpr (!std::is_same_v<B, None>)
    load_pack<B, kPack>(arguments.operands[2], i, is_whole, n, b);
  if constexpr (!std::is_same_v<C, None>)
    load_pack<C, kPack>(arguments.operands[3], i, is_whole, n, c);
  Out* out = reinterpret_cast<Out*>(arguments.operands[0].data) + i;
  if (is_whole) {
    Pack<Out, kPack> pack;
#pragma unroll
    for (int j = 0; j < kPack; ++j) pack.values[j] = static_cast<Out>(apply(f, a[j], b[j], c[j]));
    *reinterpret_cast<Pack<Out, kPack>*>(out) = pack;
  } else {
#pragma unroll
    for (int j = 0; j < kPack; ++j)
      if (j < n) out[j] = static_cast<Out>(apply(f, a[j], b[j], c[j]));
  }
}

template <class T>
__device__ __forceinline__ Wide<T> load_one(const Operand& operand, int64_t offset) {
  if (operand.kind == OperandKind::Host) return from_word<Wide<T>>(operand.word);
  return *reinterpret_cast<const T*>(operand.data + offset);
}

// Where element i lies in each operand: its number divided by the sizes.
template <class Index, class Arguments>
__device__ __forceinline__ void find_offsets(const Arguments& arguments, int64_t i,
                                             int64_t (&offsets)[kMaxCudaOperands]) {
  Index rest = static_cast<Index>(i);
  for (int k = 0; k < kMaxCudaOperands; ++k) offsets[k] = 0;
  for (int d = 0; d < arguments.n_dims; ++d) {
    Index size = static_cast<Index>(arguments.sizes[d]);
    Index next = rest / size;
    int64_t at = rest - next * size;
    rest = next;
    for (int k = 0; k < kMaxCudaOperands; ++k) offsets[k] += at * arguments.strides[k][d];
  }
}

template <class Index, class Out, class A, class B, class C, class F, class Arguments>
__device__ __forceinline__ void run_strided(const Arguments& arguments, const F& f) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= arguments.numel) return;
  int64_t offsets[kMaxCudaOperands];
  find_offsets<Index>(arguments, i, offsets);
  Wide<A> a = load_one<A>(arguments.operands[1], offsets[1]);
  Wide<B> b;
  Wide<C> c;
  if constexpr (!std::is_same_v<B, None>) b = load_one<B>(arguments.operands[2], offsets[2]);
  if constexpr (!std::is_same_v<C, None>) c = load_one<C>(arguments.operands[3], offsets[3]);
  *reinterpret_cast<Out*>(arguments.operands[0].data + offsets[0]) =
      static_cast<Out>(apply(f, a, b, c));
}

// The pack at an offset, or, where the operand does not move along its lines, one number.
template <class T, int kPack>
__device__ __forceinline__ void load_line(const ShortArguments& arguments, int k, int64_t offset,
                                          Wide<T>* to) {
  const Operand& operand = arguments.operands[k];
  if (operand.kind == OperandKind::Host || arguments.strides[k][0] == 0) {
    Wide<T> number = load_one<T>(operand, offset);
#pragma unroll
    for (int j = 0; j < kPack; ++j) to[j] = number;
  } else {
    load_pack<T, kPack>({operand.data + offset, {}, OperandKind::Tensor}, 0, true, kPack, to);
  }
}

// Dense lines, packs of which are the elements that the arguments count.
template <class Out, class A, class B, class C, class F>
__device__ __forceinline__ void run_lines(const ShortArguments& arguments, const F& f) {
  constexpr int kPack = pack_of<Out, A, B, C>();
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= arguments.numel) return;
  int64_t offsets[kMaxCudaOperands];
  find_offsets<uint32_t>(arguments, i, offsets);
  Wide<A> a[kPack];
  Wide<B> b[kPack];
  Wide<C> c[kPack];
  load_line<A, kPack>(arguments, 1, offsets[1], a);
  if constexpr (!std::is_same_v<B, None>) load_line<B, kPack>(arguments, 2, offsets[2], b);
  if constexpr (!std::is_same_v<C, None>) load_line<C, kPack>(arguments, 3, offsets[3], c);
  Pack<Out, kPack> pack;
#pragma unroll
  for (int j = 0; j < kPack; ++j) pack.values[j] = static_cast<Out>(apply(f, a[j], b[j], c[j]));
  *reinterpret_cast<Pack<Out, kPack>*>(arguments.operands[0].data + offsets[0]) = pack;
}

}  // namespace facula

// The entry point of a program with this formula, which is made from the arguments. Few dimensions
// of less than 2^31 elements have a kernel of their own.
#define FACULA_DENSE(name, Formula, Out, A, B, C)                           \
  extern "C" __global__ void name(const facula::DenseArguments arguments) { \
    facula::run_dense<Out, A, B, C>(arguments, Formula(arguments.numbers)); \
  }
#define FACULA_LINES(name, Formula, Out, A, B, C)                           \
  extern "C" __global__ void name(const facula::ShortArguments arguments) { \
    facula::run_lines<Out, A, B, C>(arguments, Formula(arguments.numbers)); \
  }
#define FACULA_STRIDED(name, Formula, Out, A, B, C)                                     \
  extern "C" __global__ void name(const facula::ShortArguments arguments) {             \
    facula::run_strided<uint32_t, Out, A, B, C>(arguments, Formula(arguments.numbers)); \
  }
#define FACULA_STRIDED_LONG(name, Formula, Out, A, B, C)                                \
  extern "C" __global__ void name(const facula::LongArguments arguments) {              \
    facula::run_strided<uint64_t, Out, A, B, C>(arguments, Formula(arguments.numbers)); \
  }
