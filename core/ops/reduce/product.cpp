#include "autograd/node.h"
#include "ops/ops.h"
#include "ops/reduce/arguments.h"

namespace facula {

namespace {

Tensor prod(const Tensor& input, std::optional<int64_t> maybe_dim, bool keepdim,
            std::optional<DType> dtype) {
  Tensor x = to_dtype(
      input, dtype.value_or(is_differentiable(input.dtype()) ? input.dtype() : DType::Int64));
  int64_t dim = maybe_dim ? wrap_dim("prod", *maybe_dim, x.dim()) : 0;
  DimMask mask = maybe_dim ? DimMask(1) << dim : ~DimMask(0);
  Tensor y = empty(reduced_shape(x, mask, keepdim), x.dtype(), x.device());
  run_reduction("prod", ReduceOp::prod, x, mask, wide_dtype(x.dtype()), y);
  return record(maybe_dim ? "ProdBackward1" : "ProdBackward0", y, {x},
                [dim, mask, is_full = !maybe_dim, x = save(x)](const Tensor& g) {
                  Tensor input = x;
                  if (input.numel() == 0)
                    return zeros(input.sizes(), input.dtype(), input.device());
                  if (input.dim() == 0) return reshape(g, {});
                  // The product is the last of the running products, whose derivative minds zeros.
                  Tensor line = is_full ? reshape(input, {-1}) : input;
                  Tensor last = reshape(g, is_full ? Dims{1} : reduced_shape(input, mask, true));
                  int64_t size = line.size(dim);
                  Tensor index = full(last.sizes(), size - 1, DType::Int64, input.device());
                  return reshape(cumprod_backward(put_along(last, dim, index, size), line, dim),
                                 input.sizes());
                });
}

}  // namespace

FACULA_BINDINGS {
  const char* prod_doc = R"(The product of the elements, of all or along one dimension.
    input: the elements; integers and bool are multiplied as int64.
    dim: the dimension to multiply along; all elements by default.
    keepdim: whether to keep the dimension with size 1.
    dtype: dtype of the result; the elements are converted first.
    out: where to put the result.
    >>> facula.prod(facula.tensor([2.0, 3.0]))
    tensor(6.))"_doc;
  m.def(
      "prod",
      [](const Tensor& x, OptionalDim dim, bool keepdim, OptionalDType dtype, const Out& out) {
        check_type(dim || !out, "prod: out= is only taken together with dim.");
        return with_out("prod", out, [&] { return prod(x, dim, keepdim, dtype); });
      },
      "input"_a, "dim"_or_none, "keepdim"_a = false, nb::kw_only(), "dtype"_or_none, "out"_or_none,
      prod_doc);
  def_method(
      "prod",
      [](const Tensor& x, OptionalDim dim, bool keepdim, OptionalDType dtype) {
        return prod(x, dim, keepdim, dtype);
      },
      "dim"_or_none, "keepdim"_a = false, nb::kw_only(), "dtype"_or_none, prod_doc);
}

}  // namespace facula
