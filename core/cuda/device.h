// The GPUs of this process: their contexts, properties and streams.
#pragma once
#include <cstdint>
#include <string>

#include "base/device.h"
#include "cuda/driver.h"
#include "cuda/kernels/fault.h"

namespace facula::cuda {

struct Properties {
  std::string name;
  int64_t total_memory = 0;
  int major = 0, minor = 0;
  int multi_processor_count = 0;
};

constexpr int kMaxDevices = 128;
int device_count();  // 0 where there is no driver
const Properties& properties(int index);

// The current device of this thread, and its context current in the driver.
int current_device();
void set_current_device(int index);
// Fills in the current device and checks the number.
Device resolve_device(Device device);
// The number of a device, where there is one of that number; raises otherwise.
int existing_device(int index);
// The primary context of this device, shared with other libraries in the process; made at first
// use.
void* context_of(int index);
// Makes calls of the driver in this thread go to the device.
void enter(int index);

// The stream on which this thread's work on the device is queued. Null is the default stream, which
// waits for all others.
void* current_stream(int index);
void set_current_stream(int index, void* stream);

// Wait with the interpreter lock released, then raise what kernels found wrong.
void synchronize(int index);
void synchronize_stream(int index, void* stream);

// Where kernels of the device report what is wrong with their input.
Fault* fault_of(int index);
// Raises what was reported, once. For whoever has waited for the device.
void raise_fault(int index);

// Whether CUDA_LAUNCH_BLOCKING=1 asks to wait after every launch.
bool is_launch_blocking();

}  // namespace facula::cuda
