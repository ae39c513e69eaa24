// Comparisons and other questions: the rows of compare.def. Results are bool and have no
// derivative.
#pragma once
#include "ops/result.h"

namespace facula {

#define PREDICATE(name, ...)                      \
  Tensor name(const Tensor& x, const Into& into); \
  inline Tensor name(const Tensor& x) { return name(x, Into{}); }
#define COMPARE(name, ...)                                         \
  Tensor name(const Tensor& a, const Tensor& b, const Into& into); \
  inline Tensor name(const Tensor& a, const Tensor& b) { return name(a, b, Into{}); }
#include "tables/compare.def"

Tensor isreal(const Tensor& x, const Into& into = {});
bool equal(const Tensor& a, const Tensor& b);  // the same shape and values

}  // namespace facula
