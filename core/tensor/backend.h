// What the tensor needs of a device: memory, a stream and copies of bytes. Kernels are reached from
// ops/.
#pragma once
#include "base/allocator.h"
#include "base/device.h"

namespace facula {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Allocator& allocator(Device device) = 0;
  virtual void* current_stream(Device device) = 0;
  // Either end may be this backend's device or the CPU. Returns when a later read on either end
  // sees the bytes.
  virtual void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                          int64_t nbytes) = 0;
  // Fills in the current device where the index is open, and raises, with the reason, if there is
  // no such device.
  virtual Device resolve(Device device) = 0;
};

Backend& backend_of(Device device);
void set_cuda_backend(Backend* backend);

}  // namespace facula
