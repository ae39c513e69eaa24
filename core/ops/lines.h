// Lines along one dimension: what scans, softmax and order statistics work on.
#pragma once
#include <initializer_list>

#include "base/parallel.h"
#include "ops/elementwise.h"

namespace facula {

// The start of a line of each operand; `steps` are the bytes from one element of the line to the
// next.
using LineBody = FunctionRef<void(char** data, const int64_t* steps)>;
// The same for n_lines lines, which start `line_steps` bytes apart.
using LinesBody = FunctionRef<void(char** data, const int64_t* steps, const int64_t* line_steps,
                                   int64_t n_lines)>;

// Calls body for all lines along `dim` of operands that have one shape, but for the size of `dim`,
// as many at a time as lie in even distances. Lines are shared out to threads; `line_cost` is the
// work of one in elements. A 0-d tensor is one line.
void for_many_lines(std::initializer_list<TensorRef> operands, int64_t dim, int64_t line_cost,
                    LinesBody body);
void for_each_line(std::initializer_list<TensorRef> operands, int64_t dim, int64_t line_cost,
                   LineBody body);

// Bytes of bools that are more than 0 and 1 become 1 in a copy, for kernels that compare bits.
Tensor with_plain_bools(const Tensor& x);

// Zeros of `size` along dim, to which each element of g is added where index says: the transpose of
// gather().
Tensor put_along(const Tensor& g, int64_t dim, const Tensor& index, int64_t size);

}  // namespace facula
