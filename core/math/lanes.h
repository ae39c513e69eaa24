// The functions of one number, name_of_lane(), that kernels call lane by lane. From these lists
// cpu/formulas.h makes them functions of vectors, and cuda/kernels/formulas.h of float and double.
#pragma once
#include "math/bessel.h"
#include "math/gamma.h"
#include "math/polynomials.h"

// clang-format off
#define FACULA_LANES_OF_ONE(_)                                                      \
  _(airy_ai) _(bessel_j0) _(bessel_j1) _(bessel_y0) _(bessel_y1) _(i1) _(i1e)       \
  _(modified_bessel_k0) _(modified_bessel_k1) _(ndtri) _(scaled_modified_bessel_k0) \
  _(scaled_modified_bessel_k1) _(spherical_bessel_j0)
#define FACULA_LANES_OF_TWO(_)                                                  \
  _(chebyshev_polynomial_t) _(chebyshev_polynomial_u) _(chebyshev_polynomial_v) \
  _(chebyshev_polynomial_w) _(hermite_polynomial_h) _(hermite_polynomial_he)    \
  _(laguerre_polynomial_l) _(legendre_polynomial_p) _(polygamma)                \
  _(shifted_chebyshev_polynomial_t) _(shifted_chebyshev_polynomial_u)           \
  _(shifted_chebyshev_polynomial_v) _(shifted_chebyshev_polynomial_w) _(zeta)
// clang-format on
