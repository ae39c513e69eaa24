// Sorting by digits of 8 bits, the lowest first: each pass keeps the order of equal digits. Lines
// that fit into shared memory are sorted there; others in passes over all of the memory.
#pragma once
#include "cuda/kernels/shape.h"

namespace facula {

constexpr int kSortThreads = 256, kSortWarps = kSortThreads / 32, kSortDigits = kSortThreads,
              kDigitBits = 8;
// What a block holds: lines of up to kShortTile elements need less memory and fewer registers.
constexpr int kSortItems = 16, kSortTile = kSortItems * kSortThreads, kShortItems = 4,
              kShortTile = kShortItems * kSortThreads;

// Lines of contiguous x that fit into a tile, several to a block; of each the first `kept` in order
// and their places.
struct TileSortArguments {
  const char* x;
  char* values;
  int64_t* places;
  int64_t n_lines;
  int line_size, kept, lines_per_block;
  bool is_descending;
};

// Passes over lines of any size, from keys[0] and order[0] to keys[1] and order[1] and back. In the
// first, the order is that of the elements. Counts have as many bits as numbers in the order.
struct DigitArguments {
  const char* x;  // none where keys[0] are given
  char *keys[2], *order[2];
  int* next_tile;  // by digit: the tile that the next block takes
  int* is_same;    // by line and digit: whether all keys have the same, and the pass is left out
  char* starts;    // by line, digit and its value: how many keys of the line have a smaller one
  char* states;    // by digit, line, tile and the digit's value: a TileState and a count
  int64_t n_lines, line_size, n_tiles, n_pieces, piece_size;
  int n_digits, digit;
  bool is_descending;
  bool moves_always;  // no pass is left out: who reads the result knows where it is
};

// The elements in order, and their places in the lines; of each line the first `kept`.
struct SortedArguments {
  const char* x;
  char* values;
  int64_t* places;
  int64_t kept;
  DigitArguments sorted;
};

struct ClearArguments {
  uint64_t* words;
  int64_t n;
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
FACULA_FN Key<T> to_key(T value, bool is_descending) {
  Key<T> key = to_key(value);
  return is_descending ? static_cast<Key<T>>(~key) : key;
}

template <class K>
FACULA_FN int digit_of(K key, int shift) {
  return int(key >> shift & (kSortDigits - 1));
}

// The sum of the numbers of all threads before this one.
template <class N>
FACULA_FN N sum_of_threads_before(N mine) {
  __shared__ N totals[kSortWarps];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  N sum = mine;
  for (int step = 1; step < 32; step *= 2) {
    N other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) totals[warp] = sum;
  __syncthreads();
  N before = sum - mine;
  for (int w = 0; w < warp; ++w) before += totals[w];
  return before;
}

struct TileCounts {
  uint16_t of_warp[kSortWarps][kSortDigits];
  int starts[kSortDigits];  // how many items of the tile have a smaller digit
};

// The ranks of a tile's n items by their digits. Each warp has `items` times 32 neighbours, of
// which a thread has every 32nd. Returns how many items have the digit threadIdx.x.
template <int kItems, class Digit>
FACULA_FN int rank_items(TileCounts& counts, int n, int items, Digit digit_at,
                         int (&ranks)[kItems]) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = warp * 32 * items + lane;
  for (int w = 0; w < kSortWarps; ++w) counts.of_warp[w][threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (k >= items) continue;  // of all threads: an array in registers needs a fixed loop
    bool is_inside = first + k * 32 < n;
    int digit = is_inside ? digit_at(k) : 0;
    unsigned same = __ballot_sync(0xffffffffu, is_inside);
    for (int b = 0; b < kDigitBits; ++b) {
      unsigned is_set = __ballot_sync(0xffffffffu, digit >> b & 1);
      same &= digit >> b & 1 ? is_set : ~is_set;
    }
    int rank = __popc(same & ((1u << lane) - 1));
    ranks[k] = counts.of_warp[warp][digit] + rank;
    __syncwarp();
    if (is_inside && rank == 0) counts.of_warp[warp][digit] += __popc(same);
    __syncwarp();
  }
  __syncthreads();
  int total = 0;
  for (int w = 0; w < kSortWarps; ++w) {
    int count = counts.of_warp[w][threadIdx.x];
    counts.of_warp[w][threadIdx.x] = total;
    total += count;
  }
  counts.starts[threadIdx.x] = sum_of_threads_before(total);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (k >= items || first + k * 32 >= n) continue;
    int digit = digit_at(k);
    ranks[k] += counts.starts[digit] + counts.of_warp[warp][digit];
  }
  return total;
}

// Brings items, keys and their places, in the order of their digits, in the memory that they share.
template <int kItems, class Digit, class K>
FACULA_FN void move_items(TileCounts& counts, int n, int items, Digit digit_at, K (&key)[kItems],
                          int (&place)[kItems], K* keys, uint16_t* places) {
  int first = threadIdx.x / 32 * 32 * items + threadIdx.x % 32, ranks[kItems];
  rank_items<kItems>(counts, n, items, digit_at, ranks);
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (k >= items || first + k * 32 >= n) continue;
    keys[ranks[k]] = key[k];
    places[ranks[k]] = uint16_t(place[k]);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (k >= items || first + k * 32 >= n) continue;
    key[k] = keys[first + k * 32];
    place[k] = places[first + k * 32];
  }
}

template <class T, int kItems>
FACULA_FN void sort_tile(const TileSortArguments& a) {
  constexpr int kTile = kItems * kSortThreads, kBits = 8 * sizeof(T);
  __shared__ TileCounts counts;
  __shared__ Key<T> keys[kTile];
  __shared__ uint16_t places[kTile];
  __shared__ uint64_t differing[kSortWarps];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int64_t first_line = int64_t(blockIdx.x) * a.lines_per_block, left = a.n_lines - first_line;
  int n_lines = left < a.lines_per_block ? int(left) : a.lines_per_block;
  int n = n_lines * a.line_size, items = (n + kSortThreads - 1) / kSortThreads;
  const T* x = reinterpret_cast<const T*>(a.x) + first_line * a.line_size;
  int first = warp * 32 * items + lane;
  Key<T> key[kItems], any_key = to_key(x[0], a.is_descending);
  int place[kItems];
  uint64_t differs = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (k >= items || first + k * 32 >= n) continue;
    place[k] = first + k * 32;
    places[place[k]] = uint16_t(place[k]);
    key[k] = to_key(x[place[k]], a.is_descending);
    differs |= key[k] ^ any_key;
  }
  for (int step = 16; step > 0; step /= 2) differs |= __shfl_xor_sync(0xffffffffu, differs, step);
  if (lane == 0) differing[warp] = differs;
  __syncthreads();
  for (int w = 0; w < kSortWarps; ++w) differs |= differing[w];
  // The last pass is by line. Digits that all keys share need none.
  for (int shift = 0; shift <= kBits; shift += kDigitBits) {
    bool is_by_line = shift == kBits;
    if (is_by_line ? n_lines == 1 : digit_of(differs, shift) == 0) continue;
    auto digit = [&](int k) {
      return is_by_line ? place[k] / a.line_size : digit_of(key[k], shift);
    };
    move_items<kItems>(counts, n, items, digit, key, place, keys, places);
  }
  for (int i = threadIdx.x; i < n_lines * a.kept; i += kSortThreads) {
    int line = i / a.kept, from = places[line * a.line_size + i - line * a.kept];
    int64_t to = first_line * a.kept + i;
    reinterpret_cast<T*>(a.values)[to] = x[from];
    a.places[to] = from - line * a.line_size;
  }
}

template <class T>
FACULA_FN void sort_short_lines(const TileSortArguments& a) {
  sort_tile<T, kShortItems>(a);
}
template <class T>
FACULA_FN void sort_lines_in_tiles(const TileSortArguments& a) {
  sort_tile<T, kSortItems>(a);
}

FACULA_FN void clear_words(const ClearArguments& a) {
  int64_t i = thread_number();
  if (i < a.n) a.words[i] = 0;
}

// The keys of a piece of a line, and how many have each value of each of their digits.
template <class T, class Order>
FACULA_FN void count_digits(const DigitArguments& a) {
  using Count = Key<Order>;
  __shared__ int counts[sizeof(T)][kSortDigits];
  for (int d = 0; d < a.n_digits; ++d) counts[d][threadIdx.x] = 0;
  __syncthreads();
  int64_t piece, line = divide(blockIdx.x, a.n_pieces, piece), begin = piece * a.piece_size,
                 end = begin + a.piece_size < a.line_size ? begin + a.piece_size : a.line_size;
  const T* x = reinterpret_cast<const T*>(a.x) + line * a.line_size;
  auto* keys = reinterpret_cast<Key<T>*>(a.keys[0]) + line * a.line_size;
  for (int64_t i = begin + threadIdx.x; i < end; i += kSortThreads) {
    Key<T> key = a.x ? to_key(x[i], a.is_descending) : keys[i];
    if (a.x) keys[i] = key;
    for (int d = 0; d < a.n_digits; ++d) atomicAdd(&counts[d][digit_of(key, d * kDigitBits)], 1);
  }
  __syncthreads();
  auto* totals = reinterpret_cast<Count*>(a.starts) + line * a.n_digits * kSortDigits;
  for (int d = 0; d < a.n_digits; ++d) {
    int count = counts[d][threadIdx.x];
    if (count > 0) atomicAdd(totals + d * kSortDigits + threadIdx.x, Count(count));
  }
}

// The counts of a line's digit become the sums of those before. A block to each.
template <class Order>
FACULA_FN void start_digits(const DigitArguments& a) {
  auto* starts = reinterpret_cast<Key<Order>*>(a.starts) + int64_t(blockIdx.x) * kSortDigits;
  Key<Order> count = starts[threadIdx.x];
  if (int64_t(count) == a.line_size && !a.moves_always) a.is_same[blockIdx.x] = 1;
  starts[threadIdx.x] = sum_of_threads_before(count);
}

// How many of the first passes have moved the keys of a line.
FACULA_FN int moves_of(const DigitArguments& a, int64_t line, int n_digits) {
  int n = 0;
  for (int d = 0; d < n_digits; ++d) n += !a.is_same[line * a.n_digits + d];
  return n;
}

// One of two, without an index: for that the arguments would be copied into memory.
FACULA_FN char* side_of(char* const (&sides)[2], int side) { return side ? sides[1] : sides[0]; }

// What the highest bits of a word say of the count in the others, of items with a digit: there is
// none yet, it is of a tile alone, or of the tile and all before it. As both are in one word, who
// waits for it needs no order of memory.
enum class TileState : int { None, Local, Total };

// Tiles are taken in the order in which blocks start, so that what a block waits for is running.
template <class T, class Order>
FACULA_FN void move_by_digit(const DigitArguments& a) {
  using Count = Key<Order>;
  constexpr int kStateShift = 8 * sizeof(Count) - 2;
  __shared__ TileCounts counts;
  __shared__ char staged[kSortTile * (sizeof(T) > sizeof(Order) ? sizeof(T) : sizeof(Order))]
      __attribute__((aligned(16)));
  __shared__ Count offsets[kSortDigits];
  __shared__ int taken;
  if (threadIdx.x == 0) taken = atomicAdd(a.next_tile + a.digit, 1);
  __syncthreads();
  int64_t tile, line = divide(taken, a.n_tiles, tile);
  if (a.is_same[line * a.n_digits + a.digit]) return;
  int moves = moves_of(a, line, a.digit), from = moves % 2, shift = a.digit * kDigitBits;
  int64_t begin = line * a.line_size + tile * kSortTile, left = a.line_size - tile * kSortTile;
  int n = left < kSortTile ? int(left) : kSortTile, items = (n + kSortThreads - 1) / kSortThreads;
  int first = threadIdx.x / 32 * 32 * items + threadIdx.x % 32;

  const auto* keys = reinterpret_cast<const Key<T>*>(side_of(a.keys, from)) + begin;
  Key<T> key[kSortItems];
  int ranks[kSortItems];
#pragma unroll
  for (int k = 0; k < kSortItems; ++k)
    if (k < items && first + k * 32 < n) key[k] = keys[first + k * 32];
  auto digit = [&](int k) { return digit_of(key[k], shift); };
  Count count = rank_items<kSortItems>(counts, n, items, digit, ranks);

  // How many of the line go before the first of the tile that has the digit threadIdx.x.
  Count before = 0;
  volatile Count* states = reinterpret_cast<Count*>(a.states) + threadIdx.x +
                           ((a.digit * a.n_lines + line) * a.n_tiles + tile) * kSortDigits;
  if (tile > 0) *states = Count(TileState::Local) << kStateShift | count;
  for (int64_t t = 1; t <= tile; ++t) {
    Count state;
    do {
      state = states[-t * kSortDigits];
    } while (state >> kStateShift == Count(TileState::None));
    before += state & ((Count(1) << kStateShift) - 1);
    if (state >> kStateShift == Count(TileState::Total)) break;
  }
  *states = Count(TileState::Total) << kStateShift | (before + count);
  before += reinterpret_cast<const Count*>(
      a.starts)[(line * a.n_digits + a.digit) * kSortDigits + threadIdx.x];
  offsets[threadIdx.x] = before - Count(counts.starts[threadIdx.x]);

  // Brought in order in shared memory first, neighbours are written together.
  auto* staged_keys = reinterpret_cast<Key<T>*>(staged);
  auto* keys_to = reinterpret_cast<Key<T>*>(side_of(a.keys, 1 - from)) + line * a.line_size;
#pragma unroll
  for (int k = 0; k < kSortItems; ++k)
    if (k < items && first + k * 32 < n) staged_keys[ranks[k]] = key[k];
  __syncthreads();
  Count to[kSortItems];
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    int i = k * kSortThreads + threadIdx.x;
    if (i >= n) continue;
    Key<T> moved = staged_keys[i];
    to[k] = offsets[digit_of(moved, shift)] + Count(i);
    keys_to[to[k]] = moved;
  }
  __syncthreads();
  auto* staged_order = reinterpret_cast<Count*>(staged);
  const auto* order = reinterpret_cast<const Count*>(side_of(a.order, from)) + begin;
  auto* order_to = reinterpret_cast<Count*>(side_of(a.order, 1 - from)) + line * a.line_size;
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    int i = first + k * 32;
    if (k < items && i < n)
      staged_order[ranks[k]] = moves > 0 ? order[i] : Count(tile * kSortTile + i);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    int i = k * kSortThreads + threadIdx.x;
    if (i < n) order_to[to[k]] = staged_order[i];
  }
}

template <class T, class Order>
FACULA_FN void take_sorted(const SortedArguments& a) {
  const DigitArguments& s = a.sorted;
  int64_t i = thread_number(), rank;
  if (i >= s.n_lines * a.kept) return;
  int64_t line = divide(i, a.kept, rank), start = line * s.line_size;
  int moves = moves_of(s, line, s.n_digits);
  const auto* order = reinterpret_cast<const Key<Order>*>(side_of(s.order, moves % 2)) + start;
  int64_t from = moves > 0 ? int64_t(order[rank]) : rank;
  reinterpret_cast<T*>(a.values)[i] = reinterpret_cast<const T*>(a.x)[start + from];
  a.places[i] = from;
}

#endif

}  // namespace facula
