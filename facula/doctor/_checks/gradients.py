"""Gradients that add up, are lost, or come too late."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, ClassVar

from facula import Tensor
from facula.amp.grad_scaler import OptState
from facula.doctor._checks._check import Call, Check
from facula.doctor._finding import UNKNOWN, Place
from facula.doctor._program import ByObject, is_nonzero, parameters_of
from facula.nn.modules.module import Module
from facula.optim import Optimizer


class NeverZeroed(Check):
    """Gradients of earlier steps that are still there when new ones are added."""

    id = "F301"
    title = "gradients never zeroed"
    why = (
        "backward adds to the gradients that are there: every step goes along the sum of all "
        "gradients since the beginning."
    )
    fix = "optimizer.zero_grad()  # before loss.backward()"
    operations: ClassVar[frozenset[str]] = frozenset({"sub_", "add_"})  # steps without an optimiser

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._by_hand: dict[int, _HandStep] = {}  # by the memory of the parameter
        self._sources: dict[int, weakref.ref[Tensor]] = {}  # of .data, since the last backward

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        for facts in self.program.optimizers.values():
            if facts.stepped_place is None:
                continue
            if facts.has_gradients:
                facts.stale_place = self.here()
            else:
                facts.stepped_place = facts.stale_place = None
        self._sources.clear()
        if self._by_hand:
            self._by_hand = {k: s for k, s in self._by_hand.items() if s.is_still_there()}
            for step in self._by_hand.values():
                step.stale_place = self.here()

    def data_read(self, source: Tensor, data: Tensor) -> None:
        if source.is_leaf and source.grad is not None and len(self._sources) < 100:
            self._sources[data.data_ptr()] = weakref.ref(source)

    def operation(self, call: Call) -> None:
        x, change = call.args[0], call.argument(1, "other")
        if not isinstance(x, Tensor) or not isinstance(change, Tensor) or x.grad_fn is not None:
            return
        if not x.requires_grad:
            source = self._sources.get(x.data_ptr(), lambda: None)()
            if source is None:
                return
            x = source
        grad = x.grad
        if grad is None or grad.shape != change.shape:
            return
        last = self._by_hand.pop(x.data_ptr(), None)
        if last is not None and last.stale_place is not None and _are_parallel(change, grad):
            if not any(
                x is p for optimizer in self.program.optimizers for p in parameters_of(optimizer)
            ):
                self.say(
                    "backward adds to gradients that an earlier step has used.",
                    last.stale_place,
                    self.here(),
                )
        elif len(self._by_hand) < 100:
            self._by_hand[x.data_ptr()] = _HandStep(x, grad)

    def step_begins(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        facts.version = sum(p._n_writes for p in facts.samples)
        stale, facts.stale_place = facts.stale_place, None
        # Zeroed in between, after a backward that was meant for another optimiser.
        if stale is not None and facts.zero_place is None:
            self.say(
                "backward adds to gradients that an earlier step has used.", stale, self.here()
            )

    def step_ends(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        # A step that changes nothing is that of a wrapper which accumulates gradients.
        if sum(p._n_writes for p in facts.samples) == facts.version:
            return
        if facts.step_place is None:
            facts.step_place = self.here()
        facts.stepped_place = facts.step_place


class _HandStep:
    """A step that the program made itself: ``w -= lr * w.grad``."""

    def __init__(self, parameter: Tensor, grad: Tensor) -> None:
        self.stale_place: Place | None = None  # of a backward that found the same gradient
        self._parameter, self._grad = weakref.ref(parameter), weakref.ref(grad)
        self._version = grad._n_writes

    def is_still_there(self) -> bool:
        """Whether the gradient of the step is still that of the parameter, unchanged."""
        parameter, grad = self._parameter(), self._grad()
        return (
            parameter is not None
            and grad is not None
            and parameter.grad is grad
            and grad._n_writes == self._version
            and is_nonzero(grad)
        )


def _are_parallel(a: Tensor, b: Tensor) -> bool:
    """Whether one is a multiple of the other."""
    a, b = a.detach(), b.detach()
    factor = (a * b).sum() / (b * b).sum()
    return bool((a - factor * b).norm() <= 1e-4 * a.norm())


class ZeroedBeforeStep(Check):
    """``zero_grad`` between ``backward`` and ``step``."""

    id = "F302"
    title = "zero_grad between backward and step"
    why = "The step finds no gradients: nothing is learnt, or only momentum and decay act."
    fix = "optimizer.zero_grad(); loss.backward(); optimizer.step()  # in this order"

    def backward_ends(self, loss: Tensor) -> None:
        for facts in self.program.optimizers.values():
            if facts.has_gradients:
                facts.is_backward_done, facts.zero_place = True, None

    def gradients_zeroed(self, owner: Optimizer | Module) -> None:
        for facts in self.program.optimizers.values():
            if not facts.has_gradients:
                facts.zero_place = self.here() if facts.is_backward_done else UNKNOWN

    def step_begins(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        if facts.is_backward_done and facts.zero_place and not facts.has_gradients:
            self.say(
                "gradients are zeroed after backward and before the step.",
                facts.zero_place,
                self.here(),
            )
        facts.is_backward_done = False

    def step_ends(self, optimizer: Optimizer) -> None:
        # Also after a backward in the closure of the step.
        self.program.optimizers[optimizer].is_backward_done = False


class NoGradientArrives(Check):
    """Steps of an optimiser none of whose parameters has a gradient."""

    id = "F303"
    title = "an optimiser without gradients"
    why = (
        "The loss does not depend on any parameter that the optimiser holds: it holds those of "
        "another model, the way from them to the loss is cut, or backward is not called."
    )
    fix = "optimizer = optim.SGD(model.parameters(), lr=0.1)  # of the model that makes the loss"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._n_backwards = 0
        # Of each optimiser: backwards before its last step, and steps in vain.
        self._steps: ByObject[Optimizer, tuple[int, int]] = ByObject()
        self._working: ByObject[Optimizer, bool] = ByObject()  # those that had a gradient
        # A model that was called for training before any backward, and the steps after such calls.
        self._model: weakref.ref[Module] | None = None
        self._n_idle = 0

    def backward_ends(self, loss: Tensor) -> None:
        if loss.grad_fn is None:
            self._model = None  # there is a backward, of which LossIsALeaf speaks
            return
        self._n_backwards += 1
        if len(self._working) == len(self.program.optimizers):
            return
        for optimizer in self.program.optimizers:
            if _has_gradient(optimizer):
                self._working[optimizer] = True

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        if not self._n_backwards and model.training and self.program.is_grad_enabled:
            self._model = weakref.ref(model)

    def _look_for_backward(self, optimizer: Optimizer) -> None:
        model = None if self._model is None else self._model()
        self._model = None
        if model is None or _has_gradient(optimizer):
            return
        ours = set(map(id, parameters_of(optimizer)))
        self._n_idle += any(id(p) in ours for p in model.parameters())
        if self._n_idle == 5:
            self.say(
                "five steps without a backward: no parameter has a gradient.",
                self.here(),
                self.program.optimizers[optimizer].made,
            )

    def step_begins(self, optimizer: Optimizer) -> None:
        if self._working.get(optimizer):
            return
        if not self._n_backwards:
            self._look_for_backward(optimizer)
            return
        seen, in_vain = self._steps.get(optimizer, (0, 0))
        if self._n_backwards == seen or _has_gradient(optimizer):
            return
        self._steps[optimizer] = self._n_backwards, in_vain + 1
        if in_vain + 1 == 2:
            self.say(
                "no parameter of this optimiser has received a gradient.",
                self.here(),
                self.program.optimizers[optimizer].made,
            )


class ClippedOutOfTurn(Check):
    """``clip_grad_norm_`` of gradients that a step has used already, or that are still to come."""

    id = "F304"
    title = "clipping after the step, or before backward"
    why = (
        "The step uses the gradients as backward made them; clipping at another time does nothing."
    )
    fix = "loss.backward(); clip_grad_norm_(model.parameters(), 1.0); optimizer.step()"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Of each optimiser: where it had no gradients to clip since its last step, and how many
        # steps in a row came after such a clip alone.
        self._too_early: ByObject[Optimizer, Place | None] = ByObject()
        self._n_early: ByObject[Optimizer, int] = ByObject()

    def gradients_clipped(self, parameters: Iterable[Tensor]) -> None:
        clipped = {id(p) for p in parameters}
        for optimizer, facts in self.program.optimizers.items():
            if not any(id(p) in clipped for p in parameters_of(optimizer)):
                continue
            has_gradients = facts.has_gradients
            self._too_early[optimizer] = None if has_gradients else self.here()
            is_used = facts.stepped_place is not None and not facts.is_backward_done
            if is_used and has_gradients:
                self.say("gradients are clipped after the step.", self.here(), facts.stepped_place)

    def step_begins(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        place = self._too_early.get(optimizer)
        self._too_early[optimizer] = None
        is_early = place is not None and facts.has_gradients  # of a backward since
        self._n_early[optimizer] = self._n_early.get(optimizer, 0) + 1 if is_early else 0
        if self._n_early[optimizer] == 3:
            self.say("there are no gradients to clip before backward.", place, self.here())


class LossIsALeaf(Check):
    """``backward`` of a loss that was made to require grad itself."""

    id = "F305"
    title = "a loss that depends on no parameter"
    why = (
        "The loss has no history: it comes from detached results or plain numbers. "
        "requires_grad=True only silences the error; the gradients of the parameters stay empty."
    )
    fix = "loss = criterion(model(x), y); loss.backward()  # without detach, item or tensor(...)"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._place: Place | None = None  # of a backward from a leaf, the last one

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        is_leaf = loss.grad_fn is None and loss.requires_grad
        self._place = self.here() if is_leaf and id(loss) not in self.program.held() else None

    def step_begins(self, optimizer: Optimizer) -> None:
        if self._place is not None and not _has_gradient(optimizer):
            self.say(
                "backward starts from a tensor that no operation has made.",
                self._place,
                self.here(),
            )


class ScaledGradientsClipped(Check):
    """``clip_grad_norm_`` of gradients that a ``GradScaler`` has multiplied."""

    id = "F306"
    title = "clipping scaled gradients"
    why = (
        "The gradients are still multiplied by the scale, 65536 at first: nearly all of them are "
        "cut down to the limit, which after the division by the scale is almost nothing."
    )
    fix = "scaler.unscale_(optimizer); clip_grad_norm_(model.parameters(), 1.0)"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._scaler: weakref.ref[Any] | None = None  # that has scaled a loss since the last step

    def loss_scaled(self, scaler: Any) -> None:
        self._scaler = weakref.ref(scaler)

    def gradients_clipped(self, parameters: Iterable[Tensor]) -> None:
        scaler = None if self._scaler is None else self._scaler()
        if scaler is None or not scaler.is_enabled() or scaler.get_scale() == 1:
            return
        clipped = {id(p) for p in parameters}
        for optimizer in self.program.optimizers:
            state = scaler._per_optimizer_states.get(id(optimizer))  # which makes none
            is_scaled = state is None or state["stage"] is OptState.READY
            if is_scaled and any(
                id(p) in clipped and p.grad is not None for p in parameters_of(optimizer)
            ):
                self.say("gradients are clipped before scaler.unscale_(optimizer).")

    def step_ends(self, optimizer: Optimizer) -> None:
        self._scaler = None


class NeverSteps(Check):
    """An optimiser whose gradients are computed and zeroed again and again, without a step."""

    id = "F307"
    title = "an optimiser that never steps"
    why = "Gradients are computed and thrown away: the parameters stay as they are."
    fix = "optimizer.step()  # with parentheses, after loss.backward()"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Of each optimiser: how often it zeroed gradients of a backward, the place of that, where
        # it was made, and the version of its smallest parameter.
        self._zeroed: dict[int, tuple[int, Place, Place, int]] = {}
        self._place: Place | None = None  # of the last backward

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        if not self.program.n_steps:
            self._place = self.here()

    def gradients_zeroed(self, owner: Optimizer | Module) -> None:
        place, self._place = self._place, None
        if place is None or not isinstance(owner, Optimizer) or self.program.n_steps:
            return
        facts = self.program.facts_of(owner)
        version = facts.samples[0]._n_writes if facts.samples else 0
        n, _, made, first = self._zeroed.get(id(owner), (0, place, facts.made, version))
        # A parameter that was written to is trained by other means.
        self._zeroed[id(owner)] = n + 1 if version == first else 0, place, made, version

    def step_ends(self, optimizer: Optimizer) -> None:
        self._zeroed.clear()

    def ends(self) -> None:
        for n, place, made, _ in self._zeroed.values():
            if n >= 8:
                self.say(
                    f"gradients were computed and zeroed {n} times without a step.", place, made
                )


def _has_gradient(optimizer: Optimizer) -> bool:
    return any(p.grad is not None for p in parameters_of(optimizer))
