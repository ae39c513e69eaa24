// One-argument mathematics: the list is unary.def.
#pragma once
#include "cpu/elementwise.h"
#include "tensor/tensor.h"

namespace facula {

#define UNARY(name, node, kinds, formula, gradient) \
  Tensor name(const Tensor& x);                     \
  Tensor& name##_(Tensor& x);
#include "ops/unary.def"
#undef UNARY

inline Tensor operator-(const Tensor& x) { return neg(x); }

// The conjugate; a real tensor is its own.
Tensor conj(const Tensor& x);
Tensor real(const Tensor& x);  // a view for complex, x itself otherwise
Tensor imag(const Tensor& x);  // a view; complex only

}  // namespace facula
