// Sorting by digits of 8 bits, the lowest first: each pass keeps the order of equal digits.
#pragma once
#include "cuda/kernels/shape.h"

namespace facula {

constexpr int kSortDigits = 256, kSortItems = 8, kSortWarps = 8,
              kSortTile = 32 * kSortWarps * kSortItems;

// The keys of elements in lines, one behind the other, and their numbers.
struct SortKeyArguments {
  const char* x;
  char* keys;
  int64_t* order;
  int64_t numel;
  bool is_descending;
};

// A pass: by a digit of the keys, or of the lines that elements belong to.
struct DigitArguments {
  const char* keys;
  char* keys_to;
  const int64_t* order;
  int64_t* order_to;
  int64_t* counts;  // by digit, then tile; moves need the sums of all counts before
  int64_t numel, n_tiles, line_size;
  int shift;
  bool is_by_line;
};

// The elements in order, and their places in the lines; of each line the first `kept`.
struct SortedArguments {
  const char* x;
  const int64_t* order;
  char* values;
  int64_t* places;
  int64_t n_lines, line_size, kept;
};

#ifdef __CUDACC_RTC__

template <int kBytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = uint64_t;
};
template <class T>
using Key = typename UnsignedOf<sizeof(T)>::type;

// As core/cpu/reduce/sort_key.h: equal elements have equal keys, NaN the largest.
template <class T>
FACULA_FN Key<T> to_key(T value) {
  constexpr int bits_of = 8 * sizeof(T);
  constexpr Key<T> sign = static_cast<Key<T>>(Key<T>(1) << (bits_of - 1));
  Key<T> bits;
  memcpy(&bits, &value, sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (!std::is_integral_v<T>) {
    Wide<T> wide = value;
    if (wide != wide) return static_cast<Key<T>>(~Key<T>(0));
    if (bits == sign) bits = 0;  // -0 equals 0
    return static_cast<Key<T>>(bits & sign ? ~bits : bits | sign);
  } else {
    return static_cast<Key<T>>(std::is_signed_v<T> ? bits ^ sign : bits);
  }
}

template <class T>
FACULA_FN void make_sort_keys(const SortKeyArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  Key<T> key = to_key(reinterpret_cast<const T*>(a.x)[i]);
  reinterpret_cast<Key<T>*>(a.keys)[i] = a.is_descending ? static_cast<Key<T>>(~key) : key;
  a.order[i] = i;
}

template <class T>
FACULA_FN int digit_at(const DigitArguments& a, int64_t i) {
  uint64_t key;
  if (a.is_by_line) {
    int64_t rest;
    key = uint64_t(divide(a.order[i], a.line_size, rest));
  } else {
    key = reinterpret_cast<const Key<T>*>(a.keys)[i];
  }
  return int(key >> a.shift) & (kSortDigits - 1);
}

template <class T>
FACULA_FN void count_digits(const DigitArguments& a) {
  __shared__ int counts[kSortDigits];
  counts[threadIdx.x] = 0;
  __syncthreads();
  for (int k = 0; k < kSortItems; ++k) {
    int64_t i = int64_t(blockIdx.x) * kSortTile + k * blockDim.x + threadIdx.x;
    if (i < a.numel) atomicAdd(&counts[digit_at<T>(a, i)], 1);
  }
  __syncthreads();
  a.counts[threadIdx.x * a.n_tiles + blockIdx.x] = counts[threadIdx.x];
}

// A warp takes kSortItems times 32 neighbours, 32 at a time.
template <class T>
FACULA_FN void move_by_digit(const DigitArguments& a) {
  __shared__ int counts[kSortWarps][kSortDigits];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int w = 0; w < kSortWarps; ++w) counts[w][threadIdx.x] = 0;
  __syncthreads();
  int64_t first = int64_t(blockIdx.x) * kSortTile + warp * (32 * kSortItems) + lane;
  int digits[kSortItems], ranks[kSortItems];
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    bool is_inside = first + k * 32 < a.numel;
    int digit = is_inside ? digit_at<T>(a, first + k * 32) : kSortDigits;
    unsigned same = __match_any_sync(0xffffffffu, digit);
    int rank = __popc(same & ((1u << lane) - 1));
    digits[k] = digit;
    ranks[k] = is_inside ? counts[warp][digit] + rank : 0;
    __syncwarp();
    if (is_inside && rank == 0) counts[warp][digit] += __popc(same);
    __syncwarp();
  }
  __syncthreads();
  int before = 0;
  for (int w = 0; w < kSortWarps; ++w) {
    int count = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = before;
    before += count;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    int64_t i = first + k * 32;
    if (i >= a.numel) continue;
    int64_t to = a.counts[digits[k] * a.n_tiles + blockIdx.x] + counts[warp][digits[k]] + ranks[k];
    a.order_to[to] = a.order[i];
    if (!a.is_by_line)
      reinterpret_cast<Key<T>*>(a.keys_to)[to] = reinterpret_cast<const Key<T>*>(a.keys)[i];
  }
}

template <class T>
FACULA_FN void take_sorted(const SortedArguments& a) {
  int64_t i = thread_number(), rank;
  if (i >= a.n_lines * a.kept) return;
  int64_t line = divide(i, a.kept, rank), from = a.order[line * a.line_size + rank];
  reinterpret_cast<T*>(a.values)[i] = reinterpret_cast<const T*>(a.x)[from];
  a.places[i] = from - line * a.line_size;
}

#endif

}  // namespace facula
