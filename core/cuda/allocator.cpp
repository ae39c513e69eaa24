#include "cuda/allocator.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
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
  void* stream;
  bool is_small;
  bool is_free;
  Block* before;  // neighbours in the segment; null at its ends
  Block* after;
};

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    if (a->stream != b->stream) return std::less<void*>()(a->stream, b->stream);
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
    int64_t rounded = round_up(nbytes, kAlignment);
    bool is_small = rounded <= kSmall;
    Block* block = take_cached(rounded, stream, is_small);
    if (!block) block = new_segment(rounded, stream, is_small);
    cut(block, rounded);
    block->is_free = false;
    used_[block->data] = block;
    stats_.allocated_bytes += block->nbytes;
    stats_.peak_allocated_bytes = std::max(stats_.peak_allocated_bytes, stats_.allocated_bytes);
    ++stats_.n_allocations;
    return block->data;
  }

  void deallocate(void* data, int64_t, void*) override {
    if (!data) return;
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = used_.find(static_cast<char*>(data));
    Block* block = found->second;
    used_.erase(found);
    stats_.allocated_bytes -= block->nbytes;
    block->is_free = true;
    if (block->before && block->before->is_free) block = merge(block->before);
    if (block->after && block->after->is_free) merge(block);
    pool(block->is_small).insert(block);
  }

  void empty_cache() override {
    std::lock_guard<std::mutex> lock(mutex_);
    release_cached();
  }

  AllocatorStats stats() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }

  void reset_peak() override {
    std::lock_guard<std::mutex> lock(mutex_);
    stats_.peak_allocated_bytes = stats_.allocated_bytes;
  }

 private:
  using Pool = std::set<Block*, BySize>;
  Pool& pool(bool is_small) { return is_small ? small_ : large_; }

  // The smallest free block of the stream that is large enough.
  Block* take_cached(int64_t nbytes, void* stream, bool is_small) {
    Pool& free = pool(is_small);
    Block wanted{nullptr, nbytes, stream, is_small, true, nullptr, nullptr};
    auto found = free.lower_bound(&wanted);
    if (found == free.end() || (*found)->stream != stream) return nullptr;
    Block* block = *found;
    free.erase(found);
    return block;
  }

  Block* new_segment(int64_t nbytes, void* stream, bool is_small) {
    int64_t size = is_small ? kSmallSegment : std::max(kLargeSegment, round_up(nbytes, 2 * kMiB));
    if (nbytes >= kLargeSegment / 2) size = round_up(nbytes, 2 * kMiB);
    enter(index_);
    DevicePointer data = 0;
    Result result = driver().memory_allocate(&data, static_cast<size_t>(size));
    if (result == kOutOfMemory) {
      release_cached();
      result = driver().memory_allocate(&data, static_cast<size_t>(size));
    }
    if (result == kOutOfMemory) fail_out_of_memory(nbytes);
    check_result(result, "cuMemAlloc");
    stats_.reserved_bytes += size;
    return new Block{reinterpret_cast<char*>(data), size, stream, is_small, true, nullptr, nullptr};
  }

  [[noreturn]] void fail_out_of_memory(int64_t nbytes) {
    size_t n_free = 0, n_total = 0;
    driver().memory_info(&n_free, &n_total);
    fail(ErrorKind::OutOfMemory, "cuda: out of memory: tried to allocate ", mib(nbytes),
         " MiB on cuda:", index_, ", of whose ", mib(static_cast<int64_t>(n_total)), " MiB ",
         mib(static_cast<int64_t>(n_free)), " MiB are free; tensors of this process hold ",
         mib(stats_.allocated_bytes), " MiB. Use smaller batches, or free tensors first.");
  }
  static int64_t mib(int64_t nbytes) { return ceil_div(nbytes, kMiB); }

  // Leaves `nbytes` in the block and gives the rest back, where that is worth keeping.
  void cut(Block* block, int64_t nbytes) {
    int64_t rest = block->nbytes - nbytes;
    if (rest < (block->is_small ? kAlignment : kSmall)) return;
    Block* after = new Block{
        block->data + nbytes, rest, block->stream, block->is_small, true, block, block->after};
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
        if (block->before || block->after) {
          ++it;
          continue;
        }
        check_result(driver().memory_free(reinterpret_cast<DevicePointer>(block->data)),
                     "cuMemFree");
        stats_.reserved_bytes -= block->nbytes;
        it = free->erase(it);
        delete block;
      }
    }
  }

  int index_;
  mutable std::mutex mutex_;
  Pool small_, large_;
  std::unordered_map<char*, Block*> used_;
  AllocatorStats stats_;
};

}  // namespace

Allocator& allocator_of(int index) {
  // Never destroyed: tensors may outlive the statics of this file.
  static auto* allocators = [] {
    auto* list = new std::vector<std::unique_ptr<CudaAllocator>>;
    for (int i = 0; i < device_count(); ++i) list->push_back(std::make_unique<CudaAllocator>(i));
    return list;
  }();
  return *(*allocators)[index];
}

}  // namespace facula::cuda
