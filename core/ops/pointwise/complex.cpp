// Real and imaginary parts.
#include "autograd/node.h"
#include "ops/ops.h"

namespace facula {

Tensor conj(const Tensor& x) {
  if (!is_complex(x.dtype())) return x;
  Tensor y;
  {
    NoGradGuard guard;
    y = conj_physical(x);
  }
  return record("ConjBackward0", y, {x}, [](const Tensor& g) { return conj(g); });
}

Tensor real(const Tensor& x) {
  if (!is_complex(x.dtype())) return x;
  return select(view_as_real(x), -1, 0);
}

Tensor imag(const Tensor& x) {
  check(is_complex(x.dtype()), "imag: expected a complex tensor, got ", x, ".");
  return select(view_as_real(x), -1, 1);
}

}  // namespace facula
