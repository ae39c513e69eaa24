// Storages whose memory several processes map. The kernel counts the mappings and frees the memory
// with the last one: a process that is killed leaves nothing behind.
#pragma once
#include <cstdint>

#include "tensor/storage.h"

namespace facula {

// How another process finds the memory: by a descriptor that is sent to it, or by the number of a
// System V segment, which costs no descriptor but of which a system has a few thousand only.
enum class SharedBy { Descriptor, Segment };
struct SharedHandle {
  SharedBy by;
  int number;
};

// Moves the memory, in place: all views of the storage follow. Segments are also taken where
// descriptors run short. The memory that is left ends at once or, if kept, with the storage.
void share_memory(Storage& storage, SharedBy by, bool keep_former);
bool is_shared(const Storage& storage);
SharedHandle shared_handle(const Storage& storage);

// The storage over memory that another process has shared, one for each piece of memory. Takes
// over the descriptor, and the caller gets a reference.
Storage* open_shared(SharedHandle handle, int64_t nbytes);

}  // namespace facula
