// The caching allocator of a GPU.
#pragma once
#include <array>
#include <vector>

#include "base/allocator.h"

namespace facula::cuda {

// A freed block is used again only on the stream that it was allocated on, whose order makes that
// safe without waiting.
Allocator& allocator_of(int index);

// Whether the memory of a block may be written by another stream's work, which is then waited for
// before the block is used again.
void record_stream(int index, void* data, void* stream);

// Memory for graphs: while one is captured, what is allocated on its stream belongs to its pool,
// and is used again for that pool alone until the last graph that holds it is gone.
void begin_private(int index, void* stream, uint64_t pool);
void end_private(int index, void* stream);
void hold_private(int index, uint64_t pool);
void release_private(int index, uint64_t pool);

struct MemoryCount {
  int64_t current = 0, peak = 0, total = 0;  // total: all that ever was
  void add(int64_t n) {
    current += n;
    if (n > 0) total += n;
    if (current > peak) peak = current;
  }
};
struct MemoryStats {
  MemoryCount allocated_bytes, reserved_bytes, allocations, segments;
  int64_t n_retries = 0, n_failures = 0;

  void reset_peak() {
    for (MemoryCount* count : counts()) count->peak = count->current;
  }
  void reset_accumulated() {
    for (MemoryCount* count : counts()) count->total = 0;
    n_retries = n_failures = 0;
  }

 private:
  std::array<MemoryCount*, 4> counts() {
    return {&allocated_bytes, &reserved_bytes, &allocations, &segments};
  }
};
MemoryStats memory_stats(int index);

// A piece of memory that the driver gave, cut into blocks.
struct BlockInfo {
  int64_t nbytes;
  bool is_used;
};
struct SegmentInfo {
  const char* data;
  int64_t nbytes;
  uint64_t owner;  // the stream that it is for; odd numbers are pools of graphs
  bool is_small;
  std::vector<BlockInfo> blocks;
};
std::vector<SegmentInfo> memory_snapshot(int index);
void reset_accumulated_stats(int index);
// No more than this part of the device's memory is taken.
void set_memory_fraction(int index, double fraction);
double memory_fraction(int index);

}  // namespace facula::cuda
