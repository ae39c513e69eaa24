// Functions of two tensors: the rows of binary.def, and what they are made with.
#pragma once
#include <array>
#include "cpu/pointwise/loop_tables.h"
#include "ops/result.h"

namespace facula {

#define BINARY(name, ...)                                                             \
  Tensor name(const Tensor& a, const Tensor& b, const Into& into);                    \
  inline Tensor name(const Tensor& a, const Tensor& b) { return name(a, b, Into{}); } \
  Tensor& name##_(Tensor& a, const Tensor& b);
#include "tables/binary.def"

Tensor heaviside(const Tensor& x, const Tensor& values, const Into& into = {});
Tensor ldexp(const Tensor& x, const Tensor& other, const Into& into = {});

// Whether an operation on a and b is to be recorded.
inline bool wants_history(const Tensor& a, const Tensor& b) {
  return is_grad_enabled() && (a.requires_grad() || b.requires_grad());
}

// The loop of a kernel of two operands, and its launch on a GPU.
struct PairKernel {
  Loop loop;
  void (*on_cuda)(int op, DType dtype, const Walk& walk, const cpu::BinaryParams& params);
  int op;
  bool takes_wide = true;  // nextafter goes from one 16-bit number to the next
};
PairKernel pair_kernel(BinaryOp op, DType dtype);

// From checked operands to the kernel of their device, in this dtype; nothing is recorded.
Tensor apply_pair(const char* name, const PairKernel& kernel, const Tensor& a, const Tensor& b,
                  DType dtype, const std::array<Scalar, 3>& numbers, const Into& into = {});
inline Tensor apply_binary(const char* name, BinaryOp op, const Tensor& a, const Tensor& b,
                           DType dtype, const Into& into = {}, Scalar p0 = 0) {
  return apply_pair(name, pair_kernel(op, dtype), a, b, dtype, {p0}, into);
}
// a becomes op(a, b); a's dtype need not be `dtype`.
void apply_binary_(const char* name, BinaryOp op, const Tensor& a, const Tensor& b, DType dtype,
                   Scalar p0 = 0);

// PyTorch's result of a float16 tensor with a complex number, or a 0-d tensor, is complex32.
bool makes_complex32(const Tensor& a, const Tensor& b);
void check_not_complex32(const char* name, const Tensor& a, const Tensor& b);
// Integer division by zero has no result; the kernels do not look for it.
void check_divisor(const char* name, const Tensor& a, const Tensor& b, DType dtype);

}  // namespace facula
