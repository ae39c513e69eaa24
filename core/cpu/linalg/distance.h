// Distances between rows of numbers.
#pragma once
#include <cstdint>

#include "cpu/isa.h"

namespace facula::cpu {

// out[j] is the p-norm of a - b[j], for rows of m numbers, the n of b one behind the other. Asked
// to, the maximum passes NaN by.
template <class T>
using Distances = void (*)(const T* a, const T* b, int64_t n, int64_t m, double p,
                           bool max_skips_nan, T* out);
struct DistanceTable {
  Distances<float> float32;
  Distances<double> float64;
};
FACULA_KERNEL_TABLE(DistanceTable, distance_table)

}  // namespace facula::cpu
