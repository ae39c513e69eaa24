#include "cuda/cuda.h"

namespace facula::cuda {

namespace {
[[noreturn]] void no_device() { fail(ErrorKind::Runtime, "cuda: ", unavailable_reason(), "."); }
}  // namespace

std::string unavailable_reason() { return "this build has no CUDA backend"; }

void run_unary(UnaryOp, DType, const Walk&) { no_device(); }
void run_binary(BinaryOp, DType, const Walk&) { no_device(); }
void run_matmul(const Tensor&, const Tensor&, const Tensor&, Scalar, Scalar) { no_device(); }
void run_cast(DType, DType, const Walk&) { no_device(); }

}  // namespace facula::cuda
