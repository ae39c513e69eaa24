#include "cuda/device.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"

namespace facula::cuda {

namespace {

// Attributes of CUdevice_attribute.
constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76;

// Null where no kernel of the device could have reported anything.
Fault* faults[kMaxDevices] = {};  // guarded by the interpreter lock

thread_local int current_index = 0;
thread_local void* streams[kMaxDevices] = {};

Properties read_properties(int index) {
  const Driver& d = driver();
  int device;
  check_result(d.device_get(&device, index), "cuDeviceGet");
  Properties p;
  char name[256] = {};
  size_t nbytes = 0;
  check_result(d.device_name(name, sizeof(name), device), "cuDeviceGetName");
  check_result(d.device_memory(&nbytes, device), "cuDeviceTotalMem");
  check_result(d.device_attribute(&p.major, kMajor, device), "cuDeviceGetAttribute");
  check_result(d.device_attribute(&p.minor, kMinor, device), "cuDeviceGetAttribute");
  check_result(d.device_attribute(&p.multi_processor_count, kMultiprocessors, device),
               "cuDeviceGetAttribute");
  p.name = name;
  p.total_memory = static_cast<int64_t>(nbytes);
  return p;
}

void check_index(int index) {
  int n = device_count();
  check(index >= 0 && index < n, "cuda: there is no device cuda:", index, "; the driver sees ", n,
        n == 1 ? " GPU, cuda:0." : " GPUs, cuda:0 to cuda:" + std::to_string(n - 1) + ".");
}

}  // namespace

int device_count() {
  if (!driver_problem().empty()) return 0;
  static const int count = [] {
    int n = 0;
    check_result(driver().device_count(&n), "cuDeviceGetCount");
    return std::min(n, kMaxDevices);
  }();
  return count;
}

const Properties& properties(int index) {
  driver();
  check_index(index);
  static const std::vector<Properties> all = [] {
    std::vector<Properties> list;
    for (int i = 0; i < device_count(); ++i) list.push_back(read_properties(i));
    return list;
  }();
  return all[index];
}

int current_device() { return current_index; }

void set_current_device(int index) {
  driver();
  check_index(index);
  current_index = index;
}

Device resolve_device(Device device) {
  driver();
  if (device.index < 0) device.index = static_cast<int8_t>(current_index);
  check_index(device.index);
  return device;
}

int existing_device(int index) {
  check(0 <= index && index < device_count(), "cuda: there is no device ", index,
        " (invalid device ordinal): the number of devices is ", device_count(), ".");
  return index;
}

void* context_of(int index) {
  static std::mutex mutex;
  static void* contexts[kMaxDevices] = {};
  std::lock_guard<std::mutex> lock(mutex);
  if (!contexts[existing_device(index)]) {
    int device;
    check_result(driver().device_get(&device, index), "cuDeviceGet");
    check_result(driver().primary_context_retain(&contexts[index], device),
                 "cuDevicePrimaryCtxRetain");
  }
  return contexts[index];
}

void enter(int index) {
  const Driver& d = driver();
  void *wanted = context_of(index), *current = nullptr;
  check_result(d.context_get_current(&current), "cuCtxGetCurrent");
  if (current != wanted) check_result(d.context_set_current(wanted), "cuCtxSetCurrent");
}

void* current_stream(int index) { return streams[index]; }
void set_current_stream(int index, void* stream) { streams[index] = stream; }

void synchronize(int index) {
  enter(index);
  Result result = kSuccess;
  run_blocking([&] { result = driver().context_synchronize(); });
  check_result(result, "cuCtxSynchronize");
  raise_fault(index);
}

void synchronize_stream(int index, void* stream) {
  enter(index);
  Result result = kSuccess;
  run_blocking([&] { result = driver().stream_synchronize(stream); });
  check_result(result, "cuStreamSynchronize");
  raise_fault(index);
}

Fault* fault_of(int index) {
  if (!faults[index]) {
    constexpr unsigned is_portable = 1, is_mapped = 2;
    enter(index);
    void* memory = nullptr;
    check_result(driver().host_memory_allocate(&memory, sizeof(Fault), is_portable | is_mapped),
                 "cuMemHostAlloc");
    faults[index] = new (memory) Fault{};
  }
  return faults[index];
}

void raise_fault(int index) {
  const volatile int* is_set = faults[index] ? &faults[index]->is_set : nullptr;
  if (!is_set || !*is_set) return;
  Fault fault = *faults[index];
  *faults[index] = {};
  auto raise = [&](const auto&... what) {
    fail(static_cast<ErrorKind>(fault.kind), fault.op, ": ", what...,
         " The operation ran on cuda:", index,
         " and was waited for here; with CUDA_LAUNCH_BLOCKING=1 the error is raised where it "
         "happens.");
  };
  if (fault.name)
    raise("expected ", fault.name, " with values from 0 to 1, got ", fault.number,
          ". (all elements of ", fault.name, " should be between 0 and 1)");
  raise("index ", fault.value, " at position ", fault.position,
        " is out of bounds for a dimension of size ", fault.size, ".");
}

bool is_launch_blocking() {
  static const bool blocking = [] {
    const char* value = std::getenv("CUDA_LAUNCH_BLOCKING");
    return value && std::strcmp(value, "1") == 0;
  }();
  return blocking;
}

}  // namespace facula::cuda
