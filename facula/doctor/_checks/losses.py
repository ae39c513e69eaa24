"""Losses that are given something else than what they take."""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any, ClassVar

import facula
from facula import Tensor
from facula._warnings import _is_between
from facula.doctor._checks._check import Call, Check
from facula.doctor._finding import Place
from facula.doctor._program import arranged_from
from facula.nn.modules.module import Module

_SAME_SHAPE = frozenset(
    {
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "kl_div",
    }
)


class SoftmaxBeforeCrossEntropy(Check):
    """``cross_entropy`` of the result of a softmax."""

    id = "F101"
    title = "softmax before cross_entropy"
    why = (
        "cross_entropy applies log_softmax itself. Of probabilities, which lie between 0 and 1, it "
        "can never become small, and its gradients are faint."
    )
    fix = "loss = F.cross_entropy(logits, target)  # the softmax only for looking at probabilities"
    operations: ClassVar[frozenset[str]] = frozenset({"cross_entropy"})

    def operation(self, call: Call) -> None:
        origin = self.program.origins.of(call.argument(0, "input"))
        if origin is not None and origin.name == "softmax":
            self.say(
                "cross_entropy is given the result of softmax: it takes logits.", None, origin.place
            )


class ProbabilitiesIntoNLL(Check):
    """``nll_loss`` of probabilities, or of plain scores."""

    id = "F102"
    title = "nll_loss without log_softmax"
    why = (
        "nll_loss only picks the number of the right class and changes its sign. It takes "
        "logarithms of probabilities; of anything else it has no lower bound or faint gradients."
    )
    fix = "loss = F.nll_loss(F.log_softmax(logits, dim=1), target)"
    operations: ClassVar[frozenset[str]] = frozenset({"nll_loss"})

    def operation(self, call: Call) -> None:
        x = call.argument(0, "input")
        if not isinstance(x, Tensor) or x.numel() == 0:
            return
        origin = self.program.origins.of(x)
        if origin is not None and origin.name == "softmax":
            self.say(
                "nll_loss is given probabilities: it takes their logarithms.", None, origin.place
            )
        elif origin is None and bool((x.detach().reshape(-1)[:4096] > 1e-3).any()):
            self.say("nll_loss is given numbers above 0, which no logarithm of a probability is.")


class SigmoidBeforeLogits(Check):
    """``binary_cross_entropy_with_logits`` of the result of a sigmoid or softmax."""

    id = "F103"
    title = "sigmoid before binary_cross_entropy_with_logits"
    why = "The loss applies the sigmoid itself; with two of them it never becomes small."
    fix = "loss = F.binary_cross_entropy_with_logits(logits, target)"
    operations: ClassVar[frozenset[str]] = frozenset({"binary_cross_entropy_with_logits"})

    def operation(self, call: Call) -> None:
        origin = self.program.origins.of(call.argument(0, "input"))
        if origin is not None and origin.name in ("sigmoid", "softmax"):
            self.say(
                "binary_cross_entropy_with_logits is given the result of "
                f"{origin.name}: it takes logits.",
                None,
                origin.place,
            )


class SoftmaxTwice(Check):
    """A softmax of the result of a softmax."""

    id = "F104"
    title = "softmax of a softmax"
    why = "The second softmax makes probabilities nearly equal, and gradients faint."
    fix = "p = logits.softmax(dim=1)  # once"
    operations: ClassVar[frozenset[str]] = frozenset({"softmax", "log_softmax"})

    def operation(self, call: Call) -> None:
        x = call.argument(0, "input")
        origin = self.program.origins.of(x)
        if origin is None or origin.name != "softmax" or x is call.result:
            return
        dim = call.argument(1, "dim")
        # Rows and columns may have changed places since the first softmax: the numbers tell.
        is_second = isinstance(dim, int) and x.dim() and x.size(dim) > 1
        if is_second and _adds_up(x.detach(), dim) and not _is_inside_of_a_loss():
            self.say(f"{call.name} is given the result of softmax.", None, origin.place)


class SoftmaxOverBatch(Check):
    """A loss of classes whose (log-)softmax went over the examples."""

    id = "F105"
    title = "softmax over the batch"
    why = (
        "The probabilities of one example do not add up to 1: each depends on which other examples "
        "are in the batch."
    )
    fix = "log_p = F.log_softmax(logits, dim=1)  # over the classes, not over the examples"
    operations: ClassVar[frozenset[str]] = frozenset({"nll_loss", "cross_entropy"})

    def operation(self, call: Call) -> None:
        x = call.argument(0, "input")
        origin = self.program.origins.of(x)
        if origin is None or origin.name not in ("softmax", "log_softmax"):
            return
        if origin.dim != 0 or origin.n_dims < 2 or x.dim() < 2:
            return
        # What was over dimension 0 may have been transposed since: the numbers tell.
        p = x.detach() if origin.name == "softmax" else x.detach().exp()
        if not _adds_up(p, 1):
            self.say(
                f"{call.name} is given a {origin.name} over dimension 0, that of the examples.",
                origin.place,
                self.here(),
            )


def _is_inside_of_a_loss() -> bool:
    """Whether the operation of the moment is a part of cross_entropy, of which F101 speaks."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        if frame.f_code.co_name == "cross_entropy":
            return True
        frame = frame.f_back
    return False


def _adds_up(p: Tensor, dim: int) -> bool:
    """Whether the numbers along a dimension are probabilities of all cases."""
    return facula.allclose(p.sum(dim), p.new_ones(()), atol=1e-3)


class LossBroadcasts(Check):
    """A loss whose input and target are both enlarged to a common shape."""

    id = "F106"
    title = "broadcasting in a loss"
    why = (
        "Shapes like (N, 1) and (N,) make an (N, N) table: every prediction is compared with every "
        "target, and the model learns the mean."
    )
    fix = "loss = F.mse_loss(prediction.squeeze(1), target)  # the same shape on both sides"
    operations: ClassVar[frozenset[str]] = _SAME_SHAPE | {"sub", "__rsub__", "detach"}

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Predictions of shape (N, 1) that have no graph, by their memory.
        self._columns: dict[int, weakref.ref[Tensor]] = {}

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        if not self.program.is_grad_enabled:
            self._note(result)

    def _note(self, x: Any) -> None:
        if isinstance(x, Tensor) and x.dim() == 2 and x.size(1) == 1 and not x.requires_grad:
            columns, at = self._columns, x.data_ptr()
            columns[at] = weakref.ref(x, lambda _: columns.pop(at, None))

    def operation(self, call: Call) -> None:
        if call.name == "detach":
            x = call.args[0]
            if isinstance(x, Tensor) and _is_prediction(x):
                self._note(call.result)
            return
        a, b = call.argument(0, "input"), call.argument(1, "target")
        if not isinstance(a, Tensor) or not isinstance(b, Tensor) or a.shape == b.shape:
            return
        if call.name in _SAME_SHAPE:
            shape = facula.broadcast_shapes(a.shape, b.shape)
            n = shape.numel()
            if n > a.numel() and n > b.numel():
                self._tell(call.name, a, b)
        elif {a.dim(), b.dim()} == {1, 2}:
            column, row = (a, b) if a.dim() == 2 else (b, a)
            if column.shape != (row.numel(), 1) or row.numel() < 2:
                return
            is_noted = self._columns.get(column.data_ptr(), lambda: None)() is column
            if _is_by_mistake(column, row) or (is_noted and not row.requires_grad):
                self._tell(call.name, a, b)

    def _tell(self, name: str, a: Tensor, b: Tensor) -> None:
        self.say(f"{name} of {tuple(a.shape)} and {tuple(b.shape)}: both are enlarged.")


def _is_by_mistake(column: Tensor, row: Tensor) -> bool:
    """Whether a prediction of shape (N, 1) meets a target of shape (N,), or the reverse."""
    if row.grad_fn is not None:  # a column of its own memory is data, not one made for a table
        return (
            row.grad_fn.name().startswith("Squeeze")
            and not column.requires_grad
            and not column._is_view()
        )
    return not row.requires_grad and _is_prediction(column)


def _is_prediction(column: Tensor) -> bool:
    """Whether a model made a column; one that unsqueeze made is for comparing everything."""
    node = column.grad_fn
    return node is not None and not node.name().startswith(
        ("Unsqueeze", "View", "Reshape", "Index")
    )


class LabelsFromOne(Check):
    """Labels of classes that never are 0."""

    id = "F107"
    title = "labels that count from 1"
    why = "The first output of the model stands for a class that does not exist."
    fix = "target = target - 1  # classes are 0 to C - 1"
    operations: ClassVar[frozenset[str]] = frozenset({"nll_loss", "cross_entropy"})

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._seen: dict[Place, list[int]] = {}  # calls, labels, least, greatest, classes
        self._n_in_vain = 0  # calls in a row from places that were seen often enough

    def operation(self, call: Call) -> None:
        if self._n_in_vain > 100:
            return
        x, target = call.argument(0, "input"), call.argument(1, "target")
        if not isinstance(target, Tensor) or target.is_floating_point() or target.numel() == 0:
            return
        place = self.here()
        seen = self._seen.setdefault(place, [0, 0, 1 << 62, -1, 0])
        self._n_in_vain += 1
        if seen[0] >= 50 or x.dim() < 2:
            return
        self._n_in_vain = 0
        low, high = (int(v) for v in target.aminmax())
        seen[:] = (
            seen[0] + 1,
            seen[1] + target.numel(),
            min(seen[2], low),
            max(seen[3], high),
            x.size(1),
        )

    def ends(self) -> None:
        for place, (n_calls, n_labels, least, greatest, n_classes) in self._seen.items():
            is_enough = n_calls >= 3 and n_labels >= 20 * n_classes and n_classes > 2
            if is_enough and least == 1 and greatest == n_classes - 1:
                self.say(
                    f"of {n_labels} labels none is 0, and the greatest is {greatest}, the last of "
                    f"{n_classes} classes.",
                    place,
                )


class SigmoidBeforeCrossEntropy(Check):
    """``cross_entropy`` of the result of a sigmoid."""

    id = "F108"
    title = "sigmoid before cross_entropy"
    why = (
        "cross_entropy applies log_softmax itself, to scores of any size. Of numbers between 0 and "
        "1 it can never become small, and its gradients are faint."
    )
    fix = "loss = F.cross_entropy(logits, target)"
    operations: ClassVar[frozenset[str]] = frozenset({"cross_entropy"})

    def operation(self, call: Call) -> None:
        origin = self.program.origins.of(call.argument(0, "input"))
        if origin is not None and origin.name == "sigmoid":
            self.say(
                "cross_entropy is given the result of sigmoid: it takes logits.", None, origin.place
            )


class LogitsIntoBCE(Check):
    """``binary_cross_entropy`` of logits that were clamped to the range of probabilities."""

    id = "F109"
    title = "clamped logits in binary_cross_entropy"
    why = (
        "Clamping only hides that these are no probabilities: where it cuts, the gradient is zero, "
        "and such examples are never learnt."
    )
    fix = "loss = F.binary_cross_entropy_with_logits(logits, target)"
    operations: ClassVar[frozenset[str]] = frozenset({"binary_cross_entropy"})

    def operation(self, call: Call) -> None:
        x = call.argument(0, "input")
        node = arranged_from(x.grad_fn) if isinstance(x, Tensor) else None
        if node is None or not node.name().startswith(("Clamp", "Hardtanh")):
            return
        before = getattr(node, "_saved_self", None)
        if before is None or before.numel() == 0:
            return
        low, high = (float(v) for v in before.detach().aminmax())
        if low < -0.01 or high > 1.01:
            self.say(
                f"binary_cross_entropy is given clamped numbers that were {low:.3g} to {high:.3g}."
            )


class SwappedArguments(Check):
    """``binary_cross_entropy(target, input)``."""

    id = "F110"
    title = "input and target swapped"
    why = (
        "The loss takes the prediction first. Of a target in its place it computes logarithms, and "
        "the prediction gets gradients of another size, if any."
    )
    fix = "loss = F.binary_cross_entropy(prediction, target)"
    operations: ClassVar[frozenset[str]] = frozenset(
        {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
    )

    def operation(self, call: Call) -> None:
        x, target = call.argument(0, "input"), call.argument(1, "target")
        if not isinstance(x, Tensor) or not isinstance(target, Tensor):
            return
        if target.requires_grad and not x.requires_grad and bool(((x == 0) | (x == 1)).all()):
            self.say(f"{call.name} is given the target first and the prediction second.")


class ComparisonBroadcasts(Check):
    """Predictions of shape (N, 1) that are compared with labels of shape (N,)."""

    id = "F111"
    title = "broadcasting in a comparison"
    why = (
        "Every prediction is compared with every label, in an (N, N) table: the accuracy is that "
        "of guessing, and a count of right answers can be larger than N."
    )
    fix = "correct = (prediction.squeeze(1) == target).sum()"
    operations: ClassVar[frozenset[str]] = frozenset({"__eq__", "eq"})

    def operation(self, call: Call) -> None:
        a, b = call.argument(0, "input"), call.argument(1, "other")
        if not isinstance(b, Tensor) or a.shape == b.shape or {a.dim(), b.dim()} != {1, 2}:
            return
        column, row = (a, b) if a.dim() == 2 else (b, a)
        # A column that is a view was made for a table, as labels[:, None] is.
        if row.numel() > 1 and column.shape == (row.numel(), 1) and not column._is_view():
            self.say(f"{tuple(a.shape)} == {tuple(b.shape)}: both are enlarged.")


class ProbabilitiesIntoKL(Check):
    """``kl_div`` of probabilities, or with logarithms for a target."""

    id = "F112"
    title = "kl_div of probabilities"
    why = (
        "kl_div takes logarithms of probabilities first and probabilities second. Of anything else "
        "its result is no distance: it may be negative, and its least value means nothing."
    )
    fix = "loss = F.kl_div(F.log_softmax(logits, dim=1), target_p, reduction='batchmean')"
    operations: ClassVar[frozenset[str]] = frozenset({"kl_div"})

    def operation(self, call: Call) -> None:
        origin = self.program.origins.of(call.argument(0, "input"))
        if origin is not None and origin.name == "softmax":
            self.say(
                "kl_div is given probabilities: it takes their logarithms.", None, origin.place
            )
        origin = self.program.origins.of(call.argument(1, "target"))
        is_log = call.argument(5, "log_target", False)
        if origin is not None and origin.name == "log_softmax" and not is_log:
            self.say(
                "kl_div is given logarithms for a target, without log_target=True.",
                None,
                origin.place,
            )
