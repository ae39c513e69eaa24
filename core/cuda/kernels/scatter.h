// Writing at indices of lines that one block sorts by their places.
#pragma once
#include "cuda/kernels/index.h"
#include "cuda/kernels/sort.h"

namespace facula {

struct TileWriteArguments {
  char* y;
  const char *x, *index;
  int64_t step;
  IndexWrite mode;
  IndexBounds bounds;
  Shape<3> outer;   // y, x, index: a block to each
  Shape<2> serial;  // x, index: elements that may meet, no more than a tile
};

#ifdef __CUDACC_RTC__

template <class T>
FACULA_FN void write_tile(const TileWriteArguments& a) {
  __shared__ TileCounts counts;
  __shared__ uint32_t keys[kSortTile];
  __shared__ uint16_t order[kSortTile];
  int n = int(a.serial.numel), items = (n + kSortThreads - 1) / kSortThreads;
  int first = threadIdx.x / 32 * 32 * items + threadIdx.x % 32;
  int64_t outer_at[3], at[2];
  find_offsets(a.outer, blockIdx.x, outer_at);
  uint32_t key[kSortItems], none = uint32_t(a.bounds.size);  // behind all others
  int number[kSortItems];
  for (int i = threadIdx.x; i < n; i += kSortThreads) {
    find_offsets(a.serial, i, at);
    int64_t place = checked_place(a.bounds, a.index + outer_at[2] + at[1]);
    keys[i] = place < 0 ? none : uint32_t(place);
    order[i] = uint16_t(i);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    number[k] = first + k * 32;
    if (k < items && number[k] < n) key[k] = keys[number[k]];
  }
  for (int shift = 0; shift < 32 && none >> shift > 0; shift += kDigitBits)
    move_items<kSortItems>(
        counts, n, items, [&](int k) { return digit_of(key[k], shift); }, key, number, keys, order);
  // Sums of equal places are made in the order of their elements, by one thread.
  for (int i = threadIdx.x; i < n; i += kSortThreads) {
    uint32_t place = keys[i];
    if (place == none || (i > 0 && keys[i - 1] == place)) continue;
    T* y = reinterpret_cast<T*>(a.y + outer_at[0] + place * a.step);
    Wide<T> total = *y;
    for (int j = i; j < n && keys[j] == place; ++j) {
      find_offsets(a.serial, order[j], at);
      total =
          combined<Wide<T>>(a.mode, total, *reinterpret_cast<const T*>(a.x + outer_at[1] + at[0]));
    }
    *y = T(total);
  }
}

#endif

}  // namespace facula
