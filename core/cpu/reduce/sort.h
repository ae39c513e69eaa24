// Sorting and selection within one row of numbers. The order is the one of PyTorch: NaN is larger
// than every number, -0 equals 0, and equal elements keep their order. Defined for every dtype but
// the complex ones.
#pragma once
#include <cstdint>

namespace facula::cpu {

// Reads in[i * in_stride]; values and indices are contiguous. A large row is sorted by all threads.
template <class T>
void sort_row(const T* in, int64_t in_stride, T* values, int64_t* indices, int64_t n,
              bool descending);

// The k largest or smallest elements, best first; of equal elements the first ones. 0 <= k <= n.
template <class T>
void topk_row(const T* in, int64_t in_stride, T* values, int64_t* indices, int64_t n, int64_t k,
              bool largest);

}  // namespace facula::cpu
