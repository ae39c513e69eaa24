"""Kinds of devices that programs ask for and that there are none of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from facula import _core
from facula._refusing import refusing


class AbsentDevice:
    """What the module of a kind of device says of it.

    Args:
        kind: its name, as in ``device(kind)``.
        maker: whose devices these are.
    """

    def __init__(self, kind: str, maker: str) -> None:
        self.kind = kind
        self.sentence = (
            f"there is no device {kind!r} ({maker}). Tensors are on the CPU or on NVIDIA GPUs "
            "('cuda')."
        )

    def refusing(self, name: str) -> Callable[..., NoReturn]:
        """A function of the module that needs a device."""
        return refusing(f"torch.{self.kind}.{name}", self.sentence)


class AbsentContext:
    """A context of a device or a stream, which does nothing where there is none.

    Args:
        of: the device or the stream; None and -1 stand for none.
    """

    def __init__(self, of: Any = None) -> None:
        self.of = of

    def __enter__(self) -> None:
        if self.of not in (None, -1):
            raise RuntimeError(f"there is no device {self.of!r}.")

    def __exit__(self, *error: object) -> None:
        pass


def no_memory(device: Any = None) -> int:
    """How many bytes are in use: none.

    Args:
        device: the device.
    """
    return 0


def no_states() -> list[_core.Tensor]:
    """The states of the generators of all devices: there are none."""
    return []
