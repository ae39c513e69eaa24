#include "cuda/allocator.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/integers.h"
#include "cuda/device.h"

namespace facula::cuda {

namespace {

constexpr int64_t kMiB = int64_t(1) << 20;
constexpr int64_t kAlignment = 512;
// Blocks up to kSmall are cut from segments of their own, so that they do not break up large ones.
constexpr int64_t kSmall = kMiB, kSmallSegment = 2 * kMiB, kLargeSegment = 20 * kMiB;

int64_t round_up(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }

// A piece of a segment, in the order of addresses.
struct Block {
  char* data;
  int64_t nbytes;
  uint64_t owner;  // a stream's address, or a pool of graphs: who may use it again
  bool is_small;
  bool is_free;
  Block* before;  // neighbours in the segment; null at its ends
  Block* after;
  std::vector<void*> other_streams = {};  // whose work may still use it when it is freed
};

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    if (a->owner != b->owner) return a->owner < b->owner;
    return a->nbytes != b->nbytes ? a->nbytes < b->nbytes : a->data < b->data;
  }
};

class CudaAllocator final : public Allocator {
 public:
  explicit CudaAllocator(int index) : index_(index) {}

  void* allocate(int64_t nbytes, void* stream) override {
    if (nbytes == 0) return nullptr;
    check(nbytes > 0, "cuda: cannot allocate ", nbytes, " bytes.");
    std::lock_guard<std::mutex> lock(mutex_);
    if (!waiting_.empty()) take_back();
    int64_t rounded = round_up(nbytes, kAlignment);
    bool is_small = rounded <= kSmall;
    uint64_t owner = owner_of(stream);
    Block* block = take_cached(rounded, owner, is_small);
    if (!block) block = new_segment(rounded, owner, is_small);
    cut(block, rounded);
    block->is_free = false;
    used_[block->data] = block;
    stats_.allocated_bytes.add(block->nbytes);
    stats_.allocations.add(1);
    return block->data;
  }

  void deallocate(void* data, int64_t, void*) override {
    if (!data) return;
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = used_.find(static_cast<char*>(data));
    check_value(found != used_.end(), "cuda: there is no block of memory at ", data, " to free.");
    Block* block = found->second;
    used_.erase(found);
    stats_.allocated_bytes.add(-block->nbytes);
    stats_.allocations.add(-1);
    if (block->other_streams.empty()) return give_back(block);
    waiting_.push_back({block, {}});
    for (void* stream : block->other_streams) {
      constexpr unsigned disable_timing = 2;
      void* event = nullptr;
      if (driver().event_create(&event, disable_timing) != kSuccess) continue;
      driver().event_record(event, stream);
      waiting_.back().events.push_back(event);
    }
    block->other_streams.clear();
  }

  void record_stream(void* data, void* stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = used_.find(static_cast<char*>(data));
    if (found == used_.end()) return;  // memory of another library
    Block* block = found->second;
    if (block->owner == owner_of(stream)) return;
    std::vector<void*>& streams = block->other_streams;
    if (std::find(streams.begin(), streams.end(), stream) == streams.end())
      streams.push_back(stream);
  }

  void begin_private(void* stream, uint64_t pool) {
    std::lock_guard<std::mutex> lock(mutex_);
    captured_[stream] = pool;
  }
  void end_private(void* stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    captured_.erase(stream);
  }
  void hold_private(uint64_t pool) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++holders_[pool];
  }
  void release_private(uint64_t pool) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--holders_[pool] == 0) holders_.erase(pool);
  }

  void empty_cache() override {
    std::lock_guard<std::mutex> lock(mutex_);
    take_back();
    release_cached();
  }

  AllocatorStats stats() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return {stats_.allocated_bytes.current, stats_.reserved_bytes.current,
            stats_.allocated_bytes.peak, stats_.allocations.total};
  }
  MemoryStats memory_stats() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }

  void reset_peak() override {
    std::lock_guard<std::mutex> lock(mutex_);
    stats_.reset_peak();
  }
  void reset_accumulated() {
    std::lock_guard<std::mutex> lock(mutex_);
    stats_.reset_accumulated();
  }

  void set_fraction(double fraction) {
    std::lock_guard<std::mutex> lock(mutex_);
    fraction_ = fraction;
  }
  double fraction() const { return fraction_; }

  std::vector<SegmentInfo> snapshot() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<SegmentInfo> segments;
    auto add = [&](const Block* block) {
      while (block->before) block = block->before;
      SegmentInfo segment{block->data, 0, block->owner, block->is_small, {}};
      for (; block; block = block->after) {
        segment.nbytes += block->nbytes;
        segment.blocks.push_back({block->nbytes, !block->is_free});
      }
      segments.push_back(std::move(segment));
    };
    // Each segment once: by the first block of it.
    for (const auto& [data, block] : used_)
      if (!block->before) add(block);
    for (const Pool* free : {&small_, &large_})
      for (const Block* block : *free)
        if (!block->before) add(block);
    for (const Waiting& w : waiting_)
      if (!w.block->before) add(w.block);
    std::sort(segments.begin(), segments.end(),
              [](const SegmentInfo& a, const SegmentInfo& b) { return a.data < b.data; });
    return segments;
  }

 private:
  using Pool = std::set<Block*, BySize>;
  Pool& pool(bool is_small) { return is_small ? small_ : large_; }

  // Addresses of streams are even; pools of graphs get the odd numbers.
  static uint64_t owner_of_pool(uint64_t pool) { return pool * 2 + 1; }
  uint64_t owner_of(void* stream) const {
    auto found = captured_.find(stream);
    return found == captured_.end() ? reinterpret_cast<uint64_t>(stream)
                                    : owner_of_pool(found->second);
  }
  bool is_held(uint64_t owner) const { return owner % 2 == 1 && holders_.count(owner / 2) > 0; }

  void give_back(Block* block) {
    block->is_free = true;
    if (block->before && block->before->is_free) block = merge(block->before);
    if (block->after && block->after->is_free) merge(block);
    pool(block->is_small).insert(block);
  }

  // Blocks that other streams have done with since.
  void take_back() {
    enter(index_);
    auto is_over = [&](const Waiting& w) {
      for (void* event : w.events)
        if (driver().event_query(event) == kNotReady) return false;
      for (void* event : w.events) driver().event_destroy(event);
      give_back(w.block);
      return true;
    };
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), is_over), waiting_.end());
  }

  // The smallest free block of the owner that is large enough.
  Block* take_cached(int64_t nbytes, uint64_t owner, bool is_small) {
    Pool& free = pool(is_small);
    Block wanted{nullptr, nbytes, owner, is_small, true, nullptr, nullptr};
    auto found = free.lower_bound(&wanted);
    if (found == free.end() || (*found)->owner != owner) return nullptr;
    Block* block = *found;
    free.erase(found);
    return block;
  }

  Result take(DevicePointer* data, int64_t size) {
    if (fraction_ < 1 && stats_.reserved_bytes.current + size > limit_bytes()) return kOutOfMemory;
    return driver().memory_allocate(data, static_cast<size_t>(size));
  }
  int64_t total() const { return properties(index_).total_memory; }

  Block* new_segment(int64_t nbytes, uint64_t owner, bool is_small) {
    int64_t size = is_small ? kSmallSegment : std::max(kLargeSegment, round_up(nbytes, 2 * kMiB));
    if (nbytes >= kLargeSegment / 2) size = round_up(nbytes, 2 * kMiB);
    enter(index_);
    DevicePointer data = 0;
    Result result = take(&data, size);
    if (result == kOutOfMemory) {
      ++stats_.n_retries;
      // Also what only waits for other streams.
      for (const Waiting& w : waiting_)
        for (void* event : w.events) driver().event_synchronize(event);
      take_back();
      release_cached();
      result = take(&data, size);
    }
    if (result == kOutOfMemory) fail_out_of_memory(nbytes);
    check_result(result, "cuMemAlloc");
    stats_.reserved_bytes.add(size);
    stats_.segments.add(1);
    return new Block{reinterpret_cast<char*>(data), size, owner, is_small, true, nullptr, nullptr};
  }

  [[noreturn]] void fail_out_of_memory(int64_t nbytes) {
    size_t n_free = 0, n_total = 0;
    driver().memory_info(&n_free, &n_total);
    ++stats_.n_failures;
    auto held = static_cast<int64_t>(n_total - n_free);
    int64_t own = stats_.allocated_bytes.current, reserved = stats_.reserved_bytes.current;
    std::string limit = fraction_ < 1 ? "; this process may take " +
                                            std::to_string(mib(limit_bytes())) + " MiB of it"
                                      : "";
    fail(ErrorKind::OutOfMemory, "cuda: out of memory: tried to allocate ", mib(nbytes),
         " MiB on cuda:", index_, ", of whose ", mib(static_cast<int64_t>(n_total)), " MiB ",
         mib(static_cast<int64_t>(n_free)), " MiB are free", limit,
         ". Tensors of this process hold ", mib(own), " MiB", largest_text(), ", ",
         mib(reserved - own), " MiB lie between them, and ",
         mib(std::max(held - reserved, int64_t(0))),
         " MiB belong to other programs and to CUDA itself. Use smaller batches, or free tensors "
         "first.");
  }
  int64_t limit_bytes() const {
    return static_cast<int64_t>(fraction_ * static_cast<double>(total()));
  }
  // The largest blocks that are in use, those of one size together.
  std::string largest_text() const {
    std::map<int64_t, int64_t, std::greater<int64_t>> n_by_size;
    for (const auto& [data, block] : used_) ++n_by_size[block->nbytes];
    std::string text;
    int n_shown = 0;
    for (auto [nbytes, n] : n_by_size) {
      if (nbytes < kMiB || n_shown++ == 3) break;
      text += (text.empty() ? " (" : ", ") + std::to_string(n) + " of " +
              std::to_string(mib(nbytes)) + " MiB";
    }
    return text.empty() ? "" : text + (n_shown > 3 ? ", ...)" : ")");
  }
  static int64_t mib(int64_t nbytes) { return ceil_div(nbytes, kMiB); }

  // Leaves `nbytes` in the block and gives the rest back, where that is worth keeping.
  void cut(Block* block, int64_t nbytes) {
    int64_t rest = block->nbytes - nbytes;
    if (rest < (block->is_small ? kAlignment : kSmall)) return;
    Block* after = new Block{block->data + nbytes, rest, block->owner, block->is_small, true, block,
                             block->after};
    if (block->after) block->after->before = after;
    block->after = after;
    block->nbytes = nbytes;
    pool(block->is_small).insert(after);
  }

  // Of a block and the one after it, both free: one. Only that which was in its pool already is
  // taken out of it.
  Block* merge(Block* block) {
    Block* after = block->after;
    pool(block->is_small).erase(block);
    pool(block->is_small).erase(after);
    block->nbytes += after->nbytes;
    block->after = after->after;
    if (block->after) block->after->before = block;
    delete after;
    return block;
  }

  // Gives whole free segments back. Work that still uses one is waited for by the driver.
  void release_cached() {
    enter(index_);
    for (Pool* free : {&small_, &large_}) {
      for (auto it = free->begin(); it != free->end();) {
        Block* block = *it;
        if (block->before || block->after || is_held(block->owner)) {
          ++it;
          continue;
        }
        check_result(driver().memory_free(reinterpret_cast<DevicePointer>(block->data)),
                     "cuMemFree");
        stats_.reserved_bytes.add(-block->nbytes);
        stats_.segments.add(-1);
        it = free->erase(it);
        delete block;
      }
    }
  }

  struct Waiting {
    Block* block;
    std::vector<void*> events;
  };

  int index_;
  mutable std::mutex mutex_;
  Pool small_, large_;
  std::unordered_map<char*, Block*> used_;
  std::vector<Waiting> waiting_;
  std::unordered_map<void*, uint64_t> captured_;   // streams, and the pools their memory is from
  std::unordered_map<uint64_t, int64_t> holders_;  // pools, and how many graphs hold them
  double fraction_ = 1;
  MemoryStats stats_;
};

CudaAllocator& own_allocator(int index) {
  // Never destroyed: tensors may outlive the statics of this file.
  static auto* allocators = [] {
    auto* list = new std::vector<std::unique_ptr<CudaAllocator>>;
    for (int i = 0; i < device_count(); ++i) list->push_back(std::make_unique<CudaAllocator>(i));
    return list;
  }();
  return *(*allocators)[existing_device(index)];
}

}  // namespace

Allocator& allocator_of(int index) { return own_allocator(index); }

void record_stream(int index, void* data, void* stream) {
  own_allocator(index).record_stream(data, stream);
}
void begin_private(int index, void* stream, uint64_t pool) {
  own_allocator(index).begin_private(stream, pool);
}
void end_private(int index, void* stream) { own_allocator(index).end_private(stream); }
void hold_private(int index, uint64_t pool) { own_allocator(index).hold_private(pool); }
void release_private(int index, uint64_t pool) { own_allocator(index).release_private(pool); }
MemoryStats memory_stats(int index) { return own_allocator(index).memory_stats(); }
void reset_accumulated_stats(int index) { own_allocator(index).reset_accumulated(); }
void set_memory_fraction(int index, double fraction) {
  own_allocator(index).set_fraction(fraction);
}
std::vector<SegmentInfo> memory_snapshot(int index) { return own_allocator(index).snapshot(); }
double memory_fraction(int index) { return own_allocator(index).fraction(); }

}  // namespace facula::cuda
