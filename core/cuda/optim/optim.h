// The steps of the optimisers on a GPU.
#pragma once
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "cuda/kernels/optim_arguments.h"
#include "math/optim.h"

namespace facula::cuda {

// Steps of parameters of one dtype, in one launch; the numbers of blocks are filled in.
using OptimStep = void (*)(Device device, DType dtype, std::vector<OptimSlice>& slices);
struct OptimSteps {
#define FACULA_MEMBER(Rule, name) OptimStep name;
  FACULA_OPTIM_RULES(FACULA_MEMBER)
#undef FACULA_MEMBER
};
extern const OptimSteps kOptimSteps;

}  // namespace facula::cuda
