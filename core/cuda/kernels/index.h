// Reading and writing at indices (int64).
#pragma once
#include "cuda/kernels/fault.h"
#include "cuda/kernels/shape.h"
#include "math/evenly_spaced.h"
#include "math/triangle.h"
#ifdef __CUDACC_RTC__
#include "math/complex.h"
#endif

namespace facula {

// What an index must be. One that is not is reported, and its element left out.
struct IndexBounds {
  int64_t size;       // indices are below it
  int64_t wrap;       // added to negative ones: the size, or 0 where they are out of bounds
  const char* index;  // where the first one lies
  const char* op;
  int kind;  // of the error
  Fault* fault;
};

struct OffsetsArguments {
  int64_t* offsets;
  const int64_t* index;
  int64_t numel, step;
  IndexBounds bounds;
};

struct ReadArguments {
  char* y;
  const char *x, *index;
  int64_t step;  // bytes, of the indexed dimension
  IndexBounds bounds;
  Shape<3> shape;  // y, x, index
};

enum class IndexWrite : int { Set, Add, Prod, AMin, AMax };  // as cpu::WriteMode

struct WriteArguments {
  char* y;
  const char *x, *index;
  int64_t step;
  IndexWrite mode;
  IndexBounds bounds;
  Shape<3> free;    // y, x, index: elements that never meet, a thread to each
  Shape<2> serial;  // x, index: those that may, one after the other
};

// The same with the elements that may meet sorted by their place. They are numbered
// outer * serial.numel + serial, and have the key outer * bounds.size + place.
struct KeyArguments {
  const char* index;
  char* keys;
  IndexBounds bounds;
  Shape<1> outer, serial;
};

constexpr int kSegmentColumns = 4, kSegmentStep = 256;

struct SegmentArguments {
  char* y;
  const char *x, *keys, *order;
  int64_t n_keys, size, step;
  int64_t n_parts;  // of a row, of kSegmentColumns times kSegmentStep columns each
  IndexWrite mode;
  Shape<2> outer, inner;  // y, x
  Shape<1> serial;        // x
};

constexpr int kFindItems = 8, kFindTile = kFindItems * 256;

// Places of bytes that are not zero: how many there are in each tile, then which, at the place that
// the sum of the counts before gives.
struct FindArguments {
  const uint8_t* mask;
  int64_t* counts;  // a tile each
  int64_t* places;
  int64_t numel;
};

// A sum of the coordinates of the elements `places`, times weights.
struct PositionArguments {
  const int64_t* places;
  int64_t* sums;
  int64_t n;
  Shape<1> shape;
};

// Counts of so many bins are made in the shared memory of each block, then added up.
constexpr int kSharedBins = 4096;

struct CountArguments {
  const char* x;
  int64_t* counts;
  int64_t numel, bins;
  double low, high;
};

struct SearchArguments {
  const char *ordered, *values;
  int64_t* places;
  int64_t n, width, numel;
  bool is_right;
};

// What is on or below a diagonal of matrices, or on and above it.
struct TriangleArguments {
  char* y;
  int64_t numel, rows, cols, diagonal;
  bool keeps_lower;
};

// The rows of the elements of a triangle, then their columns.
struct TriangleListArguments {
  char* y;
  int64_t numel;
  math::Triangle triangle;
};

// Numbers at equal distances: integers start + i * step, others from + i * by, rounded once.
struct RangeArguments {
  char* y;
  int64_t numel, start, step;
  double from, by;
};

// As math::EvenlySpaced; numbers are real and imaginary parts.
struct SpacedArguments {
  char* y;
  int64_t numel, n_from_first;
  double first[2], last[2], step[2];
};

#ifdef __CUDACC_RTC__

// The place that an index says, or -1 where it is out of bounds.
FACULA_FN int64_t checked_place(const IndexBounds& bounds, const char* index) {
  int64_t value = *reinterpret_cast<const int64_t*>(index);
  int64_t place = value < 0 ? value + bounds.wrap : value;
  if (uint64_t(place) < uint64_t(bounds.size)) return place;
  Fault* fault = bounds.fault;
  if (atomicCAS(&fault->is_set, 0, 1) == 0) {
    fault->kind = bounds.kind;
    fault->op = bounds.op;
    fault->value = value;
    fault->size = bounds.size;
    fault->position = (index - bounds.index) / int64_t(sizeof(int64_t));
    __threadfence_system();
  }
  return -1;
}

FACULA_FN void find_places(const OffsetsArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  int64_t place = checked_place(a.bounds, reinterpret_cast<const char*>(a.index + i));
  a.offsets[i] = place < 0 ? 0 : place * a.step;
}

template <class T>
FACULA_FN void read_at(const ReadArguments& a) {
  int64_t i = thread_number(), at[3];
  if (i >= a.shape.numel) return;
  find_offsets(a.shape, i, at);
  int64_t place = checked_place(a.bounds, a.index + at[2]);
  T value{};
  if (place >= 0) value = *reinterpret_cast<const T*>(a.x + at[1] + place * a.step);
  *reinterpret_cast<T*>(a.y + at[0]) = value;
}

// As core/cpu/index/index.cpp has it, on wide numbers.
template <class W>
FACULA_FN W combined(IndexWrite mode, W old, W value) {
  if (mode == IndexWrite::Set) return value;
  if (mode == IndexWrite::Add) return math::add(old, value);
  if (mode == IndexWrite::Prod) return math::mul(old, value);
  if constexpr (is_complex_v<W>) {
    return value;  // complex numbers have no order; refused before
  } else {
    if (value != value) return value;
    return (mode == IndexWrite::AMin ? value < old : value > old) ? value : old;
  }
}

template <class T>
FACULA_FN void write_at(const WriteArguments& a) {
  int64_t i = thread_number(), at[3], step[2];
  if (i >= a.free.numel) return;
  find_offsets(a.free, i, at);
  for (int64_t s = 0; s < a.serial.numel; ++s) {
    find_offsets(a.serial, s, step);
    int64_t place = checked_place(a.bounds, a.index + at[2] + step[1]);
    if (place < 0) continue;
    T* y = reinterpret_cast<T*>(a.y + at[0] + place * a.step);
    T x = *reinterpret_cast<const T*>(a.x + at[1] + step[0]);
    *y = T(combined<Wide<T>>(a.mode, *y, x));
  }
}

template <class K>
FACULA_FN void make_keys(const KeyArguments& a) {
  int64_t i = thread_number(), s, outer_at, at;
  if (i >= a.outer.numel * a.serial.numel) return;
  int64_t outer = divide(i, a.serial.numel, s);
  find_offsets(a.outer, outer, &outer_at);
  find_offsets(a.serial, s, &at);
  int64_t place = checked_place(a.bounds, a.index + outer_at + at);
  // Behind all others.
  reinterpret_cast<K*>(a.keys)[i] =
      K((place < 0 ? a.outer.numel : outer) * a.bounds.size + (place < 0 ? 0 : place));
}

// The elements from number p on that have its key, if it is the first of them: in columns
// kSegmentStep apart.
template <class T, class K, class Order, int kColumns>
FACULA_FN void write_segment(const SegmentArguments& a, int64_t p, int64_t column) {
  const K* keys = reinterpret_cast<const K*>(a.keys);
  const Order* order = reinterpret_cast<const Order*>(a.order);
  K key = keys[p];
  if (p > 0 && keys[p - 1] == key) return;
  // Those of 32 bits have no sign.
  int64_t number = sizeof(K) == 4 ? int64_t(uint32_t(key)) : int64_t(key), place, outer_at[2];
  int64_t outer = divide(number, a.size, place);
  if (outer >= a.outer.numel) return;
  find_offsets(a.outer, outer, outer_at);
  T* y[kColumns] = {};
  const char* x[kColumns];
  Wide<T> totals[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    if (column + c * kSegmentStep >= a.inner.numel) continue;
    int64_t at[2];
    find_offsets(a.inner, column + c * kSegmentStep, at);
    y[c] = reinterpret_cast<T*>(a.y + outer_at[0] + at[0] + place * a.step);
    x[c] = a.x + outer_at[1] + at[1];
    totals[c] = *y[c];
  }
  for (; p < a.n_keys && keys[p] == key; ++p) {
    int64_t offset;
    find_offsets(a.serial, order[p] - outer * a.serial.numel, &offset);
#pragma unroll
    for (int c = 0; c < kColumns; ++c)
      if (y[c])
        totals[c] =
            combined<Wide<T>>(a.mode, totals[c], *reinterpret_cast<const T*>(x[c] + offset));
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c)
    if (y[c]) *y[c] = T(totals[c]);
}

template <class T, class K, class Order>
FACULA_FN void write_segments(const SegmentArguments& a) {
  int64_t column, p = divide(thread_number(), a.inner.numel, column);
  if (p < a.n_keys) write_segment<T, K, Order, 1>(a, p, column);
}

// A block to each part of a row: what does not depend on the column is found once for several.
template <class T, class K, class Order>
FACULA_FN void write_row_segments(const SegmentArguments& a) {
  int64_t part, p = divide(blockIdx.x, a.n_parts, part);
  write_segment<T, K, Order, kSegmentColumns>(a, p,
                                              part * kSegmentColumns * kSegmentStep + threadIdx.x);
}

FACULA_FN void count_nonzero(const FindArguments& a) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  int mine = 0;
  for (int k = 0; k < kFindItems; ++k) {
    int64_t i = int64_t(blockIdx.x) * kFindTile + k * 256 + threadIdx.x;
    mine += i < a.numel && a.mask[i] != 0;
  }
  atomicAdd(&total, mine);  // integers: in any order the same
  __syncthreads();
  if (threadIdx.x == 0) a.counts[blockIdx.x] = total;
}

FACULA_FN void list_nonzero(const FindArguments& a) {
  __shared__ int warp_totals[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int64_t to = a.counts[blockIdx.x];
  for (int k = 0; k < kFindItems; ++k) {
    int64_t i = int64_t(blockIdx.x) * kFindTile + k * 256 + threadIdx.x;
    bool is_set = i < a.numel && a.mask[i] != 0;
    unsigned set = __ballot_sync(0xffffffffu, is_set);
    if (lane == 0) warp_totals[warp] = __popc(set);
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < 8; ++w) {
      if (w < warp) before += warp_totals[w];
      all += warp_totals[w];
    }
    if (is_set) a.places[to + before + __popc(set & ((1u << lane) - 1))] = i;
    to += all;
    __syncthreads();
  }
}

FACULA_FN void sum_positions(const PositionArguments& a) {
  int64_t i = thread_number();
  if (i < a.n) find_offsets(a.shape, a.places[i], a.sums + i);
}

// Counts the elements i by bin(i), which is negative for those that are in none. Integers are
// counted: in any order the same.
template <class Bin>
FACULA_FN void count_elements(const CountArguments& a, Bin bin) {
  __shared__ unsigned own[kSharedBins];
  bool is_shared = a.bins <= kSharedBins;
  if (is_shared)
    for (int b = threadIdx.x; b < a.bins; b += blockDim.x) own[b] = 0;
  __syncthreads();
  for (int64_t i = thread_number(); i < a.numel; i += int64_t(gridDim.x) * blockDim.x) {
    int64_t b = bin(i);
    if (b < 0) continue;
    if (is_shared) {
      atomicAdd(own + b, 1u);
    } else {
      atomicAdd(reinterpret_cast<uint64_t*>(a.counts + b), uint64_t(1));
    }
  }
  __syncthreads();
  if (!is_shared) return;
  for (int b = threadIdx.x; b < a.bins; b += blockDim.x)
    if (own[b] > 0) atomicAdd(reinterpret_cast<uint64_t*>(a.counts + b), uint64_t(own[b]));
}

// As core/cpu/reduce/order_stats.h: `bins` equal intervals from low to high, which belongs to the
// last.
template <class T>
FACULA_FN void count_bins(const CountArguments& a) {
  T low = T(a.low), high = T(a.high), width = T(a.high - a.low);
  count_elements(a, [&](int64_t i) -> int64_t {
    T x = reinterpret_cast<const T*>(a.x)[i];
    if (!(x >= low && x <= high)) return -1;
    T place = (x - low) * T(a.bins) / width;
    return place < T(a.bins) ? int64_t(place) : a.bins - 1;
  });
}

FACULA_FN void count_numbers(const CountArguments& a) {
  count_elements(a, [&](int64_t i) { return reinterpret_cast<const int64_t*>(a.x)[i]; });
}

// Each value by halving: before elements that are equal, or behind. NaN is the largest.
template <class T>
FACULA_FN void search_sorted(const SearchArguments& a) {
  int64_t i = thread_number(), column;
  if (i >= a.numel) return;
  int64_t line = divide(i, a.width, column);
  const T* ordered = reinterpret_cast<const T*>(a.ordered) + line * a.n;
  Wide<T> value = reinterpret_cast<const T*>(a.values)[i];
  int64_t low = 0, high = a.n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    Wide<T> x = ordered[middle];
    bool is_before = a.is_right ? !(x > value) : !(x >= value);
    if (is_before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  a.places[i] = low;
}

template <class T>
FACULA_FN void clear_triangle(const TriangleArguments& a) {
  int64_t i = thread_number(), row, col;
  if (i >= a.numel) return;
  divide(divide(i, a.cols, col), a.rows, row);
  bool is_kept = a.keeps_lower ? col - row <= a.diagonal : col - row >= a.diagonal;
  if (!is_kept) reinterpret_cast<T*>(a.y)[i] = T{};
}

template <class T>
FACULA_FN void list_triangle(const TriangleListArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  int64_t row = a.triangle.row_of(i);
  T* y = reinterpret_cast<T*>(a.y) + i;
  y[0] = T(row);
  y[a.numel] = T(a.triangle.columns(row).first + i - a.triangle.numel(row));
}

template <class T>
FACULA_FN void make_range(const RangeArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  T* y = reinterpret_cast<T*>(a.y) + i;
  if constexpr (std::is_integral_v<T>) {
    *y = T(a.start + i * a.step);
  } else {
    *y = T(Wide<T>(a.from + double(i) * a.by));
  }
}

template <class T>
FACULA_FN void make_evenly_spaced(const SpacedArguments& a) {
  int64_t i = thread_number();
  if (i >= a.numel) return;
  using Numbers = math::EvenlySpaced<T>;
  using W = typename Numbers::W;
  auto number = [](const double* parts) {
    if constexpr (is_complex_v<W>) {
      return W(typename W::value_type(parts[0]), typename W::value_type(parts[1]));
    } else {
      return W(parts[0]);
    }
  };
  Numbers numbers{number(a.first), number(a.last), number(a.step), a.n_from_first, a.numel};
  reinterpret_cast<T*>(a.y)[i] = T(numbers(i));
}

#endif

}  // namespace facula
