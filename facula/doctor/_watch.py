"""The watch over a running program: from its operations, calls and steps to the checks.

Operations come from the seam. What is no operation (a module that is called, an optimiser that
steps, a batch that is loaded) comes from methods that are replaced for as long as the watch is on,
so that a program without a doctor pays nothing.

Note [Sampling]
A mistake of the loop is there in every step. Once the youngest optimiser has had its first steps,
the watch rests in 18 of 20, in which only checks that look "always" see operations and losses. It
begins to rest and wakes at the end of a step, when what was known of the gradients is forgotten. It
also wakes for an evaluation, that is, when a model is called without gradients, and when such a
check has seen something and needs to see the rest of the step. Checks that look "seldom" see one
step of 15.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

import facula
from facula import Tensor, _core
from facula._warnings import warn_user
from facula.doctor._checks import CHECKS
from facula.doctor._checks._check import EVENTS, Call, Check
from facula.doctor._finding import Finding, Findings
from facula.doctor._program import Origin, Program
from facula.nn.modules.loss import _Loss
from facula.nn.modules.module import Module
from facula.optim import Optimizer
from facula.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from facula.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from facula.utils.data._utils.iterators import CallerIterator, PoolIterator

# Operations whose results are recognised when they come to a loss.
_ORIGINS = frozenset({"softmax", "log_softmax", "sigmoid"})
# See Note [Sampling].
_EAGER, _EVERY, _SELDOM = 200, 20, 15
_IN_STEPS = frozenset(
    {
        "backward_begins",
        "backward_ends",
        "data_read",
        "gradients_asked",
        "gradients_clipped",
        "gradients_zeroed",
        "model_called",
        "step_begins",
        "step_ends",
    }
)
_BACKWARD = "gradient", "retain_graph", "create_graph", "inputs"  # its arguments after the loss


def _to_stderr(finding: Finding) -> None:
    print(finding, file=sys.stderr, flush=True)


class _Table:
    """Who is told of what.

    Args:
        checks: all checks.
        in_steps: those of them that are told of operations and of what happens in every step.
        events: what happens in every step that they are told of.
        names: operations that the watch itself wants to hear of.
    """

    def __init__(
        self,
        checks: list[Check],
        in_steps: list[Check],
        events: frozenset[str] = _IN_STEPS,
        names: frozenset[str] = _ORIGINS,
    ) -> None:
        self.handlers: dict[str, list[Callable[..., None]]] = {
            event: [
                getattr(check, event)
                for check in (in_steps if event in _IN_STEPS else checks)
                if getattr(type(check), event) is not getattr(Check, event)
                and (event in events or event not in _IN_STEPS)
            ]
            for event in EVENTS
        }
        self.by_operation: dict[str, list[Callable[[Call], None]]] = {}
        for check in in_steps:
            for name in check.operations:
                self.by_operation.setdefault(name, []).append(check.operation)
        self.names = {*self.by_operation, *names}


class Watch:
    """Watches the thread that starts it, as a block or from :func:`enable` on.

    Args:
        ignore: ids of checks, or ids with a place as in ``"F101:train.py:12"``, that are not told.
        tell: is called with each new :class:`Finding`; prints it to standard error by default.

    Example:
        >>> from facula import doctor
        >>> with doctor.watch(tell=lambda finding: print(finding.id, finding.message)) as watch:
        ...     x = facula.tensor([[2.0, 0.5]], requires_grad=True)
        ...     loss = facula.nn.functional.cross_entropy(x.softmax(1), facula.tensor([0]))
        F101 cross_entropy is given the result of softmax: it takes logits.
        >>> [finding.id for finding in watch.findings]
        ['F101']
    """

    current: Watch | None = None

    def __init__(
        self, ignore: Iterable[str] = (), tell: Callable[[Finding], Any] = _to_stderr
    ) -> None:
        self._findings = Findings(ignore, tell)
        self._program = Program()
        self._program.rests_from = _EAGER
        checks = [kind(self._program, self._findings) for kind in CHECKS]
        # See Note [Sampling].
        self._all = _Table(checks, checks)
        self._usual = _Table(checks, [c for c in checks if c.looks != "seldom"])
        self._resting = _Table(
            checks,
            [c for c in checks if c.looks == "always"],
            frozenset({"backward_begins"}),
            frozenset(),
        )
        self._table = self._all
        self._names = set(self._table.names)  # what the seam is asked to tell of
        self._observers = [
            _core._Observer(self._operation, None, self._names),
            _core._Observer(self._backward_ended, self._backward_began, frozenset({"backward"})),
        ]
        self._loaders: weakref.WeakSet[Any] = weakref.WeakSet()  # that have given a batch
        self._undo: list[Callable[[], None]] = []
        self._thread = 0
        self._is_busy = False  # with a check, whose own operations are nobody's

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, in the order of time."""
        return list(self._findings.all)

    def __repr__(self) -> str:
        found = self.findings
        state = "is on" if Watch.current is self else "is over"
        ids = f" ({', '.join(sorted({finding.id for finding in found}))})" if found else ""
        return f"<doctor.Watch, {state}: {len(found)} finding{'s' * (len(found) != 1)}{ids}>"

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to watch; one watch can be on at a time."""
        if Watch.current is not None:
            raise RuntimeError("doctor: a watch is on already. End it with doctor.disable().")
        Watch.current = self
        self._thread = threading.get_ident()
        for observer in self._observers:
            observer.start()
        self._replace_methods()

    def stop(self) -> None:
        """End the watch; what can only be said at the end is said now."""
        if Watch.current is not self:
            return
        self._emit("ends")
        self._leave()

    def _leave(self) -> None:
        Watch.current = None
        for observer in self._observers:
            observer.stop()
        while self._undo:
            self._undo.pop()()

    # Events

    def _emit(self, event: str, *args: Any) -> None:
        self._call(self._table.handlers[event], *args)

    def _call(self, handlers: list[Callable[..., None]], *args: Any) -> None:
        if not handlers or self._is_busy or threading.get_ident() != self._thread:
            return
        if _core._transforms():  # what vmap and grad run has no numbers of its own
            return
        self._is_busy = True
        program = self._program
        program.place = None
        program.is_grad_enabled = is_grad_enabled = _core.is_grad_enabled()
        _core._set_grad_enabled(False)
        try:
            for handler in handlers:
                try:
                    handler(*args)
                except Exception as error:  # a check must not end the program that it watches
                    # The list is not changed but replaced: this one is in use.
                    self._switch_off(getattr(handler, "__self__", None), error)
        finally:
            _core._set_grad_enabled(is_grad_enabled)
            self._is_busy = False
        if program.is_alarmed:
            program.is_alarmed = False
            self._wake()

    def _switch_off(self, check: Check | None, error: Exception) -> None:
        for table in (self._all, self._usual, self._resting):
            for of_event in (table.handlers, table.by_operation):
                for event, handlers in of_event.items():
                    of_event[event] = [
                        h for h in handlers if getattr(h, "__self__", None) is not check
                    ]
        warn_user(
            f"doctor: the check {getattr(check, 'id', '?')} failed and is off: "
            f"{type(error).__name__}: {error}"
        )

    def _operation(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        if self._is_busy or _is_meta(args[0] if args else result):
            return
        self._program.place = None
        call = Call(name, args, kwargs, result)
        # Before the origin of the result is noted: a softmax of a softmax looks at its input.
        self._call(self._table.by_operation.get(name, []), call)
        if name in _ORIGINS and isinstance(result, Tensor):
            dim = call.argument(1, "dim")
            if isinstance(dim, int) and result.dim():
                dim %= result.dim()
            origins = self._program.origins
            if dim is None and origins.of(result) is not None:
                return  # softmax(x) is entered twice, and only inside the dimension is known
            earlier = None if result.requires_grad else origins.of(call.argument(0, "input"))
            origins.note(result, Origin(name, self._program.here(), dim, result.dim(), earlier))

    def _backward_began(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self._is_busy:
            options = dict(zip(_BACKWARD, args[1:], strict=False))
            if not _is_meta(args[0]):
                self._emit("backward_begins", args[0], {**options, **kwargs})
            self._program.note_loss(args[0])

    def _backward_ended(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        if not _is_meta(args[0]):
            self._emit("backward_ends", args[0])

    def _differentiating(self, original: Any) -> Any:
        def _run_backward(
            roots: tuple[Tensor, ...],
            gradients: Any,
            retain_graph: bool,
            create_graph: bool,
            inputs: Any,
            allow_unused: bool,
            accumulates: bool,
        ) -> Any:
            options = {"retain_graph": retain_graph, "create_graph": create_graph}
            for root in () if self._is_busy else roots:
                if accumulates:
                    self._backward_began("backward", (root,), options)
                else:
                    self._emit("gradients_asked", root)
            result = original(
                roots, gradients, retain_graph, create_graph, inputs, allow_unused, accumulates
            )
            if accumulates:
                self._backward_ended("backward", roots, {}, result)
            return result

        return _run_backward

    # Methods that are replaced

    def _replace_methods(self) -> None:
        import facula.nn.utils as utils
        import facula.serialization as serialization
        from facula.amp import GradScaler
        from facula.nn.modules._state import Stateful

        self._replace(Module, "__call__", self._calling)
        self._replace(Optimizer, "__init__", self._making_optimizer)
        self._replace(_core, "_run_backward", self._differentiating)
        for owner in (Optimizer, Module):
            self._after(
                owner, "zero_grad", lambda result, it, *a, **k: self._emit("gradients_zeroed", it)
            )
        for kind in (LRScheduler, ReduceLROnPlateau):
            self._after(
                kind, "step", lambda result, it, *a, **k: self._emit("scheduler_stepped", it)
            )
        self._after(GradScaler, "scale", lambda result, it, *a, **k: self._emit("loss_scaled", it))
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            for module in (utils, utils.clip_grad):
                self._replace(module, name, self._clipping)
        for iterator in (CallerIterator, PoolIterator):
            self._replace(iterator, "__next__", self._loading)
        for module in (facula, serialization):
            self._after(module, "save", self._saved)
            self._after(module, "load", lambda result, *a, **k: self._emit("loaded", result))
        self._after(Stateful, "load_state_dict", self._state_loaded)
        data: Any = vars(Tensor)["data"]
        Tensor.data = _Data(data, self)  # type: ignore[assignment]
        self._undo.append(lambda: setattr(Tensor, "data", data))
        self._undo.append(register_optimizer_step_pre_hook(self._step_begins).remove)
        self._undo.append(register_optimizer_step_post_hook(self._step_ends).remove)

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)  # some names of the package are loaded when asked for
        replacement = functools.wraps(original)(make(original))
        setattr(owner, name, replacement)
        self._undo.append(lambda: setattr(owner, name, original))

    def _after(self, owner: Any, name: str, tell: Callable[..., None]) -> None:
        """Let ``tell(result, *args, **kwargs)`` be called after a function."""

        def make(original: Any) -> Any:
            def replacement(*args: Any, **kwargs: Any) -> Any:
                result = original(*args, **kwargs)
                tell(result, *args, **kwargs)
                return result

            return replacement

        self._replace(owner, name, make)

    def _calling(self, original: Any) -> Any:
        def __call__(module: Module, *args: Any, **kwargs: Any) -> Any:
            if self._program.is_in_model or threading.get_ident() != self._thread:
                return original(module, *args, **kwargs)
            self._program.is_in_model = True
            try:
                result = original(module, *args, **kwargs)
            finally:
                self._program.is_in_model = False
            if self._table is self._resting:
                if _core.is_grad_enabled():
                    return result
                self._wake()
            if not self._is_busy and not isinstance(module, _Loss):
                facts = self._program.model_facts(module)
                facts.n_calls += 1
                self._emit("model_called", module, args, result)
                if self._program.is_grad_enabled and module.training:
                    facts.note_training(result, self._program.n_steps)
            return result

        return __call__

    def _making_optimizer(self, original: Any) -> Any:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._program.facts_of(optimizer)
            self._program.rests_from = self._program.n_steps + _EAGER
            self._wake()

        return __init__

    def _step_begins(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if threading.get_ident() == self._thread:
            self._stepping("step_begins", optimizer)

    def _step_ends(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if threading.get_ident() == self._thread:
            self._stepping("step_ends", optimizer)
            self._program.facts_of(optimizer).n_steps += 1
            self._program.note_step()
            self._choose_table()

    def _stepping(self, event: str, optimizer: Optimizer) -> None:
        if self._table is not self._resting:
            facts = self._program.facts_of(optimizer)
            if not any(map(_is_meta, facts.samples)):
                self._emit(event, optimizer)

    def _choose_table(self) -> None:
        n = self._program.n_steps
        # Awake for a step of each optimiser, and for one that knows what happened before it.
        is_awake = n < self._program.rests_from or n % _EVERY <= len(self._program.optimizers)
        if not is_awake:
            self._use(self._resting)
        else:
            self._use(self._usual if n % _SELDOM else self._all)

    def _wake(self) -> None:
        if self._table is self._resting:
            self._use(self._usual)

    def _use(self, table: _Table) -> None:
        if table is self._table:
            return
        if self._table is self._resting:
            for facts in self._program.optimizers.values():
                facts.forget()
        self._table = table
        self._names.clear()
        self._names.update(table.names)

    def _clipping(self, original: Any) -> Any:
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            tensors: Any = parameters
            if isinstance(parameters, Iterator):  # which can be gone through once
                tensors = list(parameters)
                parameters = (p for p in tensors)
            result = original(parameters, *args, **kwargs)
            self._emit("gradients_clipped", [tensors] if isinstance(tensors, Tensor) else tensors)
            return result

        return clip

    def _loading(self, original: Any) -> Any:
        def __next__(iterator: Any) -> Any:
            start = time.perf_counter()
            batch = original(iterator)
            seconds = time.perf_counter() - start
            if iterator._loader not in self._loaders:
                self._loaders.add(iterator._loader)
                self._emit("loader_used", iterator._loader)
            self._emit("batch_loaded", iterator._loader, batch, seconds)
            return batch

        return __next__

    def _saved(self, result: Any, obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        self._emit("saved", obj, f)

    def _state_loaded(
        self,
        result: Any,
        model: Module,
        state_dict: Any,
        strict: bool = True,
        assign: bool = False,
    ) -> None:
        # Tensors that were assigned are the model's from now on.
        self._emit("state_loaded", model, None if assign else state_dict, strict, result)


class _Data:
    """``Tensor.data`` while a watch is on; modes and subclasses know a property by its name."""

    def __init__(self, original: Any, watch: Watch) -> None:
        self.__name__ = "data"
        self.__doc__ = original.__doc__
        self._original, self._watch = original, watch

    def __get__(self, x: Tensor | None, owner: type | None = None) -> Any:
        if x is None:
            return self
        data = self._original.__get__(x)
        self._watch._emit("data_read", x, data)
        return data

    def __set__(self, x: Tensor, value: Tensor) -> None:
        self._original.__set__(x, value)


def _is_meta(x: Any) -> bool:
    """Whether a tensor has no numbers that a check could look at."""
    return isinstance(x, Tensor) and x.is_meta


def _leave_in_child() -> None:
    # A worker of a loader is not the program that somebody watches.
    if Watch.current is not None:
        Watch.current._leave()


os.register_at_fork(after_in_child=_leave_in_child)
