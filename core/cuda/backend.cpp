#include "tensor/backend.h"

#include "base/parallel.h"
#include "cuda/allocator.h"
#include "cuda/cuda.h"
#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/pinned.h"
#include "cuda/program.h"

namespace facula::cuda {

namespace {

class CudaBackend final : public Backend {
 public:
  Allocator& allocator(Device device) override { return allocator_of(device.index); }
  void* current_stream(Device device) override { return cuda::current_stream(device.index); }
  Device resolve(Device device) override { return resolve_device(device); }

  void copy_bytes(void* to, Device to_device, const void* from, Device from_device,
                  int64_t nbytes) override {
    if (nbytes == 0) return;
    Device device = to_device.is_cpu() ? from_device : to_device;
    enter(device.index);
    bool is_capturable = NonBlockingGuard::is_on() && is_pinned(to_device.is_cpu() ? to : from);
    if ((to_device.is_cpu() || from_device.is_cpu()) && !is_capturable)
      check_not_capturing(device.index, "memory of the CPU cannot be copied");
    void* stream = cuda::current_stream(device.index);
    auto to_address = reinterpret_cast<DevicePointer>(to),
         from_address = reinterpret_cast<DevicePointer>(from);
    auto size = static_cast<size_t>(nbytes);
    const Driver& d = driver();
    Result result = kSuccess;
    if (to_device.is_cpu()) {
      if (NonBlockingGuard::is_on() && is_pinned(to)) {
        result = d.copy_to_host(to, from_address, size, stream);
        record_pinned_use(to, device.index, stream);
        check_result(result, "copying");
        return;
      }
      run_blocking([&] {
        result = d.copy_to_host(to, from_address, size, stream);
        if (result == kSuccess) result = d.stream_synchronize(stream);
      });
    } else if (from_device.is_cpu()) {
      // The driver has read pageable memory when this returns, but not memory that is pinned.
      bool is_read_later = is_pinned(from);
      run_blocking([&] { result = d.copy_to_device(to_address, from, size, stream); });
      if (is_read_later && NonBlockingGuard::is_on()) {
        record_pinned_use(from, device.index, stream);
      } else if (is_read_later && result == kSuccess) {
        run_blocking([&] { result = d.stream_synchronize(stream); });
      }
    } else if (to_device == from_device) {
      result = d.copy_on_device(to_address, from_address, size, stream);
    } else {
      // What is queued on the other device may still write the source.
      synchronize(from_device.index);
      enter(device.index);
      result = d.copy_between(to_address, context_of(to_device.index), from_address,
                              context_of(from_device.index), size, stream);
      synchronize_stream(device.index, stream);
    }
    check_result(result, "copying");
    if (to_device.is_cpu()) raise_fault(device.index);
  }
};

}  // namespace

void register_backend() {
  static CudaBackend backend;
  set_cuda_backend(&backend);
}

std::string unavailable_reason() {
  if (!driver_problem().empty()) return driver_problem();
  if (!compiler_problem().empty()) return compiler_problem();
  return version_problem();
}

}  // namespace facula::cuda
