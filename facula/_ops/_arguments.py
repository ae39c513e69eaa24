"""What every operation written in Python refuses: something else where a tensor is wanted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from facula._core import Tensor


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with PyTorch's TypeError for what is no tensor.

    The tensors that come first are looked at before the call, at the cost of one comparison each.
    Elsewhere it is looked for when the operation could do nothing with it.
    """
    code, hints = function.__code__, function.__annotations__
    n_first = 0
    while n_first < code.co_argcount and hints.get(code.co_varnames[n_first]) == "Tensor":
        n_first += 1

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for i, x in enumerate(args[:n_first]):
            if not isinstance(x, Tensor):
                _refuse(function, code.co_varnames[i], x)
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError):
            _look_for_no_tensor(function, args, kwargs)
            raise

    return call


def _look_for_no_tensor(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    import inspect  # slow to import, and needed for an error only

    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:  # too many or too few: the call has said so
        return
    for name, value in given.items():
        hint = signature.parameters[name].annotation
        if "Tensor" not in hint:
            continue
        takes_several = (
            "[" in hint or signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        )
        for x in value if takes_several and isinstance(value, (list, tuple)) else (value,):
            if not isinstance(x, Tensor) and not (x is None and "None" in hint):
                _refuse(function, name, x)


def _refuse(function: Callable[..., Any], name: str, value: Any) -> NoReturn:
    raise TypeError(
        f"{function.__name__}: expected a tensor as {name}, got {type(value).__name__}."
    ) from None
