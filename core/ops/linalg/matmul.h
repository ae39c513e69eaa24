// Matrix products.
#pragma once
#include "tensor/tensor.h"

namespace facula {

Tensor mm(const Tensor& a, const Tensor& b);   // (m, k) x (k, n)
Tensor bmm(const Tensor& a, const Tensor& b);  // (b, m, k) x (b, k, n)
Tensor mv(const Tensor& a, const Tensor& x);   // (m, k) x (k,)
Tensor dot(const Tensor& x, const Tensor& y);  // (k,) x (k,)
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1,
               Scalar alpha = 1);
Tensor addmv(const Tensor& c, const Tensor& a, const Tensor& x, Scalar beta = 1, Scalar alpha = 1);
// beta c plus alpha times the sum of the products of a batch
Tensor addbmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1, Scalar alpha = 1);
Tensor outer(const Tensor& x, const Tensor& y);
Tensor matmul(const Tensor& a,
              const Tensor& b);  // all of the above by the number of dimensions, with broadcasting

}  // namespace facula
