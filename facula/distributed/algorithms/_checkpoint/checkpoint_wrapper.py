"""Modules inside of a module whose activations are computed again in backward."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from facula._core import Tensor
from facula.nn.modules.module import Module
from facula.utils.checkpoint import checkpoint

__all__ = [
    "CheckpointImpl",
    "CheckpointWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
]

_PREFIX = "_checkpoint_wrapped_module."


class CheckpointImpl(enum.Enum):
    """Which form of :func:`facula.utils.checkpoint.checkpoint` is used."""

    REENTRANT = 1
    NO_REENTRANT = 2


class CheckpointWrapper(Module):
    """A module that computes its activations again in backward, with its parameters' names.

    Args:
        mod: the module.
        checkpoint_impl: the form.
        checkpoint_fn: what is called in place of ``checkpoint``.
        kwargs: more arguments of it.
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        if checkpoint_fn is None:
            is_reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
            self.checkpoint_fn: Callable[..., Any] = partial(
                checkpoint, use_reentrant=is_reentrant, **kwargs
            )
        else:
            self.checkpoint_fn = partial(checkpoint_fn, **kwargs)
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters, by the names that they have without the wrapper."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), param


def _without_prefix(module: Module, state: dict[str, Tensor], prefix: str, *args: Any) -> None:
    for key in [key for key in state if key.startswith(prefix + _PREFIX)]:
        state[prefix + key[len(prefix + _PREFIX) :]] = state.pop(key)


def _with_prefix(module: Module, state: dict[str, Tensor], prefix: str, *args: Any) -> None:
    for key in [key for key in state if key.startswith(prefix)]:
        if not key.startswith(prefix + _PREFIX):
            state[prefix + _PREFIX + key[len(prefix) :]] = state.pop(key)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Module:
    """A module that computes its activations again in backward.

    Args:
        module: the module.
        checkpoint_impl: the form.
        checkpoint_fn: what is called in place of ``checkpoint``.
        kwargs: more arguments of it.
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Wrap modules inside of a model, in place.

    Args:
        model: the model, which is not wrapped itself.
        checkpoint_wrapper_fn: wraps one module.
        check_fn: says which modules are wrapped.
        auto_wrap_policy: a policy of ``fsdp.wrap`` that says it, in place of ``check_fn``.
    """
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, CheckpointWrapper) or isinstance(parent, CheckpointWrapper):
                continue
            if auto_wrap_policy is not None:
                is_chosen = auto_wrap_policy(child, recurse=False, nonwrapped_numel=0)
            else:
                is_chosen = check_fn(child)
            if is_chosen:
                setattr(parent, name, checkpoint_wrapper_fn(child))
