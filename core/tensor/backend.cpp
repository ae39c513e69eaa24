#include "tensor/backend.h"

#include <cstring>

#include "base/error.h"

namespace facula {
namespace {

class CpuBackend final : public Backend {
 public:
  Allocator& allocator(Device) override { return cpu_allocator(); }
  void* current_stream(Device) override { return nullptr; }
  void copy_bytes(void* to, Device, const void* from, Device, int64_t nbytes) override {
    if (nbytes) std::memcpy(to, from, nbytes);
  }
  Device resolve(Device device) override {
    check(device.index <= 0, "device: there is one cpu device, with index 0; got ", device, ".");
    return {DeviceType::CPU, -1};
  }
};

class NoAllocator final : public Allocator {
 public:
  void* allocate(int64_t, void*) override { return nullptr; }
  void deallocate(void*, int64_t, void*) override {}
  void empty_cache() override {}
  AllocatorStats stats() const override { return {}; }
  void reset_peak() override {}
};

class MetaBackend final : public Backend {
 public:
  Allocator& allocator(Device) override { return allocator_; }
  void* current_stream(Device) override { return nullptr; }
  void copy_bytes(void*, Device to_device, const void*, Device, int64_t) override {
    check_not_implemented(to_device.is_meta(), "Cannot copy out of meta tensor; no data!");
  }
  Device resolve(Device) override { return {DeviceType::Meta, -1}; }

 private:
  NoAllocator allocator_;
};

Backend* cuda_backend = nullptr;

}  // namespace

thread_local bool NonBlockingGuard::is_on_ = false;

Backend& backend_of(Device device) {
  static CpuBackend cpu;
  static MetaBackend meta;
  if (device.is_cpu()) return cpu;
  if (device.is_meta()) return meta;
  check_not_implemented(device.is_cuda(), "device: Facula has no tensors on '",
                        device_type_name(device.type),
                        "'. It computes on 'cpu', and on 'cuda' where there is an NVIDIA GPU.");
  check(cuda_backend != nullptr, "device: this build has no CUDA backend.");
  return *cuda_backend;
}

void set_cuda_backend(Backend* backend) { cuda_backend = backend; }

}  // namespace facula
