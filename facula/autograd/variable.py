"""``Variable``, the historic wrapper of tensors, with its ``volatile`` flag.

Since tensors carry gradients themselves, ``Variable(x)`` is a tensor that shares memory with ``x``.
``volatile`` is a flag of the core's tensors (``Tensor.volatile``): an operation with a volatile
input records nothing and marks its outputs volatile. The core tests it in the same flag test that
decides on recording, so that it costs other programs nothing. ``Tensor.creator`` is ``grad_fn``.
"""

from __future__ import annotations

from collections.abc import Callable

from facula import _core
from facula._core import Tensor
from facula._notes import note

__all__ = ["Variable"]


class _VariableType(type):
    # In a program of PyTorch before 0.4, where a tensor need not be a Variable: whether it is one,
    # and a note that it is.
    _is_variable: Callable[[Tensor], bool] | None = None
    _mark: Callable[[Tensor], Tensor] | None = None

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, Tensor):
            return False
        return cls._is_variable is None or cls._is_variable(instance)

    # Variable stands for Tensor in type(h) == Variable too.

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is Tensor

    def __hash__(cls) -> int:
        return hash(Tensor)


class Variable(metaclass=_VariableType):
    """Make a tensor as programs of PyTorch 0.3 did.

    Args:
        data: the tensor to wrap; its memory is shared.
        requires_grad: whether operations on the variable are recorded.
        volatile: whether nothing that the variable takes part in is recorded, even where other
            inputs require grad.

    Example:
        >>> x = facula.autograd.Variable(facula.ones(2), volatile=True)
        >>> w = facula.ones(2, requires_grad=True)
        >>> y = x * w
        >>> y.volatile, y.requires_grad
        (True, False)
    """

    def __new__(  # type: ignore[misc]
        cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        if requires_grad and volatile:
            raise RuntimeError(
                "Variable: a variable cannot both require grad and be volatile; volatile means "
                "that no gradient is recorded."
            )
        if data is None:
            data = _core.empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable: expected data to be a tensor, got {type(data).__name__}.")
        variable = data.detach()
        if requires_grad:
            variable.requires_grad_()
        if volatile:
            note(
                "Variable(volatile=True) is an older form. Compute inside of "
                "`with torch.no_grad():` instead."
            )
            variable.volatile = True
        if cls._mark is not None:
            cls._mark(variable)
        return variable
