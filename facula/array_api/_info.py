"""``__array_namespace_info__``: what the namespace can do."""

from __future__ import annotations

from typing import Any

from facula import _core, cuda
from facula.array_api._data_types import DTYPES, Device, DType, isdtype

__all__ = ["__array_namespace_info__"]


class __array_namespace_info__:
    """What the namespace can do, and which devices and dtypes there are.

    Example:
        >>> facula.array_api.__array_namespace_info__().default_device()
        device(type='cpu')
    """

    def capabilities(self) -> dict[str, Any]:
        """Whether masks can be indices, whether shapes may depend on values, the largest rank.

        Example:
            >>> facula.array_api.__array_namespace_info__().capabilities()["boolean indexing"]
            True
        """
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> _core.device:
        """The device on which tensors are made.

        Example:
            >>> facula.array_api.__array_namespace_info__().default_device()
            device(type='cpu')
        """
        return _core.empty(0).device

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The dtypes that tensors have where none is asked for.

        Args:
            device: the device that is asked about.

        Example:
            >>> facula.array_api.__array_namespace_info__().default_dtypes()["integral"]
            torch.int64
        """
        real = _core.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": _core.int64,
            "indexing": _core.int64,
        }

    def dtypes(
        self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The dtypes by name.

        Args:
            device: the device that is asked about.
            kind: one of the kinds of ``isdtype``, or several; all if left out.

        Example:
            >>> list(facula.array_api.__array_namespace_info__().dtypes(kind="real floating"))
            ['float32', 'float64']
        """
        return {name: d for name, d in DTYPES.items() if kind is None or isdtype(d, kind)}

    def devices(self) -> list[_core.device]:
        """All devices.

        Example:
            >>> facula.device("cpu") in facula.array_api.__array_namespace_info__().devices()
            True
        """
        gpus = [_core.device("cuda", index) for index in range(cuda.device_count())]
        return [_core.device("cpu"), *gpus]
