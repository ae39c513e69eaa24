"""Hooks of modules: their tables, the call that runs them, and the nodes for gradients."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from facula import _core
from facula._core import Tensor
from facula._warnings import warn_user
from facula.autograd.function import Function
from facula.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from facula.nn.modules.module import Module

# The tables of hooks that a call runs, under the same names in modules and in GLOBAL: all functions
# below take either as the owner of hooks.
_CALL_TABLES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


class _Table(OrderedDict[int, Any]):
    """A table of hooks that tells its owner of a new one: packages also write to it themselves."""

    owner: _GlobalHooks

    def __setitem__(self, key: int, hook: Any) -> None:
        super().__setitem__(key, hook)
        self.owner._has_hooks = True


class _GlobalHooks:
    """The hooks for all modules, in tables with the same names as those of one module."""

    def __init__(self) -> None:
        self._has_hooks = False
        self._is_full_backward_hook: bool | None = None
        self._forward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._forward_pre_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self._forward_hooks: OrderedDict[int, Any] = OrderedDict()
        self._forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self._forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
        self._backward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._backward_hooks: OrderedDict[int, Any] = OrderedDict()
        for name in _CALL_TABLES:
            table = _Table()
            table.owner = self
            setattr(self, name, table)
        self._registration_hooks: dict[str, dict[int, Any]] = {
            kind: OrderedDict() for kind in ("parameter", "buffer", "module")
        }


GLOBAL = _GlobalHooks()


def add(
    owner: Any, table: str, hook: Callable[..., Any], *marks: str, prepend: bool = False
) -> RemovableHandle:
    """Add a hook to a table of a module or of GLOBAL, and its id to the tables ``marks``."""
    hooks: OrderedDict[int, Any] = getattr(owner, table)
    handle = RemovableHandle(hooks, extra_dict=[getattr(owner, mark) for mark in marks])
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for mark in marks:
        getattr(owner, mark)[handle.id] = True
    # After the hook is in its table, or a call in another thread could find none and clear the
    # flag.
    if table in _CALL_TABLES:
        owner._has_hooks = True
    return handle


def add_backward(
    owner: Any, hook: Callable[..., Any], *, full: bool, prepend: bool = False
) -> RemovableHandle:
    """Add a backward hook; the two kinds exclude each other."""
    if owner._is_full_backward_hook is not None and owner._is_full_backward_hook != full:
        where = "all modules" if owner is GLOBAL else type(owner).__name__
        raise RuntimeError(
            f"register_backward_hook: {where} has hooks of the other kind already, and the full "
            "and the non-full backward hooks exclude each other. Use register_full_backward_hook "
            "for all."
        )
    owner._is_full_backward_hook = full
    return add(owner, "_backward_hooks", hook, prepend=prepend)


def on_registration(
    kind: Literal["parameter", "buffer", "module"], module: Module, name: str, value: Any
) -> Any:
    """The value that is registered, after the hooks of all modules have seen it."""
    for hook in GLOBAL._registration_hooks[kind].values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The module's result, with its hooks and those of all modules around ``forward``."""
    # Everywhere the hooks of all modules run before those of the module, as in PyTorch.
    owners: tuple[Any, Any] = (GLOBAL, module)
    for owner in owners:
        _clear_flag_without_hooks(owner)
    result = None
    # The ids of handles are unique among all owners, so that one set serves both.
    done: set[int] = set()
    try:
        args, kwargs = _run_forward_pre(module, owners, args, kwargs)
        full = [hook for owner in owners for hook in _backward_hooks(owner, full=True)]
        pre = [hook for owner in owners for hook in owner._backward_pre_hooks.values()]
        boundary = BackwardHook(module, full, pre) if full or pre else None
        if boundary is not None:
            args = boundary.setup_input_hook(args)
        result = module.forward(*args, **kwargs)
        for _, key, hook in _forward_hooks(owners, module, args, kwargs):
            done.add(key)  # before the call: a hook that raises does not run a second time
            changed = hook(result)
            result = result if changed is None else changed
        if boundary is not None:
            result = _with_output_boundary(boundary, result)
        _attach_to_grad_fn(module, owners, result)
    except Exception:
        # BaseException is left alone: hooks must not delay a KeyboardInterrupt.
        _run_always_called(owners, done, module, args, kwargs, result)
        raise
    return result


def _clear_flag_without_hooks(owner: Any) -> None:
    """Clear the flag of an owner whose last hook is gone."""

    # Handles remove hooks from the tables without telling the owner, and users empty the tables
    # themselves: only a look at the tables can tell that none is left.
    def has_hooks() -> bool:
        return any(getattr(owner, table) for table in _CALL_TABLES)

    if not has_hooks():
        owner.__dict__["_has_hooks"] = False
        if has_hooks():  # another thread has added one in between
            owner.__dict__["_has_hooks"] = True


def _run_forward_pre(
    module: Module, owners: tuple[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for owner in owners:
        for key, hook in list(owner._forward_pre_hooks.items()):  # a hook may remove itself
            if key in owner._forward_pre_hooks_with_kwargs:
                changed = hook(module, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        "forward pre-hook: with_kwargs=True expects None or a pair (args, kwargs) "
                        f"from the hook, got {changed!r}."
                    )
                args, kwargs = changed
            else:
                changed = hook(module, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _forward_hooks(
    owners: tuple[Any, Any], module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[Any, int, Callable[[Any], Any]]]:
    """The hooks after forward, each as a function of the result, with its owner and id."""
    for owner in owners:
        for key, hook in list(owner._forward_hooks.items()):
            has_kwargs = key in owner._forward_hooks_with_kwargs
            given = (args, kwargs) if has_kwargs else (args,)
            yield owner, key, partial(hook, module, *given)


def _run_always_called(
    owners: tuple[Any, Any],
    done: set[int],
    module: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> None:
    for owner, key, hook in _forward_hooks(owners, module, args, kwargs):
        if key in done or key not in owner._forward_hooks_always_called:
            continue
        try:
            changed = hook(result)
            result = result if changed is None else changed
        except Exception as error:  # the first error is the one to report
            which = "global forward hook" if owner is GLOBAL else "forward hook"
            warn_user(
                f"{which}: always_call=True ran it after the module had failed, and it failed as "
                f"well: {error!r}. The error of the module is the one raised.",
            )


def _backward_hooks(owner: Any, *, full: bool) -> list[Callable[..., Any]]:
    return list(owner._backward_hooks.values()) if owner._is_full_backward_hook is full else []


def _with_output_boundary(boundary: BackwardHook, result: Any) -> Any:
    if not isinstance(result, (Tensor, tuple)):
        warn_user(
            "backward hooks: expected the module to give a Tensor or a tuple of them, or the "
            f"hooks do not run, got {type(result).__name__}.",
        )
    return boundary.setup_output_hook(result)


def _attach_to_grad_fn(module: Module, owners: tuple[Any, Any], result: Any) -> None:
    hooks = [hook for owner in owners for hook in _backward_hooks(owner, full=False)]
    if not hooks:
        return
    # As in PyTorch, the first tensor of a nested result stands for all: the reason why these hooks
    # are deprecated.
    while not isinstance(result, Tensor):
        if isinstance(result, dict):
            result = next(value for value in result.values() if isinstance(value, Tensor))
        else:
            result = result[0]
    if result.grad_fn is not None:
        for hook in hooks:
            result.grad_fn.register_hook(partial(hook, module))


class BackwardHook:
    """Two nodes that do nothing, around what a module computed.

    Gradients pass the node of the outputs on the way into the module, where the pre-hooks are
    called with them, and the node of the inputs on the way out, where the hooks are called.
    """

    def __init__(
        self,
        module: Any,
        user_hooks: Sequence[Callable[..., Any]],
        user_pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.n_inputs = 0
        self.has_input_node = False
        self.grad_outputs: tuple[Any, ...] | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the module, behind the node of the inputs."""
        self.n_inputs = len(args)
        values, node, places = _behind_node(args)
        if node is not None:
            self.has_input_node = True

            def hook(grad_inputs: tuple[Any, ...], _: Any) -> Any:
                # The node of the outputs, which keeps their gradients, has not run: the gradients
                # of the inputs come from elsewhere, and no output of the module was used.
                if self.grad_outputs is None:
                    return None
                full = _spread(grad_inputs, places, len(args))
                full = self._call_hooks(full)
                return tuple(full[place] for place in places)

            node.register_hook(hook)
        return values

    def setup_output_hook(self, result: Any) -> Any:
        """The results of the module, behind the node of the outputs."""
        is_single = isinstance(result, Tensor)
        if not is_single and not isinstance(result, tuple):
            return result
        outputs = (result,) if is_single else result
        values, node, places = _behind_node(outputs)
        if node is not None:

            def prehook(grad_outputs: tuple[Any, ...]) -> Any:
                full = self._call_pre_hooks(_spread(grad_outputs, places, len(outputs)))
                self.grad_outputs = full
                if self.user_hooks and not self.has_input_node:
                    self._call_hooks_without_inputs()
                return tuple(full[place] for place in places)

            node.register_prehook(prehook)
        return values[0] if is_single else values

    def _call_pre_hooks(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.user_pre_hooks:
            changed = _as_tuple(hook(self.module, grads))
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"backward pre-hook: expected None or {len(grads)} gradients of the outputs "
                    f"from the hook, got {len(changed)}."
                )
            grads = changed
        return grads

    def _call_hooks(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.user_hooks:
            changed = _as_tuple(hook(self.module, grads, self.grad_outputs))
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"backward hook: expected None or {len(grads)} gradients of the inputs from "
                    f"the hook, got {len(changed)}."
                )
            grads = changed
        # A graph that is retained may run again, and must not see the gradients of this time.
        self.grad_outputs = None
        return grads

    def _call_hooks_without_inputs(self) -> None:
        warn_user(
            "register_full_backward_hook: no input of the module requires gradients, so the hook "
            "runs as soon as those of the outputs are there, with None for the inputs.",
        )
        grads = self._call_hooks((None,) * self.n_inputs)
        if any(grad is not None for grad in grads):
            raise RuntimeError(
                "backward hook: no input of the module requires gradients, so the hook has none to "
                "replace. Return None."
            )


def _as_tuple(value: Any) -> tuple[Any, ...] | None:
    return (value,) if isinstance(value, Tensor) else value


def _spread(values: tuple[Any, ...], places: list[int], size: int) -> tuple[Any, ...]:
    spread: list[Any] = [None] * size
    for place, value in zip(places, values, strict=True):
        spread[place] = value
    return tuple(spread)


class BackwardHookFunction(Function):
    """Passes its arguments on, and their gradients back."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        # Else the node would make all of them require grad, and backward go where it did not
        # before.
        ctx.mark_non_differentiable(*(arg for arg in args if not arg.requires_grad))
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return grads


def _behind_node(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int]]:
    """The values with their tensors behind one node, the node, and the places of the tensors."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not _core.is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values, None, places
    tensors = BackwardHookFunction.apply(*(values[i] for i in places))
    # All tensors share the node; those that do not require grad have none.
    node = next(tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None)
    behind = list(values)
    for place, tensor in zip(places, tensors, strict=True):
        behind[place] = tensor
    is_named = hasattr(values, "_fields")  # a namedtuple takes its elements as arguments
    return type(values)(*behind) if is_named else tuple(behind), node, places


class Hooked:
    """The methods of a module that add hooks to its call."""

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward.

        A value that it returns replaces the arguments; ``None`` keeps them, and a single value
        stands for a tuple of one.

        Args:
            hook: the function to call.
            prepend: whether the hook runs before the module's other hooks, rather than after them.
            with_kwargs: whether the call is ``hook(module, args, kwargs)``, which returns ``None``
                or a pair.

        Example:
            >>> m = facula.nn.Linear(2, 1)
            >>> handle = m.register_forward_pre_hook(lambda module, args: print(args[0].shape))
            >>> _ = m(facula.ones(3, 2))
            torch.Size([3, 2])
        """
        marks = ["_forward_pre_hooks_with_kwargs"] if with_kwargs else []
        return add(self, "_forward_pre_hooks", hook, *marks, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward.

        A value that it returns replaces the output; ``None`` keeps it.

        Args:
            hook: the function to call.
            prepend: whether the hook runs before the module's other hooks, rather than after them.
            with_kwargs: whether the call is ``hook(module, args, kwargs, output)``.
            always_call: whether the hook is called even if forward raises an exception, with
                ``None`` as the output.

        Example:
            >>> m = facula.nn.Linear(2, 1)
            >>> handle = m.register_forward_hook(lambda module, args, output: output.detach())
            >>> m(facula.ones(3, 2)).requires_grad
            False
        """
        marks = ["_forward_hooks_with_kwargs"] if with_kwargs else []
        marks += ["_forward_hooks_always_called"] if always_call else []
        return add(self, "_forward_hooks", hook, *marks, prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the module's gradients are computed.

        A tuple that it returns replaces the gradients of the outputs.
        """
        return add(self, "_backward_pre_hooks", hook, prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the module's gradients are computed.

        Both are tuples, with ``None`` for arguments that are no tensors; keyword arguments are
        not among them. A tuple that it returns replaces the gradients of the inputs.
        """
        return add_backward(self, hook, full=True, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Deprecated: a full backward hook that sees only the module's last operation."""
        return add_backward(self, hook, full=False)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module.

    Example:
        >>> from facula import nn
        >>> from facula.nn.modules.module import register_module_forward_pre_hook
        >>> with register_module_forward_pre_hook(lambda m, args: print(type(m).__name__)):
        ...     _ = nn.Sequential(nn.Linear(2, 2))(facula.ones(1, 2))
        Sequential
        Linear
    """
    return add(GLOBAL, "_forward_pre_hooks", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module.

    A value that it returns replaces the output; ``None`` keeps it.

    Args:
        hook: the function to call.
        with_kwargs: whether the call is ``hook(module, args, kwargs, output)``.
        always_call: whether the hook is called even if forward raises an exception.

    Example:
        >>> from facula import nn
        >>> from facula.nn.modules.module import register_module_forward_hook
        >>> names = []
        >>> handle = register_module_forward_hook(
        ...     lambda module, args, output: names.append(type(module).__name__)
        ... )
        >>> y = nn.Sequential(nn.ReLU(), nn.Tanh())(facula.ones(1))
        >>> handle.remove()
        >>> names
        ['ReLU', 'Tanh', 'Sequential']
    """
    marks = ["_forward_hooks_with_kwargs"] if with_kwargs else []
    marks += ["_forward_hooks_always_called"] if always_call else []
    return add(GLOBAL, "_forward_hooks", hook, *marks)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the gradients of every module are computed."""
    return add(GLOBAL, "_backward_pre_hooks", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when any module's gradients are computed."""
    return add_backward(GLOBAL, hook, full=True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Deprecated: a full backward hook that sees only the last operation of each module."""
    return add_backward(GLOBAL, hook, full=False)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, param)`` when any module is given a parameter.

    A value that it returns is registered instead; ``None`` changes nothing.
    """
    return RemovableHandle.add(GLOBAL._registration_hooks["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any module is given a buffer.

    A value that it returns is registered instead; ``None`` changes nothing.
    """
    return RemovableHandle.add(GLOBAL._registration_hooks["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any module is given a module.

    A value that it returns is registered instead; ``None`` changes nothing.
    """
    return RemovableHandle.add(GLOBAL._registration_hooks["module"], hook)
