#include "base/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace facula {
namespace {

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// The folders whose limits hold for this process: its cgroup and all above it. Version 1 mounts
// each controller apart, and inside a container the path may not be visible while the mount's root
// shows the container's own limits.
std::vector<std::string> cgroup_folders(const std::string& controller) {
  std::vector<std::string> folders;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    bool is_v2 = controllers == ",,";
    if (!is_v2 && controllers.find("," + controller + ",") == std::string::npos) continue;
    std::string mount = is_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
    for (std::string path = line.substr(second + 1); !path.empty();) {
      folders.push_back(mount + path);
      path.resize(path == "/" ? 0 : std::max<size_t>(path.rfind('/'), 1));
    }
  }
  return folders;
}

int cpus_by_affinity() {
#ifdef __linux__
  // Machines with more processors than cpu_set_t holds need a larger mask: the kernel says so with
  // an error.
  for (int n_cpus = CPU_SETSIZE; n_cpus <= 1 << 20; n_cpus *= 4) {
    cpu_set_t* mask = CPU_ALLOC(n_cpus);
    if (mask == nullptr) break;
    size_t nbytes = CPU_ALLOC_SIZE(n_cpus);
    CPU_ZERO_S(nbytes, mask);
    int n_set = sched_getaffinity(0, nbytes, mask) == 0 ? CPU_COUNT_S(nbytes, mask) : 0;
    CPU_FREE(mask);
    if (n_set > 0) return n_set;
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int cpus_by_quota() {
  double n_cpus = std::numeric_limits<int>::max();
  for (const std::string& folder : cgroup_folders("cpu")) {
    double quota = 0, period = 0;
    std::istringstream v2(first_line(folder + "/cpu.max"));
    if (!(v2 >> quota >> period)) {
      quota = std::atof(first_line(folder + "/cpu.cfs_quota_us").c_str());
      period = std::atof(first_line(folder + "/cpu.cfs_period_us").c_str());
    }
    if (quota > 0 && period > 0) n_cpus = std::min(n_cpus, quota / period);
  }
  int whole = static_cast<int>(n_cpus);
  return whole < n_cpus ? whole + 1 : whole;
}

}  // namespace

int available_cpus() {
  static const int n_cpus = std::max(1, std::min(cpus_by_affinity(), cpus_by_quota()));
  return n_cpus;
}

int64_t available_memory_bytes() {
  static const int64_t nbytes = [] {
    int64_t limit = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    for (const std::string& folder : cgroup_folders("memory")) {
      for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
        int64_t bound = std::strtoll(first_line(folder + name).c_str(), nullptr, 10);
        if (bound > 0) limit = std::min(limit, bound);
      }
    }
    return limit;
  }();
  return nbytes;
}

}  // namespace facula
