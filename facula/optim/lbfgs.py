"""L-BFGS, a quasi-Newton method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import facula
from facula import Tensor
from facula.optim._checks import at_least_zero
from facula.optim._declared import DeclaredOptimizer, flags, options
from facula.optim.optimizer import ParamsT

__all__ = ["LBFGS"]


class _Point(NamedTuple):
    """A place on the line that is searched: the loss there, its gradient, and its slope."""

    t: Any
    loss: float
    grad: Tensor
    slope: Tensor


class LBFGS(DeclaredOptimizer):
    """Newton's method with a Hessian guessed from the last gradients; needs a closure.

    All parameters are in one group and on one device. A step evaluates the closure several times.

    Args:
        params: tensors, or pairs of a name and a tensor; there is one group of them.
        lr: length of the step, a number or a tensor of one element.
        max_iter: the most iterations that a step takes.
        max_eval: the most calls of the closure in a step; ``max_iter * 5 // 4`` by default.
        tolerance_grad: a step ends where no element of the gradient is larger.
        tolerance_change: a step ends where loss or parameters change by less.
        history_size: how many gradients are remembered.
        line_search_fn: ``"strong_wolfe"``, or None for steps of length ``lr``.

    Example:
        >>> from facula import optim
        >>> x = facula.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (x - 3.0).square().sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(29., grad_fn=<SumBackward0>)
        >>> x
        tensor([3.0000, 3.0000], requires_grad=True)
    """

    _options = options(
        lr=at_least_zero,
        **flags("max_iter", "max_eval", "tolerance_grad", "tolerance_change"),
        **flags("history_size", "line_search_fn"),
    )

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        self._set_up(params, locals())
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS: expected one parameter group: all parameters move together.")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]  # type: ignore[no-any-return]

    def _flat_grad(self) -> Tensor:
        parts = []
        for p in self._params:
            grad = facula.zeros_like(p) if p.grad is None else p.grad
            parts.append(
                _real(grad.to_dense()).reshape(-1)
            )  # a complex number is a pair of real ones
        return facula.cat(parts, 0)

    def _move(self, t: Any, direction: Tensor) -> None:
        start = 0
        for p in map(_real, self._params):
            p.add_(direction[start : start + p.numel()].view(p.shape), alpha=t)
            start += p.numel()

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Take up to ``max_iter`` iterations.

        Args:
            closure: function that clears the gradients, computes the loss and its gradients, and
                returns the loss.

        Returns:
            The loss before the step.

        Example:
            >>> from facula import optim
            >>> x = facula.tensor([4.0], requires_grad=True)
            >>> optimizer = optim.LBFGS([x])
            >>> def closure():
            ...     optimizer.zero_grad()
            ...     loss = x.square().sum()
            ...     loss.backward()
            ...     return loss
            >>> optimizer.step(closure).item()
            16.0
        """
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError(
                f"LBFGS: line_search_fn must be 'strong_wolfe' or None, got "
                f"{group['line_search_fn']!r}."
            )

        def evaluate() -> Any:
            with facula.enable_grad():
                return closure()

        with facula.no_grad():
            return self._minimize(evaluate, group)

    def _minimize(self, evaluate: Callable[[], Any], group: dict[str, Any]) -> Any:
        lr, max_eval = group["lr"], group["max_eval"]
        lr = lr.reshape(()) if isinstance(lr, Tensor) else lr
        # The state belongs to all parameters; the first one has it.
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate()
        loss = float(first_loss)
        grad = self._flat_grad()
        n_evals = 1
        state["func_evals"] += 1
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss

        for i in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            is_first = state["n_iter"] == 1
            d = state["d"] = self._direction(state, grad, group["history_size"])
            previous = state.get("prev_flat_grad")
            state["prev_flat_grad"] = grad.clone() if previous is None else previous.copy_(grad)
            last_loss = state["prev_loss"] = loss
            # The first direction is the gradient, whose length says nothing about the way to go.
            t = state["t"] = min(1.0, 1.0 / grad.abs().sum()) * lr if is_first else lr
            slope = grad.dot(d)
            if slope > -group["tolerance_change"]:
                break
            n_new = 0
            if group["line_search_fn"] == "strong_wolfe":
                start = _Point(0, loss, grad, slope)
                search = _LineSearch(self, evaluate, d, start, max_eval - n_evals)
                (t, loss, grad, _), n_new = search.run(t)
                state["t"] = t
                self._move(t, d)
            else:
                self._move(t, d)
                if i != group["max_iter"]:  # after the last move nobody asks for the loss
                    loss, grad, n_new = float(evaluate()), self._flat_grad(), 1
            n_evals += n_new
            state["func_evals"] += n_new
            if (
                n_evals >= max_eval
                or (n_new and grad.abs().max() <= group["tolerance_grad"])
                or d.mul(t).abs().max() <= group["tolerance_change"]
                or abs(loss - last_loss) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _direction(self, state: dict[str, Any], grad: Tensor, history_size: int) -> Tensor:
        """The negative gradient times the inverse of the Hessian, as the history suggests it."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        change, move = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        curvature = change.dot(move)
        changes, moves, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        # Without positive curvature the guess would not be positive definite: d might go uphill.
        if curvature > 1e-10:
            if len(changes) == history_size:
                for history in (changes, moves, inverses):
                    history.pop(0)
            changes.append(change)
            moves.append(move)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        # Two loops over the history, in which the matrix itself is never formed (Nocedal and
        # Wright, algorithm 7.4).
        weights = state.setdefault("al", [None] * history_size)
        q = grad.neg()
        for i in reversed(range(len(changes))):
            weights[i] = moves[i].dot(q) * inverses[i]
            q.add_(changes[i], alpha=-weights[i])
        d = q.mul(state["H_diag"])
        for i in range(len(changes)):
            d.add_(moves[i], alpha=weights[i] - changes[i].dot(d) * inverses[i])
        return d


def _real(x: Tensor) -> Tensor:
    return facula.view_as_real(x) if x.is_complex() else x


class _LineSearch:
    """A step length for which the loss falls enough and its slope is flat: strong Wolfe conditions.

    First the length grows until an interval contains such a point, then the interval is made
    smaller around it (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6).
    """

    _ENOUGH = 1e-4  # the part of the decrease promised by the first slope that suffices
    _FLAT = 0.9  # the part of the first slope that counts as flat
    _TOLERANCE = 1e-9

    def __init__(
        self,
        optimizer: LBFGS,
        evaluate: Callable[[], Any],
        direction: Tensor,
        start: _Point,
        max_iter: int,
    ) -> None:
        self.optimizer = optimizer
        self.evaluate = evaluate
        self.direction = direction
        self.start = start
        self.max_iter = max_iter
        self.origin = [p.clone() for p in optimizer._params]
        self.n_iter = 0
        self.n_evals = 0

    def run(self, t: Any) -> tuple[_Point, int]:
        """The point that was found, and how many times the closure was called."""
        bracket = self._bracket(self._point(t))
        if len(bracket) == 2 and self.n_iter < self.max_iter:
            bracket = self._zoom(bracket)
        low = bracket[0] if bracket[0].loss <= bracket[-1].loss else bracket[-1]
        return low, self.n_evals

    def _point(self, t: Any) -> _Point:
        self.n_evals += 1
        self.optimizer._move(t, self.direction)
        loss = float(self.evaluate())
        grad = self.optimizer._flat_grad()
        # Copied back: a move by -t would not undo the rounding of the move by t.
        for p, before in zip(self.optimizer._params, self.origin, strict=True):
            p.copy_(before)
        return _Point(t, loss, grad, grad.dot(self.direction))

    def _is_too_high(self, point: _Point) -> bool:
        promised = self.start.loss + self._ENOUGH * point.t * self.start.slope
        return bool(point.loss > promised)

    def _is_flat(self, point: _Point) -> bool:
        return bool(abs(point.slope) <= -self._FLAT * self.start.slope)

    def _bracket(self, point: _Point) -> list[_Point]:
        """One point that is good, or two with such a point between them."""
        previous = self.start
        while self.n_iter < self.max_iter:
            is_rising = self.n_iter > 1 and point.loss >= previous.loss
            if self._is_too_high(point) or is_rising:
                return [previous, point]
            if self._is_flat(point):
                return [point]
            if point.slope >= 0:
                return [previous, point]
            bounds = point.t + 0.01 * (point.t - previous.t), point.t * 10
            t = _lowest_of_cubic(previous, point, bounds)
            previous, point = point, self._point(t)
            self.n_iter += 1
        return [self.start, point]

    def _zoom(self, bracket: list[_Point]) -> list[_Point]:
        """The interval around a good point, smaller and smaller; the good point where found."""
        low, high = sorted(range(2), key=lambda i: bracket[i].loss)
        size = self.direction.abs().max()
        was_close = False
        while self.n_iter < self.max_iter:
            if abs(bracket[1].t - bracket[0].t) * size < self._TOLERANCE:
                break
            t = _lowest_of_cubic(bracket[0], bracket[1])
            left, right = sorted(point.t for point in bracket)
            margin = 0.1 * (right - left)
            is_close = bool(min(right - t, t - left) < margin)
            if is_close and (was_close or t >= right or t <= left):
                # The interpolation stays at the border: go a tenth of the interval inside.
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                is_close = False
            was_close = is_close
            point = self._point(t)
            self.n_iter += 1
            if self._is_too_high(point) or point.loss >= bracket[low].loss:
                bracket[high] = point
                low, high = sorted(range(2), key=lambda i: bracket[i].loss)
                continue
            if self._is_flat(point):
                return [point]
            if point.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
        return [bracket[low], bracket[high]]


def _lowest_of_cubic(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points, with their slopes, is lowest; within the bounds."""
    if bounds is None:
        bounds = (a.t, b.t) if a.t <= b.t else (b.t, a.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (bounds[0] + bounds[1]) / 2.0
    d2 = square.sqrt()
    if a.t <= b.t:
        t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        t = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(t, bounds[0]), bounds[1])
