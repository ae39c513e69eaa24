// Random numbers on a GPU, from Philox generators: those of the CPU, element by element, but for
// the masks of dropout().
#pragma once
#include "cuda/kernels/random.h"
#include "random/generator.h"
#include "tensor/tensor.h"

namespace facula::cuda {

// What is drawn; see Distribution for the meaning of the numbers.
struct Draw {
  Distribution distribution;
  double a = 0, b = 0;
  int64_t base = 0;
  uint64_t range = 0;
};

// Fills contiguous x.
void draw_samples(const Tensor& x, const Draw& draw, Generator& generator);
// Ones with the probabilities in `chances`, contiguous and of a floating dtype, else zeros.
void draw_chances(const Tensor& x, const Tensor& chances, Generator& generator);

// y = x * scale where the mask is set, x * 0 elsewhere; all three lie alike and densely. With a
// generator the mask is drawn first: `keep` is the probability that an element is.
void dropout(const Tensor& y, const Tensor& x, const Tensor& mask, double scale);
void dropout(const Tensor& y, const Tensor& x, const Tensor& mask, double scale, double keep,
             Generator& generator);

}  // namespace facula::cuda
