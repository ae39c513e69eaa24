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

Backend* cuda_backend = nullptr;

}  // namespace

Backend& backend_of(Device device) {
  static CpuBackend cpu;
  if (device.is_cpu()) return cpu;
  check(cuda_backend != nullptr, "device: this build has no CUDA backend.");
  return *cuda_backend;
}

void set_cuda_backend(Backend* backend) { cuda_backend = backend; }

}  // namespace facula
