"""The base of all modules: ``forward``, ``backward`` and parameters with their gradients.

Note [Graphs of modules]
A module of ours says what it computes in ``_compute``, with ordinary operations. ``forward``
records them, from copies of the input that require grad, and ``backward`` asks autograd: for the
gradient of the input, and for those of the parameters, which it adds to ``gradWeight`` and the
others. Inside of a container a module is only a part of the container's graph. A user's own module
has ``updateOutput``, ``updateGradInput`` and ``accGradParameters`` instead, and becomes one node.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import facula
from facula import Tensor, autograd

__all__ = ["Module"]


def mapped(function: Callable[[Tensor], Any], nested: Any) -> Any:
    """A table, a list of tensors or tables, with the function's result for each tensor."""
    if isinstance(nested, (list, tuple)):
        return [mapped(function, part) for part in nested]
    return function(nested) if isinstance(nested, Tensor) else nested


def flat(nested: Any) -> list[Any]:
    """The tensors of a table, in order."""
    if isinstance(nested, (list, tuple)):
        return [x for part in nested for x in flat(part)]
    return [nested]


def _leaf(x: Tensor) -> Tensor:
    x = x.detach()
    return x.requires_grad_() if x.is_floating_point() else x


class _OneNode(autograd.Function):
    """A user's module, which computes its gradients itself."""

    @staticmethod
    def forward(ctx: Any, module: Module, input: Tensor, *_: Tensor) -> Tensor:
        ctx.module, ctx.input = module, input
        return module.updateOutput(input).clone()  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        module = ctx.module
        _, grads = module.parameters()
        before = [g.clone() for g in grads]
        grad_input = module.updateGradInput(ctx.input, grad)
        module.accGradParameters(ctx.input, grad, 1)
        # The container adds them up, as it does for all its modules.
        added = [g - b for g, b in zip(grads, before, strict=True)]
        for g, b in zip(grads, before, strict=True):
            g.copy_(b)
        return None, grad_input, *added


class Module:
    """Base of the modules: a subclass has ``updateOutput`` and ``updateGradInput``."""

    weight: Any
    bias: Any

    def __init__(self) -> None:
        self.gradInput: Any = facula.Tensor()
        self.output: Any = facula.Tensor()
        self._type = "torch.FloatTensor"
        self.train = True
        self._graph: tuple[Any, Any, Any] | None = None

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}"

    # -- what a module of ours, or a user's, defines

    def _compute(self, input: Any) -> Any:
        """The output, with operations that are recorded; see Note [Graphs of modules]."""
        return _OneNode.apply(self, input, *self.parameters()[0])

    def _own(self) -> list[str]:
        """The names of the parameters of the module itself."""
        return [
            name for name in ("weight", "bias") if isinstance(getattr(self, name, None), Tensor)
        ]

    def updateOutput(self, input: Any) -> Any:
        """Compute the output."""
        self._record(input)
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        """Compute the gradient of the input."""
        inputs = [x for x in flat(self._leaves(input)) if x.requires_grad]
        self.gradInput = self._nested(input, self._grads(gradOutput, inputs))
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        """Add the gradients of the parameters to those that are there."""
        params, grads = self.parameters()
        if params:
            self._leaves(input)
            new = self._grads(gradOutput, params)
            for sum_, grad in zip(grads, new, strict=True):
                sum_.add_(grad, alpha=scale)

    # -- what callers use

    def forward(self, input: Any) -> Any:
        """The output for an input, a tensor or a table of tensors."""
        return self.updateOutput(input)

    __call__ = forward

    def backward(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        """The gradient of the input; those of the parameters are added to the sums."""
        self.updateGradInput(input, gradOutput)
        self.accGradParameters(input, gradOutput, scale)
        return self.gradInput

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """All parameters, and the sums of their gradients."""
        names = self._own()
        grads = [getattr(self, "grad" + name.capitalize()) for name in names]
        return [getattr(self, name) for name in names], grads

    def flattenParameters(self) -> tuple[Tensor, Tensor]:
        """All parameters as one vector, and the gradients as another, that share their memory."""
        params, grads = self.parameters()
        vectors = []
        for tensors in (params, grads):
            vector = facula.cat([x.detach().reshape(-1) for x in tensors])
            place = 0
            for x in tensors:
                x.data = vector[place : place + x.numel()].view(x.shape)
                place += x.numel()
            vectors.append(vector)
        return vectors[0], vectors[1]

    def zeroGradParameters(self) -> None:
        """Set the sums of the gradients to zero."""
        for grad in self.parameters()[1]:
            grad.zero_()

    def updateParameters(self, learningRate: float) -> None:
        """Subtract the gradients, times a rate, from the parameters."""
        for param, grad in zip(*self.parameters(), strict=True):
            param.add_(grad, alpha=-learningRate)

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: float) -> None:
        """Change the parameters by the gradients of this input at once."""
        self.zeroGradParameters()
        self.accGradParameters(input, gradOutput)
        self.updateParameters(lr)

    def training(self) -> None:
        """Behave as in training: dropout drops, norms look at the batch."""
        self.train = True

    def evaluate(self) -> None:
        """Behave as in evaluation."""
        self.train = False

    def type(self, type: str | None = None, tensorCache: Any = None) -> Any:
        """The type of the parameters; with an argument, convert them."""
        if type is None:
            return self._type
        self._type = type
        for name, value in list(vars(self).items()):
            if isinstance(value, Tensor) and value.is_floating_point():
                setattr(self, name, value.type(type))
        return self

    def float(self) -> Any:
        """Convert the parameters to float32."""
        return self.type("torch.FloatTensor")

    def double(self) -> Any:
        """Convert the parameters to float64."""
        return self.type("torch.DoubleTensor")

    def cuda(self) -> Any:
        """Move the parameters to a GPU."""
        return self.type("torch.cuda.FloatTensor")

    def reset(self, stdv: Any = None) -> Any:
        """Give the parameters new random values."""
        return self

    def clearState(self) -> Any:
        """Forget outputs and gradients of inputs."""
        self.output, self.gradInput, self._graph = facula.Tensor(), facula.Tensor(), None
        return self

    def clone(self, *names: str) -> Any:
        """A copy, which shares the tensors of these names with the module."""
        twin = copy.deepcopy(self)
        for name in names:
            setattr(twin, name, getattr(self, name))
        return twin

    def apply(self, callback: Callable[[Module], Any]) -> None:
        """Call a function with the module and all that are in it."""
        callback(self)

    def findModules(self, typename: Any) -> tuple[list[Any], list[Any]]:
        """The modules of a type in this one, and the containers that each of them is in."""
        return ([self], [[self]]) if isinstance(self, typename) else ([], [])

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        for name, value in vars(self).items():
            twin.__dict__[name] = None if name == "_graph" else copy.deepcopy(value, memo)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_graph": None}

    # -- graphs

    def _make(self, **tensors: Tensor | None) -> None:
        """Give the module parameters, each with the sum of its gradients."""
        for name, value in tensors.items():
            setattr(self, name, value)
            setattr(self, "grad" + name.capitalize(), None if value is None else value * 0)

    def _part(self, input: Any) -> Any:
        """The output as a part of a container's graph."""
        result = self._compute(input)
        self.output = mapped(lambda x: x.detach(), result)
        if isinstance(input, Tensor) and input.requires_grad:
            input.register_hook(lambda grad: setattr(self, "gradInput", grad.detach()))
        return result

    def _record(self, input: Any) -> Any:
        leaves = mapped(_leaf, input)
        params = self.parameters()[0]
        with autograd.grad_mode.enable_grad():
            for param in params:
                param.requires_grad_()
            try:
                result = self._compute(leaves)
            finally:
                for param in params:
                    param.requires_grad_(False)
        self.output = mapped(lambda x: x.detach(), result)
        self._graph = input, leaves, result
        return leaves

    def _leaves(self, input: Any) -> Any:
        """The leaves that stand for an input in the graph, which is made if there is none."""
        graph = self._graph
        return graph[1] if graph is not None and graph[0] is input else self._record(input)

    def _grads(self, gradOutput: Any, of: list[Tensor]) -> list[Tensor]:
        assert self._graph is not None
        outputs = [(x, g) for x, g in zip(flat(self._graph[2]), flat(gradOutput), strict=True)]
        outputs = [(x, g.reshape(x.shape)) for x, g in outputs if x.requires_grad]
        if not outputs:
            return [x * 0 for x in of]
        wanted = [x.requires_grad for x in of]
        for x in of:
            x.requires_grad_()
        try:
            grads = autograd.grad(
                [x for x, _ in outputs],
                of,
                [g for _, g in outputs],
                retain_graph=True,
                allow_unused=True,
            )
        finally:
            for x, was_wanted in zip(of, wanted, strict=True):
                x.requires_grad_(was_wanted)
        return [x.detach() * 0 if g is None else g for x, g in zip(of, grads, strict=True)]

    def _nested(self, input: Any, grads: list[Tensor]) -> Any:
        rest = iter(grads)
        return mapped(lambda x: next(rest) if x.is_floating_point() else x * 0, input)
