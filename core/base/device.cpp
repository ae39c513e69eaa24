#include "base/device.h"

#include "base/error.h"

namespace facula {

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
  Device device;
  if (name == "cuda") {
    device.type = DeviceType::CUDA;
  } else {
    check(name == "cpu", "device: expected one of 'cpu', 'cuda' as device type, got '", text, "'.");
  }
  if (!number.empty()) device.index = static_cast<int8_t>(std::stoi(number));
  return device;
}

std::string to_string(Device device) {
  std::string text = device.is_cpu() ? "cpu" : "cuda";
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

}  // namespace facula
