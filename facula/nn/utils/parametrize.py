"""Parameters computed from others whenever they are read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from facula._core import Tensor
from facula.autograd.grad_mode import no_grad
from facula.nn.modules.container import ModuleDict, ModuleList
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

# Contexts may be nested, and the outermost one clears the cache: values computed inside may be
# stale after an optimiser's step.
_n_cached_contexts = 0
_cache: dict[Module, Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within the context every parametrized tensor is computed once.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> with nn.utils.parametrize.cached():
        ...     m.weight is m.weight
        True
    """
    global _n_cached_contexts
    _n_cached_contexts += 1
    try:
        yield
    finally:
        _n_cached_contexts -= 1
        if not _n_cached_contexts:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(target: Tensor, source: Tensor) -> None:
    """Give ``target`` the values of ``source``; it stays the object that an optimiser holds."""
    if source is not target:
        target.data = source.detach()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and as ``original`` what it is computed from.

    ``original0``, ``original1`` ... if the first parametrization takes several tensors.

    Args:
        modules: the parametrizations, in the order in which they are applied.
        original: the parameter or buffer that is parametrized.
        unsafe: whether the result may have another shape or dtype.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
        >>> len(m.parametrizations.weight)
        1
        >>> m.parametrizations.weight.original0.shape
        torch.Size([2, 1])
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList: expected at least one module, got none.")
        super().__init__(modules)
        self.unsafe = unsafe
        # Read now, since _keep_one may give `original` values of another shape.
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new: Any = original
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    # A base class may declare it without defining it: the values stay as they are.
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor and not isinstance(new, Sequence):
            raise ValueError(
                "ParametrizationList: expected right_inverse to give a tensor, or several in a "
                f"list or tuple, got {type(new).__name__}."
            )
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            self._check_result(shape, dtype)

    def _keep_one(self, original: Tensor, new: Tensor) -> None:
        if original.dtype != new.dtype:
            raise ValueError(
                f"ParametrizationList: expected right_inverse to keep the dtype {original.dtype}, "
                f"got {new.dtype}."
            )
        if original.device != new.device:
            raise ValueError(
                f"ParametrizationList: expected right_inverse to stay on {original.device}, got a "
                f"tensor on {new.device}."
            )
        _set(original, new)
        _register(self, "original", original)

    def _keep_several(self, original: Tensor, new: Sequence[Any]) -> None:
        for i, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "ParametrizationList: expected right_inverse to give tensors only, got "
                    f"{type(tensor).__name__} at index {i}."
                )
            # Several tensors cannot be the object that an optimiser holds: they are new parameters,
            # which have to be given to an optimiser made afterwards.
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", tensor)

    def _check_result(self, shape: Any, dtype: Any) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(
                "ParametrizationList: expected forward to give a tensor, got "
                f"{type(result).__name__}."
            )
        for kind, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
            if before != after:
                raise ValueError(
                    f"ParametrizationList: expected forward to keep the {kind} {before}, got "
                    f"{after}. Pass unsafe=True if the change is meant."
                )

    def originals(self) -> list[Tensor]:
        """The tensors that the parametrized one is computed from."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Change the originals so that the parametrized tensor becomes ``value``."""
        with no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"{type(module).__name__}: assigning to a parametrized tensor needs the "
                        "method right_inverse. Define it, or remove the parametrization first."
                    )
                new = module.right_inverse(new)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(
                        f"{type(module).__name__}: expected right_inverse to give one tensor, got "
                        f"{type(new).__name__}."
                    )
                new = [new]
            elif not isinstance(new, Sequence) or len(new) != self.ntensors:
                raise ValueError(
                    f"ParametrizationList: expected right_inverse to give {self.ntensors} tensors "
                    f"in a list or tuple, got {type(new).__name__}."
                )
            # All are checked before the first is written: an error leaves the module as it was.
            for original, tensor in zip(self.originals(), new, strict=True):
                if original.dtype != tensor.dtype:
                    raise ValueError(
                        f"ParametrizationList: expected right_inverse to give {original.dtype}, as "
                        f"the stored tensor is, got {tensor.dtype}."
                    )
            for original, tensor in zip(self.originals(), new, strict=True):
                _set(original, tensor)

    def forward(self) -> Any:
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value


def _refuse_state(self: Module) -> Any:
    raise RuntimeError(
        f"{type(self).__name__}: a parametrized module cannot be pickled, since its class is made "
        "at run time and a pickle could not name it. Save its state_dict() instead."
    )


def _deepcopy(self: Module, memo: dict[int, Any]) -> Any:
    twin = self.__new__(type(self))
    memo[id(self)] = twin
    twin.__dict__ = copy.deepcopy(self.__dict__, memo)
    return twin


def _inject_new_class(module: Module) -> None:
    """Give the module a class of its own, to which properties can be added."""
    # Properties work on classes only, and those of the layer's own class would be seen by all
    # layers. The class has one base, to which remove_parametrizations goes back.
    base = type(module)
    members: dict[str, Any] = {"__getstate__": _refuse_state}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _inject_property(module: Module, name: str) -> None:
    # The property finds its parametrizations through `self`, not `module`: a deep copy of the
    # module has the same class, but originals of its own.
    def get(self: Module) -> Any:
        parametrization = self.parametrizations[name]
        if not _n_cached_contexts:
            return parametrization()
        if parametrization not in _cache:
            _cache[parametrization] = parametrization()
        return _cache[parametrization]

    def set_(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set_))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer the result of ``parametrization``, computed whenever it is read.

    What it is computed from is ``module.parametrizations[tensor_name].original``. Several
    parametrizations of one tensor are applied in the order of their registration. A parametrization
    with a method ``right_inverse`` lets the tensor be assigned to, and is initialised with it.

    Args:
        module: the module to change.
        tensor_name: the name of the parameter or buffer.
        parametrization: a module that makes of a tensor another one of the same shape and dtype.
        unsafe: whether the result may have another shape or dtype, so that they are not checked.

    Returns:
        The module.

    Example:
        >>> from facula import nn
        >>> class Positive(nn.Module):
        ...     def forward(self, log_weight):
        ...         return log_weight.exp()
        >>> m = nn.Linear(3, 2)
        >>> m = nn.utils.parametrize.register_parametrization(m, "weight", Positive())
        >>> bool((m.weight > 0).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        known: Any = module.parametrizations[tensor_name]
        known.append(parametrization)
        known.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        # Made before the module is changed: an error in it leaves the module as it was.
        parametrizations = ParametrizationList([parametrization], original, unsafe)
        # The parameter itself lives on in `parametrizations`: an optimiser that holds it keeps
        # working.
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"register_parametrization: expected {tensor_name!r} to be a parameter or buffer of "
            f"{type(module).__name__}, got neither."
        )
    return module


def _check_addition(module: Module, name: str, parametrization: Any) -> None:
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, Tensor):
        raise ValueError(
            "register_parametrization: expected forward to give a tensor, got "
            f"{type(after).__name__}."
        )
    for kind in ("dtype", "shape"):
        if getattr(before, kind) != getattr(after, kind):
            raise ValueError(
                f"register_parametrization: expected forward to keep the {kind} "
                f"{getattr(before, kind)} of {name!r}, got {getattr(after, kind)}. Pass "
                "unsafe=True if the change is meant."
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(
            "register_parametrization: expected right_inverse to give a tensor, got "
            f"{type(back).__name__}."
        )
    for kind in ("dtype", "shape"):
        if getattr(before, kind) != getattr(back, kind):
            raise ValueError(
                f"register_parametrization: expected right_inverse to give the {kind} "
                f"{getattr(before, kind)} of {name!r}, got {getattr(back, kind)}. Pass unsafe=True "
                "if the change is meant."
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of the module is parametrized; without a name, whether any is.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> nn.utils.parametrize.is_parametrized(m, "bias")
        False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized tensor a parameter or buffer again.

    Args:
        module: the module to change.
        tensor_name: the name of the parametrized tensor.
        leave_parametrized: whether the tensor keeps the values that it has, rather than those of
            the original.

    Returns:
        The module.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> nn.utils.parametrize.remove_parametrizations(m, "weight")
        Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations: expected a parametrized tensor, but {tensor_name!r} of "
            f"{type(module).__name__} has no parametrization."
        )
    parametrizations: Any = module.parametrizations[tensor_name]
    if not parametrizations.is_tensor and not leave_parametrized:
        raise ValueError(
            f"remove_parametrizations: {tensor_name!r} is computed from several tensors, so there "
            "is no single one to go back to. Pass leave_parametrized=True."
        )
    # The original becomes the parameter again, with new values: an optimiser keeps its hold on it.
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                _set(original, getattr(module, tensor_name))
    else:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before it was parametrized.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> nn.utils.parametrize.type_before_parametrizations(m).__name__
        'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrize one module as another one is, with copies of its values.

    Args:
        from_module: the parametrized module.
        to_module: the module to change.
        tensor_name: the name of the tensor; by default all that are parametrized.

    Returns:
        ``to_module``.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> twin = nn.Linear(2, 2)
        >>> _ = nn.utils.parametrize.transfer_parametrizations_and_params(m, twin)
        >>> facula.equal(m.weight, twin.weight)
        True
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(source.originals()[0].detach().clone()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target = to_module.parametrizations[name]
        for original, value in zip(target.originals(), source.originals(), strict=True):
            original.data = value.detach().clone()
    return to_module
