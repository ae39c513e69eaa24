// Walks a tensor and feeds the kernels of reduce_kernels.h.
#pragma once
#include "cpu/reduce/reduce_kernels.h"

namespace facula::cpu {

// As facula::run_reduction, of a tensor on the CPU, with a kernel that is not null.
void run_reduction(ReduceOp which, const Tensor& x, DimMask mask, DType read_dtype,
                   const Tensor& values, const Tensor& seconds, const ReduceParams& params);

}  // namespace facula::cpu
