"""What all optimisers have in common: groups of parameters, their state, and hooks."""

from __future__ import annotations

import functools
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, cast

import facula
from facula import Tensor, _core
from facula._state_dict import check_keys
from facula._warnings import warn_user
from facula.optim._private import (
    _capturable_doc as _capturable_doc,
)
from facula.optim._private import (
    _default_to_fused_or_foreach as _default_to_fused_or_foreach,
)
from facula.optim._private import (
    _device_dtype_check_for_fused as _device_dtype_check_for_fused,
)
from facula.optim._private import (
    _differentiable_doc as _differentiable_doc,
)
from facula.optim._private import (
    _disable_dynamo_if_unsupported as _disable_dynamo_if_unsupported,
)
from facula.optim._private import (
    _dispatch_sqrt as _dispatch_sqrt,
)
from facula.optim._private import (
    _foreach_doc as _foreach_doc,
)
from facula.optim._private import (
    _fused_doc as _fused_doc,
)
from facula.optim._private import (
    _get_capturable_supported_devices as _get_capturable_supported_devices,
)
from facula.optim._private import (
    _get_scalar_dtype as _get_scalar_dtype,
)
from facula.optim._private import (
    _get_value as _get_value,
)
from facula.optim._private import (
    _maximize_doc as _maximize_doc,
)
from facula.optim._private import (
    _params_doc as _params_doc,
)
from facula.optim._private import (
    _stack_if_compiling as _stack_if_compiling,
)
from facula.optim._private import (
    _to_scalar as _to_scalar,
)
from facula.optim._private import (
    _use_grad_for_differentiable as _use_grad_for_differentiable,
)
from facula.optim._private import (
    _view_as_real as _view_as_real,
)
from facula.utils.hooks import RemovableHandle

__all__ = [
    "Optimizer",
    "ParamsT",
    "StateDict",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
StateDict: TypeAlias = dict[str, Any]

_Step = TypeVar("_Step", bound=Callable[..., Any])
_Hooks: TypeAlias = OrderedDict[int, Callable[..., Any]]

_global_optimizer_pre_hooks: _Hooks = OrderedDict()
_global_optimizer_post_hooks: _Hooks = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimiser.

    Args:
        hook: function that may return new ``(args, kwargs)`` for the step, the optimiser first in
            ``args``.

    Example:
        >>> from facula.optim.optimizer import register_optimizer_step_pre_hook
        >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: None)
        >>> handle.remove()
    """
    return RemovableHandle.add(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimiser.

    Args:
        hook: function whose result is ignored.

    Example:
        >>> from facula.optim.optimizer import register_optimizer_step_post_hook
        >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: None)
        >>> handle.remove()
    """
    return RemovableHandle.add(_global_optimizer_post_hooks, hook)


class _RequiredParameter:
    """Stands in ``defaults`` for an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


class Optimizer:
    """Base class of the optimisers.

    A subclass calls ``super().__init__(params, defaults)`` and has a method ``step``, which changes
    the parameters by their gradients.

    Args:
        params: tensors, or pairs ``(name, tensor)`` as ``named_parameters()`` gives them, or dicts,
            each of them a group: its tensors under ``"params"``, and options of its own.
        defaults: options for the groups that do not give their own.

    Example:
        >>> from facula import optim
        >>> class SignDescent(optim.Optimizer):
        ...     def step(self, closure=None):
        ...         with facula.no_grad():
        ...             for group in self.param_groups:
        ...                 for p in group["params"]:
        ...                     p -= group["lr"] * p.grad.sign()
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> SignDescent([x], {"lr": 0.5}).step()
        >>> x.tolist()
        [0.5, -1.5]
    """

    _optimizer_step_pre_hooks: _Hooks
    _optimizer_step_post_hooks: _Hooks
    _optimizer_state_dict_pre_hooks: _Hooks
    _optimizer_state_dict_post_hooks: _Hooks
    _optimizer_load_state_dict_pre_hooks: _Hooks
    _optimizer_load_state_dict_post_hooks: _Hooks
    # By these two a scheduler finds out that it is stepped before its optimiser.
    _opt_called = False
    _scheduled_step: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # When the class is made, not at every instance: `optimizer.step` stays an ordinary method,
        # which schedulers compare and users may replace.
        if "step" in cls.__dict__:
            cls.step = Optimizer.profile_hook_step(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults  # add_param_group, which a subclass may override, reads them
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}: params must be an iterable of tensors or dicts, got one "
                f"tensor. Write [tensor]."
            )
        if callable(getattr(params, "parameters", None)) and not hasattr(params, "__iter__"):
            raise TypeError(
                f"{type(self).__name__}: params must be an iterable of tensors or dicts, got a "
                f"module. Write model.parameters(). ({type(params).__name__!r} object is not "
                "iterable)"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)  # once: params may be a generator
        if not groups:
            raise ValueError(
                f"{type(self).__name__}: params is empty: optimizer got an empty parameter list."
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        # Hooks stay behind: they are functions of the program, which a pickle cannot hold.
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] if i else []
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients, once.

        Args:
            closure: function that computes the loss and its gradients; called before the step.

        Returns:
            What ``closure`` returned.

        Example:
            >>> x = facula.ones(1, requires_grad=True)
            >>> optimizer = facula.optim.SGD([x], lr=0.25)
            >>> (2 * x).sum().backward()
            >>> optimizer.step()
            >>> x
            tensor([0.5000], requires_grad=True)
        """
        raise NotImplementedError(f"{type(self).__name__}: step() is not implemented.")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters.

        Args:
            set_to_none: whether gradients become None; False fills them with zeros.

        Example:
            >>> x = facula.ones(1, requires_grad=True)
            >>> optimizer = facula.optim.SGD([x])
            >>> x.sum().backward()
            >>> optimizer.zero_grad()
            >>> x.grad is None
            True
        """
        _core._zero_grads(self.param_groups, set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add tensors to optimise.

        Args:
            param_group: the tensors under ``"params"``, and options where they differ from the
                defaults.

        Example:
            >>> x, y = (facula.ones(1, requires_grad=True) for _ in range(2))
            >>> optimizer = facula.optim.SGD([x], lr=0.5)
            >>> optimizer.add_param_group({"params": [y], "lr": 0.25})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.5, 0.25]
        """
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(
                f"{name}: a parameter group must be a dict, got {type(param_group).__name__}."
            )
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                f"{name}: params must have an order, which a set does not keep. Use a list."
            )
        # The caller's dict is changed only after every check: one that is refused stays as it was.
        items = [params] if isinstance(params, Tensor) else list(params)
        names = [item[0] for item in items if isinstance(item, tuple)]
        tensors = [item[1] if isinstance(item, tuple) else item for item in items]
        if names and len(names) != len(tensors):
            raise ValueError(f"{name}: either all parameters of a group have names or none has.")
        for i, p in enumerate(tensors):
            if not isinstance(p, Tensor):
                raise TypeError(f"{name}: parameter {i} is not a tensor but {type(p).__name__}.")
            # A differentiable step writes to results of operations: to clones of the leaves.
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ValueError(
                    f"{name}: parameter {i} is the result of an operation. Only leaf tensors can "
                    f"be optimised. (can't optimize a non-leaf Tensor)"
                )
        missing = [
            key
            for key, default in self.defaults.items()
            if default is required and key not in param_group
        ]
        if missing:
            raise ValueError(f"{name}: a parameter group must give {', '.join(missing)}.")
        # By id: tensors compare element by element.
        known = set(map(id, itertools.chain(*(group["params"] for group in self.param_groups))))
        if not known.isdisjoint(map(id, tensors)):
            raise ValueError(f"{name}: a parameter is in more than one group.")
        has_names = bool(names) or "param_names" in param_group
        if any(("param_names" in group) != has_names for group in self.param_groups):
            raise ValueError(f"{name}: either all parameter groups have names or none has.")
        if len(set(map(id, tensors))) != len(tensors):
            warn_user(
                f"{name}: a parameter is listed twice in its group, and is stepped twice.",
            )

        param_group["params"] = tensors
        if names:
            param_group["param_names"] = names
        for key, default in self.defaults.items():
            param_group.setdefault(key, default)
        self.param_groups.append(param_group)

    def _optimizer_step_code(self) -> None:
        """Is there for profilers to find; it does nothing."""

    def _cuda_graph_capture_health_check(self) -> None:
        """Nothing: a step asks the allocator itself whether work is being captured."""

    def _patch_step_function(self) -> None:
        """Nothing: a step has its hooks from the time its class is made."""

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[Tensor | None]], with_indices: bool = False
    ) -> dict[Any, Any]:
        """Lists that belong together, split by device and dtype of the tensors in the first."""
        from facula.utils._foreach_utils import _group_tensors_by_device_and_dtype

        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    @staticmethod
    def profile_hook_step(func: _Step) -> _Step:
        """``func``, a method ``step``, with the hooks around it: what every subclass gets."""

        @functools.wraps(func)
        def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
            self._opt_called = True
            # The way without hooks comes first: steps of small models are a few microseconds.
            if not (
                self._optimizer_step_pre_hooks
                or self._optimizer_step_post_hooks
                or _global_optimizer_pre_hooks
                or _global_optimizer_post_hooks
            ):
                return func(self, *args, **kwargs)
            if (
                type(self).step is not step
            ):  # called by the step of a subclass, around which the hooks run
                return func(self, *args, **kwargs)
            return self._step_with_hooks(func, (self, *args), kwargs)

        return cast(_Step, step)

    def _step_with_hooks(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        for hook in (
            *_global_optimizer_pre_hooks.values(),
            *self._optimizer_step_pre_hooks.values(),
        ):
            result = hook(self, args, kwargs)
            if result is None:
                continue
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    f"{type(self).__name__}: a hook before step must return None or "
                    f"(args, kwargs), got {result!r}."
                )
            args, kwargs = result
        result = func(*args, **kwargs)
        for hook in (
            *self._optimizer_step_post_hooks.values(),
            *_global_optimizer_post_hooks.values(),
        ):
            hook(self, args, kwargs)
        return result

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ones."""
        return RemovableHandle.add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle.add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before each ``state_dict()``; ``prepend``: before the others."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after it was made; it may return another one."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, StateDict], StateDict | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another one."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state was loaded."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> StateDict:
        """The state of the optimiser, with parameters numbered in the order of the groups.

        Returns:
            ``{"state": {number: state of the parameter}, "param_groups": [options, ...]}``. The
            tensors are the optimiser's own, not copies.
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        # Files cannot have tensors as keys, nor would those of another process be the same.
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))  # a parameter may be listed twice
        state_dict: StateDict = {
            "state": {
                numbers[id(key)] if isinstance(key, Tensor) else key: value
                for key, value in self.state.items()
            },
            "param_groups": [
                {
                    **{key: value for key, value in group.items() if key != "params"},
                    "params": [numbers[id(p)] for p in group["params"]],
                }
                for group in self.param_groups
            ],
        }
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            result = post_hook(self, state_dict)
            state_dict = state_dict if result is None else result
        return state_dict

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over a state that ``state_dict()`` returned.

        The parameters themselves stay. Where the state does not fit, nothing is changed.

        Args:
            state_dict: the state of an optimiser of the same type with groups of the same sizes.
                Its tensors get the dtype and device of the parameters.

        Example:
            >>> x = facula.ones(1, requires_grad=True)
            >>> optimizer = facula.optim.SGD([x], lr=0.5)
            >>> optimizer.load_state_dict(facula.optim.SGD([x], lr=0.25).state_dict())
            >>> optimizer.param_groups[0]["lr"]
            0.25
        """
        op = f"{type(self).__name__}.load_state_dict"
        check_keys(op, "the state", state_dict)
        state_dict = state_dict.copy()  # hooks may change it
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = pre_hook(self, state_dict)
            state_dict = state_dict if result is None else result
        check_keys(op, "the state", state_dict, ("state", "param_groups"))
        check_keys(op, "state_dict['state']", state_dict["state"])
        # A copy: two optimisers that load one state do not share their options afterwards.
        groups = deepcopy(state_dict["param_groups"])
        self._check_loaded_groups(op, groups)
        options: dict[Any, tuple[Tensor, dict[str, Any]]] = {
            number: (p, loaded)
            for group, loaded in zip(self.param_groups, groups, strict=True)
            for number, p in zip(loaded["params"], group["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in options:
                p, loaded = options[key]
                state[p] = _fitted(value, p, loaded)
            else:  # a state of the whole optimiser, under a name that a subclass chose
                state[key] = value
        for group, loaded in zip(self.param_groups, groups, strict=True):
            loaded["params"] = group["params"]
            if "param_names" in group:
                loaded.setdefault("param_names", group["param_names"])
        # A subclass may refuse what it finds, and must then be left as it was.
        before = self.__dict__.copy()
        try:
            self.__setstate__({"state": state, "param_groups": groups})
        except BaseException:
            self.__dict__ = before
            raise
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    def _check_loaded_groups(self, op: str, groups: Any) -> None:
        """Refuse the groups of a state that are not like those of the optimiser."""
        if not isinstance(groups, list):
            raise TypeError(f"{op}: expected param_groups as a list, got {type(groups).__name__}.")
        for i, group in enumerate(groups):
            check_keys(op, f"param_groups[{i}]", group, ("params",))
            if not isinstance(group["params"], list):
                raise TypeError(
                    f"{op}: expected the params of param_groups[{i}] as a list, got "
                    f"{type(group['params']).__name__}."
                )
        name = type(self).__name__
        sizes = [len(group["params"]) for group in self.param_groups]
        loaded_sizes = [len(group["params"]) for group in groups]
        if len(sizes) != len(loaded_sizes):
            raise ValueError(
                f"{name}: the loaded state has {len(loaded_sizes)} parameter groups, the optimiser "
                f"has {len(sizes)}."
            )
        if sizes != loaded_sizes:
            raise ValueError(
                f"{name}: the groups of the loaded state have {loaded_sizes} parameters, those of "
                f"the optimiser {sizes}. (loaded state dict contains a parameter group that "
                "doesn't match the size of optimizer's group)"
            )


_HOOKS = tuple(name for name in Optimizer.__annotations__ if name.endswith("_hooks"))
# Optimisers that wrap another one may leave out Optimizer.__init__. They find these, empty and
# read-only, so that a hook that is added to all of them at once is an error.
for _name in _HOOKS:
    setattr(Optimizer, _name, MappingProxyType({}))
del _name


def _add(hooks: _Hooks, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    handle = RemovableHandle.add(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _fitted(value: Any, p: Tensor, group: dict[str, Any], key: str | None = None) -> Any:
    """A loaded state with its tensors in the dtype and on the device of their parameter."""
    if isinstance(value, Tensor):
        if key == "step":  # a count, which a parameter of lower precision could not hold
            is_on_device = group.get("capturable") or group.get("fused")
            return value.to(p.device, facula.float32) if is_on_device else value
        return value.to(p.device, p.dtype) if p.is_floating_point() else value.to(p.device)
    if isinstance(value, dict):
        return {name: _fitted(item, p, group, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fitted(item, p, group) for item in value)  # type: ignore[call-arg]
    return value
