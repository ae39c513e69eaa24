"""The module that ``compile`` gives for a module, and what programs ask before they call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula.nn.modules.module import Module

__all__ = ["OptimizedModule", "is_dynamo_supported"]


def is_dynamo_supported() -> bool:
    """Whether ``compile`` can be called: it gives what it is given, which always works."""
    return True


class OptimizedModule(Module):
    """A module as ``compile`` gives it: another name of the module, which runs as it is.

    The original is its submodule ``_orig_mod``, so that the names in its state_dict start with
    ``_orig_mod.``, as those of checkpoints that PyTorch's programs saved from compiled modules.
    Every other attribute is the original's.

    Args:
        mod: the original module.
    """

    _orig_mod: Module

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    def dynamo_ctx(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compile another function as the module was: the function itself.

        Args:
            function: the function.
        """
        return function

    @property
    def training(self) -> bool:
        """Whether the original is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if "_orig_mod" not in modules:  # while it is being unpickled
            return super().__getattr__(name)
        original = modules["_orig_mod"]
        return original if name == "_orig_mod" else getattr(original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod":
            self._modules[name] = value
        elif name in self.__dict__ or name == "training":
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:  # there is a length only if the original has one
        return True
