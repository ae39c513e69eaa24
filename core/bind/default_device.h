// The device of new tensors for which none is named: set_default_device, or the innermost
// `with device:` of this thread.
#pragma once
#include <optional>

#include "bind/casters.h"

namespace facula {

Device default_device();
void choose_device(Device device);
void enter_device(Device device);
void leave_device();
inline Device device_or_default(const std::optional<DeviceArg>& device) {
  return device ? device->device : default_device();
}

}  // namespace facula
