"""Which modules inside of a module are spread over processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._refusing import refusing
from facula.distributed.distributed_c10d import NO_ENGINE
from facula.nn.modules.module import Module

__all__ = [
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module: always True.

    Args:
        args, kwargs: not looked at.
    """
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """The modules that a function names.

    Args:
        module: the module that is asked about.
        recurse: whether the question is about the modules inside of it, which are always asked.
        nonwrapped_numel: the number of elements of its parameters.
        lambda_fn: the function.
    """
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """The modules of some classes.

    Args:
        module: the module that is asked about.
        recurse: whether the question is about the modules inside of it, which are always asked.
        nonwrapped_numel: the number of elements of its parameters.
        transformer_layer_cls: the classes.
    """
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """The modules with many parameters.

    Args:
        module: the module that is asked about.
        recurse: whether the question is about the modules inside of it.
        nonwrapped_numel: the number of elements of its parameters.
        min_num_params: from how many elements on.
        force_leaf_modules: classes that are not looked into.
        exclude_wrap_modules: classes that are not spread.
    """
    from facula.nn import ModuleDict, ModuleList, MultiheadAttention

    leaves = force_leaf_modules or {MultiheadAttention}
    excluded = exclude_wrap_modules or {ModuleList, ModuleDict}
    is_large = nonwrapped_numel >= min_num_params
    if recurse:
        return is_large and not isinstance(module, tuple(leaves))
    return is_large and not isinstance(module, tuple(excluded))


class ModuleWrapPolicy:
    """The modules of some classes, as an object.

    Args:
        module_classes: the classes.
    """

    def __init__(self, module_classes: Any) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return True if recurse else isinstance(module, tuple(self._module_classes))


wrap = refusing("torch.distributed.fsdp.wrap.wrap", NO_ENGINE)
enable_wrap = refusing("torch.distributed.fsdp.wrap.enable_wrap", NO_ENGINE)
