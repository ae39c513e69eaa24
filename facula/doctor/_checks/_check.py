"""What all checks have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from facula import Tensor
from facula.doctor._finding import Finding, Findings, Place
from facula.doctor._program import Program
from facula.nn.modules.module import Module
from facula.optim import Optimizer


class Call:
    """An operation that has been done.

    Args:
        name: the operation, such as ``"cross_entropy"``.
        args: its arguments without a name.
        kwargs: its arguments by name.
        result: what it returned.
    """

    __slots__ = ("args", "kwargs", "name", "result")

    def __init__(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        self.name, self.args, self.kwargs, self.result = name, args, kwargs, result

    def argument(self, number: int, name: str, default: Any = None) -> Any:
        """An argument, which the caller may have given by its place or by its name."""
        if number < len(self.args):
            return self.args[number]
        return self.kwargs.get(name, default)


class Check:
    """One silent mistake: what is watched, and when to speak.

    A subclass defines the methods of the events that it needs; the others are never called.

    Args:
        program: what is known of the program.
        findings: where findings go.
    """

    id: ClassVar[str]
    title: ClassVar[str]  # the mistake in a few words
    why: ClassVar[str]
    fix: ClassVar[str]
    operations: ClassVar[frozenset[str]] = frozenset()  # those that `operation` is called for
    # At which steps, "always", "often" or "seldom": see Note [Sampling] in _watch.py.
    looks: ClassVar[str] = "often"

    def __init__(self, program: Program, findings: Findings) -> None:
        self.program = program
        self._findings = findings

    def say(self, message: str, at: Place | None = None, other: Place | None = None) -> None:
        """Report the mistake.

        Args:
            message: what was seen, in one sentence.
            at: the line to look at; the one that is running if not given.
            other: the second line concerned.
        """
        place = self.here() if at is None else at
        other = None if other == place else other
        self._findings.add(Finding(self.id, message, place, other, self.why, self.fix))

    def here(self) -> Place:
        """The line of the program where the event happened."""
        return self.program.here()

    def operation(self, call: Call) -> None:
        """An operation of ``operations`` was done."""

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        """A module that is not part of another call has returned."""

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        """``backward`` was called."""

    def backward_ends(self, loss: Tensor) -> None:
        """Gradients have been computed."""

    def gradients_asked(self, output: Tensor) -> None:
        """``autograd.grad`` was called."""

    def loss_scaled(self, scaler: Any) -> None:
        """A ``GradScaler`` has multiplied a loss."""

    def gradients_zeroed(self, owner: Optimizer | Module) -> None:
        """``zero_grad`` has been called."""

    def gradients_clipped(self, parameters: Iterable[Tensor]) -> None:
        """The norm or the values of gradients have been clipped."""

    def step_begins(self, optimizer: Optimizer) -> None:
        """An optimiser is about to change its parameters."""

    def step_ends(self, optimizer: Optimizer) -> None:
        """An optimiser has changed its parameters."""

    def scheduler_stepped(self, scheduler: Any) -> None:
        """A schedule of learning rates was told of a step."""

    def data_read(self, source: Tensor, data: Tensor) -> None:
        """``source.data`` was read."""

    def loader_used(self, loader: Any) -> None:
        """A loader has given its first batch."""

    def batch_loaded(self, loader: Any, batch: Any, seconds: float) -> None:
        """A loader has given a batch, for which the program waited."""

    def saved(self, value: Any, file: Any) -> None:
        """``save`` has written a value to a file."""

    def loaded(self, value: Any) -> None:
        """``load`` has read a value from a file."""

    def state_loaded(self, model: Module, state: Any, strict: bool, result: Any) -> None:
        """``load_state_dict`` has copied a state, or found that nothing fits."""

    def ends(self) -> None:
        """The program, or the block that is watched, is over."""


EVENTS = tuple(
    name
    for name, value in vars(Check).items()
    if callable(value) and not name.startswith("_") and name not in ("here", "say")
)
