"""Numbers that tell of a training gone wrong: NaN, dead units, gradients too small or too large."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

import facula
from facula import Tensor
from facula.doctor._finding import Place
from facula.doctor._program import parameters_of
from facula.doctor.checks._check import Call, Check
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
_STEEP = frozenset({"sqrt", "norm", "linalg_vector_norm", "std", "pow"})
_LARGE = 1 << 20


def _is_finite(x: Tensor) -> bool:
    return bool(facula.isfinite(x.detach()).all())


class NotANumber(Check):
    """A loss or a gradient that is NaN or infinite, and the operation that made it so."""

    id = "F701"
    title = "NaN or infinity"
    why = "After one such step all weights are NaN, and nothing can be learnt any more."
    fix = "y = (x + 1e-8).log()  # keep away from the pole; or clip gradients, or lower the rate"
    operations: ClassVar[frozenset[str]] = _MAKERS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._made: tuple[str, Place] | None = None  # the first of this step
        self._steep: tuple[str, Place] | None = None
        # The message and the places of a loss, until a step uses it: who looks at the loss may
        # leave the step out.
        self._nan: tuple[str, Place, Place | None] | None = None
        self._infinite: tuple[str, Place, Place | None] | None = None
        self._n = 0

    def operation(self, call: Call) -> None:
        x, result = call.args[0] if call.args else None, call.result
        if not isinstance(result, Tensor) or not result.is_floating_point():
            return
        self._n += 1
        if result.numel() > _LARGE and self._n % 16:
            return
        if self._made is None and not _is_finite(result):
            given = [a for a in call.args if isinstance(a, Tensor) and a.is_floating_point()]
            if all(map(_is_finite, given)):
                self._made = call.name, self.here()
        if (
            self._steep is None
            and call.name in _STEEP
            and isinstance(x, Tensor)
            and x.requires_grad
            and result.numel() <= _LARGE
            and not bool(result.detach().all())
        ):
            self._steep = call.name, self.here()

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        if not loss.is_floating_point() or _is_finite(loss):
            return
        is_nan = bool(loss.detach().isnan().any())
        message = "the loss is NaN" if is_nan else "the loss is infinite"
        if self._made is None:
            found: tuple[str, Place, Place | None] = f"{message}.", self.here(), None
        else:
            name, place = self._made
            found = f"{message}: {name} made the first such number.", place, self.here()
        if is_nan:
            self._nan = found
        else:
            self._infinite = found

    def gradients_zeroed(self, owner: Optimizer | Module) -> None:
        self._nan = self._infinite = None

    def step_begins(self, optimizer: Optimizer) -> None:
        if self._nan is not None:
            self.say(*self._nan)
        if self._infinite is None and self._steep is None:
            return
        grads = [p.grad for p in self.program.optimizers[optimizer].samples if p.grad is not None]
        if all(_is_finite(g) for g in grads if g.layout is facula.strided):
            return  # a loss that was scaled for half precision may be too large by itself
        if self._infinite is not None:
            self.say(*self._infinite)
        elif self._steep is not None:
            name, place = self._steep
            self.say(
                f"gradients are not finite: {name} is 0 here, where its derivative is infinite.",
                place,
                self.here(),
            )

    def step_ends(self, optimizer: Optimizer) -> None:
        self._made = self._steep = self._nan = self._infinite = None


class DeadUnits(Check):
    """ReLUs that are zero for all examples."""

    id = "F702"
    title = "dead ReLUs"
    why = "A unit that is zero for every example has no gradient and never comes back."
    fix = "nn.LeakyReLU()  # or a lower learning rate, or an initialisation for ReLU"
    operations: ClassVar[frozenset[str]] = frozenset({"relu", "relu_"})
    samples_every = 16

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
        self._counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

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
