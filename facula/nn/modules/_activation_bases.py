"""Constructors that several activations share, and the text of their arguments."""

from __future__ import annotations

from facula.nn.modules.module import Module


def _with_inplace(text: str, inplace: bool) -> str:
    return text + (", inplace=True" if inplace else "")


class _Inplace(Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _ShownInplace(_Inplace):
    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class _WithAlpha(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def extra_repr(self) -> str:
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class _WithLambd(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
