#include "ops/compare.h"

#include <cstring>

#include "autograd/node.h"
#include "ops/apply.h"
#include "ops/ops.h"

namespace facula {

namespace {

// An integer beyond the range of a small integer dtype: compared as it is, not wrapped around.
bool is_out_of_range(const Tensor& number, DType dtype) {
  if (!number->is_wrapped_number || !is_integral(dtype) || dtype == DType::Int64) return false;
  int64_t value = item(number).to_int();
  int bits = static_cast<int>(8 * item_size(dtype));
  return dtype == DType::UInt8 ? value < 0 || value > 255 : value < -(int64_t(1) << (bits - 1)) || value >= int64_t(1) << (bits - 1);
}

DType compared_dtype(const Tensor& a, const Tensor& b) {
  DType dtype = result_type({a, b});
  return is_out_of_range(a, dtype) || is_out_of_range(b, dtype) ? DType::Int64 : dtype;
}

}  // namespace

#define PREDICATE(name, kinds, formula) \
  Tensor name(const Tensor& x) { return apply_predicate(#name, PredicateOp::name, x); }
#include "ops/predicate.def"
#undef PREDICATE

#define COMPARE(name, kinds, formula) \
  Tensor name(const Tensor& a, const Tensor& b) { return apply_compare(#name, CompareOp::name, a, b, compared_dtype(a, b)); }
#include "ops/compare.def"
#undef COMPARE

Tensor isreal(const Tensor& x) {
  if (!is_complex(x.dtype())) return full(x.sizes(), true, DType::Bool, x.device());
  return eq(imag(x), wrapped_number(0));
}

bool equal(const Tensor& a, const Tensor& b) {
  check_same_device("equal", {a, b});
  if (a.sizes() != b.sizes()) return false;
  NoGradGuard guard;
  Tensor same = contiguous(eq(a, b));
  return !std::memchr(same.data(), 0, static_cast<size_t>(same.numel()));
}

}  // namespace facula
