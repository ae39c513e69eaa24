"""Parameters with elements set to zero and kept there, by a mask and a hook before forward."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import facula
from facula import linalg
from facula._core import Tensor
from facula.nn.modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

_M = TypeVar("_M", bound=Module)


def _hooks_of(module: Module) -> dict[int, Any]:
    hooks: dict[int, Any] = module._forward_pre_hooks
    return hooks


def _check_amount(amount: Any) -> None:
    """Refuse what is neither a fraction nor a count."""
    is_number = isinstance(amount, numbers.Real)
    if not is_number:
        raise TypeError(
            "prune: expected amount as a fraction (float) or a count (int), got "
            f"{type(amount).__name__}."
        )
    if amount < 0 or (amount > 1 and not isinstance(amount, numbers.Integral)):
        raise ValueError(
            "prune: expected amount as a fraction from 0 to 1 or a count of at least 0, got "
            f"{amount}."
        )


def _n_pruned_of(amount: float, size: int) -> int:
    """How many of ``size`` are to be pruned."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * size)
    if amount > size:
        raise ValueError(
            f"prune: expected to prune at most the {size} entries there are, got {amount}."
        )
    return int(amount)


def _check_slices(t: Tensor, dim: int) -> None:
    """Refuse a tensor that has no slices along ``dim`` to prune."""
    if t.dim() <= 1:
        raise ValueError(
            "prune: expected a tensor of at least 2 dimensions to prune slices of, got "
            f"{tuple(t.shape)}."
        )
    if not -t.dim() <= dim < t.dim():
        raise IndexError(
            f"prune: expected dim from {-t.dim()} to {t.dim() - 1} for a tensor {tuple(t.shape)}, "
            f"got {dim}."
        )


def _scores_of(method: str, name: str, t: Tensor, importance_scores: Tensor | None) -> Tensor:
    """The scores to choose by: those given, or else the tensor of this name itself."""
    if importance_scores is None:
        return t
    if importance_scores.shape != t.shape:
        raise AssertionError(
            f"{method}: expected importance_scores of shape {tuple(t.shape)}, that of {name}, got "
            f"{tuple(importance_scores.shape)}."
        )
    return importance_scores


class BasePruningMethod(ABC):
    """A way to choose what is pruned: subclasses define :meth:`compute_mask`.

    An object is the hook that computes the attribute ``name`` before each forward, as the product
    of the parameter ``name + "_orig"`` and the buffer ``name + "_mask"``.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of a tensor: ``default_mask`` with more zeros, chosen by the scores ``t``."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter of the module multiplied by its mask."""
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        pruned: Tensor = mask.to(original.dtype) * original
        return pruned

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter and add the hook that keeps it so.

        Args:
            module: the module to change.
            name: the name of the parameter.
            args: further arguments for the constructor of the method.
            importance_scores: a tensor of the parameter's shape to choose by instead of the
                parameter.
            kwargs: further keyword arguments for the constructor of the method.

        Returns:
            The hook: a container of both if the parameter was pruned before.

        Example:
            >>> m = facula.nn.Linear(4, 2)
            >>> hook = facula.nn.utils.prune.L1Unstructured.apply(m, "weight", amount=3)
            >>> int((m.weight == 0).sum())
            3
        """
        # Everything that can be refused is computed before the module is changed.
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        scores = _scores_of(cls.__name__, repr(name), original, importance_scores)
        earlier = [
            (key, hook)
            for key, hook in _hooks_of(module).items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(earlier) > 1:
            raise AssertionError(
                f"{cls.__name__}: expected at most one pruning hook on {name!r} of "
                f"{type(module).__name__}, got {len(earlier)}. Collect the methods in a "
                "PruningContainer."
            )
        if earlier:
            key, known = earlier[0]
            if isinstance(known, PruningContainer):
                hook: Any = PruningContainer(*known)
            else:
                hook = PruningContainer(known)
            hook._tensor_name = name
            hook.add_pruning_method(method)
            mask = hook.compute_mask(scores, getattr(module, name + "_mask").detach().clone())
            del _hooks_of(module)[key]
        else:
            hook = method
            mask = hook.compute_mask(scores, facula.ones_like(original))
            # The same object under another name: an optimiser goes on with it. From now on `name`
            # is a plain attribute, since the product is no leaf.
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """``t`` multiplied by its mask, without a module."""
        scores = _scores_of(type(self).__name__, "t", t, importance_scores)
        mask = facula.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter itself."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(
                f"{type(self).__name__}: {type(module).__name__} is not pruned by this method, so "
                "there is nothing to remove. Call apply first."
            )
        pruned = self.apply_mask(module)
        original = module._parameters[name + "_orig"]
        assert original is not None
        original.data = pruned.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        if hasattr(module, name):
            delattr(module, name)
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods that pruned one parameter, one after the other.

    Args:
        args: the pruning methods, all for the same parameter.

    Example:
        >>> from facula import nn
        >>> from facula.nn.utils import prune
        >>> m = prune.l1_unstructured(nn.Linear(4, 2), "weight", amount=1)
        >>> hook = prune.RandomUnstructured.apply(m, "weight", amount=2)
        >>> type(hook).__name__, len(hook)
        ('PruningContainer', 2)
        >>> int(m.weight_mask.sum())
        5
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method, of the same parameter as the others."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(
                f"PruningContainer: expected a BasePruningMethod, got {type(method).__name__}."
            )
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"PruningContainer: expected methods for {self._tensor_name!r}, got one for "
                f"{method._tensor_name!r}. A container prunes one tensor."
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask after the last method, which chooses among what the others have left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype).clone()
        left: Any
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            # Slices that are pruned already do not count: a fraction is one of what is left.
            dim = method.dim % t.dim()  # type: ignore[attr-defined]
            others = [d for d in range(t.dim()) if d != dim]
            left = (slice(None),) * dim + (mask.sum(others) != 0,)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(
                f"PruningContainer: {type(method).__name__} has no known PRUNING_TYPE: "
                f"{method.PRUNING_TYPE!r}."
            )
        mask[left] = method.compute_mask(t[left], default_mask=mask[left]).to(dtype=t.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing: a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Unstructured(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    @abstractmethod
    def _choose(self, t: Tensor, n: int) -> Any:
        """The flat indices of ``n`` elements to prune."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n_pruned = _n_pruned_of(self.amount, t.numel())
        mask = default_mask.clone()
        if n_pruned:
            mask.view(-1)[self._choose(t, n_pruned)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements at random.

    Args:
        amount: how many to prune, as an int, or which fraction of all, as a float from 0.0 to 1.0.

    Example:
        >>> method = facula.nn.utils.prune.RandomUnstructured(amount=0.5)
        >>> int(method.compute_mask(facula.randn(2, 4), facula.ones(2, 4)).sum())
        4
    """

    def _choose(self, t: Tensor, n: int) -> Any:
        return facula.topk(facula.rand_like(t).view(-1), k=n).indices


class L1Unstructured(_Unstructured):
    """Prunes the elements of the least absolute value.

    Args:
        amount: how many to prune, as an int, or which fraction of all, as a float from 0.0 to 1.0.

    Example:
        >>> method = facula.nn.utils.prune.L1Unstructured(amount=2)
        >>> t = facula.tensor([3.0, -0.1, 0.2, -4.0])
        >>> method.compute_mask(t, facula.ones(4))
        tensor([1., 0., 0., 1.])
    """

    def _choose(self, t: Tensor, n: int) -> Any:
        return facula.topk(t.detach().abs().reshape(-1), k=n, largest=False).indices


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount = amount
        self.dim = dim

    @abstractmethod
    def _keep(self, t: Tensor, n_pruned: int) -> Any:
        """An index of all slices but ``n_pruned``."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _check_slices(t, self.dim)
        n_pruned = _n_pruned_of(self.amount, t.shape[self.dim])
        if n_pruned == 0:
            return default_mask
        mask = facula.zeros_like(t)
        mask.transpose(0, self.dim)[self._keep(t, n_pruned)] = 1
        return mask * default_mask.to(t.dtype)


class RandomStructured(_Structured):
    """Prunes whole slices at random.

    Args:
        amount: how many to prune, as an int, or which fraction of all, as a float from 0.0 to 1.0.
        dim: the dimension that is sliced.

    Example:
        >>> method = facula.nn.utils.prune.RandomStructured(amount=1, dim=0)
        >>> int(method.compute_mask(facula.randn(3, 4), facula.ones(3, 4)).sum())
        8
    """

    def _keep(self, t: Tensor, n_pruned: int) -> Any:
        draws = facula.rand(t.shape[self.dim])
        return draws > facula.kthvalue(draws, k=n_pruned).values


class LnStructured(_Structured):
    """Prunes whole slices of the least norm.

    Args:
        amount: how many to prune, as an int, or which fraction of all, as a float from 0.0 to 1.0.
        n: the order of the norm of the slices.
        dim: the dimension that is sliced.

    Example:
        >>> method = facula.nn.utils.prune.LnStructured(amount=1, n=2, dim=0)
        >>> t = facula.tensor([[3.0, 4.0], [1.0, 1.0]])
        >>> method.compute_mask(t, facula.ones(2, 2))
        tensor([[1., 1.],
                [0., 0.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _keep(self, t: Tensor, n_pruned: int) -> Any:
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        order = 2.0 if self.n == "fro" else float(self.n)
        norms = linalg.vector_norm(t.detach(), order, others)
        return facula.topk(norms, k=t.shape[self.dim] - n_pruned, largest=True).indices


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask says.

    Args:
        mask: ones, and zeros for what is pruned, of the parameter's shape.

    Example:
        >>> method = facula.nn.utils.prune.CustomFromMask(facula.tensor([1, 0, 1]))
        >>> method.compute_mask(facula.ones(3), facula.ones(3))
        tensor([1., 0., 1.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: _M, name: str) -> _M:
    """Prune nothing, but give a parameter a mask, which is all ones.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.prune.identity(nn.Linear(2, 3), "bias")
        >>> m.bias_mask
        tensor([1., 1., 1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: _M, name: str, amount: float) -> _M:
    """Prune elements of a parameter at random.

    Args:
        module: the module to change.
        name: the name of the parameter.
        amount: how many to prune, as an int, or which fraction of all, as a float from 0.0 to 1.0.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.prune.random_unstructured(nn.Linear(2, 3), "weight", amount=1)
        >>> int((m.weight_mask == 0).sum())
        1
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: _M, name: str, amount: float, importance_scores: Tensor | None = None
) -> _M:
    """Prune the elements of a parameter that have the least absolute value.

    Args:
        module: the module to change.
        name: the name of the parameter.
        amount: how many to prune, as an int, or which fraction of all, as a float from 0.0 to 1.0.
        importance_scores: a tensor of the parameter's shape to choose by instead of the parameter.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.prune.l1_unstructured(nn.Linear(2, 3), "weight", amount=0.5)
        >>> int((m.weight == 0).sum())
        3
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: _M, name: str, amount: float, dim: int) -> _M:
    """Prune slices of a parameter at random.

    Args:
        module: the module to change.
        name: the name of the parameter.
        amount: how many to prune, as an int, or which fraction of all, as a float from 0.0 to 1.0.
        dim: the dimension that is sliced.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.prune.random_structured(nn.Linear(5, 3), "weight", amount=3, dim=1)
        >>> int((m.weight == 0).all(0).sum())
        3
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: _M, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> _M:
    """Prune the slices of a parameter that have the least norm.

    Args:
        module: the module to change.
        name: the name of the parameter.
        amount: how many to prune, as an int, or which fraction of all, as a float from 0.0 to 1.0.
        n: the order of the norm of the slices.
        dim: the dimension that is sliced.
        importance_scores: a tensor of the parameter's shape to choose by instead of the parameter.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.prune.ln_structured(nn.Linear(5, 3), "weight", amount=2, n=1, dim=0)
        >>> int((m.weight == 0).all(1).sum())
        2
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Any, pruning_method: type, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune parameters of several modules as if they were one.

    Args:
        parameters: the parameters to prune, as pairs of module and name.
        pruning_method: the class of a method that prunes single elements.
        importance_scores: tensors to choose by instead of the parameters, by pairs of module and
            name.
        kwargs: further keyword arguments for the constructor of the method.

    Example:
        >>> from facula import nn
        >>> a, b = nn.Linear(4, 2), nn.Linear(2, 1)
        >>> nn.utils.prune.global_unstructured(
        ...     [(a, "weight"), (b, "weight")], nn.utils.prune.L1Unstructured, amount=5
        ... )
        >>> int((a.weight == 0).sum() + (b.weight == 0).sum())
        5
    """
    if not isinstance(parameters, Iterable):
        raise TypeError(
            "global_unstructured: expected parameters as (module, name) pairs, got "
            f"{type(parameters).__name__}."
        )
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError(
            "global_unstructured: expected importance_scores as a dict of (module, name) to a "
            f"tensor, got {type(given).__name__}."
        )
    pairs = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            "global_unstructured: expected a pruning_method that is unstructured, got "
            f"{pruning_method.__name__}, which is {method.PRUNING_TYPE}."
        )
    scores = [given.get((module, name), getattr(module, name)) for module, name in pairs]
    masks = [
        getattr(module, name + "_mask", facula.ones_like(getattr(module, name)))
        for module, name in pairs
    ]
    method._tensor_name = "all"
    mask = PruningContainer(method).compute_mask(
        facula.cat([score.detach().reshape(-1) for score in scores]),
        facula.cat([known.reshape(-1) for known in masks]),
    )
    begin = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        end = begin + parameter.numel()
        custom_from_mask(module, name, mask=mask[begin:end].view_as(parameter))
        begin = end


def custom_from_mask(module: _M, name: str, mask: Tensor) -> _M:
    """Prune what a mask says.

    Args:
        module: the module to change.
        name: the name of the parameter.
        mask: ones, and zeros for what is pruned, of the parameter's shape.

    Example:
        >>> from facula import nn
        >>> mask = facula.tensor([0.0, 1.0, 0.0])
        >>> m = nn.utils.prune.custom_from_mask(nn.Linear(5, 3), "bias", mask)
        >>> m.bias_mask
        tensor([0., 1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: _M, name: str) -> _M:
    """Make the pruned values of a parameter the parameter itself, without mask and hook.

    Example:
        >>> from facula import nn
        >>> m = nn.utils.prune.random_unstructured(nn.Linear(5, 3), "weight", amount=0.2)
        >>> [name for name, _ in nn.utils.prune.remove(m, "weight").named_parameters()]
        ['bias', 'weight']
    """
    for key, hook in _hooks_of(module).items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del _hooks_of(module)[key]
            return module
    raise ValueError(
        f"remove: expected a pruned parameter, but {name!r} of {type(module).__name__} has no "
        "pruning hook."
    )


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one inside, is pruned.

    Example:
        >>> from facula import nn
        >>> m = nn.Sequential(nn.Linear(5, 7))
        >>> nn.utils.prune.is_pruned(m)
        False
        >>> _ = nn.utils.prune.random_unstructured(m[0], "weight", amount=0.2)
        >>> nn.utils.prune.is_pruned(m)
        True
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in _hooks_of(part).values()
    )
