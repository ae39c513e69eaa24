// Reductions. `dims` are the dimensions to reduce, all where empty; dim_mask() in reduction.h has
// the rules.
#pragma once
#include <optional>
#include <utility>

#include "tensor/tensor.h"
#include "walk/reduction.h"

namespace facula {

Tensor sum(const Tensor& x, const Dims& dims = {}, bool keepdim = false,
           std::optional<DType> dtype = {});
Tensor mean(const Tensor& x, const Dims& dims = {}, bool keepdim = false,
            std::optional<DType> dtype = {});
Tensor nansum(const Tensor& x, const Dims& dims = {}, bool keepdim = false,
              std::optional<DType> dtype = {});
// One dimension, or all.
Tensor prod(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false,
            std::optional<DType> dtype = {});
// bool; uint8 for uint8.
Tensor any(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor all(const Tensor& x, const Dims& dims = {}, bool keepdim = false);

// Squared distances from the mean, divided by their number less `correction`.
Tensor var(const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
Tensor stddev(const Tensor& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims = {}, double correction = 1,
                                   bool keepdim = false);
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims = {}, double correction = 1,
                                   bool keepdim = false);

// The p-norm of all elements along the dimensions as one vector; p may be infinite.
Tensor vector_norm(const Tensor& x, double p = 2, const Dims& dims = {}, bool keepdim = false,
                   std::optional<DType> dtype = {});
Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim = false);

// Reduces the dimensions of x in `mask` into `values`, which is contiguous and of any dtype, and
// for the operations that have one the second result into `seconds` (contiguous; int64 indices or
// float64 means). x is read as `read_dtype`. Pieces are cut by size alone and joined in a fixed
// tree: the bits do not depend on the number of threads. Nothing is recorded.
void run_reduction(const char* op, ReduceOp kernel, const Tensor& x, DimMask mask, DType read_dtype,
                   const Tensor& values, const Tensor& seconds = {},
                   const ReduceParams& params = {});

// Undoes a broadcast: sums the dimensions along which `sizes` was expanded to x's.
Tensor sum_to_size(const Tensor& x, const Dims& sizes);

}  // namespace facula
