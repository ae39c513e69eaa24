#include "ops/pointwise/compare.h"

#include <cstring>

#include "autograd/node.h"
#include "ops/ops.h"
#include "ops/pointwise/apply.h"

namespace facula {

#define PREDICATE(name, kinds, formula) \
  Tensor name(const Tensor& x) { return apply_predicate(#name, PredicateOp::name, x); }
#include "tables/predicate.def"
#undef PREDICATE

#define COMPARE(name, kinds, formula)                                        \
  Tensor name(const Tensor& a, const Tensor& b) {                            \
    return apply_compare(#name, CompareOp::name, a, b, result_type({a, b})); \
  }
#include "tables/compare.def"
#undef COMPARE

Tensor isreal(const Tensor& x) {
  if (!is_complex(x.dtype())) {
    Tensor y = empty_for(x.sizes(), DType::Bool, {x});
    return fill_(y, true);
  }
  return eq(imag(x), wrapped_number(0));
}

bool equal(const Tensor& a, const Tensor& b) {
  check_same_device("equal", {a, b});
  if (a.sizes() != b.sizes()) return false;
  NoGradGuard guard;
  Tensor same = contiguous(to(eq(a, b), Device{}, DType::Bool, false));
  return same.numel() == 0 || !std::memchr(same.data(), 0, static_cast<size_t>(same.numel()));
}

}  // namespace facula
