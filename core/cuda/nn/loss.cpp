// Checks of what losses take.
#include "base/error.h"
#include "cuda/device.h"
#include "cuda/kernel.h"
#include "cuda/kernels/interval.h"
#include "cuda/nn/nn.h"

namespace facula::cuda {

namespace {

FACULA_KERNEL(check_unit_interval, "interval.h", IntervalArguments, kRealDTypes)

}  // namespace

void check_unit_interval(const char* op, const char* name, const Tensor& x) {
  check_unit_interval_kernel.for_each(
      x.device(), {x.dtype()}, x.numel(),
      {x.address(), x.numel(), op, name, static_cast<int>(ErrorKind::Runtime),
       fault_of(x.device().index)});
}

}  // namespace facula::cuda
