"""Modules that learn the shapes of their parameters from their first input."""

from __future__ import annotations

import itertools
from typing import Any

from facula.nn.modules.module import Module
from facula.nn.parameter import UninitializedTensorMixin, is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(Module):
    """Makes a module lazy: its parameters get their shapes at the first call.

    A lazy layer has uninitialized parameters and defines :meth:`initialize_parameters`, which
    gives them their shapes by ``materialize``. After the first call it is a module of the class
    ``cls_to_become``.

    Example:
        >>> m = facula.nn.LazyLinear(3)
        >>> m.weight
        <UninitializedParameter>
        >>> _ = m(facula.ones(1, 4))
        >>> m
        Linear(in_features=4, out_features=3, bias=True)
    """

    cls_to_become: type[Module] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes; ``args`` and ``kwargs`` are those of the first call."""
        raise NotImplementedError(
            f"{type(self).__name__}: a lazy module has to define initialize_parameters."
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        own = itertools.chain(self._parameters.values(), self._buffers.values())
        return any(is_lazy(tensor) for tensor in own)

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Take the shapes from a state_dict that has them."""
        own = itertools.chain(self._parameters.items(), self._buffers.items())
        for name, tensor in own:
            value = state_dict.get(prefix + name)
            has_shape = value is not None and not is_lazy(value)
            if has_shape and isinstance(tensor, UninitializedTensorMixin):
                tensor.materialize(value.shape)

    def _infer_parameters(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> None:
        self.initialize_parameters(*args, **(kwargs or {}))
        if self.has_uninitialized_params():
            raise RuntimeError(
                f"{self._get_name()}: initialize_parameters left a parameter or buffer without a "
                "shape."
            )
        # From now on it is an ordinary module of its class, whose calls run no hook.
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become  # type: ignore[assignment]
