"""Parameters, buffers and modules of a module by their paths, such as ``"layers.0.weight"``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from facula._core import Tensor
from facula.nn.modules.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_MISSING: Any = object()


def _table(module: Module, name: str) -> dict[str, Any] | None:
    """The table that has the name: of parameters, of buffers, or the module's own attributes."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    tables: tuple[dict[str, Any], ...] = (module._parameters, module._buffers, module.__dict__)
    return next((table for table in tables if name in table), None)


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Put a tensor, which need be no Parameter, in the place of a parameter or buffer.

    Args:
        module: the module.
        name: the name in it.
        tensor: the tensor.
    """
    table = _table(module, name)
    if table is None:
        setattr(module, name, tensor)
    else:
        table[name] = tensor


def swap_tensor(module: Module, name: str, tensor: Tensor, allow_missing: bool = False) -> Tensor:
    """Put a tensor in the place of another, which is returned.

    Args:
        module: the module.
        name: the name in it.
        tensor: the tensor; ``_MISSING`` takes the other one away.
        allow_missing: whether there may be none, for which ``_MISSING`` is returned.

    Example:
        >>> from facula.nn.utils._named_member_accessor import swap_tensor
        >>> layer = facula.nn.Linear(1, 1)
        >>> old = swap_tensor(layer, "weight", facula.ones(1, 1))
        >>> layer.weight
        tensor([[1.]])
    """
    table = _table(module, name)
    if tensor is not _MISSING and not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if table is None:
        if not allow_missing:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if tensor is not _MISSING:
            setattr(module, name, tensor)
        return _MISSING  # type: ignore[no-any-return]
    old: Any = table[name]
    if not isinstance(old, Tensor) and old is not None:
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    if tensor is _MISSING:
        del table[name]
    else:
        table[name] = tensor
    return cast(Tensor, old)


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module in the place of another, which is returned.

    Args:
        module: the module that has it.
        name: the name in it.
        submodule: the new one.
    """
    for each in (module, submodule):
        if not isinstance(each, Module):
            raise TypeError(f"{each} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    old = module._modules[name]
    module._modules[name] = submodule
    return old  # type: ignore[return-value]


class NamedMemberAccessor:
    """The parts of a module by their paths, each module on the way being looked up once.

    Args:
        module: the module.

    Example:
        >>> from facula.nn.utils._named_member_accessor import NamedMemberAccessor
        >>> net = facula.nn.Sequential(facula.nn.Linear(2, 3))
        >>> NamedMemberAccessor(net).get_tensor("0.weight").shape
        torch.Size([3, 2])
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {}

    def get_submodule(self, name: str) -> Module:
        """The module at a path.

        Args:
            name: the path.
        """
        if name not in self.memo:
            self.memo[name] = self.module.get_submodule(name)
        return self.memo[name]

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Put a module in the place of the one at a path.

        Args:
            path: the path.
            value: the new one.
        """
        self.memo.clear()
        prefix, _, name = path.rpartition(".")
        return swap_submodule(self.get_submodule(prefix), name, value)

    def get_tensor(self, name: str) -> Tensor:
        """The parameter or buffer at a path.

        Args:
            name: the path.
        """
        prefix, _, own = name.rpartition(".")
        tensor: Any = getattr(self.get_submodule(prefix), own)
        if not isinstance(tensor, Tensor) and tensor is not None:
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        return cast(Tensor, tensor)

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Put a tensor at a path.

        Args:
            name: the path.
            value: the tensor.
        """
        prefix, _, own = name.rpartition(".")
        set_tensor(self.get_submodule(prefix), own, value)

    def del_tensor(self, name: str) -> None:
        """Take the tensor at a path away.

        Args:
            name: the path.
        """
        prefix, _, own = name.rpartition(".")
        delattr(self.get_submodule(prefix), own)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        """Put a tensor in the place of the one at a path, which is returned.

        Args:
            name: the path.
            value: the tensor.
            allow_missing: whether there may be none.
        """
        prefix, _, own = name.rpartition(".")
        return swap_tensor(self.get_submodule(prefix), own, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors at several paths.

        Args:
            names: the paths.
        """
        return [self.get_tensor(name) for name in names]

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """Put tensors at several paths.

        Args:
            named_tensors: the tensors by path.
        """
        for name, tensor in named_tensors.items():
            self.set_tensor(name, tensor)

    def swap_tensors_dict(
        self, named_tensors: dict[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Tensor], list[str]]:
        """Put tensors in the place of others; returns those, and the paths that had none.

        Args:
            named_tensors: the tensors by path.
            allow_missing: whether there may be none.
        """
        before = {
            name: self.swap_tensor(name, tensor, allow_missing)
            for name, tensor in named_tensors.items()
        }
        return before, [name for name, tensor in before.items() if tensor is _MISSING]

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The paths of tensors that are not among the keys, and the keys that are no paths.

        Args:
            keys: the keys.
        """
        given, valid = set(keys), {name for name, _ in self.named_tensors()}
        return sorted(valid - given), sorted(given - valid)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """All parameters with their paths.

        Args:
            remove_duplicate: whether a shared one is given once.
        """
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """All buffers with their paths.

        Args:
            remove_duplicate: whether a shared one is given once.
        """
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        """All parameters and buffers with their paths.

        Args:
            remove_duplicate: whether a shared one is given once.
        """
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)
