// What the graph computes with, see autograd/operations.h.
#include "autograd/operations.h"
#include "ops/ops.h"

namespace facula::graph {

namespace {

[[maybe_unused]] const bool is_filled = [] {
  operations.add = [](const Tensor& a, const Tensor& b) { return add(a, b); };
  operations.add_to = [](Tensor& sum, const Tensor& x) { add_(sum, x); };
  operations.sum_to_size = sum_to_size;
  operations.to_dtype = to_dtype;
  operations.real = real;
  operations.clone = clone;
  operations.copy_bytes = copy_into;
  operations.copy = [](Tensor& to, const Tensor& from) { copy_(to, from); };
  operations.fill_with_zeros = [](Tensor& x) { zero_(x); };
  operations.as_strided = as_strided;
  operations.view_as_real = view_as_real;
  operations.view_as_complex = view_as_complex;
  operations.has_nan = has_nan;
  return true;
}();

}  // namespace

}  // namespace facula::graph
