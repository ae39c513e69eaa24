// What kernels tell the host about their input.
#pragma once
#ifdef __CUDACC_RTC__
#include "cuda/kernels/types.h"
#else
#include <cstdint>
#endif

namespace facula {

// What was wrong first. It lies in memory that host and device see; the host looks at it whenever
// it has waited for the device.
struct Fault {
  int is_set;
  int kind;  // an ErrorKind
  const char* op;
  int64_t value, position, size;  // of an index, or else
  const char* name;               // of the argument that
  double number;                  // is not from 0 to 1
};

}  // namespace facula
