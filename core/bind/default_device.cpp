#include "bind/default_device.h"

#include <vector>

namespace facula {

namespace {
thread_local std::vector<Device> entered;
thread_local Device chosen;
}  // namespace

Device default_device() { return entered.empty() ? chosen : entered.back(); }
void choose_device(Device device) { chosen = device; }
void enter_device(Device device) { entered.push_back(device); }
void leave_device() {
  if (!entered.empty()) entered.pop_back();
}

}  // namespace facula
