// Lines along one dimension: what scans, softmax and order statistics work on.
#pragma once
#include <initializer_list>

#include "base/parallel.h"
#include "ops/elementwise.h"

namespace facula {

// The start of a line of each operand; `steps` are the bytes from one element of the line to the
// next.
using LineBody = FunctionRef<void(char** data, const int64_t* steps)>;

// Calls body for every line along `dim` of operands that have one shape, but for the size of `dim`.
// Lines are shared out to threads; `line_cost` is the work of one in elements. A 0-d tensor is one
// line.
void for_each_line(std::initializer_list<TensorRef> operands, int64_t dim, int64_t line_cost,
                   LineBody body);

// One loop along `dim` of operands of one shape.
void run_lines(std::initializer_list<TensorRef> operands, int64_t dim, Loop loop,
               const void* params = nullptr);
// The same from the end of each line to its start.
void run_lines_reversed(std::initializer_list<TensorRef> operands, int64_t dim, Loop loop);

// Bytes of bools that are more than 0 and 1 become 1 in a copy, for kernels that compare bits.
Tensor with_plain_bools(const Tensor& x);

// Zeros of `size` along dim, to which each element of g is added where index says: the transpose of
// gather().
Tensor put_along(const Tensor& g, int64_t dim, const Tensor& index, int64_t size);

}  // namespace facula
