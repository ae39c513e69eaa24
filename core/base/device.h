// Where memory lives and work runs.
#pragma once
#include <cstdint>
#include <ostream>
#include <string>

namespace facula {

// Meta: tensors have a shape, strides and a dtype there, but no elements, and nothing is computed.
enum class DeviceType : int8_t { CPU, CUDA, Meta };

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;  // -1: the current device of that type; a tensor on CUDA always has a number

  bool is_cpu() const { return type == DeviceType::CPU; }
  bool is_cuda() const { return type == DeviceType::CUDA; }
  bool is_meta() const { return type == DeviceType::Meta; }
  bool operator==(const Device& o) const { return type == o.type && index == o.index; }
  bool operator!=(const Device& o) const { return !(*this == o); }
};

Device parse_device(const std::string& text);
const char* device_type_name(DeviceType type);  // "cpu", "cuda" or "meta"
std::string to_string(Device device);
inline std::ostream& operator<<(std::ostream& out, Device d) { return out << to_string(d); }

}  // namespace facula
