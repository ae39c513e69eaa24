#include "cuda/pinned.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "cuda/device.h"

namespace facula::cuda {

namespace {

constexpr int64_t kSmallest = 4096;  // a page

struct Use {
  int index;
  void* stream;
  bool operator==(const Use& o) const { return index == o.index && stream == o.stream; }
};
struct Block {
  char* data;
  int64_t nbytes;
  std::vector<Use> uses;      // since it was allocated
  std::vector<void*> events;  // of those, since it was freed
};

// Powers of two, so that a freed block soon fits again.
int64_t rounded(int64_t nbytes) {
  int64_t size = kSmallest;
  while (size < nbytes) size *= 2;
  return size;
}

class PinnedAllocator {
 public:
  Block* allocate(int64_t nbytes) {
    int64_t size = rounded(nbytes);
    enter(current_device());
    std::lock_guard<std::mutex> lock(mutex_);
    take_back();
    Block* block = nullptr;
    auto found = free_.find(size);
    if (found != free_.end()) {
      block = found->second;
      free_.erase(found);
    } else {
      block = new_block(size);
    }
    stats_.allocated_bytes.add(block->nbytes);
    stats_.allocations.add(1);
    return block;
  }

  void deallocate(Block* block) {
    std::lock_guard<std::mutex> lock(mutex_);
    stats_.allocated_bytes.add(-block->nbytes);
    stats_.allocations.add(-1);
    for (const Use& use : block->uses) {
      constexpr unsigned disable_timing = 2;
      void* event = nullptr;
      if (driver().context_set_current(context_of(use.index)) != kSuccess ||
          driver().event_create(&event, disable_timing) != kSuccess)
        continue;
      driver().event_record(event, use.stream);
      block->events.push_back(event);
    }
    block->uses.clear();
    (block->events.empty() ? give_back(block) : waiting_.push_back(block));
  }

  // The block that the address is in, or null.
  Block* find(const void* data) {
    auto after = all_.upper_bound(static_cast<const char*>(data));
    if (after == all_.begin()) return nullptr;
    Block* block = std::prev(after)->second;
    return static_cast<const char*>(data) < block->data + block->nbytes ? block : nullptr;
  }
  bool has(const void* data) {
    std::lock_guard<std::mutex> lock(mutex_);
    return find(data) != nullptr;
  }
  void record(const void* data, Use use) {
    std::lock_guard<std::mutex> lock(mutex_);
    Block* block = find(data);
    if (!block) return;
    std::vector<Use>& uses = block->uses;
    if (std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
  }

  MemoryStats stats() {
    std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }
  void reset_peak() {
    std::lock_guard<std::mutex> lock(mutex_);
    stats_.reset_peak();
  }
  void reset_accumulated() {
    std::lock_guard<std::mutex> lock(mutex_);
    stats_.reset_accumulated();
  }
  void empty_cache() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (all_.empty()) return;
    enter(current_device());
    take_back();
    release_free();
  }

 private:
  void give_back(Block* block) { free_.emplace(block->nbytes, block); }

  void take_back() {
    auto is_over = [&](Block* block) {
      for (void* event : block->events)
        if (driver().event_query(event) == kNotReady) return false;
      for (void* event : block->events) driver().event_destroy(event);
      block->events.clear();
      give_back(block);
      return true;
    };
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), is_over), waiting_.end());
  }

  void release_free() {
    for (auto& [nbytes, block] : free_) {
      driver().host_memory_free(block->data);
      stats_.reserved_bytes.add(-nbytes);
      stats_.segments.add(-1);
      all_.erase(block->data);
      delete block;
    }
    free_.clear();
  }

  Block* new_block(int64_t size) {
    constexpr unsigned is_portable = 1;
    void* data = nullptr;
    auto take = [&] {
      return driver().host_memory_allocate(&data, static_cast<size_t>(size), is_portable);
    };
    Result result = take();
    if (result == kOutOfMemory) {
      ++stats_.n_retries;
      release_free();
      result = take();
    }
    if (result == kOutOfMemory) {
      ++stats_.n_failures;
      fail(ErrorKind::OutOfMemory, "pin_memory: the system did not give ", size,
           " bytes of page-locked memory. Use ordinary memory, or free pinned tensors first.");
    }
    check_result(result, "cuMemHostAlloc");
    stats_.reserved_bytes.add(size);
    stats_.segments.add(1);
    auto* block = new Block{static_cast<char*>(data), size, {}, {}};
    all_[block->data] = block;
    return block;
  }

  std::mutex mutex_;
  std::map<const char*, Block*> all_;    // by address
  std::multimap<int64_t, Block*> free_;  // by size
  std::vector<Block*> waiting_;
  MemoryStats stats_;
};

// Never destroyed: tensors may outlive the statics of this file.
PinnedAllocator& allocator() {
  static auto* one = new PinnedAllocator;
  return *one;
}

void end_block(void* block) { allocator().deallocate(static_cast<Block*>(block)); }

}  // namespace

Storage* allocate_pinned(int64_t nbytes) {
  Block* block = allocator().allocate(nbytes);
  return Storage::wrap(block->data, nbytes, Device{}, end_block, block);
}
bool is_pinned(const void* data) { return allocator().has(data); }
void record_pinned_use(const void* data, int index, void* stream) {
  allocator().record(data, {index, stream});
}
MemoryStats pinned_memory_stats() { return allocator().stats(); }
void reset_pinned_peak() { allocator().reset_peak(); }
void reset_pinned_accumulated() { allocator().reset_accumulated(); }
void empty_pinned_cache() { allocator().empty_cache(); }

}  // namespace facula::cuda
