// The CUDA kernels that operations call. Pointers in a walk are device pointers, but for the host
// operands: 0-d tensors of the CPU, which have kHostStride and whose values are passed as arguments
// of the kernel.
#pragma once
#include <string>

#include "cpu/pointwise/loop_tables.h"
#include "products/matmul.h"
#include "walk/reduction.h"
#include "walk/walk.h"

namespace facula::cuda {

// Gives the tensor layer its CUDA device. Opens nothing: that happens at first use.
void register_backend();

// Why there is no CUDA device to use, or nothing if there is one.
std::string unavailable_reason();

void run_unary(UnaryOp op, DType dtype, const Walk& walk);
void run_parametric(ParametricOp op, DType dtype, const Walk& walk,
                    const Scalar* numbers);  // three of them
// Activations and their derivatives from g and x; three numbers each.
void run_activation(ActivationOp op, DType dtype, const Walk& walk, const Scalar* numbers);
void run_slope(ActivationOp op, DType dtype, const Walk& walk, const cpu::BinaryParams& params);
// Operands of the slope: the result, the gradient, the input and the target.
void run_loss(LossOp op, DType dtype, const Walk& walk, Scalar p0);
void run_loss_slope(LossOp op, DType dtype, const Walk& walk, Scalar p0, Scalar divisor);
void run_predicate(PredicateOp op, DType dtype, const Walk& walk);
void run_binary(BinaryOp op, DType dtype, const Walk& walk, const cpu::BinaryParams& params);
void run_compare(CompareOp op, DType dtype, const Walk& walk);
void run_ternary(TernaryOp op, DType dtype, const Walk& walk, Scalar p0);
void run_where(DType dtype, const Walk& walk);
void run_cast(DType from, DType to, const Walk& walk);

// As facula::run_reduction, of a tensor on a GPU. Joined in a fixed tree, without atomics: the same
// bits in every run.
void run_reduction(const char* op, ReduceOp which, const Tensor& x, uint64_t mask, DType read_dtype,
                   const Tensor& values, const Tensor& seconds, const ReduceParams& params);

// As products::gemm. Raises for the dtypes that cuBLASLt does not multiply.
// `bias`, one number a column, is added to every row; of float32 and the 16-bit floats only.
template <class T>
void gemm(const products::Gemm<T>& x, Device device, const T* bias = nullptr);
// Whether products of float32 may round to 10 bits of mantissa for the tensor cores.
extern bool allows_tf32_matmul;

}  // namespace facula::cuda
