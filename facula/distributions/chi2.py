"""The chi-squared distribution."""

from __future__ import annotations

from typing import ClassVar

from facula._core import Tensor
from facula.distributions import constraints
from facula.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of ``df`` normal numbers: ``Gamma(df / 2, 1 / 2)``.

    Args:
        df: the degrees of freedom.
        validate_args: whether parameters and values are checked; None for the default.

    Example:
        >>> Chi2(facula.tensor([3.0])).mean
        tensor([3.])
    """

    arg_constraints: ClassVar = {"df": constraints.positive}
    _parameters = ("concentration", "rate")

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
