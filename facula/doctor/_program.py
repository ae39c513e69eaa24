"""What the doctor knows of the program that runs: its models, optimisers, steps and results."""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import facula
from facula import Tensor
from facula._transform import tensors_in
from facula.doctor._finding import Place, here
from facula.nn.modules.batchnorm import _BatchNorm
from facula.nn.modules.dropout import _DropoutNd
from facula.nn.modules.module import Module
from facula.optim import Optimizer

# Nodes through which a result is the same numbers in another arrangement.
_ARRANGING = (
    "Alias",
    "AsStrided",
    "Clone",
    "Detach",
    "Expand",
    "Permute",
    "Reshape",
    "Select",
    "Slice",
    "Squeeze",
    "Stack",
    "T0",
    "TBackward",
    "ToCopy",
    "Transpose",
    "Unsqueeze",
    "UnsafeView",
    "View",
)
_ORIGIN = "facula.doctor"  # the key in a node's metadata

K = TypeVar("K")
V = TypeVar("V")


class Origin:
    """Where a tensor comes from.

    Args:
        name: the operation, or ``"training mode"`` for the output of a model in that mode.
        place: the line that called it.
        dim: the dimension that the operation went along, from the first; None for none.
        n_dims: how many dimensions the result has.
        earlier: where what the operation was given comes from, if that is known.
    """

    __slots__ = ("dim", "earlier", "n_dims", "name", "place")

    def __init__(
        self, name: str, place: Place, dim: int | None, n_dims: int, earlier: Origin | None = None
    ) -> None:
        self.name, self.place, self.dim, self.n_dims = name, place, dim, n_dims
        self.earlier = earlier


def arranged_from(node: Any, mark: str | None = None) -> Any:
    """The node that made the numbers of a result, which others may have rearranged since.

    Args:
        node: the node of the result; None for a tensor that no operation made.
        mark: a key of metadata; a node that has it is found, even if it rearranges.
    """
    while node is not None and (mark is None or mark not in node.metadata):
        if not node.name().startswith(_ARRANGING) or not node.next_functions:
            return node
        node = node.next_functions[0][0]
    return node


class Origins:
    """The origins of tensors that are alive, found through views and rearrangements as well."""

    def __init__(self) -> None:
        # A tensor without a graph is found by itself or by its memory: x.data is another tensor.
        self._by_memory: dict[int, tuple[weakref.ref[Tensor], int, Origin]] = {}

    def note(self, x: Tensor, origin: Origin) -> None:
        """Remember the origin of ``x`` for as long as the tensor, or its node, is alive."""
        if x.grad_fn is not None:
            x.grad_fn.metadata[_ORIGIN] = origin
        elif x.numel() > 0 and x.device.type != "meta":
            by_memory, at = self._by_memory, x.data_ptr()
            ref = weakref.ref(x, lambda _: by_memory.pop(at, None))
            by_memory[at] = ref, x._n_writes, origin

    def of(self, x: Any) -> Origin | None:
        """The origin of a tensor; None if it is not known, or ``x`` is something else."""
        if not isinstance(x, Tensor):
            return None
        node = arranged_from(x.grad_fn, _ORIGIN)
        if node is not None:
            found: Origin | None = node.metadata.get(_ORIGIN)
            return found
        if x.device.type == "meta":
            return None
        ref, version, origin = self._by_memory.get(x.data_ptr(), (lambda: None, 0, None))
        noted = ref()
        # What was written to in place since is something else.
        return None if noted is None or noted._n_writes != version else origin


class ByObject(Generic[K, V]):
    """Values for objects that are alive, as ``weakref.WeakKeyDictionary`` has them.

    An object is found by its identity, and what is asked for in every step costs a tenth.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[K], V]] = {}

    def __getitem__(self, key: K) -> V:
        return self._entries[id(key)][1]

    def __setitem__(self, key: K, value: V) -> None:
        entries, number = self._entries, id(key)
        entry = entries.get(number)
        ref = weakref.ref(key, lambda _: entries.pop(number, None)) if entry is None else entry[0]
        entries[number] = ref, value

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter([key for key, _ in self.items()])

    def get(self, key: K, default: Any = None) -> Any:
        """The value of an object, or ``default``."""
        entry = self._entries.get(id(key))
        return default if entry is None else entry[1]

    def clear(self) -> None:
        """Forget all objects."""
        self._entries.clear()

    def values(self) -> list[V]:
        """The values of all objects."""
        return [value for _, value in self._entries.values()]

    def items(self) -> list[tuple[K, V]]:
        """All objects with their values."""
        found = [(ref(), value) for ref, value in list(self._entries.values())]
        return [(key, value) for key, value in found if key is not None]


class OptimizerFacts:
    """What is known of an optimiser.

    Args:
        optimizer: the optimiser.
        made: the line that made it.
    """

    def __init__(self, optimizer: Optimizer, made: Place) -> None:
        self.made = made
        self.n_steps = 0
        self.step_place: Place | None = None  # of the first step
        self.version = 0  # of the samples, before the step
        # Since the last step, if any: what has happened to the gradients, and where.
        self.is_backward_done = False
        self.zero_place: Place | None = None  # only a backward before it makes the line matter
        self.stale_place: Place | None = None
        self.stepped_place: Place | None = None  # until gradients are zeroed
        self._optimizer = weakref.ref(optimizer)
        self._samples: list[Tensor] = []
        self._n_groups = -1

    def forget(self) -> None:
        """Forget what has happened to the gradients: not everything was seen."""
        self.is_backward_done = False
        self.zero_place = self.stale_place = self.stepped_place = None

    @property
    def samples(self) -> list[Tensor]:
        """The three smallest parameters: what happens to gradients happens to theirs as well."""
        optimizer = self._optimizer()
        if optimizer is not None and len(optimizer.param_groups) != self._n_groups:
            self._n_groups = len(optimizer.param_groups)
            self._samples = sorted(parameters_of(optimizer), key=lambda p: p.numel())[:3]
        return self._samples

    @property
    def has_gradients(self) -> bool:
        """Whether one of the samples that are trained has a gradient that is not zero."""
        for p in self.samples:
            grad = p.grad
            if grad is not None and is_nonzero(grad) and p.requires_grad:
                return True
        return False


class ModelFacts:
    """What is known of a module that the program calls itself, not from another module.

    Args:
        model: the module.
        place: the line that calls it for the first time.
    """

    def __init__(self, model: Module, place: Place) -> None:
        self.place = place
        self.n_calls = 0
        self.n_trained = 0  # calls in training mode with gradients
        self.trained_at = -1  # the number of steps at the last one
        self.version = sum(p._n_writes for p in model.parameters())  # at the first call
        self.eval_place: Place | None = None  # of a call in evaluation mode with gradients
        self._model = weakref.ref(model)
        self._layers: list[Module] = []
        self._looked_at = -50  # the call at which the layers were listed

    def note_training(self, result: Any, n_steps: int) -> None:
        """Count a call in training mode, after which gradients may follow."""
        if any(x.requires_grad for x in tensors_in([result])):
            self.n_trained += 1
            self.trained_at = n_steps

    @property
    def layers(self) -> list[Module]:
        """The layers that do something else in training than in evaluation."""
        model = self._model()
        if model is not None and self.n_calls >= self._looked_at + 50:  # models change, seldom
            self._looked_at = self.n_calls
            self._layers = [m for m in model.modules() if _has_mode(m)]
        return self._layers


class Program:
    """All that the checks share."""

    def __init__(self) -> None:
        self.origins = Origins()
        self.optimizers: ByObject[Optimizer, OptimizerFacts] = ByObject()
        self.models: ByObject[Module, ModelFacts] = ByObject()
        self.place: Place | None = None  # of the event of the moment, once somebody asked
        self.is_grad_enabled = True  # where the event of the moment happened
        self.is_in_model = False  # while a module runs that the program has called
        self.is_alarmed = False  # a check has seen something, and wants to see more of the step
        self.n_steps = 0
        self.rests_from = 0  # the number of steps from which on not all are looked at
        self.n_backwards = 0
        self._sequence_nr = 0  # of the last loss
        # The numbers of the losses of the last steps: what was recorded up to one of them belongs
        # to that step.
        self._sequence_at_steps: deque[int] = deque(maxlen=64)

    def here(self) -> Place:
        """The line of the program where the event of the moment happened."""
        if self.place is None:
            self.place = here()
        return self.place

    def facts_of(self, optimizer: Optimizer) -> OptimizerFacts:
        """What is known of an optimiser, which may be new."""
        facts: OptimizerFacts | None = self.optimizers.get(optimizer)
        if facts is None:
            facts = self.optimizers[optimizer] = OptimizerFacts(optimizer, here())
        return facts

    def model_facts(self, model: Module) -> ModelFacts:
        """What is known of a module that the program has called."""
        facts: ModelFacts | None = self.models.get(model)
        if facts is None:
            facts = self.models[model] = ModelFacts(model, here())
        return facts

    def held(self) -> set[int]:
        """The ids of all parameters that optimisers hold."""
        return {id(p) for optimizer in self.optimizers for p in parameters_of(optimizer)}

    def note_loss(self, loss: Any) -> None:
        """Remember how far the graph has come."""
        self.n_backwards += 1
        if isinstance(loss, Tensor) and loss.grad_fn is not None:
            self._sequence_nr = loss.grad_fn._sequence_nr()

    def note_step(self) -> None:
        """An optimiser has stepped: what was recorded until now is of the past."""
        self.n_steps += 1
        self._sequence_at_steps.append(self._sequence_nr)

    @property
    def sequence_at_step(self) -> int:
        """Nodes up to this number belong to steps that are over; 0 before the first step."""
        return self._sequence_at_steps[-1] if self._sequence_at_steps else 0

    def step_of(self, node: Any) -> int:
        """Which of the last steps a node was recorded in, counted from an old one on."""
        return bisect_left(self._sequence_at_steps, node._sequence_nr())


def parameters_of(optimizer: Optimizer) -> Iterator[Tensor]:
    """The parameters of all groups."""
    for group in optimizer.param_groups:
        yield from group["params"]


def is_nonzero(x: Tensor) -> bool:
    """Whether an element is not zero; a sparse gradient is one if it has an element."""
    if x.is_meta:
        return False  # it has no numbers, and so nothing is said of it
    if x.layout is not facula.strided:
        return bool(x._nnz() > 0)
    return bool(x.detach().any())


def _has_mode(module: Module) -> bool:
    if isinstance(module, _DropoutNd):
        return module.p > 0
    return isinstance(module, _BatchNorm) and module.track_running_stats
