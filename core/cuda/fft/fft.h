// Discrete Fourier transforms on a GPU, by cuFFT.
#pragma once
#include <cstdint>

#include "base/device.h"

namespace facula::cuda {

enum class FftKind { Complex, FromReal, ToReal };

// Lines of n points, without any factor. Steps lead from point to point and from line to line, in
// elements of the side that they are of. The transform to real numbers overwrites its source.
struct FftLines {
  FftKind kind;
  bool is_double, is_inverse;
  int64_t n, n_lines;
  char* source;
  int64_t source_step, source_distance;
  char* result;
  int64_t result_step, result_distance;
};
void run_fft(const FftLines& lines, Device device);

// The plans that are kept: how many there are, and how many there may be.
int64_t fft_plan_count(int index);
int64_t fft_plan_limit(int index);
void set_fft_plan_limit(int index, int64_t limit);
void clear_fft_plans(int index);

}  // namespace facula::cuda
