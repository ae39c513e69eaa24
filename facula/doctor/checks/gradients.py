"""Gradients that add up, are lost, or come too late."""

from __future__ import annotations

from typing import Any

from facula import Tensor
from facula.doctor._program import parameters_of
from facula.doctor.checks._check import Check
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

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        place = self.here()
        for facts in self.program.optimizers.values():
            if facts.stepped_place is None:
                continue
            if facts.has_gradients:
                facts.stale_place = facts.stale_place or place
            else:
                facts.stepped_place = facts.stale_place = None

    def step_begins(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        stale, facts.stale_place = facts.stale_place, None
        # Zeroed in between, after a backward that was meant for another optimiser.
        if stale is not None and facts.zero_place is None:
            self.say(
                "backward adds to gradients that an earlier step has used.", stale, self.here()
            )

    def step_ends(self, optimizer: Optimizer) -> None:
        self.program.optimizers[optimizer].stepped_place = self.here()


class ZeroedBeforeStep(Check):
    """``zero_grad`` between ``backward`` and ``step``."""

    id = "F302"
    title = "zero_grad between backward and step"
    why = "The step finds no gradients: nothing is learnt, or only momentum and decay act."
    fix = "optimizer.zero_grad(); loss.backward(); optimizer.step()  # in this order"

    def backward_ends(self, loss: Tensor) -> None:
        place = self.here()
        for facts in self.program.optimizers.values():
            if facts.has_gradients:
                facts.backward_place, facts.zero_place = place, None

    def gradients_zeroed(self, owner: Optimizer | Module) -> None:
        place = self.here()
        for facts in self.program.optimizers.values():
            if not facts.has_gradients:
                facts.zero_place = place

    def step_begins(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        if facts.backward_place and facts.zero_place and not facts.has_gradients:
            self.say(
                "gradients are zeroed after backward and before the step.",
                facts.zero_place,
                self.here(),
            )
        facts.backward_place = None


class NoGradientArrives(Check):
    """Steps of an optimiser none of whose parameters has a gradient."""

    id = "F303"
    title = "an optimiser without gradients"
    why = (
        "The loss does not depend on any parameter that the optimiser holds: it holds those of "
        "another model, or the way from them to the loss is cut."
    )
    fix = "optimizer = optim.SGD(model.parameters(), lr=0.1)  # of the model that makes the loss"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._n_backwards: dict[int, tuple[int, int]] = {}  # of the program, and steps in vain

    def step_begins(self, optimizer: Optimizer) -> None:
        seen, in_vain = self._n_backwards.get(id(optimizer), (0, 0))
        if in_vain < 0 or self.program.n_backwards == seen:
            return
        if any(p.grad is not None for p in parameters_of(optimizer)):
            in_vain = -1  # it works
        elif self.program.optimizers[optimizer].zero_place is None:
            in_vain += 1
        if in_vain == 2:
            self.say(
                "no parameter of this optimiser has received a gradient.",
                self.here(),
                self.program.optimizers[optimizer].made,
            )
        self._n_backwards[id(optimizer)] = self.program.n_backwards, in_vain


class ClippedAfterStep(Check):
    """``clip_grad_norm_`` of gradients that a step has used already."""

    id = "F304"
    title = "clipping after the step"
    why = "The step has used the gradients as they were; clipping them afterwards does nothing."
    fix = "loss.backward(); clip_grad_norm_(model.parameters(), 1.0); optimizer.step()"

    def gradients_clipped(self, parameters: list[Tensor]) -> None:
        clipped = {id(p) for p in parameters}
        for optimizer, facts in self.program.optimizers.items():
            is_used = facts.stepped_place is not None and facts.backward_place is None
            if not is_used or not facts.has_gradients:
                continue
            ours = {id(p) for p in parameters_of(optimizer)}
            if not clipped or clipped & ours:
                self.say("gradients are clipped after the step.", self.here(), facts.stepped_place)
