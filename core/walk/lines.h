// Lines along one dimension: what scans, softmax and order statistics work on.
#pragma once
#include <initializer_list>

#include "base/parallel.h"
#include "walk/walk.h"

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

}  // namespace facula
