"""Numbers that tell of a training gone wrong: NaN, dead units, gradients too small or too large."""

from __future__ import annotations

import cmath
import weakref
from typing import Any, ClassVar

import facula
from facula import Tensor
from facula.doctor._checks._check import Call, Check
from facula.doctor._finding import Place
from facula.doctor._program import ByObject, parameters_of
from facula.nn.modules.module import Module
from facula.optim import Optimizer

# Operations that make infinities or NaN of finite numbers.
_MAKERS = frozenset(
    {
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "rsqrt",
        "div",
        "__rtruediv__",
        "reciprocal",
        "exp",
        "expm1",
        "pow",
        "__pow__",
        "__rpow__",
        "mean",
        "softmax",
        "log_softmax",
        "logit",
        "acos",
        "asin",
        "acosh",
        "atanh",
        "std",
        "var",
        "norm",
        "linalg_vector_norm",
        "cosine_similarity",
        "cross_entropy",
        "nll_loss",
    }
)
# Those whose derivative is infinite or NaN where the result is zero.
_STEEP = frozenset({"sqrt", "norm", "linalg_vector_norm", "std", "pow", "__pow__"})
_LARGE = 1 << 20


def _is_finite(x: Tensor) -> bool:
    if x.numel() == 1:
        return cmath.isfinite(x.item())
    return bool(facula.isfinite(x.detach()).all())


def _has_made(call: Call) -> bool:
    """Whether it was the operation itself that made numbers which are not finite."""
    given = [a for a in call.args if isinstance(a, Tensor) and a.is_floating_point()]
    if bool(call.result.detach().isnan().any()):  # also of infinities, as softmax does
        return not any(bool(a.detach().isnan().any()) for a in given)
    return all(map(_is_finite, given))


def _is_steep(call: Call) -> bool:
    """Whether the derivative at 0 is infinite."""
    if call.name not in ("pow", "__pow__"):
        return call.name in _STEEP
    power = call.argument(1, "exponent")
    return isinstance(power, float) and 0 < power < 1


class NotANumber(Check):
    """A loss or a gradient that is NaN or infinite, and the operation that made it so."""

    id = "F701"
    title = "NaN or infinity"
    why = "After one such step all weights are NaN, and nothing can be learnt any more."
    fix = "y = (x + 1e-8).log()  # keep away from the pole; or clip gradients, or lower the rate"
    operations: ClassVar[frozenset[str]] = _MAKERS
    looks = "always"  # the first such number comes once

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._made: tuple[str, Place] | None = None  # the first of this step
        self._steep: tuple[str, Place] | None = None
        # Of a loss that is not finite, until a step uses it, which the program may well leave out:
        # whether it is NaN, and what there is to say.
        self._loss: tuple[bool, tuple[str, Place, Place | None]] | None = None
        self._n = 0
        self._n_infinite = 0  # steps in a row with an infinite loss and finite gradients
        self._is_scaled = False  # some loss was, for half precision
        self._has_spoken = False

    def loss_scaled(self, scaler: Any) -> None:
        self._is_scaled = True

    def operation(self, call: Call) -> None:
        x, result = call.args[0] if call.args else None, call.result
        if not isinstance(result, Tensor) or not result.is_floating_point():
            return
        self._n += 1
        if result.numel() > _LARGE and self._n % 16:
            return
        if self._made is None and not _is_finite(result) and _has_made(call):
            self._made = call.name.strip("_"), self.here()
            self.program.is_alarmed = True
        if (
            self._steep is None
            and _is_steep(call)
            and isinstance(x, Tensor)
            and x.requires_grad
            and result.numel() <= _LARGE
            and not bool(result.detach().all())
        ):
            self._steep = call.name.strip("_"), self.here()
            self.program.is_alarmed = True

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        if not loss.is_floating_point() or _is_finite(loss):
            return
        if self._made is None and self._has_spoken:
            return  # it follows from weights that are NaN since
        self.program.is_alarmed = True
        is_nan = bool(loss.detach().isnan().any())
        message = "the loss is NaN" if is_nan else "the loss is infinite"
        if self._made is None:
            self._loss = is_nan, (f"{message}.", self.here(), None)
        else:
            name, place = self._made
            message += f": {name} made the first such number."
            self._loss = is_nan, (message, place, self.here())

    def gradients_zeroed(self, owner: Optimizer | Module) -> None:
        self._loss = None

    def step_begins(self, optimizer: Optimizer) -> None:
        if self._loss is None:
            self._n_infinite = 0
            if self._steep is None:
                return
        is_nan, found = self._loss or (False, None)
        samples = self.program.optimizers[optimizer].samples
        grads = [p.grad for p in samples if p.grad is not None and not p.grad.is_sparse]
        # A loss that was scaled for half precision may be too large and its gradients be right.
        if not is_nan and all(map(_is_finite, grads)):
            self._n_infinite += found is not None and not self._is_scaled
            if self._n_infinite != 3:
                return
        if found is not None:
            self.say(*found)
        elif self._steep is not None:
            name, place = self._steep
            self.say(
                f"gradients are not finite: {name} is 0 here, where its derivative is infinite.",
                place,
                self.here(),
            )
        self._has_spoken = True

    def step_ends(self, optimizer: Optimizer) -> None:
        self._made = self._steep = self._loss = None


class DeadUnits(Check):
    """ReLUs that are zero for all examples."""

    id = "F702"
    title = "dead ReLUs"
    why = "A unit that is zero for every example has no gradient and never comes back."
    fix = "nn.LeakyReLU()  # or a lower learning rate, or an initialisation for ReLU"
    operations: ClassVar[frozenset[str]] = frozenset({"relu", "relu_"})
    looks = "seldom"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._counts: dict[Place, int] = {}  # samples in a row with dead units

    def operation(self, call: Call) -> None:
        y = call.result
        if not isinstance(y, Tensor) or not y.requires_grad:
            return
        if y.dim() < 2 or y.size(0) < 8:
            return
        place = self.here()
        alive = (y.detach() > 0).transpose(0, 1).reshape(y.size(1), -1).any(1)
        dead = 1 - float(alive.sum()) / max(alive.numel(), 1)
        self._counts[place] = self._counts.get(place, 0) + 1 if dead > 0.9 else 0
        if self._counts[place] == 3:
            self.say(f"{dead:.0%} of the {alive.numel()} units of this ReLU are zero throughout.")


class GradientSizes(Check):
    """Gradients that vanish on the way to the first layers."""

    id = "F703"
    title = "vanishing gradients"
    why = "The first layers hardly change: what they pass on is what chance made of them."
    fix = "x = x + block(x)  # shorter ways back, a norm between layers, ReLU rather than sigmoid"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._counts: ByObject[Any, int] = ByObject()

    def step_begins(self, optimizer: Optimizer) -> None:
        n = self.program.optimizers[optimizer].n_steps
        if n % 10 or n > 200:
            return
        ours = set(map(id, parameters_of(optimizer)))
        for model in self.program.models:
            matrices = [
                (name, p)
                for name, p in model.named_parameters()
                if id(p) in ours and p.dim() > 1 and p.grad is not None
            ]
            if len(matrices) < 3:
                continue
            (first, p), (last, q) = matrices[0], matrices[-1]
            near, far = (
                float(w.grad.norm() / (w.norm() + 1e-12)) for w in (q, p) if w.grad is not None
            )
            count = self._counts.get(model, 0) + 1 if far < 1e-6 * near else 0
            self._counts[model] = count
            if count == 3:
                self.say(
                    f"the gradient of {first} is {far / near:.0e} of that of {last}, each measured "
                    "by its weights.",
                    self.program.models[model].place,
                    self.here(),
                )


class GradientsExplode(Check):
    """Gradients that are a million times as large as the weights."""

    id = "F704"
    title = "exploding gradients"
    why = "A step of this size destroys what was learnt; the next ones are NaN."
    fix = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # before optimizer.step()"

    def step_begins(self, optimizer: Optimizer) -> None:
        facts = self.program.optimizers[optimizer]
        if facts.n_steps > 10 and facts.n_steps % 10:
            return
        for p in facts.samples:
            if p.grad is None or p.grad.layout is not facula.strided:
                continue
            size = float(p.grad.detach().norm())
            if 1e6 * (1 + float(p.detach().norm())) < size < float("inf"):
                self.say(f"the norm of a gradient is {size:.0e}.")
                return


class IntegerAccuracy(Check):
    """A count of right answers divided by their number without a rest."""

    id = "F705"
    title = "integer division of a count"
    why = "A fraction below 1 becomes 0: the accuracy is 0 unless everything is right."
    fix = "accuracy = correct / total"
    operations: ClassVar[frozenset[str]] = frozenset(
        {"sum", "add", "add_", "div", "floor_divide", "__floordiv__"}
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Sums of bools by their memory, with the number of bools.
        self._counts: dict[int, tuple[weakref.ref[Tensor], int]] = {}

    def operation(self, call: Call) -> None:
        result = call.result
        if not isinstance(result, Tensor) or result.dim() or result.is_floating_point():
            return
        x, other = call.argument(0, "input"), call.argument(1, "other")
        if call.name == "sum":
            if isinstance(x, Tensor) and x.dtype is facula.bool:
                self._note(result, x.numel())
        elif call.name in ("add", "add_"):
            n = self._n_of(x) + self._n_of(other)
            if n:
                self._note(result, n)
        elif call.name != "div" or call.kwargs.get("rounding_mode") is not None:
            n = self._n_of(x)
            if n and int(other) >= n and int(x) and not int(result):
                self.say(f"{int(x)} of {int(other)} is 0 by an integer division.")

    def _note(self, x: Tensor, n: int) -> None:
        if len(self._counts) > 100:
            self._counts.clear()
        self._counts[x.data_ptr()] = weakref.ref(x), n

    def _n_of(self, x: Any) -> int:
        if not isinstance(x, Tensor) or x.device.type == "meta":
            return 0
        ref, n = self._counts.get(x.data_ptr(), (lambda: None, 0))
        return 0 if ref() is None else n
