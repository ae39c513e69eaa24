"""What programs say to a compiler. There is none yet: a function runs as the Python that it is.

:func:`compile` checks its arguments and returns the function; :func:`is_compiling` is False, so
that programs take the branch for eager mode, except while ``facula.onnx`` exports them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from facula import _exporting
from facula._refusing import refusing
from facula.compiler import config

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "load_cache_artifacts",
    "load_compiled_function",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
# PyTorch's own names for backends, all of which give the function's results.
_BACKENDS = {
    "aot_eager",
    "aot_eager_decomp_partition",
    "cudagraphs",
    "eager",
    "inductor",
    "onnxrt",
    "openxla",
    "tvm",
}
_STANCES = {
    "default",
    "eager_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
    "fail_on_recompile",
    "force_eager",
}
_default_backend: str | Callable[..., Any] = "inductor"


class InvalidBackend(RuntimeError):
    """A name that is no backend of a compiler's."""


def _check_backend(backend: str | Callable[..., Any] | None) -> None:
    if isinstance(backend, str) and backend not in _BACKENDS | set(_registered()):
        raise InvalidBackend(
            f"compile: invalid backend {backend!r}, expected one of {sorted(_BACKENDS)} or a "
            "function. Facula runs the function as it is for each of them."
        )


def _registered() -> dict[str, Callable[..., Any]]:
    from facula._dynamo.backends import registry

    return registry._BACKENDS


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """The function itself, or the module by another name: both run as the Python that they are.

    A module is given as the ``_orig_mod`` of an ``OptimizedModule``, as PyTorch gives it: the
    parameters are the same, and their names in the state_dict start with ``_orig_mod.``.

    Used as ``compile(model)``, ``@compile`` or ``@compile(mode=...)``.

    Args:
        model: a function or a module; None for a decorator.
        fullgraph: whether the whole function would have to be one graph.
        dynamic: whether sizes would be allowed to change.
        backend: the name of one of PyTorch's backends, or a function.
        mode: ``"default"``, ``"reduce-overhead"``, ``"max-autotune"`` or another of PyTorch's.
        options: settings of the backend, in place of a mode.
        name: a name for the compiled function.
        disable: whether the module itself is wanted.
        recompile_limit: how often the function would be compiled again.
        isolate_recompiles: whether other functions would not count for that limit.
        shapes_spec: what is known of the sizes.

    Example:
        >>> net = facula.nn.Linear(2, 3)
        >>> facula.compile(net)._orig_mod is net
        True
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "compile: either mode or options can be specified, not both at the same time."
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"compile: unrecognized mode={mode}, expected one of {list(_MODES)}.")
    _check_backend(backend)
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            disable=disable,
        )
    if not callable(model):
        raise AssertionError(
            f"compile: a callable function is expected, but {type(model)} is provided."
        )
    from facula._dynamo.eval_frame import OptimizedModule
    from facula.nn import Module

    if disable or not isinstance(model, Module) or isinstance(model, OptimizedModule):
        return model
    return OptimizedModule(model)


def is_compiling() -> bool:
    """Whether the code is being compiled or exported: only inside of ``facula.onnx.export``.

    Example:
        >>> facula.compiler.is_compiling()
        False
    """
    return _exporting.is_active


def is_dynamo_compiling() -> bool:
    """Whether PyTorch's compiler reads the code: never.

    Example:
        >>> facula.compiler.is_dynamo_compiling()
        False
    """
    return False


def is_exporting() -> bool:
    """Whether the code is being exported: only inside of ``facula.onnx.export``.

    Example:
        >>> facula.compiler.is_exporting()
        False
    """
    return _exporting.is_active


def reset() -> None:
    """Forget all that was compiled, which is nothing.

    Example:
        >>> facula.compiler.reset()
    """


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that a compiler must leave alone: the function itself.

    Args:
        fn: a function, a class or a module; None for a decorator.
        recursive: whether what it calls is left alone too.
        reason: why.

    Example:
        >>> @facula.compiler.disable
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    if fn is None:
        return lambda function: function
    if not callable(fn):
        raise AssertionError(f"compiler.disable: expected a function, got {type(fn).__name__}.")
    return fn


def allow_in_graph(fn: Any) -> Any:
    """A function that a compiler would call without looking into it: the function itself.

    Args:
        fn: the function, or a list of functions.

    Example:
        >>> facula.compiler.allow_in_graph(facula.relu) is facula.relu
        True
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError("compiler.allow_in_graph: expected a callable.")
    return fn


def assume_constant_result(fn: _Function) -> _Function:
    """A function whose result a compiler may keep: the function itself.

    Args:
        fn: the function.

    Example:
        >>> facula.compiler.assume_constant_result(len) is len
        True
    """
    with contextlib.suppress(AttributeError):
        fn._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[_Function], _Function]:
    """A decorator of what a compiler would call in place of another function.

    Args:
        original_fn: the other function.
        can_constant_fold_through: whether its result may be kept for constant arguments.
        skip_signature_check: whether the two may take different arguments.

    Example:
        >>> import operator
        >>> @facula.compiler.substitute_in_graph(operator.indexOf)
        ... def index_of(a, b, /):
        ...     return list(a).index(b)
        >>> index_of([5, 6], 6)
        1
    """
    if not callable(original_fn):
        raise TypeError(
            f"substitute_in_graph: expected a function, got {type(original_fn).__name__}."
        )

    def decorate(traceable_fn: _Function) -> _Function:
        if not callable(traceable_fn):
            raise TypeError(
                f"substitute_in_graph: expected a function, got {type(traceable_fn).__name__}."
            )
        return traceable_fn

    return decorate


def list_backends(exclude_tags: tuple[str, ...] | None = ("debug", "experimental")) -> list[str]:
    """The backends that compile: those that the program has registered.

    Args:
        exclude_tags: kinds of backends to leave out.

    Example:
        >>> "inductor" in facula.compiler.list_backends()
        False
    """
    from facula._dynamo.backends.registry import list_backends

    return list_backends(exclude_tags)


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Choose what :func:`get_default_backend` says.

    Args:
        backend: the name of a backend, or a function; None for ``"inductor"``.

    Example:
        >>> facula.compiler.set_default_backend("eager")
        >>> facula.compiler.get_default_backend()
        'eager'
        >>> facula.compiler.set_default_backend(None)
    """
    global _default_backend
    _check_backend(backend)
    _default_backend = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """What :func:`set_default_backend` was given last.

    Example:
        >>> facula.compiler.get_default_backend()
        'inductor'
    """
    return _default_backend


class set_stance(contextlib.ContextDecorator):
    """How compiled functions behave: a call, a block or a decorator, which change nothing here.

    Args:
        stance: ``"default"``, ``"force_eager"``, ``"eager_on_recompile"`` or another of PyTorch's.
        skip_guard_eval_unsafe: whether a compiled function would not check its arguments.
        force_backend: a backend for all functions.

    Example:
        >>> with facula.compiler.set_stance("force_eager"):
        ...     facula.ones(2) + 1
        tensor([2., 2.])
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(
                f"set_stance: invalid stance {stance!r}, expected one of {sorted(_STANCES)}."
            )
        if force_backend is not None and stance != "default":
            raise RuntimeError("set_stance: force_backend goes with the stance 'default' only.")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Whether processes would agree on compiling again; there is one process, and the answer no.

    Args:
        enabled: what is asked for.

    Example:
        >>> facula.compiler.set_enable_guard_collectives(False)
        False
    """
    if enabled:
        raise RuntimeError(
            "set_enable_guard_collectives: there is no engine for several processes yet."
        )
    return False


def cudagraph_mark_step_begin() -> None:
    """Tell a compiler that a new step begins; eager steps need no mark.

    Example:
        >>> facula.compiler.cudagraph_mark_step_begin()
    """


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors from one of NumPy's arrays.

    Args:
        fn: takes and returns arrays, also in lists, tuples and dicts.

    Example:
        >>> import numpy as np
        >>> facula.compiler.wrap_numpy(np.square)(facula.tensor([1.0, 2.0]))
        tensor([1., 4.])
    """
    import numpy as np

    import facula
    from facula.utils._pytree import tree_map

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(
            lambda x: x.numpy() if isinstance(x, facula.Tensor) else x, (args, kwargs)
        )
        return tree_map(
            lambda x: facula.as_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x,
            fn(*args, **kwargs),
        )

    return wrapped


def nested_compile_region(
    fn: Any = None,
    *,
    options: Any = None,
    max_reuse_entries: int = 8,
    reuse_hash_fn: Callable[..., Any] | None = None,
) -> Any:
    """A function that a compiler would compile once for many places: the function itself.

    Args:
        fn: the function; None for a decorator.
        options: settings of the region.
        max_reuse_entries: how many forms of it would be kept.
        reuse_hash_fn: what forms would be told apart by.

    Example:
        >>> facula.compiler.nested_compile_region(facula.relu) is facula.relu
        True
    """
    return (lambda function: function) if fn is None else fn


_NOTHING = "functions run as they are, and nothing compiled is kept in files."
load_compiled_function = refusing("torch.compiler.load_compiled_function", _NOTHING)


def save_cache_artifacts() -> None:
    """What was compiled, to be kept in a file: nothing.

    Example:
        >>> facula.compiler.save_cache_artifacts()
    """


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """Take what another process has compiled; it is of no use here.

    Args:
        serialized_artifacts: what ``save_cache_artifacts`` has returned.
    """


def _guard_filter(name: str) -> Callable[..., list[bool]]:
    """A value for ``options={"guard_filter_fn": ...}``, which nobody calls here."""

    def keep(guard_entries: Any, keep_parameters: bool = False) -> list[bool]:
        """For each check of a compiled function, whether to keep it.

        Args:
            guard_entries: the checks.
            keep_parameters: whether those of parameters are kept too.
        """
        return ["skip_all" not in name for _ in guard_entries]

    keep.__name__ = keep.__qualname__ = name
    return keep


keep_portable_guards_unsafe = _guard_filter("keep_portable_guards_unsafe")
keep_tensor_guards_unsafe = _guard_filter("keep_tensor_guards_unsafe")
skip_all_guards_unsafe = _guard_filter("skip_all_guards_unsafe")
skip_guard_on_all_nn_modules_unsafe = _guard_filter("skip_guard_on_all_nn_modules_unsafe")
skip_guard_on_globals_unsafe = _guard_filter("skip_guard_on_globals_unsafe")
skip_guard_on_inbuilt_nn_modules_unsafe = _guard_filter("skip_guard_on_inbuilt_nn_modules_unsafe")
