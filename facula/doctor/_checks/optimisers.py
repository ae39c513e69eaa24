"""Parameters that no optimiser moves, or moves too far, and schedules out of step."""

from __future__ import annotations

import linecache
import re
import weakref
from contextlib import suppress
from typing import Any, ClassVar

from facula import Tensor
from facula.doctor._checks._check import Call, Check
from facula.doctor._finding import Place
from facula.doctor._program import ByObject, is_nonzero, parameters_of
from facula.nn.modules.module import Module
from facula.optim import Optimizer
from facula.optim.lr_scheduler import (
    CosineAnnealingLR,
    ExponentialLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

# Schedules that are usually counted in epochs.
_FOR_EPOCHS = CosineAnnealingLR, ExponentialLR, MultiStepLR, PolynomialLR, StepLR
_MOST_NUMBERS = 100_000  # of a parameter that is copied in order to compare


def _listed(names: list[str]) -> str:
    """Some names for a sentence: all of a few, else the first three and how many follow."""
    return (
        ", ".join(names) if len(names) < 5 else f"{', '.join(names[:3])} and {len(names) - 3} more"
    )


class NotOptimised(Check):
    """Parameters with gradients that no optimiser holds, of a model that is trained."""

    id = "F401"
    title = "parameters that no optimiser holds"
    why = "They get gradients and are never changed: a part of the model stays as it began."
    fix = (
        "optimizer = optim.SGD(model.parameters(), lr=0.1)  # or freeze them: requires_grad_(False)"
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._restored: ByObject[Module, bool] = ByObject()  # models with weights of others

    def state_loaded(self, model: Module, state: Any, strict: bool, result: Any) -> None:
        for part in model.modules():
            self._restored[part] = True

    def step_begins(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        if facts.n_steps != 9 or len(self.program.optimizers) > 1:
            return
        held = self.program.held()
        models = self.program.models.items()
        if not any(id(p) in held for model, _ in models for p in model.parameters()):
            return  # what is optimised is an image, or the like
        for model, of_model in models:
            parameters = list(model.parameters())
            if not parameters or not model.training or of_model.n_trained < 9:
                continue
            # Weights that were written to are trained by hand; those of a file may well stay.
            is_touched = of_model.version != sum(p._n_writes for p in parameters)
            if is_touched or self._restored.get(model):
                continue
            if all(
                id(p) not in held and p.requires_grad and p.grad is not None for p in parameters
            ):
                self.say(
                    f"no optimiser holds the parameters of {type(model).__name__}, which get "
                    "gradients.",
                    facts.made,
                    of_model.place,
                )

    def step_ends(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        if facts.n_steps != 2:  # once, when every optimiser has had its turn
            return
        held = self.program.held()
        known: set[int] = set()
        left: list[str] = []
        for model in self.program.models:
            parameters = dict(model.named_parameters())
            known.update(map(id, parameters.values()))
            if any(id(p) in held for p in parameters.values()):
                left += [
                    name
                    for name, p in parameters.items()
                    if p.requires_grad and p.grad is not None and id(p) not in held
                ]
        if not left:
            return
        strays = [p for p in parameters_of(optimizer) if id(p) not in known and p.grad is None]
        if strays:
            message = "the optimiser holds parameters that the model has no more, and not {}."
        else:
            message = "no optimiser holds {}."
        self.say(message.format(_listed(left)), facts.made, self.here())


class FrozenParameterMoves(Check):
    """A frozen parameter whose old gradient still moves it."""

    id = "F402"
    title = "a frozen parameter that changes"
    why = (
        "requires_grad=False stops new gradients, but the old one is still there, and the "
        "optimiser goes on with it; momentum and weight decay do so as well."
    )
    fix = "p.requires_grad_(False); p.grad = None  # or leave it out of the optimiser"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._before: list[tuple[Tensor, Tensor]] = []
        self._old: dict[int, tuple[int, int]] = {}  # gradients and versions by parameter

    def step_begins(self, optimizer: Optimizer) -> None:
        n = self.program.optimizers[optimizer].n_steps
        if n > 50 and n % 20:
            return
        frozen = [
            p
            for p in parameters_of(optimizer)
            if not p.requires_grad and p.grad is not None and p.numel() <= _MOST_NUMBERS
        ]
        self._before = [(p, p.detach().clone()) for p in frozen[:3]]

    def step_ends(self, optimizer: Optimizer) -> None:
        before, self._before = self._before, []
        for p, numbers in before:
            grad = p.grad
            if grad is None:
                continue
            # Gradients that the program writes itself are new ones in every step.
            last, self._old[id(p)] = self._old.get(id(p)), (id(grad), grad._n_writes)
            is_old = last == self._old[id(p)] or not is_nonzero(grad)
            if is_old and not bool((p == numbers).all()):
                self.say("a parameter is frozen, but the step has changed it by an old gradient.")


class DetachedParameters(Check):
    """Parameters without gradients since a result in their model was detached."""

    id = "F403"
    title = "parameters cut off by detach"
    why = "What comes before the detached tensor never receives a gradient and is not trained."
    fix = "y = self.head(features)  # without .detach(), .data, .numpy() or no_grad() in between"
    operations: ClassVar[frozenset[str]] = frozenset(
        {"detach", "detach_", "numpy", "tolist", "tensor"}
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._place: Place | None = None
        self._reached: ByObject[Optimizer, set[int]] = ByObject()

    def operation(self, call: Call) -> None:
        if self.program.is_in_model and self.program.is_grad_enabled:
            self._note(call.args[0])

    def data_read(self, source: Tensor, data: Tensor) -> None:
        if self.program.is_in_model and self.program.is_grad_enabled:
            self._note(source)

    def _note(self, x: Any) -> None:
        if self._place is None and isinstance(x, Tensor) and x.requires_grad and not x.is_leaf:
            self._place = self.here()

    def step_begins(self, optimizer: Optimizer) -> None:
        n = self.program.optimizers[optimizer].n_steps
        if n > 9:
            return
        reached: set[int] = self._reached.get(optimizer, set())
        self._reached[optimizer] = reached
        reached.update(id(p) for p in parameters_of(optimizer) if p.grad is not None)
        if n < 9 or self._place is None or not reached:
            return
        held = {id(p) for p in parameters_of(optimizer) if p.requires_grad}
        for model in self.program.models:
            never = [
                name
                for name, p in model.named_parameters()
                if id(p) in held and id(p) not in reached
            ]
            if never:
                self.say(
                    f"in 10 steps {_listed(never)} received no gradient: a result was detached.",
                    self._place,
                    self.here(),
                )


class StepsTooLarge(Check):
    """Steps that change weights by as much as they are."""

    id = "F404"
    title = "steps larger than the weights"
    why = "The learning rate is so high that every step throws away what the weights were."
    fix = "optimizer = optim.SGD(model.parameters(), lr=lr / 100)"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._before: list[tuple[Tensor, Tensor]] = []
        self._counts: ByObject[Optimizer, int] = ByObject()

    def step_begins(self, optimizer: Optimizer) -> None:
        self._before.clear()
        n = self.program.optimizers[optimizer].n_steps
        if n >= 10 and n % 50:
            return
        matrices = [
            p
            for p in parameters_of(optimizer)
            if p.dim() > 1
            and p.numel() <= _MOST_NUMBERS
            and p.grad is not None
            and p.is_floating_point()
        ]
        self._before = [(p, p.detach().clone()) for p in matrices[:3]]

    def step_ends(self, optimizer: Optimizer) -> None:
        ratios = [
            float((p.detach() - old).norm() / old.norm()) for p, old in self._before if old.any()
        ]
        # After a first step like this one the next is small beside the weights that it has made.
        is_leap = any(
            float((p.detach() - old).norm()) > max(10 * float(old.norm()), old.numel() ** 0.5)
            and self._is_of_a_model(p)
            for p, old in self._before
            if old.any()
        )
        self._before.clear()
        if not ratios:
            return
        n = self._counts.get(optimizer, 0)
        self._counts[optimizer] = n + 1 if max(ratios) > 0.7 else 0
        if n + 1 == 5 and max(ratios) > 0.7:
            self._tell("five steps in a row", max(ratios), optimizer)
        elif is_leap:
            self._tell("a step", max(ratios), optimizer)

    def _is_of_a_model(self, parameter: Tensor) -> bool:
        """Whether a model has it: an image that is optimised may well begin near zero."""
        return any(p is parameter for model in self.program.models for p in model.parameters())

    def _tell(self, steps: str, ratio: float, optimizer: Optimizer) -> None:
        rates = {group.get("lr") for group in optimizer.param_groups}
        self.say(
            f"{steps} changed weights by {ratio:.1f} times their size, with "
            f"lr={', '.join(f'{float(r):g}' for r in rates if r is not None)}.",
            self.here(),
            self.program.optimizers[optimizer].made,
        )


class SchedulerFirst(Check):
    """``scheduler.step()`` before ``optimizer.step()``."""

    id = "F405"
    title = "the schedule steps before the optimiser"
    why = "The first learning rate of the schedule is skipped, and all others come too early."
    fix = "optimizer.step(); scheduler.step()  # in this order"

    def scheduler_stepped(self, scheduler: Any) -> None:
        optimizer = getattr(scheduler, "optimizer", None)
        if getattr(scheduler, "_is_initial", False) or not isinstance(optimizer, Optimizer):
            return
        if (
            not self.program.facts_of(optimizer).n_steps
            and getattr(scheduler, "last_epoch", 0) == 1
        ):
            self.say("the schedule is stepped before its optimiser was.")


class SchedulerPerBatch(Check):
    """A schedule for epochs that is stepped for every batch."""

    id = "F406"
    title = "a schedule for epochs, stepped per batch"
    why = (
        "The learning rate falls to nothing within the first epochs, and training stands still; "
        "that of a cosine goes up and down instead."
    )
    fix = "scheduler.step()  # after the loop over the batches, once per epoch"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._counts: ByObject[Any, int] = ByObject()
        self._n_batches = 0  # of the longest loader

    def loader_used(self, loader: Any) -> None:
        with suppress(TypeError):  # a loader of a stream has no length
            self._n_batches = max(self._n_batches, len(loader))

    def scheduler_stepped(self, scheduler: Any) -> None:
        if not isinstance(scheduler, _FOR_EPOCHS) or scheduler._is_initial:
            return
        n = self._counts[scheduler] = self._counts.get(scheduler, 0) + 1
        groups = scheduler.optimizer.param_groups
        n_steps = self.program.facts_of(scheduler.optimizer).n_steps
        if n < 10 or n < 0.9 * n_steps:
            return
        if isinstance(scheduler, CosineAnnealingLR):
            if n == 4 * scheduler.T_max < 4 * self._n_batches:  # longer cycles are meant
                self.say(
                    f"after {n} steps of the schedule, one for each step of the optimiser, lr has "
                    f"gone down and up twice: T_max is {scheduler.T_max}."
                )
            return
        if isinstance(scheduler, PolynomialLR):
            if n == 2 * scheduler.total_iters:
                self.say(
                    f"lr is 0 since step {scheduler.total_iters} of the schedule, which takes one "
                    "for each step of the optimiser."
                )
            return
        for group, first in zip(groups, scheduler.base_lrs, strict=False):
            if 0 < float(group["lr"]) < 1e-5 * float(first):
                self.say(
                    f"after {n} steps of the schedule, one for each step of the optimiser, lr is "
                    f"{float(group['lr']):.1e}; it began with {float(first):g}."
                )


class TwoOptimisers(Check):
    """A parameter that two optimisers move by the same gradient."""

    id = "F407"
    title = "a parameter of two optimisers"
    why = "Each step moves it, and so the same gradient is applied twice, at two learning rates."
    fix = "optim.Adam(head.parameters())  # every parameter in one optimiser only"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._n_open = 0  # steps that have begun: an optimiser may be made of another one
        self._stepped: list[tuple[weakref.ref[Optimizer], Place]] = []  # since the last backward
        self._n_times = 0

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        self._stepped.clear()

    def step_begins(self, optimizer: Optimizer) -> None:
        self._n_open += 1
        if self._n_open > 1 or self.program.optimizers[optimizer].n_steps > 20:
            return
        for ref, place in self._stepped:
            other = ref()
            if other is None or other is optimizer:
                continue
            ours = {id(p) for p in parameters_of(optimizer)}
            shared = [p for p in parameters_of(other) if id(p) in ours and p.grad is not None]
            if any(is_nonzero(p.grad) for p in shared if p.grad is not None):
                self._n_times += 1
                if self._n_times == 2:
                    self.say(
                        f"{len(shared)} parameters were moved by another optimiser already, by "
                        "the same gradients.",
                        self.here(),
                        place,
                    )

    def step_ends(self, optimizer: Optimizer) -> None:
        self._n_open -= 1
        is_looked_at = self.program.optimizers[optimizer].n_steps <= 20
        if self._n_open == 0 and is_looked_at and len(self._stepped) < 10:
            self._stepped.append((weakref.ref(optimizer), self.here()))


class FreezesNothing(Check):
    """``requires_grad`` of a module, or a misspelt one of a parameter."""

    id = "F408"
    title = "requires_grad that freezes nothing"
    why = (
        "Python takes any attribute of any object: only requires_grad of a parameter, spelt like "
        "this, has an effect."
    )
    fix = "model.fc.requires_grad_(False)  # or p.requires_grad = False for each parameter"

    def step_ends(self, optimizer: Optimizer) -> None:
        if self.program.optimizers[optimizer].n_steps != 0:
            return
        for model, facts in self.program.models.items():
            for path, part in model.named_modules():
                if vars(part).get("requires_grad") is False and _is_trained(part):
                    whole = f"{path or 'the model'}, a {type(part).__name__},"
                    self._tell("requires_grad", f"{whole} has an attribute", facts.place)
            for path, p in model.named_parameters():
                for name in getattr(p, "__dict__", ()):
                    if name.startswith("requir") and p.requires_grad and p.__dict__[name] is False:
                        self._tell(name, f"the parameter {path} has an attribute", facts.place)

    def _tell(self, name: str, message: str, called: Place) -> None:
        """Report it at the line that sets it, if the file that calls the model has that line."""
        lines = linecache.getlines(called.file)
        setting = (i for i, line in enumerate(lines, 1) if re.search(rf"\.{name}\s*=[^=]", line))
        at = Place(called.file, next(setting, called.line))
        self.say(f"{message} {name}=False, which has no effect.", at, called)


def _is_trained(module: Module) -> bool:
    return any(p.requires_grad for p in module.parameters())


class MadeInEveryStep(Check):
    """A new optimiser, with an empty memory, for every step."""

    id = "F409"
    title = "a new optimiser in every step"
    why = "Momentum, and the averages of Adam, begin at zero in every step: they never act."
    fix = "optimizer = optim.Adam(model.parameters())  # once, before the loop"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Of the last optimiser that a line made: the id of its first parameter, and how many in a
        # row had one step only.
        self._last: dict[Place, tuple[int, int]] = {}

    def step_ends(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        if facts.n_steps > 1 or not any((getattr(optimizer, "state", None) or {}).values()):
            return
        first = id(next(parameters_of(optimizer), None))
        if facts.n_steps:
            self._last[facts.made] = first, 0
            return
        of, n = self._last.get(facts.made, (first, 0))
        n = n + 1 if of == first else 1
        self._last[facts.made] = first, n
        if n == 5:
            self.say("five optimisers were made here, each for one step.", facts.made, self.here())
