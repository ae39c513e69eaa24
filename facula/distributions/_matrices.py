"""What the distributions with covariance matrices share."""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Size, Tensor
from facula.distributions.distribution import Distribution
from facula.distributions.utils import lazy_property


def batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Products of matrices and vectors, of batches that are broadcast."""
    return facula.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def batch_mahalanobis(factor: Tensor, vector: Tensor) -> Tensor:
    """``vector^T M^-1 vector`` for the Cholesky factors ``factor`` of ``M``.

    Samples are columns of one solution, so that no factor is copied for each of them.
    """
    n = vector.shape[-1]
    shape = Size(facula.broadcast_shapes(vector.shape[:-1], factor.shape[:-2]))
    cut = len(shape) - (factor.dim() - 2)
    batch = shape[cut:]
    columns = vector.expand(shape + Size((n,))).reshape((-1, *batch, n)).movedim(0, -1)
    factor = factor.expand((*batch, n, n))
    solved = facula.linalg.solve_triangular(factor, columns, upper=False)
    return solved.pow(2).sum(-2).movedim(-1, 0).reshape(shape)


def log_determinant(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of triangular matrices with a positive diagonal."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The lower Cholesky factor of the inverse.

    The inverse of a lower factor of the precision would be an upper one; turned by 180 degrees
    before and after, it is lower.
    """
    turned = facula.linalg.cholesky(precision.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).mT
    eye = facula.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return facula.linalg.solve_triangular(inverse, eye, upper=False)


class ByMatrix(Distribution):
    """A distribution given by a covariance matrix, its inverse, or its Cholesky factor."""

    _unbroadcasted_scale_tril: Tensor

    @staticmethod
    def _given_matrix(
        covariance_matrix: Tensor | None,
        precision_matrix: Tensor | None,
        scale_tril: Tensor | None,
    ) -> tuple[str, Tensor]:
        """The name and the value of the matrix that is given; exactly one must be."""
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        return name, matrix

    def _set_factor(self, name: str, matrix: Tensor) -> None:
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = facula.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _matrix_shape(self) -> Size:
        return Size((*self._batch_shape, *(self._event_shape[-1],) * 2))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        inverse = facula.cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand(self._matrix_shape())
