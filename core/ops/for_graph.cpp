// What the graph computes with, see autograd/operations.h.
#include "autograd/operations.h"
#include "bind/sparse.h"
#include "ops/ops.h"

namespace facula::graph {

namespace {

[[maybe_unused]] const bool is_filled = [] {
  operations.add = [](const Tensor& a, const Tensor& b) {
    return is_sparse(a) || is_sparse(b) ? sparse::call("add", a, b) : add(resolved(a), b);
  };
  operations.add_to = [](Tensor& sum, const Tensor& x) {
    if (is_sparse(sum) || is_sparse(x)) {
      sparse::call("add_", sum, x);
    } else if (sum.is_lazy()) {  // a .grad that the user has set
      copy_(sum, add(resolved(sum), x));
    } else {
      add_(sum, x);
    }
  };
  operations.sum_to_size = [](const Tensor& x, const Dims& sizes) {
    return sum_to_size(is_sparse(x) ? sparse::call("to_dense", x) : x, sizes);
  };
  operations.to_dtype = [](const Tensor& x, DType dtype) {
    if (!is_sparse(x)) return to_dtype(x, dtype);
    return sparse::call("to_dtype", x, nb::handle(dtype_object(dtype)));
  };
  operations.real = [](const Tensor& x) {
    return is_sparse(x) ? sparse::call("real", x) : real(x);
  };
  operations.clone = [](const Tensor& x, MemoryFormat format) {
    return is_sparse(x) ? sparse::call("clone", x) : clone(x, format);
  };
  operations.copy_bytes = copy_into;
  operations.copy = [](Tensor& to, const Tensor& from) { copy_(to, from); };
  operations.fill_with_zeros = [](Tensor& x) { zero_(x); };
  operations.as_strided = as_strided;
  operations.view_as_real = view_as_real;
  operations.view_as_complex = view_as_complex;
  operations.has_nan = [](const Tensor& x) {
    return has_nan(is_sparse(x) ? sparse::call("values", x) : x);
  };
  operations.to_dense = [](const Tensor& x) { return sparse::call("to_dense", x); };
  operations.conj = conj;
  operations.neg = [](const Tensor& x) { return neg(x); };
  operations.conj_view = conj_view;
  operations.neg_view = neg_view;
  // Where nothing is recorded nobody asks for the history, which may be out of date.
  operations.clone_with_history = [](const Tensor& x) {
    return is_grad_enabled() ? clone_with_history(x) : clone(x);
  };
  operations.resize = resize_;
  return true;
}();

}  // namespace

}  // namespace facula::graph
