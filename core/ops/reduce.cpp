#include "ops/reduce.h"

#include "autograd/node.h"
#include "ops/ops.h"

namespace facula {

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim, std::optional<DType> dtype) {
  DType out_dtype = dtype.value_or(is_differentiable(x.dtype()) ? x.dtype() : DType::Int64);
  bool reduced[kMaxDims] = {};
  for (int64_t d : dims) reduced[wrap_dim("sum", d, x.dim())] = true;
  if (dims.empty()) std::fill(reduced, reduced + kMaxDims, true);
  Dims kept, sizes;
  for (int64_t i = 0; i < x.dim(); ++i) {
    kept.push_back(reduced[i] ? 1 : x.size(i));
    if (!reduced[i] || keepdim) sizes.push_back(kept[i]);
  }
  Tensor y = zeros(kept, out_dtype, x.device());
  {
    NoGradGuard guard;
    Tensor in = contiguous(to_dtype(x, out_dtype));
    Tensor acc = expand(y, x.sizes());
    visit_dtype(out_dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = in.data_as<T>();
      T* to = acc.data_as<T>();
      Dims at(x.dim());
      for (int64_t i = 0; i < in.numel(); ++i) {
        int64_t offset = 0;
        for (int64_t d = 0; d < x.dim(); ++d) offset += at[d] * acc.stride(d);
        to[offset] = static_cast<T>(to[offset] + from[i]);
        for (int64_t d = x.dim() - 1; d >= 0; --d) {
          if (++at[d] < x.size(d)) break;
          at[d] = 0;
        }
      }
    });
    y = reshape(y, sizes);
  }
  return record(dims.empty() ? "SumBackward0" : "SumBackward1", y, {x}, [kept, sizes = x.sizes()](const Tensor& g) {
    return expand(reshape(g, kept), sizes);
  });
}

Tensor sum_to_size(const Tensor& x, const Dims& sizes) {
  if (x.sizes() == sizes) return x;
  check(is_expandable_to(sizes, x.sizes()), "sum_to_size: a tensor of shape ", x.sizes(), " cannot be summed to ", sizes, ".");
  Dims dims;
  int64_t extra = x.dim() - static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i < extra || (sizes[i - extra] == 1 && x.size(i) != 1)) dims.push_back(i);
  return reshape(dims.empty() ? x : sum(x, dims, true), sizes);
}

}  // namespace facula
