// Memory of a device that kernels use among themselves.
#pragma once
#include "tensor/backend.h"

namespace facula::cuda {

// Memory for the time of a launch: freed at once, as later work of the stream comes later.
class Workspace {
 public:
  Workspace(Device device, int64_t nbytes)
      : allocator_(backend_of(device).allocator(device)),
        nbytes_(nbytes),
        stream_(backend_of(device).current_stream(device)),
        data_(allocator_.allocate(nbytes, stream_)) {}
  ~Workspace() { allocator_.deallocate(data_, nbytes_, stream_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  Allocator& allocator_;
  int64_t nbytes_;
  void* stream_;
  void* data_;
};

}  // namespace facula::cuda
