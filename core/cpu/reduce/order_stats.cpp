#include "cpu/reduce/order_stats.h"

#include <algorithm>
#include <limits>

#include "base/scratch.h"
#include "cpu/reduce/sort.h"
#include "cpu/reduce/sort_key.h"
#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int64_t kShort = 32;  // lines whose elements are all compared, which takes no memory

template <class T>
struct Line {
  const char* data;
  int64_t step, n;

  template <class Step>
  Key<T> key(int64_t i, Step step) const {
    return to_key(*reinterpret_cast<const T*>(data + i * step));
  }
  // f(step) with a constant where there are no gaps: of loops over keys the compiler makes vectors
  // then, and a median of 1024 floats takes 1.6 us instead of 2.5.
  template <class F>
  auto with_step(F f) const {
    constexpr std::integral_constant<int64_t, sizeof(T)> dense;
    return step == dense ? f(dense) : f(step);
  }
  int64_t first(Key<T> key) const {
    constexpr int64_t kBlock = 64;
    return with_step([line = *this, key](auto step) {
      int64_t i = 0;
      for (int is_here = 0; i + kBlock <= line.n; i += kBlock) {
        for (int64_t j = 0; j < kBlock; ++j) is_here |= line.key(i + j, step) == key;
        if (is_here) break;
      }
      while (line.key(i, step) != key) ++i;
      return i;
    });
  }
};

// An element near the k-th smallest, of a sample from places that follow no pattern of the input: a
// little nearer to the middle, so that the part in which k lies is the smaller one.
template <class K>
K choose_pivot(const K* x, int64_t n, int64_t k, uint64_t& seed) {
  constexpr int64_t kSample = 9, kMiddle = kSample / 2;
  K sample[kSample];
  int32_t order[kSample];
  for (K& value : sample) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = x[static_cast<uint64_t>((static_cast<unsigned __int128>(seed) * n) >> 64)];
  }
  order_by_rank(sample, kSample, order);
  int64_t rank = static_cast<int64_t>(static_cast<unsigned __int128>(k) * kSample / n);
  return sample[order[rank + (rank < kMiddle) - (rank > kMiddle)]];
}

// The k-th smallest of n. The elements are parted without a branch, which would be guessed wrong
// every other time: the smaller ones move together in `x`, the larger ones to `other`.
template <class K>
K select(K* x, K* other, int64_t n, int64_t k) {
  uint64_t seed = 0;
  while (true) {
    K pivot = choose_pivot(x, n, k, seed);
    int64_t n_less = 0, n_more = 0;
    for (int64_t i = 0; i < n; ++i) {
      K value = x[i];
      x[n_less] = value;
      other[n_more] = value;
      n_less += value < pivot;
      n_more += value > pivot;
    }
    if (k < n_less) {
      n = n_less;
    } else if (k >= n - n_more) {
      k -= n - n_more;
      n = n_more;
      std::swap(x, other);
    } else {
      return pivot;
    }
  }
}

// The first place of the k-th smallest of n <= kShort keys; `keys` has room for kShort, and the
// rest is overwritten. How many are less than each is counted for all side by side.
template <class K>
int64_t find_in_short(K* keys, int64_t n, int64_t k) {
  std::fill(keys + n, keys + kShort, K(0));
  K n_less[kShort] = {};
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < kShort; ++i) n_less[i] += keys[j] < keys[i];
  int64_t best = -1;
  for (int64_t i = 0; i < n; ++i)
    if (n_less[i] <= static_cast<K>(k) && (best < 0 || n_less[i] > n_less[best])) best = i;
  return best;
}

// The last place of the smallest of the most frequent values. `sorted` and `order` have room for n.
template <class T>
int64_t mode(const Line<T>& line, T* sorted, int64_t* order) {
  auto sort = get_sort_table().sort[static_cast<int>(DTypeOf<T>::value)];
  sort(line.data, line.step / int64_t{sizeof(T)}, sorted, order, line.n, /*descending=*/false);
  int64_t best = 0, best_count = 0, count = 0;
  for (int64_t i = 0; i < line.n; ++i) {
    bool is_next = i > 0 && to_key(sorted[i]) == to_key(sorted[i - 1]);
    count = is_next ? count + 1 : 1;
    if (count > best_count) {
      best_count = count;
      best = order[i];
    }
  }
  return best;
}

// `keys` and `other` have room for n keys, and for kShort of them at least.
template <class T>
int64_t pick(Pick which, const Line<T>& line, int64_t k, Key<T>* keys, Key<T>* other) {
  int64_t n = line.n, n_nans = 0;
  line.with_step([line, keys](auto step) {
    for (int64_t i = 0; i < line.n; ++i) keys[i] = line.key(i, step);
  });
  for (int64_t i = 0; i < n && is_floating_v<T>; ++i) n_nans += keys[i] == kNanKey<T>;
  if (which == Pick::Median && n_nans > 0) return line.first(kNanKey<T>);
  if (which != Pick::Kth) k = n_nans < n ? (n - n_nans - 1) / 2 : 0;
  return n > kShort ? line.first(select(keys, other, n, k)) : find_in_short(keys, n, k);
}

template <class T>
int64_t pick(Pick which, const Line<T>& line, int64_t k) {
  if (line.n <= kShort) {
    Key<T> keys[kShort];
    T sorted[kShort];
    int64_t order[kShort];
    return which == Pick::Mode ? mode(line, sorted, order) : pick(which, line, k, keys, keys);
  }
  if (which == Pick::Mode) {
    Scratch<T> sorted(line.n);
    Scratch<int64_t> order(line.n);
    return mode(line, sorted.data(), order.data());
  }
  Scratch<Key<T>> keys(line.n), other(line.n);
  return pick(which, line, k, keys.data(), other.data());
}

// Several values are sought side by side, since each step of one waits for the one before, and
// without branches. All take the same number of steps: a part of m elements leaves m / 2, or one
// less of an even number, so that no part is empty before the last step, and none longer than 1
// then.
template <int kBeside, class Index, bool is_right, class T>
void search_beside(const T* ordered, int64_t n, const T* values, int64_t n_values,
                   int64_t* places) {
  // False where one is NaN, which belongs behind every number.
  auto is_before = [=](Index i, T value) -> Index {
    return is_right ? ordered[i] > value : ordered[i] >= value;
  };
  int n_steps = 63 - __builtin_clzll(n + 1);
  for (int64_t begin = 0; begin < n_values; begin += kBeside) {
    T value[kBeside];
    Index low[kBeside], rest[kBeside];
    for (int64_t j = 0; j < kBeside; ++j) {
      value[j] = values[std::min(begin + j, n_values - 1)];
      low[j] = 0;
      rest[j] = static_cast<Index>(n);
    }
    for (int step = 0; step < n_steps; ++step)
      for (int64_t j = 0; j < kBeside; ++j) {
        Index half = rest[j] >> 1, behind = is_before(low[j] + half, value[j]) - 1;  // or 0
        low[j] += (half + 1) & behind;
        rest[j] = (rest[j] + behind) >> 1;
      }
    for (int64_t j = 0; j < std::min<int64_t>(kBeside, n_values - begin); ++j) {
      Index last = std::min(low[j], static_cast<Index>(n - 1));
      places[begin + j] = low[j] + (rest[j] & !is_before(last, value[j]));
    }
  }
}

template <class T, bool is_right>
void search(const T* ordered, int64_t n, const T* values, int64_t n_values, int64_t* places) {
  if (n == 0) return void(std::fill_n(places, n_values, 0));
  // So many become loops over vectors, which gather elements by indices of their size. Gathers of
  // few elements are slower than loads.
  constexpr int kMany = 64;
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  int64_t n_many = 0;
  if (Vec<T>::kLanes >= 8 && n < std::numeric_limits<Index>::max()) {
    n_many = n_values / kMany * kMany;
    search_beside<kMany, Index, is_right>(ordered, n, values, n_many, places);
  }
  search_beside<8, int64_t, is_right>(ordered, n, values + n_many, n_values - n_many,
                                      places + n_many);
}

template <class T>
void count_bins(const T* x, int64_t n, int64_t bins, T low, T high, T width, int64_t* counts) {
  for (int64_t i = 0; i < n; ++i) {
    T value = x[i];
    if (!(value >= low && value <= high)) continue;
    T place = (value - low) * static_cast<T>(bins) / width;
    ++counts[place < static_cast<T>(bins) ? static_cast<int64_t>(place) : bins - 1];
  }
}

int64_t pick_index(Pick which, DType dtype, const char* x, int64_t step, int64_t n, int64_t k) {
  return visit_dtype(dtype, [&](auto tag) -> int64_t {
    using T = typename decltype(tag)::type;
    if constexpr (is_complex_v<T>)
      return 0;  // refused before
    else
      return pick(which, Line<T>{x, step, n}, k);
  });
}

void search_sorted(DType dtype, const char* ordered, int64_t n, const char* values,
                   int64_t n_values, bool is_right, int64_t* places) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) >= 4 && !is_complex_v<T>)
      (is_right ? search<T, true> : search<T, false>)(reinterpret_cast<const T*>(ordered), n,
                                                      reinterpret_cast<const T*>(values), n_values,
                                                      places);
  });
}

}  // namespace

extern const OrderTable order_table;
const OrderTable order_table = {pick_index, search_sorted, count_bins<float>, count_bins<double>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
