"""Operations that PyTorch's core composes of others: the rules that call those others.

``__torch_dispatch__`` sees the operations that a rule calls, not the one that it stands for. A rule
takes ``dispatch(overload, *args, **kwargs)``, which hands an overload of ``aten`` to
``__torch_dispatch__`` and returns its answer, and the arguments of the operation. Other operations
that it calls find their own way there. Where a rule returns NotImplemented, ``__torch_dispatch__``
sees the operation itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula._library.operators import OpOverload, namespace

Rule = Callable[..., Any]

# What is answered without a look at elements, and what makes tensors of data.
QUESTIONS = {
    *("__dir__", "__format__", "__hash__", "__len__", "__reduce_ex__", "__repr__", "__str__"),
    *("_is_view", "_make_subclass", "_nested_tensor_size", "as_subclass", "as_tensor", "asarray"),
    *("backward", "dim", "element_size", "from_numpy", "get_device", "has_names", "is_complex"),
    *("is_conj", "is_contiguous", "is_floating_point", "is_inference", "is_neg", "is_pinned"),
    *("is_same_size", "is_shared", "is_signed", "ndimension", "nelement", "numel"),
    *("register_hook", "requires_grad_", "retain_grad", "size", "storage_offset", "stride"),
    *("register_post_accumulate_grad_hook", "_run_backward", "tensor", "result_type"),
    *("_to_dlpack", "broadcast_shapes", "is_tensor", "new_tensor"),
}
RULES: dict[str, Rule] = {}


def rule_of(*names: str) -> Callable[[Rule], Rule]:
    """Make a function the rule of operations of these names."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def aten(name: str, overload: str = "default") -> OpOverload:
    """An overload of ``aten``."""
    return getattr(getattr(namespace("aten"), name), overload)  # type: ignore[no-any-return]


from facula._library._parts import creation, index, nn, operators, reduce, shape  # noqa: E402, F401
