// One-argument mathematics: most of the list is unary.def.
#pragma once
#include <optional>

#include "cpu/pointwise/loop_tables.h"
#include "tensor/tensor.h"

namespace facula {

#define UNARY(name, node, kinds, formula, gradient) \
  Tensor name(const Tensor& x);                     \
  Tensor& name##_(Tensor& x);
#include "tables/unary.def"
#undef UNARY

inline Tensor operator-(const Tensor& x) { return neg(x); }

Tensor abs(const Tensor& x);    // real for complex
Tensor angle(const Tensor& x);  // real for complex
Tensor positive(const Tensor& x);
Tensor square(const Tensor& x);
Tensor round(const Tensor& x, std::optional<int64_t> decimals = 0);
Tensor logit(const Tensor& x, std::optional<double> eps = {});
Tensor nan_to_num(const Tensor& x, std::optional<double> nan = {},
                  std::optional<double> posinf = {}, std::optional<double> neginf = {});
Tensor polygamma(int64_t n, const Tensor& x);
Tensor mvlgamma(const Tensor& x, int64_t p);

// The conjugate; a real tensor is its own.
Tensor conj(const Tensor& x);
Tensor real(const Tensor& x);  // a view for complex, x itself otherwise
Tensor imag(const Tensor& x);  // a view; complex only

// Derivatives with a kernel of their own, one pass over memory. y is the result of the forward
// operation.
Tensor tanh_backward(const Tensor& g, const Tensor& y);
Tensor sigmoid_backward(const Tensor& g, const Tensor& y);

}  // namespace facula
