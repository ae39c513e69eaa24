// Comparisons and other questions; results are bool and have no derivative.
#pragma once
#include "cpu/pointwise/loop_tables.h"
#include "tensor/tensor.h"

namespace facula {

#define PREDICATE(name, kinds, formula) Tensor name(const Tensor& x);
#include "tables/predicate.def"
#undef PREDICATE
#define COMPARE(name, kinds, formula) Tensor name(const Tensor& a, const Tensor& b);
#include "tables/compare.def"
#undef COMPARE

Tensor isreal(const Tensor& x);
bool equal(const Tensor& a, const Tensor& b);  // the same shape and values

}  // namespace facula
