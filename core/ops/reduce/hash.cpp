#include "ops/ops.h"
#include "ops/reduce/arguments.h"
#include "ops/shape/view.h"

namespace facula {

namespace {

constexpr const char* kName = "hash_tensor";

void check_hashed(const Tensor& x, const Dims& dims, int64_t mode, const Into& into) {
  check(!into.tensor || into.tensor->dtype() == DType::UInt64, kName,
        ": Expected result to be of dtype uint64, but got ",
        into.tensor ? into.tensor->dtype() : DType::UInt64, ".");
  check(mode == 0, kName, ": expected mode 0, got ", mode, ".");
  check(!dims.empty() || x.numel() > 0, kName,
        ": Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
        "dim with the dim argument.");
  DimMask seen = 0;
  for (int64_t d : dims) {
    int64_t dim = wrap_dim(kName, d, x.dim());
    check(!is_in(seen, dim), kName, ": dim ", dim, " appears multiple times in the list of dims.");
    check_index(x.dim() == 0 || x.size(dim) > 0, kName, ": Expected reduction dim ", dim,
                " to have non-zero size.");
    seen |= DimMask(1) << dim;
  }
  check_not_implemented(!is_complex_kind(x.dtype()), kName, ": not implemented for ", x, ".");
}

// Elements are read as float64 or int64, and their bits joined.
Tensor hash_tensor(const Tensor& x, const OptionalDims& dim, bool keepdim, int64_t mode,
                   const Into& into) {
  const Dims& dims = dims_of(dim);
  check_hashed(x, dims, mode, into);
  DType dtype = is_floating_kind(x.dtype()) ? DType::Float64 : DType::Int64;
  DimMask mask = dim_mask(kName, dims, x.dim());
  Tensor y = empty(reduced_shape(x, mask, keepdim), dtype, x.device());
  Tensor numbers = is_stored_only(x.dtype()) ? to_dtype(x, dtype) : x;
  run_reduction(kName, ReduceOp::hash, detach(numbers), mask, dtype, y);
  return view_dtype(y, DType::UInt64);
}

}  // namespace

FACULA_BINDINGS {
  const char* hash_doc =
      R"(A number that changes with any element: the exclusive or of all of them, as 64 bits each.
    input: what is hashed; elements are converted to float64 or int64 first.
    dim: the dimensions that are hashed, by default all.
    keepdim: whether the result has these dimensions, of size 1.
    mode: must be 0.
    out: where to write the result, of dtype uint64.
    >>> x = facula.tensor([1, 2, 4])
    >>> facula.hash_tensor(x)
    tensor(7, dtype=torch.uint64))"_doc;
  def_op_out(m, kName, &hash_tensor, "dim"_or_none, nb::kw_only(), "keepdim"_a = false,
             "mode"_a = 0, hash_doc);
}

}  // namespace facula
