#include "cuda/reduce/sort.h"

#include <algorithm>

#include "cuda/kernel.h"

namespace facula::cuda {

namespace {

constexpr DTypes kOrderDTypes = only(DType::Int32) | only(DType::Int64);
constexpr DTypes kKeyDTypes = only(DType::UInt8) | only(DType::Int16) | kOrderDTypes;
FACULA_KERNEL(sort_short_lines, "sort.h", TileSortArguments, kRealDTypes)
FACULA_KERNEL(sort_lines_in_tiles, "sort.h", TileSortArguments, kRealDTypes)
FACULA_KERNEL(clear_words, "sort.h", ClearArguments)
FACULA_KERNEL(count_digits, "sort.h", DigitArguments, kRealDTypes, kOrderDTypes)
FACULA_KERNEL(start_digits, "sort.h", DigitArguments, kOrderDTypes)
FACULA_KERNEL(move_by_digit, "sort.h", DigitArguments, kKeyDTypes, kOrderDTypes)
FACULA_KERNEL(take_sorted, "sort.h", SortedArguments, kKeyDTypes, kOrderDTypes)
static_assert(kSortThreads == kKernelThreads);

// Counts share their word with the two bits of a state.
constexpr int64_t kMostInInt32 = (int64_t(1) << 30) - 1;
// So many blocks that count fill a GPU; each adds what it has counted to the counts of all.
constexpr int64_t kCountBlocks = 1024;

int bits_of(int64_t limit) { return limit <= 1 ? 0 : 64 - __builtin_clzll(limit - 1); }

DType key_dtype_for(int64_t limit) { return bits_of(limit) <= 32 ? DType::Int32 : DType::Int64; }

}  // namespace

DigitSorter::DigitSorter(Device device, DType key_dtype, int64_t n_lines, int64_t line_size,
                         int n_digits)
    : device_(device),
      key_dtype_(key_dtype),
      order_dtype_(line_size <= kMostInInt32 ? DType::Int32 : DType::Int64) {
  a_.n_lines = n_lines;
  a_.line_size = line_size;
  a_.n_tiles = ceil_div(line_size, kSortTile);
  a_.n_pieces = std::clamp<int64_t>(kCountBlocks / n_lines, 1, a_.n_tiles);
  a_.piece_size = ceil_div(line_size, a_.n_pieces);
  a_.n_digits = n_digits;
  int64_t nbytes = 0, item = item_size(order_dtype_);
  auto place = [&](int64_t n, int64_t size) {
    int64_t at = nbytes;
    nbytes += ceil_div(n * size, 16) * 16;
    return at;
  };
  int64_t n = n_lines * line_size, n_counts = n_lines * n_digits * kSortDigits;
  int64_t keys[] = {place(n, item_size(key_dtype)), place(n, item_size(key_dtype))},
          order[] = {place(n, item), place(n, item)}, next_tile = place(n_digits, sizeof(int)),
          is_same = place(n_lines * n_digits, sizeof(int)), starts = place(n_counts, item),
          states = place(n_counts * a_.n_tiles, item);
  n_words_ = (nbytes - next_tile) / static_cast<int64_t>(sizeof(uint64_t));
  char* start = memory_.emplace(device, nbytes).data();
  for (int side = 0; side < 2; ++side) {
    a_.keys[side] = start + keys[side];
    a_.order[side] = start + order[side];
  }
  a_.next_tile = reinterpret_cast<int*>(start + next_tile);
  a_.is_same = reinterpret_cast<int*>(start + is_same);
  a_.starts = start + starts;
  a_.states = start + states;
}

DigitSorter::DigitSorter(Device device, DType dtype, int64_t n_lines, int64_t line_size)
    : DigitSorter(device, word_dtype(item_size(dtype)), n_lines, line_size,
                  static_cast<int>(item_size(dtype))) {}

DigitSorter::DigitSorter(Device device, int64_t n, int64_t limit)
    : DigitSorter(device, key_dtype_for(limit), 1, n,
                  std::max(1, static_cast<int>(ceil_div(bits_of(limit), kDigitBits)))) {}

void DigitSorter::run(DType dtype) {
  clear_words_kernel.for_each(device_, {}, n_words_,
                              {reinterpret_cast<uint64_t*>(a_.next_tile), n_words_});
  count_digits_kernel(device_, {dtype, order_dtype_}, {a_.n_lines * a_.n_pieces, 1}, a_);
  start_digits_kernel(device_, {order_dtype_}, {a_.n_lines * a_.n_digits, 1}, a_);
  for (a_.digit = 0; a_.digit < a_.n_digits; ++a_.digit)
    move_by_digit_kernel(device_, {key_dtype_, order_dtype_}, {a_.n_lines * a_.n_tiles, 1}, a_);
}

void DigitSorter::sort(const Tensor& x, bool is_descending) {
  a_.x = x.address();
  a_.is_descending = is_descending;
  run(x.dtype());
}

void DigitSorter::sort_keys() {
  a_.moves_always = true;
  run(key_dtype_);
}

void sort_lines(const Tensor& values, const Tensor& places, const Tensor& x, int64_t line_size,
                bool is_descending) {
  if (values.numel() == 0) return;
  int64_t n_lines = x.numel() / line_size, kept = values.numel() / n_lines;
  int64_t* places_to = places.address_as<int64_t>();
  if (line_size <= kSortTile) {
    bool is_short = line_size <= kShortTile;
    // The line's number is a digit, too.
    int64_t n_each = is_short ? std::min<int64_t>(kShortTile / line_size, kSortDigits) : 1;
    TileSortArguments a{x.address(),
                        values.address(),
                        places_to,
                        n_lines,
                        static_cast<int>(line_size),
                        static_cast<int>(kept),
                        static_cast<int>(n_each),
                        is_descending};
    const auto& kernel = is_short ? sort_short_lines_kernel : sort_lines_in_tiles_kernel;
    return kernel(x.device(), {x.dtype()}, {ceil_div(n_lines, n_each), 1}, a);
  }
  DigitSorter sorter(x.device(), x.dtype(), n_lines, line_size);
  sorter.sort(x, is_descending);
  take_sorted_kernel.for_each(x.device(), {sorter.key_dtype(), sorter.order_dtype()},
                              n_lines * kept,
                              {x.address(), values.address(), places_to, kept, sorter.sorted()});
}

}  // namespace facula::cuda
