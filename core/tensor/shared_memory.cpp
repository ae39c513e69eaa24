#include "tensor/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"

namespace facula {
namespace {

using Key = std::pair<uint64_t, uint64_t>;

struct Mapping {
  SharedHandle handle{SharedBy::Descriptor, -1};
  void* address = nullptr;
  int64_t nbytes = 0;
  Key key;
  Storage* owner = nullptr;   // not counted: the mapping ends with it
  Storage* former = nullptr;  // what NumPy or a kernel still looks at after the move
};

// Used, as storages are, with the interpreter lock held. Never destroyed: storages may be later.
std::map<Key, Mapping*>& open_mappings() {
  static auto& mappings = *new std::map<Key, Mapping*>;
  return mappings;
}
int64_t n_descriptors = 0;

// A quarter of what the process may have: the rest is for its files and connections.
bool may_keep_descriptor() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<rlim_t>(n_descriptors) < limit.rlim_cur / 4;
}

void close_descriptor(Mapping& mapping) {
  if (mapping.handle.by != SharedBy::Descriptor || mapping.handle.number < 0) return;
  close(mapping.handle.number);
  mapping.handle.number = -1;
}

void end_mapping(void* context) {
  auto* mapping = static_cast<Mapping*>(context);
  if (mapping->address) {
    open_mappings().erase(mapping->key);
    if (mapping->handle.by == SharedBy::Segment)
      shmdt(mapping->address);
    else
      munmap(mapping->address, static_cast<size_t>(mapping->nbytes));
    if (mapping->handle.by == SharedBy::Descriptor && mapping->handle.number >= 0) --n_descriptors;
  }
  close_descriptor(*mapping);
  if (mapping->former) mapping->former->release();
  delete mapping;
}

[[noreturn]] void fail_to_share(int64_t nbytes, const char* what) {
  int error = errno;
  fail(error == ENOMEM ? ErrorKind::OutOfMemory : ErrorKind::Runtime, "share_memory_: ", nbytes,
       " bytes of memory for several processes: ", what, " failed: ", std::strerror(error), ".");
}

// Of the memory itself: the same for every descriptor of it, in every process.
Key key_of(SharedHandle handle) {
  if (handle.by == SharedBy::Segment) return {~uint64_t{0}, static_cast<uint64_t>(handle.number)};
  struct stat status {};
  fstat(handle.number, &status);
  return {status.st_dev, status.st_ino};
}

int64_t size_of(SharedHandle handle) {
  if (handle.by == SharedBy::Segment) {
    shmid_ds status{};
    return shmctl(handle.number, IPC_STAT, &status) == 0 ? static_cast<int64_t>(status.shm_segsz)
                                                         : -1;
  }
  struct stat status {};
  return fstat(handle.number, &status) == 0 ? static_cast<int64_t>(status.st_size) : -1;
}

void map(Mapping& mapping) {
  SharedHandle& handle = mapping.handle;
  int64_t size = size_of(handle);
  if (size < 0) fail_to_share(mapping.nbytes, "looking for it");
  // Pages beyond the end of a file would kill the process at the first access.
  check(mapping.nbytes <= size, "a storage of ", mapping.nbytes, " bytes was sent with ", size,
        " bytes of memory.");
  void* address = handle.by == SharedBy::Segment
                      ? shmat(handle.number, nullptr, 0)
                      : mmap(nullptr, static_cast<size_t>(mapping.nbytes), PROT_READ | PROT_WRITE,
                             MAP_SHARED, handle.number, 0);
  if (address == MAP_FAILED) fail_to_share(mapping.nbytes, "mapping");
  mapping.address = address;
  mapping.key = key_of(handle);
  if (handle.by == SharedBy::Segment) return;
  fcntl(handle.number, F_SETFD, FD_CLOEXEC);  // a received one would pass to other programs
  // Without its descriptor the memory can be used, but not sent on.
  may_keep_descriptor() ? void(++n_descriptors) : close_descriptor(mapping);
}

// A file without a name, in memory that the size of /dev/shm does not limit. False where the
// process has no descriptor left for it.
bool create_descriptor(Mapping& mapping) {
  int fd = may_keep_descriptor() ? memfd_create("facula", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
  if (fd < 0) return false;
  mapping.handle = {SharedBy::Descriptor, fd};
  // Sealed, because a process that made the file shorter would end all others.
  if (ftruncate(fd, mapping.nbytes) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail_to_share(mapping.nbytes, "ftruncate");
  map(mapping);
  return true;
}

// Marked for removal at once: the segment ends with its last user. Until then Linux lets others
// attach to it by its number.
void create_segment(Mapping& mapping) {
  int id = shmget(IPC_PRIVATE, static_cast<size_t>(mapping.nbytes), IPC_CREAT | 0600);
  if (id < 0) fail_to_share(mapping.nbytes, "shmget (ipcs -lm tells the system's limits)");
  mapping.handle = {SharedBy::Segment, id};
  auto remove = [id] { shmctl(id, IPC_RMID, nullptr); };
  try {
    map(mapping);
  } catch (...) {
    remove();
    throw;
  }
  remove();
}

struct EndMapping {
  void operator()(Mapping* mapping) const { end_mapping(mapping); }
};
using MappingPtr = std::unique_ptr<Mapping, EndMapping>;

Storage* wrap_mapping(Mapping& mapping) {
  mapping.owner = Storage::wrap(mapping.address, mapping.nbytes, Device{}, end_mapping, &mapping);
  if (mapping.address) open_mappings()[mapping.key] = &mapping;
  return mapping.owner;
}

}  // namespace

bool is_shared(const Storage& storage) { return storage.deleter() == end_mapping; }

void share_memory(Storage& storage, SharedBy by, bool keep_former) {
  check_not_implemented(storage.device().is_cpu(), "share_memory_: not implemented on ",
                        storage.device(), ".");
  if (is_shared(storage)) return;
  MappingPtr mapping(new Mapping);
  mapping->nbytes = storage.nbytes();
  if (mapping->nbytes > 0) {
    if (by == SharedBy::Segment || !create_descriptor(*mapping)) create_segment(*mapping);
    std::memcpy(mapping->address, storage.data(), static_cast<size_t>(mapping->nbytes));
  }
  Storage* moved = wrap_mapping(*mapping);
  storage.swap_memory(*moved);
  mapping->owner = &storage;
  if (keep_former || storage.is_exported())
    mapping->former = moved;
  else
    moved->release();
  mapping.release();
}

SharedHandle shared_handle(const Storage& storage) {
  check(is_shared(storage), "the storage is not shared between processes.");
  const Mapping& mapping = *static_cast<Mapping*>(storage.context());
  check(mapping.handle.number >= 0 || mapping.nbytes == 0,
        "send: this process got the memory from another one when few descriptors were left "
        "(ulimit -n) and kept none for it, so it cannot send it on. Send a clone() of the tensor.");
  return mapping.handle;
}

Storage* open_shared(SharedHandle handle, int64_t nbytes) {
  MappingPtr mapping(new Mapping);
  mapping->handle = handle;
  mapping->nbytes = nbytes;
  auto known = open_mappings().find(key_of(handle));
  if (known != open_mappings().end()) {
    known->second->owner->retain();
    return known->second->owner;
  }
  map(*mapping);
  return wrap_mapping(*mapping.release());
}

}  // namespace facula
