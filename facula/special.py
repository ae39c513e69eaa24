"""Special functions of mathematics.

Those that ``facula`` has too are the same objects; the others are rows of the core's tables.
"""

from __future__ import annotations

from facula._core import (
    Tensor,
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    polygamma,
    round,
    sinc,
    softmax,
    xlogy,
)
from facula._core import _special_airy_ai as airy_ai
from facula._core import _special_bessel_j0 as bessel_j0
from facula._core import _special_bessel_j1 as bessel_j1
from facula._core import _special_bessel_y0 as bessel_y0
from facula._core import _special_bessel_y1 as bessel_y1
from facula._core import _special_chebyshev_polynomial_t as chebyshev_polynomial_t
from facula._core import _special_chebyshev_polynomial_u as chebyshev_polynomial_u
from facula._core import _special_chebyshev_polynomial_v as chebyshev_polynomial_v
from facula._core import _special_chebyshev_polynomial_w as chebyshev_polynomial_w
from facula._core import _special_entr as entr
from facula._core import _special_erfcx as erfcx
from facula._core import _special_hermite_polynomial_h as hermite_polynomial_h
from facula._core import _special_hermite_polynomial_he as hermite_polynomial_he
from facula._core import _special_i0e as i0e
from facula._core import _special_i1 as i1
from facula._core import _special_i1e as i1e
from facula._core import _special_laguerre_polynomial_l as laguerre_polynomial_l
from facula._core import _special_legendre_polynomial_p as legendre_polynomial_p
from facula._core import _special_log_ndtr as log_ndtr
from facula._core import _special_modified_bessel_k0 as modified_bessel_k0
from facula._core import _special_modified_bessel_k1 as modified_bessel_k1
from facula._core import _special_ndtri as ndtri
from facula._core import _special_scaled_modified_bessel_k0 as scaled_modified_bessel_k0
from facula._core import _special_scaled_modified_bessel_k1 as scaled_modified_bessel_k1
from facula._core import _special_shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t
from facula._core import _special_shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u
from facula._core import _special_shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v
from facula._core import _special_shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w
from facula._core import _special_spherical_bessel_j0 as spherical_bessel_j0
from facula._core import _special_xlog1py as xlog1py
from facula._core import _special_zeta as zeta
from facula._core import digamma as psi
from facula._core import i0 as modified_bessel_i0
from facula._core import igamma as gammainc
from facula._core import igammac as gammaincc
from facula._core import lgamma as gammaln
from facula._core import mvlgamma as multigammaln
from facula._core import sigmoid as expit
from facula._ops._mark import operation
from facula._ops._out import into

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

modified_bessel_i1 = i1


@operation(module=__name__)
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The integral of the standard normal distribution from minus infinity up to each element.

    Args:
        input: the upper ends.
        out: where to put the result.

    Example:
        >>> facula.special.ndtr(facula.tensor([0.0, 1.96]))
        tensor([0.5000, 0.9750])
    """
    return into("ndtr", out, erfc(input * -(0.5**0.5)) * 0.5)
