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

// Copies of this thread between page-locked memory and a device that are not waited for: whoever
// reads or writes the memory next has to wait for the stream.
class NonBlockingGuard {
 public:
  explicit NonBlockingGuard(bool is_on = true) : before_(is_on_) { is_on_ = is_on_ || is_on; }
  ~NonBlockingGuard() { is_on_ = before_; }
  NonBlockingGuard(const NonBlockingGuard&) = delete;
  NonBlockingGuard& operator=(const NonBlockingGuard&) = delete;
  static bool is_on() { return is_on_; }

 private:
  static thread_local bool is_on_;
  bool before_;
};

Backend& backend_of(Device device);
void set_cuda_backend(Backend* backend);

}  // namespace facula
