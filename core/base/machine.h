// What this process may use of the machine: the affinity mask and the cgroup limits, not the
// hardware's totals.
#pragma once
#include <cstdint>

namespace facula {

// Processors that can run at once: at least 1.
int available_cpus();

// Bytes of memory that this process may use.
int64_t available_memory_bytes();

}  // namespace facula
