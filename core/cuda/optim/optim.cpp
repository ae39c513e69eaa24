#include "cuda/optim/optim.h"

#include "cuda/graph.h"
#include "cuda/kernel.h"
#include "cuda/workspace.h"
#include "tensor/backend.h"

namespace facula::cuda {

namespace {

#define FACULA_STEP(Rule, name) FACULA_KERNEL(name##_step, "optim.h", OptimArguments, kFloatDTypes)
FACULA_OPTIM_RULES(FACULA_STEP)
#undef FACULA_STEP

static_assert(kOptimThreads == kKernelThreads);

void run(const Kernel<OptimArguments>& kernel, Device device, DType dtype,
         std::vector<OptimSlice>& slices) {
  int64_t n_blocks = 0;
  for (OptimSlice& slice : slices) {
    slice.first_block = n_blocks;
    n_blocks += ceil_div(slice.n, kOptimBlock);
  }
  if (n_blocks == 0) return;
  // The numbers of a rule change with every step.
  check_not_capturing(device.index, "an optimiser cannot take a step");
  auto nbytes = static_cast<int64_t>(slices.size() * sizeof(OptimSlice));
  Workspace table(device, nbytes);
  backend_of(device).copy_bytes(table.data(), device, slices.data(), Device{}, nbytes);
  kernel(device, {dtype}, {n_blocks, 1},
         {reinterpret_cast<const OptimSlice*>(table.data()), static_cast<int>(slices.size())});
}

template <const Kernel<OptimArguments>& kernel>
void run_kernel(Device device, DType dtype, std::vector<OptimSlice>& slices) {
  run(kernel, device, dtype, slices);
}

}  // namespace

#define FACULA_STEP(Rule, name) run_kernel<name##_step_kernel>,
const OptimSteps kOptimSteps = {FACULA_OPTIM_RULES(FACULA_STEP)};
#undef FACULA_STEP

}  // namespace facula::cuda
