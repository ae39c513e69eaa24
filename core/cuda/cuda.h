// The CUDA kernels that operations call. Pointers in a walk are device pointers, but for 0-d CPU operands (stride 0 and the
// operand's `is_host` set), whose value is passed as a kernel argument.
#pragma once
#include <string>

#include "cpu/elementwise.h"
#include "ops/elementwise.h"

namespace facula::cuda {

// Why there is no CUDA device to use, or nothing if there is one.
std::string unavailable_reason();

void run_unary(UnaryOp op, DType dtype, const Walk& walk);
void run_binary(BinaryOp op, DType dtype, const Walk& walk);
// out = alpha a b + beta out, matrices or batches of them.
void run_matmul(const Tensor& out, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha);
void run_cast(DType from, DType to, const Walk& walk);

}  // namespace facula::cuda
