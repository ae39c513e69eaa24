// The caching allocator: one interface for every device.
#pragma once
#include <cstddef>
#include <cstdint>

namespace facula {

struct AllocatorStats {
  int64_t allocated_bytes = 0;  // held by live blocks
  int64_t reserved_bytes = 0;   // taken from the system, cached blocks included
  int64_t peak_allocated_bytes = 0;
  int64_t n_allocations = 0;
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  // A block of at least nbytes, 64-byte aligned; null for nbytes == 0. Throws OutOfMemory. `stream`
  // orders reuse on devices with streams and is ignored on the CPU.
  virtual void* allocate(int64_t nbytes, void* stream) = 0;
  virtual void deallocate(void* block, int64_t nbytes, void* stream) = 0;
  virtual void empty_cache() = 0;
  virtual AllocatorStats stats() const = 0;
  virtual void reset_peak() = 0;
};

// Thread-safe. Small sizes come from free lists by size class; large blocks are kept and reused,
// because the page faults of a fresh block cost more than the work done on it.
Allocator& cpu_allocator();

}  // namespace facula
