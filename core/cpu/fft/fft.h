// Discrete Fourier transforms along one dimension of a tensor.
#pragma once
#include <cstdint>

#include "base/dims.h"
#include "cpu/fft/plan.h"
#include "cpu/isa.h"

namespace facula::cpu {

enum class FftForm {
  Complex,   // n points, real or complex, to the first n_out
  RealEven,  // n real points, an even number, to n / 2 + 1
  HalfEven,  // n / 2 + 1 points to the n real ones, an even number, whose transform they are half
             // of
  HalfOdd    // the same for an odd n
};

// All lines along a dimension of `source`, transformed into `result`, which may be `source` where
// both are complex and lie in the same way. Steps count numbers: two to a complex neighbour.
template <class T>
struct FftJob {
  FftForm form = FftForm::Complex;
  int64_t n = 0;            // points of the transform
  int64_t n_out = 0;        // points of the result
  bool is_inverse = false;  // of complex points
  bool is_source_complex = true;
  T factor = 1;
  const T* source = nullptr;
  T* result = nullptr;
  int64_t source_step = 0, result_step = 0;
  Dims sizes, source_steps, result_steps;  // of the other dimensions
  // Set by run_fft().
  const FftPlan<T>* plan = nullptr;
  const RealTurns<T>* turns = nullptr;
};

void run_fft(FftJob<float> job);
void run_fft(FftJob<double> job);

struct FftTable {
  void (*float32)(const FftJob<float>&);
  void (*float64)(const FftJob<double>&);
  int64_t n_lanes_float32, n_lanes_float64;
};
FACULA_KERNEL_TABLE(FftTable, fft_table)

}  // namespace facula::cpu
