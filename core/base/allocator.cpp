#include "base/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/integers.h"
#include "base/machine.h"

#if defined(__SANITIZE_ADDRESS__)
#define FACULA_PLAIN_ALLOCATOR
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FACULA_PLAIN_ALLOCATOR
#endif
#endif

namespace facula {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max() / 2;

int64_t round_up(int64_t nbytes, int64_t step) { return ceil_div(nbytes, step) * step; }

[[noreturn]] void fail_out_of_memory(int64_t nbytes) {
  fail(ErrorKind::OutOfMemory, "DefaultCPUAllocator: not enough memory: a block of ", nbytes,
       " bytes could not be allocated. (DefaultCPUAllocator: can't allocate memory)");
}

// What all threads share. Changed rarely: threads add up their small blocks first.
class Counters {
 public:
  void add(int64_t nbytes, int64_t n_allocations) {
    int64_t now = allocated_.fetch_add(nbytes, std::memory_order_relaxed) + nbytes;
    n_allocations_.fetch_add(n_allocations, std::memory_order_relaxed);
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void add_reserved(int64_t nbytes) { reserved_.fetch_add(nbytes, std::memory_order_relaxed); }
  void reset_peak() { peak_.store(allocated_.load()); }
  int64_t allocated() const { return allocated_.load(std::memory_order_relaxed); }
  int64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  AllocatorStats stats() const {
    return {allocated(), reserved(), peak(), n_allocations_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<int64_t> allocated_{0};
  std::atomic<int64_t> reserved_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> n_allocations_{0};
};

void* system_block(int64_t nbytes) {
  void* block = nullptr;
  return posix_memalign(&block, kAlignment, static_cast<size_t>(nbytes)) == 0 ? block : nullptr;
}

#ifdef FACULA_PLAIN_ALLOCATOR

// Under a memory checker every block is its own, so that a read past its end or after its life is
// found.
class CpuAllocator final : public Allocator {
 public:
  void* allocate(int64_t nbytes, void*) override {
    if (nbytes == 0) return nullptr;
    // The checker ends the process when asked for more than it supports.
    void* block = nbytes < 0 || nbytes > available_memory_bytes() ? nullptr : system_block(nbytes);
    if (block == nullptr) fail_out_of_memory(nbytes);
    counters_.add(nbytes, 1);
    counters_.add_reserved(nbytes);
    return block;
  }
  void deallocate(void* block, int64_t nbytes, void*) override {
    if (block == nullptr) return;
    counters_.add(-nbytes, 0);
    counters_.add_reserved(-nbytes);
    std::free(block);
  }
  void empty_cache() override {}
  AllocatorStats stats() const override { return counters_.stats(); }
  void reset_peak() override { counters_.reset_peak(); }

 private:
  Counters counters_;
};

#else

// Small blocks: four classes for each doubling from 64 bytes to 1 MB, so that at most a fifth is
// lost.
constexpr int64_t kMaxSmall = int64_t{1} << 20;
constexpr int kClasses = 52;

int size_class(int64_t nbytes) {
  if (nbytes <= 256) return static_cast<int>((nbytes - 1) / 64);
  int log2 = 63 - __builtin_clzll(static_cast<uint64_t>(nbytes - 1));
  return 4 * (log2 - 8) + static_cast<int>((nbytes - 1) >> (log2 - 2));
}

constexpr int64_t class_bytes(int index) {
  if (index < 4) return 64 * (index + 1);
  return int64_t{5 + index % 4} << (index / 4 + 5);
}
static_assert(class_bytes(kClasses - 1) == kMaxSmall);

// A free block holds the link to the next one.
class FreeList {
 public:
  bool is_empty() const { return head_ == nullptr; }
  int64_t size() const { return size_; }
  void push(void* block) {
    *static_cast<void**>(block) = head_;
    head_ = block;
    ++size_;
  }
  void* pop() {
    void* block = head_;
    head_ = *static_cast<void**>(block);
    --size_;
    return block;
  }

 private:
  void* head_ = nullptr;
  int64_t size_ = 0;
};

using FreeLists = std::array<FreeList, kClasses>;

// A number that one thread changes and others may read: cheaper than an atomic addition.
class OwnedCounter {
 public:
  int64_t get() const { return value_.load(std::memory_order_relaxed); }
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// What one thread keeps for itself: free blocks, and changes of the counters that are not yet in
// Counters.
struct ThreadCache {
  FreeLists lists;
  OwnedCounter pending_bytes;
  OwnedCounter pending_allocations;
};

// Free blocks of a class that a thread keeps for itself: 512 kB of small ones, at least two of the
// largest.
int64_t thread_limit(int index) {
  int64_t nbytes = class_bytes(index);
  return nbytes <= 2048 ? 256 : std::max((int64_t{1} << 19) / nbytes, int64_t{2});
}

// Blocks above 1 MB: mapped one by one and kept after use. See Note [Cached blocks].
class LargeBlocks {
 public:
  LargeBlocks(Counters& counters) : counters_(counters) {}

  void* take(int64_t nbytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    drop_old();
    int64_t mapped = round_up(nbytes, kPage);
    int64_t limit = counters_.peak() + counters_.peak() / 4;
    auto fit = by_size_.lower_bound(mapped);
    if (fit != by_size_.end()) {
      fit = std::prev(by_size_.upper_bound(fit->first));
      bool is_close = fit->first <= mapped + mapped / 4;
      if (is_close || counters_.reserved() + mapped > limit) return take_from(fit->second, mapped);
    }
    while (!by_age_.empty() && counters_.reserved() + mapped > limit) drop(by_age_.begin());
    char* block = map_pages(mapped);
    if (block == nullptr) {
      drop_all();
      block = map_pages(mapped);
    }
    if (block == nullptr) return nullptr;
    counters_.add_reserved(mapped);
    live_.emplace(block, Piece{mapped, block});
    return block;
  }

  void give_back(void* block) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = live_.find(static_cast<char*>(block));
    Piece piece = found->second;
    char *begin = found->first, *end = begin + piece.nbytes;
    live_.erase(found);
    // It joins the free ones next to it of the same mapping.
    auto next = by_address_.lower_bound(begin);
    if (next != by_address_.begin()) {
      auto before = std::prev(next)->second;
      if (before->block + before->piece.nbytes == begin && before->piece.origin == piece.origin) {
        begin = before->block;
        forget(before);
      }
    }
    if (next != by_address_.end() && next->first == end &&
        next->second->piece.origin == piece.origin) {
      end += next->second->piece.nbytes;
      forget(next->second);
    }
    keep(by_age_.end(), {begin, {end - begin, piece.origin}, Clock::now(), {}});
    int64_t limit = std::max(counters_.allocated(), available_memory_bytes() / 4);
    while (cached_bytes_ > limit) drop(by_age_.begin());
    drop_old();
  }

  void empty() {
    std::lock_guard<std::mutex> lock(mutex_);
    drop_all();
  }

  std::mutex& mutex() { return mutex_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Piece {
    int64_t nbytes;  // may exceed what was asked for
    char* origin;    // where the mapping began that it is a piece of
  };
  struct Free;
  using ByAge = std::list<Free>;
  using BySize = std::multimap<int64_t, ByAge::iterator>;
  struct Free {
    char* block;
    Piece piece;
    Clock::time_point since;
    BySize::iterator place;
  };
  static constexpr int64_t kPage = int64_t{64}
                                   << 10;  // the largest page among the systems we run on
  static constexpr int64_t kHugePage = int64_t{2} << 20;
  static constexpr std::chrono::seconds kMaxAge{10};

  // Blocks start on a huge page, where the system has such: one page fault then fills 2 MB instead
  // of 4 kB.
  static char* map_pages(int64_t nbytes) {
    size_t padded = static_cast<size_t>(nbytes + kHugePage);
    void* start = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    uintptr_t begin = reinterpret_cast<uintptr_t>(start);
    uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
    uintptr_t end = aligned + static_cast<uintptr_t>(nbytes);
    if (aligned > begin) munmap(start, aligned - begin);
    if (begin + padded > end) munmap(reinterpret_cast<void*>(end), begin + padded - end);
#ifdef MADV_HUGEPAGE
    madvise(reinterpret_cast<void*>(aligned), static_cast<size_t>(nbytes), MADV_HUGEPAGE);
#endif
    return reinterpret_cast<char*>(aligned);
  }

  void keep(ByAge::iterator before, Free free) {
    auto at = by_age_.insert(before, free);
    at->place = by_size_.emplace(free.piece.nbytes, at);
    by_address_.emplace(free.block, at);
    cached_bytes_ += free.piece.nbytes;
  }

  void forget(ByAge::iterator at) {
    cached_bytes_ -= at->piece.nbytes;
    by_address_.erase(at->block);
    by_size_.erase(at->place);
    by_age_.erase(at);
  }

  void drop(ByAge::iterator at) {
    munmap(at->block, static_cast<size_t>(at->piece.nbytes));
    counters_.add_reserved(-at->piece.nbytes);
    forget(at);
  }

  // The first nbytes of a free piece; the rest stays free, if it is of use.
  void* take_from(ByAge::iterator at, int64_t nbytes) {
    Free free = *at;
    int64_t n_left = free.piece.nbytes - nbytes;
    if (n_left < kMaxSmall) {
      nbytes = free.piece.nbytes;
    } else {
      keep(at, {free.block + nbytes, {n_left, free.piece.origin}, free.since, {}});
    }
    forget(at);
    live_.emplace(free.block, Piece{nbytes, free.piece.origin});
    return free.block;
  }

  void drop_all() {
    while (!by_age_.empty()) drop(by_age_.begin());
  }

  void drop_old() {
    if (by_age_.empty()) return;
    auto limit = Clock::now() - kMaxAge;
    while (!by_age_.empty() && by_age_.front().since < limit) drop(by_age_.begin());
  }

  Counters& counters_;
  std::mutex mutex_;
  std::unordered_map<char*, Piece> live_;
  ByAge by_age_;  // oldest first
  BySize by_size_;
  std::map<char*, ByAge::iterator> by_address_;
  int64_t cached_bytes_ = 0;
};

// Note [Cached blocks]
// Small blocks go to the list of their class in the thread that frees them, then in batches to the
// shared lists, which hold at most kMaxShared bytes, then to the system. Large blocks are reused by
// best fit within a quarter of the size, of equal ones that which was freed last: it may still be
// in a cache (taken in turns, eight free blocks of 8 MB made ones() take 300 us instead of 90). A
// new one may bring the total above what was live at the peak by a quarter, so that caching hardly
// raises a program's peak. Beyond that a piece is cut off a larger free block, to be joined with
// the rest when both are free again; only where there is none do the oldest go back to the system,
// whose fresh pages cost more than most operations on them. They also go when more is cached than
// is live or than a quarter of the memory (whichever is larger), and when nobody wanted them for
// ten seconds.
class CpuAllocator final : public Allocator {
 public:
  CpuAllocator() {
    int error = pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
    check(error == 0, "the CPU allocator: the system refused a handler for fork().");
  }

  void* allocate(int64_t nbytes, void*) override {
    if (nbytes == 0) return nullptr;
    if (nbytes > 0 && nbytes <= kMaxSmall) return take_small(nbytes);
    void* block = nbytes < 0 || nbytes > kMaxBytes ? nullptr : large_.take(nbytes);
    if (block == nullptr) fail_out_of_memory(nbytes);
    counters_.add(counted_bytes(nbytes), 1);
    return block;
  }

  void deallocate(void* block, int64_t nbytes, void*) override {
    if (block == nullptr) return;
    if (nbytes <= kMaxSmall) return give_back_small(block, nbytes);
    counters_.add(-counted_bytes(nbytes), 0);
    large_.give_back(block);
  }

  // The free blocks of other threads stay with them.
  void empty_cache() override;
  // The peak is exact to kMaxPending bytes for each thread.
  AllocatorStats stats() const override;
  void reset_peak() override { counters_.reset_peak(); }

  void adopt(ThreadCache& cache) {
    std::lock_guard<std::mutex> lock(shared_mutex_);
    caches_.push_back(&cache);
  }

  void release(ThreadCache& cache) {
    std::lock_guard<std::mutex> lock(shared_mutex_);
    caches_.erase(std::find(caches_.begin(), caches_.end(), &cache));
    counters_.add(cache.pending_bytes.get(), cache.pending_allocations.get());
    for (int index = 0; index < kClasses; ++index) share(cache.lists[index], index, 0);
  }

 private:
  static constexpr int64_t kMaxShared = int64_t{32} << 20;
  static constexpr int64_t kMaxPending = int64_t{1} << 16;

  static int64_t counted_bytes(int64_t nbytes) { return round_up(nbytes, kAlignment); }

  void* take_small(int64_t nbytes);
  void give_back_small(void* block, int64_t nbytes);

  void count(ThreadCache& cache, int64_t nbytes, int64_t n_allocations) {
    int64_t pending = cache.pending_bytes.get() + nbytes;
    cache.pending_bytes.set(pending);
    cache.pending_allocations.set(cache.pending_allocations.get() + n_allocations);
    if (pending <= kMaxPending && pending >= -kMaxPending) return;
    cache.pending_bytes.set(0);
    counters_.add(pending, cache.pending_allocations.get());
    cache.pending_allocations.set(0);
  }

  void* refill(FreeList& list, int index) {
    {
      std::lock_guard<std::mutex> lock(shared_mutex_);
      FreeList& shared = shared_[index];
      int64_t n_wanted = std::min(shared.size(), thread_limit(index) / 2);
      shared_bytes_ -= n_wanted * class_bytes(index);
      for (int64_t i = 0; i < n_wanted; ++i) list.push(shared.pop());
    }
    if (!list.is_empty()) return list.pop();
    return fresh_block(index);
  }

  void* fresh_block(int index) {
    int64_t nbytes = class_bytes(index);
    void* block = system_block(nbytes);
    if (block == nullptr) {
      large_.empty();
      block = system_block(nbytes);
    }
    if (block == nullptr) fail_out_of_memory(nbytes);
    counters_.add_reserved(nbytes);
    return block;
  }

  void free_block(void* block, int index) {
    std::free(block);
    counters_.add_reserved(-class_bytes(index));
  }

  // Leaves n_kept blocks in the list. With shared_mutex_ held.
  void share(FreeList& list, int index, int64_t n_kept) {
    int64_t nbytes = class_bytes(index);
    while (list.size() > n_kept) {
      void* block = list.pop();
      if (shared_bytes_ + nbytes > kMaxShared) {
        free_block(block, index);
      } else {
        shared_[index].push(block);
        shared_bytes_ += nbytes;
      }
    }
  }

  static void lock_for_fork();
  static void unlock_after_fork();

  Counters counters_;
  LargeBlocks large_{counters_};
  mutable std::mutex shared_mutex_;
  FreeLists shared_;
  int64_t shared_bytes_ = 0;
  std::vector<ThreadCache*> caches_;
};

CpuAllocator& the_allocator() {
  // Never destroyed: tensors of static life and threads that end late still give blocks back.
  static CpuAllocator& allocator = *new CpuAllocator;
  return allocator;
}

// Null before the thread's first block and after the thread's end.
thread_local ThreadCache* thread_cache = nullptr;
thread_local bool thread_has_ended = false;

struct ThreadCacheOwner {
  ThreadCache cache;
  ThreadCacheOwner() {
    the_allocator().adopt(cache);
    thread_cache = &cache;
  }
  ~ThreadCacheOwner() {
    thread_cache = nullptr;
    thread_has_ended = true;
    the_allocator().release(cache);
  }
};

// Null in a thread whose cache has ended already, while later destructors still use blocks.
__attribute__((noinline)) ThreadCache* start_thread_cache() {
  if (thread_has_ended) return nullptr;
  thread_local ThreadCacheOwner owner;
  return &owner.cache;
}

void* CpuAllocator::take_small(int64_t nbytes) {
  int index = size_class(nbytes);
  ThreadCache* cache = thread_cache;
  if (cache == nullptr) cache = start_thread_cache();
  if (cache == nullptr) {
    counters_.add(counted_bytes(nbytes), 1);
    return fresh_block(index);
  }
  FreeList& list = cache->lists[index];
  void* block = list.is_empty() ? refill(list, index) : list.pop();
  count(*cache, counted_bytes(nbytes), 1);
  return block;
}

void CpuAllocator::give_back_small(void* block, int64_t nbytes) {
  int index = size_class(nbytes);
  ThreadCache* cache = thread_cache;
  if (cache == nullptr) cache = start_thread_cache();
  if (cache == nullptr) {
    counters_.add(-counted_bytes(nbytes), 0);
    return free_block(block, index);
  }
  count(*cache, -counted_bytes(nbytes), 0);
  FreeList& list = cache->lists[index];
  list.push(block);
  int64_t limit = thread_limit(index);
  if (list.size() <= limit) return;
  std::lock_guard<std::mutex> lock(shared_mutex_);
  share(list, index, limit / 2);
}

void CpuAllocator::empty_cache() {
  large_.empty();
  std::lock_guard<std::mutex> lock(shared_mutex_);
  for (int index = 0; index < kClasses; ++index) {
    if (thread_cache != nullptr) share(thread_cache->lists[index], index, 0);
    while (!shared_[index].is_empty()) free_block(shared_[index].pop(), index);
  }
  shared_bytes_ = 0;
}

AllocatorStats CpuAllocator::stats() const {
  std::lock_guard<std::mutex> lock(shared_mutex_);
  AllocatorStats stats = counters_.stats();
  for (const ThreadCache* cache : caches_) {
    stats.allocated_bytes += cache->pending_bytes.get();
    stats.n_allocations += cache->pending_allocations.get();
  }
  stats.peak_allocated_bytes = std::max(stats.peak_allocated_bytes, stats.allocated_bytes);
  return stats;
}

// A child must not inherit a lock that another thread of its parent held.
void CpuAllocator::lock_for_fork() {
  the_allocator().shared_mutex_.lock();
  the_allocator().large_.mutex().lock();
}

void CpuAllocator::unlock_after_fork() {
  the_allocator().large_.mutex().unlock();
  the_allocator().shared_mutex_.unlock();
}

#endif

}  // namespace

Allocator& cpu_allocator() {
#ifdef FACULA_PLAIN_ALLOCATOR
  static CpuAllocator& allocator = *new CpuAllocator;
  return allocator;
#else
  return the_allocator();
#endif
}

}  // namespace facula
