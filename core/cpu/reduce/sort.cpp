// Note [Sorting by radix]
// Elements become unsigned keys of the same order, joined with their index, and are distributed by
// 8 or 11 bits at a time, lowest first. Each distribution keeps the order of equals, so the whole
// sort does. The comparison sort of shorter rows works on the same words: with the index in the
// lowest bits no two are equal, so any sort is stable. The shortest rows are sorted by rank.
#include "cpu/reduce/sort.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/reduce/sort_key.h"
#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int64_t kMinRadix = 64;             // shorter rows are sorted by comparisons
constexpr int64_t kFew = 16;                  // this part of a row is found by a heap
constexpr int64_t kManyBuckets = 4096;        // elements that pay for 11 bits at a time
constexpr int64_t kChunk = int64_t{1} << 16;  // elements that a thread distributes at a time
constexpr int64_t kMaxChunks = 64;            // bounds the memory of the counts

// A key with its index: in one word where both fit.
struct NarrowWord {
  uint64_t word;
  uint64_t key() const { return word >> 32; }
  int64_t index() const { return static_cast<int64_t>(word & 0xFFFFFFFFu); }
  bool operator<(const NarrowWord& other) const { return word < other.word; }
  static NarrowWord make(uint64_t key, int64_t index) {
    return {key << 32 | static_cast<uint64_t>(index)};
  }
};

struct WideWord {
  uint64_t key_;
  int64_t index_;
  uint64_t key() const { return key_; }
  int64_t index() const { return index_; }
  bool operator<(const WideWord& other) const {
    return key_ != other.key_ ? key_ < other.key_ : index_ < other.index_;
  }
  static WideWord make(uint64_t key, int64_t index) { return {key, index}; }
};

template <class T>
struct Row {
  const T* in;
  int64_t stride;
  bool descending;  // then the order of the keys is turned around, not the one of the indices

  Key<T> key(int64_t i) const { return key_of(in[i * stride]); }
  Key<T> key_of(T value) const {
    auto flip = static_cast<Key<T>>(-Key<T>{descending});  // of all bits, or none
    return static_cast<Key<T>>(to_key(value) ^ flip);
  }
};

template <class T, class Word>
void store(Row<T> row, const Word* words, int64_t begin, int64_t end, T* values, int64_t* indices) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t index = words[i].index();
    indices[i] = index;
    values[i] = row.in[index * row.stride];
  }
}

// One distribution of n words by kBits bits. False, and nothing done, where all words have the same
// bits there.
template <int kBits, class Word>
bool distribute(const Word* from, Word* to, int64_t n, int64_t chunk, int shift) {
  constexpr int64_t n_buckets = int64_t{1} << kBits;
  auto bucket = [shift](const Word& word) { return (word.key() >> shift) & (n_buckets - 1); };
  int64_t n_chunks = (n - 1) / chunk + 1;
  Scratch<int64_t> counts(n_chunks * n_buckets);
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    int64_t* count = counts.data() + begin / chunk * n_buckets;
    std::fill_n(count, n_buckets, 0);
    for (int64_t i = begin; i < end; ++i) ++count[bucket(from[i])];
  });
  int64_t place = 0;
  for (int64_t b = 0; b < n_buckets; ++b) {
    int64_t first = place;
    for (int64_t c = 0; c < n_chunks; ++c) {
      int64_t size = counts.data()[c * n_buckets + b];
      counts.data()[c * n_buckets + b] = place;
      place += size;
    }
    if (place - first == n) return false;
  }
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    int64_t* next = counts.data() + begin / chunk * n_buckets;
    for (int64_t i = begin; i < end; ++i) to[next[bucket(from[i])]++] = from[i];
  });
  return true;
}

template <int kBits, class Word, class T>
void sort_by_radix(Row<T> row, T* values, int64_t* indices, int64_t n) {
  constexpr int kKeyBits = 8 * sizeof(T);
  Scratch<Word> first(n), second(n);
  Word *from = first.data(), *to = second.data();
  int64_t chunk = std::max(kChunk, (n - 1) / kMaxChunks + 1);
  parallel_for(n, chunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) from[i] = Word::make(row.key(i), i);
  });
  for (int shift = 0; shift < kKeyBits; shift += kBits) {
    if (distribute<kBits>(from, to, n, chunk, shift)) std::swap(from, to);
  }
  parallel_for(n, chunk,
               [&](int64_t begin, int64_t end) { store(row, from, begin, end, values, indices); });
}

template <class Word, class T>
void sort_by_comparison(Row<T> row, T* values, int64_t* indices, int64_t n) {
  std::array<Word, kMinRadix> words;
  for (int64_t i = 0; i < n; ++i) words[i] = Word::make(row.key(i), i);
  std::sort(words.begin(), words.begin() + n);
  store(row, words.data(), 0, n, values, indices);
}

// The first k of n <= kMaxRanked elements.
template <class T>
inline void sort_by_rank(const Row<T>& row, T* values, int64_t* indices, int64_t n, int64_t k) {
  Key<T> keys[kMaxRanked];
  int32_t order[kMaxRanked];
  for (int64_t i = 0; i < n; ++i) keys[i] = row.key(i);
  order_by_rank(keys, n, order);
  for (int64_t i = 0; i < k; ++i) {
    indices[i] = order[i];
    values[i] = row.in[order[i] * row.stride];
  }
}

// A heap of the k best words so far, the worst on top: most elements of a long row are refused by
// one comparison.
template <class Word, class T>
void select_by_heap(Row<T> row, Word* best, int64_t n, int64_t k) {
  for (int64_t i = 0; i < k; ++i) best[i] = Word::make(row.key(i), i);
  std::make_heap(best, best + k);
  uint64_t worst = best[0].key();
  auto consider = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t key = row.key(i);
      if (key >= worst) continue;
      std::pop_heap(best, best + k);
      best[k - 1] = Word::make(key, i);
      std::push_heap(best, best + k);
      worst = best[0].key();
    }
  };
  // Of neighbours in memory most blocks are refused as a whole, which pays where a vector holds
  // many.
  constexpr int64_t kBlock = 32;
  int64_t i = k;
  for (; kVecBytes > 16 && row.stride == 1 && i + kBlock <= n; i += kBlock) {
    Key<T> least = std::numeric_limits<Key<T>>::max();
    for (int64_t j = i; j < i + kBlock; ++j) least = std::min(least, row.key_of(row.in[j]));
    if (least < worst) consider(i, i + kBlock);
  }
  consider(i, n);
}

template <class Word, class T>
void topk(Row<T> row, T* values, int64_t* indices, int64_t n, int64_t k) {
  bool is_few = k <= n / kFew;
  Scratch<Word> words(is_few ? k : n);
  Word* best = words.data();
  if (is_few) {
    select_by_heap(row, best, n, k);
  } else {
    for (int64_t i = 0; i < n; ++i) best[i] = Word::make(row.key(i), i);
    if (k < n) std::nth_element(best, best + k, best + n);
  }
  std::sort(best, best + k);
  store(row, best, 0, k, values, indices);
}

// Calls f with a word that holds the keys of T and n indices.
template <class T, class F>
void with_word(int64_t n, F f) {
  if (sizeof(T) <= 4 && n <= int64_t{1} << 32) return f(NarrowWord{});
  f(WideWord{});
}

template <class T>
void sort_row(const void* in, int64_t in_stride, void* to, int64_t* indices, int64_t n,
              bool descending) {
  Row<T> row{static_cast<const T*>(in), in_stride, descending};
  T* values = static_cast<T*>(to);
  if (n <= kMaxRanked) return sort_by_rank(row, values, indices, n, n);
  with_word<T>(n, [&](auto word) {
    using Word = decltype(word);
    if (n <= kMinRadix) return sort_by_comparison<Word>(row, values, indices, n);
    if (sizeof(T) <= 2 || n < kManyBuckets) return sort_by_radix<8, Word>(row, values, indices, n);
    sort_by_radix<11, Word>(row, values, indices, n);
  });
}

template <class T>
void topk_row(const void* in, int64_t in_stride, void* to, int64_t* indices, int64_t n, int64_t k,
              bool largest) {
  if (k == 0) return;
  Row<T> row{static_cast<const T*>(in), in_stride, largest};
  T* values = static_cast<T*>(to);
  if (n <= kMaxRanked && k > n / kFew) return sort_by_rank(row, values, indices, n, k);
  with_word<T>(n, [&](auto word) { topk<decltype(word)>(row, values, indices, n, k); });
}

}  // namespace

extern const SortTable sort_table;
// Complex numbers have no order, and entries that are null.
#define REAL(Row)                                                                              \
  {                                                                                            \
    Row<bool>, Row<uint8_t>, Row<int8_t>, Row<int16_t>, Row<int32_t>, Row<int64_t>, Row<Half>, \
        Row<BFloat16>, Row<float>, Row<double>                                                 \
  }
const SortTable sort_table = {REAL(sort_row), REAL(topk_row)};
#undef REAL

}  // namespace FACULA_ISA
}  // namespace facula::cpu
