// Distances between rows of numbers.
#pragma once
#include <cstdint>

#include "cpu/isa.h"

namespace facula::cpu {

// out[j] is the p-norm of a - b[j], for rows of m numbers, the n of b one behind the other.
struct DistanceTable {
  void (*float32)(const float* a, const float* b, int64_t n, int64_t m, double p, float* out);
  void (*float64)(const double* a, const double* b, int64_t n, int64_t m, double p, double* out);
};
FACULA_KERNEL_TABLE(DistanceTable, distance_table)

}  // namespace facula::cpu
