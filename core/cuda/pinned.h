// Memory of the CPU that the driver holds in its place (page-locked): copies between it and a GPU
// go on beside the work of both.
#pragma once
#include "cuda/allocator.h"
#include "tensor/storage.h"

namespace facula::cuda {

// Freed blocks are kept, and used again when the streams that copy from or to them have done so.
Storage* allocate_pinned(int64_t nbytes);
bool is_pinned(const void* data);
// Work of this stream, queued so far, reads or writes the block.
void record_pinned_use(const void* data, int index, void* stream);

MemoryStats pinned_memory_stats();
void reset_pinned_peak();
void reset_pinned_accumulated();
void empty_pinned_cache();

}  // namespace facula::cuda
