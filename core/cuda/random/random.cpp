#include "cuda/random/random.h"

#include "cuda/kernel.h"

namespace facula::cuda {

namespace {

FACULA_KERNEL(draw_samples, "random.h", SampleArguments, kRealDTypes)
FACULA_KERNEL(draw_chances, "random.h", ChanceArguments, kFloatDTypes, kRealDTypes)

uint64_t next_call(Generator& generator) {
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.next_call();
}

}  // namespace

void draw_samples(const Tensor& x, const Draw& draw, Generator& generator) {
  draw_samples_kernel.for_each(x.device(), {x.dtype()}, x.numel(),
                               {x.data(), x.numel(), generator.philox_seed(), next_call(generator),
                                draw.distribution, draw.a, draw.b, draw.base, draw.range});
}

void draw_chances(const Tensor& x, const Tensor& chances, Generator& generator) {
  draw_chances_kernel.for_each(
      x.device(), {chances.dtype(), x.dtype()}, x.numel(),
      {x.data(), chances.data(), x.numel(), generator.philox_seed(), next_call(generator)});
}

}  // namespace facula::cuda
