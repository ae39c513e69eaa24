"""Modules made of modules, and those that work on tables of tensors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import facula
from facula import Tensor
from facula.legacy.nn._module import Module, flat

__all__ = [
    "MM",
    "CAddTable",
    "CDivTable",
    "CMaxTable",
    "CMinTable",
    "CMulTable",
    "CSubTable",
    "Concat",
    "ConcatTable",
    "Container",
    "DotProduct",
    "FlattenTable",
    "JoinTable",
    "ParallelTable",
    "SelectTable",
    "Sequential",
    "SplitTable",
]


class Container(Module):
    """Base of modules that are made of others."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        self.modules: list[Any] = list(modules)

    def add(self, module: Module) -> Any:
        """Append a module."""
        self.modules.append(module)
        return self

    def get(self, index: int) -> Any:
        """The module at a place, counted from 0."""
        return self.modules[index]

    def size(self) -> int:
        """The number of modules."""
        return len(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """All parameters of the modules, and the sums of their gradients."""
        pairs = [module.parameters() for module in self.modules]
        return [p for params, _ in pairs for p in params], [g for _, grads in pairs for g in grads]

    def training(self) -> None:
        """Let all modules behave as in training."""
        self.applyToModules(lambda module: module.training())
        super().training()

    def evaluate(self) -> None:
        """Let all modules behave as in evaluation."""
        self.applyToModules(lambda module: module.evaluate())
        super().evaluate()

    def applyToModules(self, func: Callable[[Any], Any]) -> None:
        """Call a function with each module of the container."""
        for module in self.modules:
            func(module)

    def apply(self, callback: Callable[[Module], Any]) -> None:
        """Call a function with the container and all modules in it, at any depth."""
        callback(self)
        self.applyToModules(lambda module: module.apply(callback))

    def reset(self, stdv: Any = None) -> Any:
        """Give all parameters new random values."""
        self.applyToModules(lambda module: module.reset(stdv))
        return self

    def type(self, type: str | None = None, tensorCache: Any = None) -> Any:
        """The type of the parameters; with an argument, convert those of all modules."""
        if type is not None:
            self.applyToModules(lambda module: module.type(type))
        return super().type(type)

    def findModules(self, typename: Any) -> tuple[list[Any], list[Any]]:
        """The modules of a type at any depth, and the containers that each of them is in."""
        found, places = super().findModules(typename)
        for module in self.modules:
            inner, inside = module.findModules(typename)
            found += inner
            places += [[self, *place] for place in inside]
        return found, places

    def __repr__(self) -> str:
        inside = "".join(f"\n  ({i}): {m!r}" for i, m in enumerate(self.modules))
        return f"nn.{type(self).__name__} {{{inside}\n}}"


class Sequential(Container):
    """Modules one after the other."""

    def insert(self, module: Module, index: int) -> None:
        """Put a module before the one at a place."""
        self.modules.insert(index, module)

    def remove(self, index: int = -1) -> None:
        """Take a module away, the last one by default."""
        del self.modules[index]

    def _compute(self, input: Any) -> Any:
        for module in self.modules:
            input = module._part(input)
        return input


class ConcatTable(Container):
    """The table of what each module gives for the same input."""

    def _compute(self, input: Any) -> Any:
        return [module._part(input) for module in self.modules]


class Concat(Container):
    """What each module gives for the same input, joined along a dimension."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def _compute(self, input: Any) -> Any:
        return facula.cat([module._part(input) for module in self.modules], self.dimension)


class ParallelTable(Container):
    """The table of what each module gives for its entry of the input."""

    def _compute(self, input: Any) -> Any:
        return [module._part(x) for module, x in zip(self.modules, input, strict=True)]


class _Table(Module):
    _rule: Callable[..., Any]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def _compute(self, input: Any) -> Any:
        return functools.reduce(type(self)._rule, input)


class CAddTable(_Table):
    """The sum of the tensors of a table."""

    _rule = staticmethod(operator.add)


class CSubTable(_Table):
    """The difference of two tensors."""

    _rule = staticmethod(operator.sub)


class CMulTable(_Table):
    """The product of the tensors of a table, element by element."""

    _rule = staticmethod(operator.mul)


class CDivTable(_Table):
    """The quotient of two tensors, element by element."""

    _rule = staticmethod(operator.truediv)


class CMaxTable(_Table):
    """The largest of the tensors' elements at each place."""

    _rule = staticmethod(facula.maximum)


class CMinTable(_Table):
    """The smallest of the tensors' elements at each place."""

    _rule = staticmethod(facula.minimum)


class DotProduct(Module):
    """The scalar product of two vectors, or of each row of two matrices."""

    def _compute(self, input: Any) -> Any:
        return (input[0] * input[1]).sum(-1)


class MM(Module):
    """The matrix product of two matrices, or of two batches of them."""

    def __init__(self, transA: bool = False, transB: bool = False) -> None:
        super().__init__()
        self.transA, self.transB = transA, transB

    def _compute(self, input: Any) -> Any:
        a, b = input
        return (a.mT if self.transA else a) @ (b.mT if self.transB else b)


class JoinTable(Module):
    """The tensors of a table, joined along a dimension."""

    def __init__(self, dimension: int, nInputDims: int | None = None) -> None:
        super().__init__()
        self.dimension, self.nInputDims = dimension, nInputDims

    def _compute(self, input: Any) -> Any:
        has_batch = self.nInputDims is not None and input[0].dim() == self.nInputDims + 1
        return facula.cat(list(input), self.dimension + has_batch)


class SplitTable(Module):
    """The table of a tensor's parts along a dimension."""

    def __init__(self, dimension: int, nInputDims: int | None = None) -> None:
        super().__init__()
        self.dimension, self.nInputDims = dimension, nInputDims

    def _compute(self, input: Any) -> Any:
        has_batch = self.nInputDims is not None and input.dim() == self.nInputDims + 1
        return list(input.unbind(self.dimension + has_batch))


class SelectTable(Module):
    """One entry of a table."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def _compute(self, input: Any) -> Any:
        return input[self.index]


class FlattenTable(Module):
    """A table of tables as one table."""

    def _compute(self, input: Any) -> Any:
        return flat(input)
