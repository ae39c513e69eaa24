// Real and imaginary parts.
#include "autograd/node.h"
#include "ops/ops.h"

namespace facula {

Tensor conj(const Tensor& x) {
  if (!is_complex(x.dtype())) return x;
  return conj_physical(x);
}

Tensor real(const Tensor& x) {
  if (!is_complex(x.dtype())) return x;
  return select(view_as_real(x), -1, 0);
}

Tensor imag(const Tensor& x) {
  check(is_complex(x.dtype()),
        "imag: imag is not implemented for tensors with non-complex dtypes, got ", x, ".");
  return select(view_as_real(x), -1, 1);
}

}  // namespace facula
