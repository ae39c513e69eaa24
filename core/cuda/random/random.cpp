#include "cuda/random/random.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cuda/graph.h"
#include "cuda/kernel.h"

namespace facula::cuda {

namespace {

FACULA_KERNEL(draw_samples, "random.h", SampleArguments, kRealDTypes)
FACULA_KERNEL(draw_floats, "random.h", SampleArguments, kFloatDTypes)
FACULA_KERNEL(dropout, "random.h", DropoutArguments, kFloatDTypes)
FACULA_KERNEL(draw_chances, "random.h", ChanceArguments, kFloatDTypes, kRealDTypes)

// One for each four elements, until every thread of a large GPU has some; from there on up to four.
int64_t threads_of(int64_t numel) {
  int64_t n_groups = ceil_div(numel, kDrawn);
  return std::min(n_groups, std::max<int64_t>(1 << 18, ceil_div(n_groups, 4)));
}

RandomCall next_call(Generator& generator, Device device) {
  if (Graph* graph = capturing(device.index)) {
    check(&generator == default_generator(device).get(),
          "cuda: a generator of one's own cannot be used while a graph is captured.");
    return {0, graph->next_call(), reinterpret_cast<const uint64_t*>(graph->random_words())};
  }
  std::lock_guard<std::mutex> lock(generator.mutex());
  return {generator.philox_seed(), generator.next_call(), nullptr};
}

void run_dropout(const Tensor& y, const Tensor& x, const Tensor& mask, DropoutArguments a) {
  a.x = x.address();
  a.y = y.address();
  a.mask = mask.address_as<bool>();
  a.numel = x.numel();
  int64_t nbytes = kDrawn * x.itemsize();
  a.is_packed = is_aligned(a.x, nbytes) && is_aligned(a.y, nbytes) && is_aligned(a.mask, kDrawn);
  dropout_kernel.for_each(x.device(), {x.dtype()}, threads_of(a.numel), a);
}

}  // namespace

void draw_samples(const Tensor& x, const Draw& draw, Generator& generator) {
  bool is_simple =
      draw.distribution == Distribution::Uniform || draw.distribution == Distribution::Normal;
  (is_simple ? draw_floats_kernel : draw_samples_kernel)
      .for_each(
          x.device(), {x.dtype()}, threads_of(x.numel()),
          {x.address(), x.numel(), next_call(generator, x.device()), draw.distribution, draw.a,
           draw.b, draw.base, draw.range, is_aligned(x.address(), kDrawn * x.itemsize())});
}

void draw_chances(const Tensor& x, const Tensor& chances, Generator& generator) {
  draw_chances_kernel.for_each(
      x.device(), {chances.dtype(), x.dtype()}, x.numel(),
      {x.address(), chances.address(), x.numel(), next_call(generator, x.device())});
}

void dropout(const Tensor& y, const Tensor& x, const Tensor& mask, double scale) {
  DropoutArguments a{};
  a.scale = scale;
  run_dropout(y, x, mask, a);
}

void dropout(const Tensor& y, const Tensor& x, const Tensor& mask, double scale, double keep,
             Generator& generator) {
  DropoutArguments a{};
  a.random = next_call(generator, x.device());
  a.chance = static_cast<int64_t>(std::ceil(keep * 0x1p32));
  a.scale = scale;
  a.draws = true;
  run_dropout(y, x, mask, a);
}

}  // namespace facula::cuda
