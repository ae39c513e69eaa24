"""Names that can be imported and that say, when they are called, what is missing.

Programs import much that they never call. A name whose work cannot be done here is still there for
them; a call ends with a sentence on what to do instead, not with an AttributeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def refusing(
    name: str, sentence: str, error: type[Exception] = RuntimeError
) -> Callable[..., NoReturn]:
    """A function that raises whenever it is called.

    Args:
        name: its full name in PyTorch, such as ``"torch.jit.save"``.
        sentence: what is missing, and what to do instead.
        error: the exception's type, which is the one that PyTorch raises where it is not able to.
    """

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise error(f"{name} is not part of Facula: {sentence}")

    module, _, own = name.rpartition(".")
    refuse.__name__ = refuse.__qualname__ = own
    refuse.__module__ = module.replace("torch", "facula", 1)
    refuse.__doc__ = f"Cannot be called: {sentence}"
    return refuse


def refusing_class(
    name: str, sentence: str, *bases: type, error: type[Exception] = RuntimeError, **members: Any
) -> Any:
    """A class without objects: it can be imported, derived from and asked for with isinstance.

    Args:
        name: its full name in PyTorch.
        sentence: what is missing, and what to do instead.
        bases: the classes that it is derived from.
        error: the exception's type.
        members: attributes of the class.
    """
    module, _, own = name.rpartition(".")
    members = {
        "__module__": module.replace("torch", "facula", 1),
        "__doc__": f"Has no objects: {sentence}",
        "__new__": refusing(name, sentence, error),
        **members,
    }
    return type(own, bases, members)
