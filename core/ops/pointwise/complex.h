// Complex numbers: their parts, size and angle; and the same of real ones.
#pragma once
#include "ops/result.h"

namespace facula {

Tensor abs(const Tensor& x, const Into& into);  // real for complex
inline Tensor abs(const Tensor& x) { return abs(x, Into{}); }
Tensor angle(const Tensor& x, const Into& into = {});  // real for complex
Tensor conj(const Tensor& x);                          // computed; a real tensor is its own
// Views of the same memory with a mark, what users get. See Note [Lazy views].
Tensor conj_view(const Tensor& x);  // a real tensor itself
Tensor neg_view(const Tensor& x);
Tensor real(const Tensor& x);  // a view for complex, x itself otherwise
Tensor imag(const Tensor& x);  // a view; complex only
Tensor complex(const Tensor& real, const Tensor& imag, const Into& into = {});
Tensor polar(const Tensor& abs, const Tensor& angle, const Into& into = {});

}  // namespace facula
