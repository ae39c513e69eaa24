#include "base/device.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace facula {

namespace {

// The names of the types, by their numbers. Those after meta can be named and compared, as programs
// do to find out where they run; no tensor can be there.
constexpr const char* kTypeNames[] = {
    "cpu", "cuda", "meta", "mps",    "xpu",    "hpu",   "xla",  "mtia",   "privateuseone", "ipu",
    "hip", "maia", "lazy", "vulkan", "mkldnn", "ideep", "fpga", "opengl", "opencl",        "ve"};

}  // namespace

Device parse_device(const std::string& text) {
  std::string name = text, number;
  size_t colon = text.find(':');
  if (colon != std::string::npos) {
    name = text.substr(0, colon);
    number = text.substr(colon + 1);
    bool digits = !number.empty() && number.size() <= 3 &&
                  number.find_first_not_of("0123456789") == std::string::npos;
    check(digits && (number.size() == 1 || number[0] != '0') && std::stoi(number) < 128,
          "device: invalid device string '", text,
          "'; write for example 'cpu', 'cuda' or 'cuda:1'.");
  }
  auto* found = std::find(std::begin(kTypeNames), std::end(kTypeNames), name);
  check(found != std::end(kTypeNames),
        "device: expected one of 'cpu', 'cuda', 'meta' as device type, got '", text, "'.");
  Device device;
  device.type = static_cast<DeviceType>(found - std::begin(kTypeNames));
  if (!number.empty()) device.index = static_cast<int8_t>(std::stoi(number));
  return device;
}

const char* device_type_name(DeviceType type) { return kTypeNames[static_cast<int>(type)]; }

std::string to_string(Device device) {
  std::string text = device_type_name(device.type);
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

}  // namespace facula
