"""Linear algebra: factorisations of matrices, and what is solved with them.

Matrices are the last two dimensions of a tensor; all dimensions before them are batches.
"""
# ruff: noqa: F403

from facula.linalg import _factor, _norms, _products, _solve, _spectral
from facula.linalg._factor import *
from facula.linalg._norms import *
from facula.linalg._products import *
from facula.linalg._solve import *
from facula.linalg._spectral import *


class LinAlgError(RuntimeError):
    """A matrix cannot be factorised, inverted or solved with: it is singular, for example.

    Example:
        >>> try:
        ...     facula.linalg.inv(facula.zeros(2, 2))
        ... except facula.linalg.LinAlgError:
        ...     print("singular")
        singular
    """

    __module__ = "facula.linalg"


__all__ = sorted(
    [
        "LinAlgError",
        *_factor.__all__,
        *_norms.__all__,
        *_products.__all__,
        *_solve.__all__,
        *_spectral.__all__,
    ]
)
