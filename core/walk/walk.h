// Element-wise work: operands walked together over one broadcast shape.
#pragma once
#include <initializer_list>

#include "tensor/tensor.h"

namespace facula {

// The innermost loop of a kernel: n elements, operand i at data[i] with a step of strides[i] bytes.
// Operand 0 is written.
using Loop = void (*)(char** data, const int64_t* strides, int64_t n, const void* params);

constexpr int kMaxOperands = 6;

// The stride of a host operand: a 0-d tensor of the CPU among tensors of another device, whose
// kernel gets the value itself.
constexpr int64_t kHostStride = INT64_MIN;

// Operands over a common shape, with dimensions merged and ordered for memory: dimension 0 is the
// innermost.
struct Walk {
  int n_operands = 0;
  int n_dims = 0;
  int64_t numel = 0;
  Device device;
  char* data[kMaxOperands];
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxOperands][kMaxDims];  // bytes
  int64_t item_bytes[kMaxOperands];
  bool keeps_places = false;  // the loop reads around an element: none may be brought elsewhere
};

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b);

// The operands must already have a shape that broadcasts to that of `out`, which must be of that
// shape. CPU numbers (0-d) may go with tensors of another device; everything else must be on one
// device.
Walk make_walk(const char* op, const Tensor& out, std::initializer_list<TensorRef> inputs);

// out and one input of out's shape and item size given by its address and strides (in elements; may
// be negative).
Walk make_walk(const Tensor& out, char* input, const Dims& input_strides);

// A fresh tensor for the result of an element-wise operation: its memory order follows the inputs',
// as in PyTorch.
Tensor empty_for(const Dims& shape, DType dtype, std::initializer_list<TensorRef> inputs);

// The dtype of a result of these operands: tensors with dimensions count before 0-d ones, these
// before Python numbers.
DType result_type(std::initializer_list<TensorRef> inputs);

// Raises if out shares memory with an input in a way that reads what was just written.
void check_no_partial_overlap(const char* op, const Tensor& out, const Tensor& input);
// For operations without a CUDA kernel. Tensors on meta pass: nothing is computed there.
void check_cpu(const char* op, const Tensor& x);
void check_same_device(const char* op, std::initializer_list<TensorRef> inputs);

}  // namespace facula
