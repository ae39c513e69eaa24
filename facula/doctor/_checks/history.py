"""Graphs that are kept alive across steps, and writes that gradients do not know of."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from contextlib import suppress
from typing import Any, ClassVar

import facula
from facula import Tensor
from facula.doctor._checks._check import Call, Check
from facula.doctor._finding import Place
from facula.doctor._program import ByObject
from facula.optim import Optimizer

_MOST_NODES = 20_000
_MOST_LOSSES = 20  # that are alive by chance


def _nodes(loss: Tensor) -> Any:
    """The nodes of a graph, from the loss on, as far as is bearable."""
    seen: set[Any] = set()
    waiting = deque([loss.grad_fn])
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        waiting.extend(other for other, _ in node.next_functions)


class SumOfLosses(Check):
    """A running sum of losses with their graphs."""

    id = "F501"
    title = "a running loss that keeps every graph"
    why = "The sum holds the graphs of all steps: memory grows until the process is killed."
    fix = "total += loss.item()"
    operations: ClassVar[frozenset[str]] = frozenset(
        {"add", "add_", "__radd__", "__iadd__", "stack"}
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._counts: dict[Place, int] = {}
        # The losses that backward has gone through lately.
        self._losses: deque[weakref.ref[Tensor]] = deque(maxlen=_MOST_LOSSES)
        self._n_batches = 0
        self._sum: _Sum | None = None  # that no backward has gone through

    def batch_loaded(self, loader: Any, batch: Any, seconds: float) -> None:
        self._n_batches += 1

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        self._end_sum(loss)
        if loss.grad_fn is not None and loss.dim() == 0:
            self._losses.append(weakref.ref(loss))

    def gradients_asked(self, output: Tensor) -> None:
        self._sum = None

    def step_ends(self, optimizer: Optimizer) -> None:
        if len(self._losses) == _MOST_LOSSES:
            alive = [loss for ref in self._losses if (loss := ref()) is not None]
            self._losses.clear()
            # A loss that was detached in place since has no graph.
            if len(alive) == _MOST_LOSSES and all(x.grad_fn is not None for x in alive):
                node: Any = alive[0].grad_fn
                file, _, line = node._location().rpartition(":")
                if line.isdigit():
                    self.say(
                        f"the losses of {len(alive)} steps are kept with their graphs.",
                        Place(file, int(line)),
                        self.here(),
                    )

    def ends(self) -> None:
        self._end_sum(None)

    def _add_up(self, place: Place, older: Any, result: Tensor) -> None:
        """Note a sum that a line has made of its last result and something new."""
        last = self._sum
        if last is None or last.number != older._sequence_nr():
            last = _Sum(place, self._n_batches)
        last.add(result, self._n_batches)
        self._sum = last

    def _end_sum(self, loss: Tensor | None) -> None:
        """Speak of a sum over batches, unless the loss that goes backward is made of it."""
        total, self._sum = self._sum, None
        if total is None or total.n_batches < 4:
            return
        if loss is not None:
            node = total.node()
            if node is None or node in set(_nodes(loss)):
                return
        self.say(
            f"the losses of {total.n_batches} batches are added up with their graphs.", total.place
        )

    def operation(self, call: Call) -> None:
        result = call.result
        if not isinstance(result, Tensor) or result.grad_fn is None:
            return
        if call.name == "stack":
            self._look_at_list(result)
            return
        if result.dim():
            return
        parts = [node for node, _ in result.grad_fn.next_functions if node is not None]
        if len(parts) != 2 or not self.program.n_steps:
            return
        place = self.here()
        for older, newer in (parts, parts[::-1]):
            # The sum of the last time, made by this line, and a loss of this step.
            if older.name().startswith("Add") and older._location() == f"{place.file}:{place.line}":
                first = min(self.program.step_of(n) for n, _ in older.next_functions if n)
                if first < self.program.step_of(newer):
                    self._note(place)
                else:
                    self._add_up(place, older, result)

    def _look_at_list(self, result: Tensor) -> None:
        """Speak of scalars of several steps that were kept in a list."""
        nodes = result.grad_fn.next_functions if result.grad_fn is not None else ()
        if result.dim() == 1 and len(nodes) > 3 and self.program.n_steps:
            steps = {self.program.step_of(node) for node, _ in nodes if node is not None}
            if len(steps) > 3:
                self.say("the losses of several steps were kept with their graphs.")

    def _note(self, place: Place) -> None:
        self._counts[place] = self._counts.get(place, 0) + 1
        if self._counts[place] == 3:
            self.say("the losses of several steps are added up with their graphs.", place)


class _Sum:
    """A sum with a graph, to which a line adds the losses of one batch after the other.

    Args:
        place: the line.
        n_batches: how many batches there were before the second was added.
    """

    def __init__(self, place: Place, n_batches: int) -> None:
        self.place = place
        self.number = -1  # of the node of the sum
        self.n_batches = 1
        self._last = n_batches - 1
        self._tensor: weakref.ref[Tensor] | None = None

    def add(self, result: Tensor, n_batches: int) -> None:
        """Take the sum as it is now, with the number of batches until now."""
        self.n_batches += n_batches > self._last
        self._last = n_batches
        self._tensor = weakref.ref(result)
        self.number = result.grad_fn._sequence_nr() if result.grad_fn is not None else -1

    def node(self) -> Any:
        """The node of the sum; None if the sum is gone, or was added to."""
        total = None if self._tensor is None else self._tensor()
        return None if total is None else total.grad_fn


class GraphOfEarlierSteps(Check):
    """``backward(retain_graph=True)`` through operations of earlier steps."""

    id = "F502"
    title = "a graph that reaches into earlier steps"
    why = (
        "retain_graph=True hides that a state (of a recurrent layer, for example) still has its "
        "history: every step goes back further, takes longer and keeps more memory."
    )
    fix = "hidden = hidden.detach()  # at the beginning of a step, and backward() without arguments"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._n = 0

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        last = self.program.sequence_at_step
        if not options.get("retain_graph") or not last or loss.grad_fn is None:
            return
        self._n += 1
        if self._n & (self._n - 1):  # looked at in the steps 1, 2, 4, 8, ...
            return
        for node in _nodes(loss):
            if node.next_functions and node._sequence_nr() <= last:
                file, _, line = node._location().rpartition(":")
                self.say(
                    "this backward goes through operations of an earlier step.",
                    self.here(),
                    Place(file, int(line)) if line.isdigit() else None,
                )
                return


class WriteThroughData(Check):
    """A write through ``.data`` to numbers that a derivative needs."""

    id = "F503"
    title = "a write through .data that spoils a gradient"
    why = (
        "Writes through .data are not counted: backward computes with the new numbers, and its "
        "result is wrong without an error."
    )
    fix = "x = x * mask  # a new tensor; or write in place without .data, which raises if it must"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Forgotten with the source: .data has its memory, and must not keep it.
        self._reads: ByObject[Tensor, list[tuple[Tensor, int, int, Place]]] = ByObject()
        self._probe = facula.ones((), requires_grad=True)

    def data_read(self, source: Tensor, data: Tensor) -> None:
        if not source.requires_grad or len(self._reads) > 200:
            return
        with facula.enable_grad():
            node: Any = (-self._probe).grad_fn
        now = node._sequence_nr()
        reads = self._reads.get(source, [])
        if len(reads) < 10:
            reads.append((data, data._n_writes, now, self.here()))
            self._reads[source] = reads

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        reads = self._reads.values()
        self._reads.clear()
        written = {
            data.data_ptr(): (now, place)
            for of_source in reads
            for data, version, now, place in of_source
            if data._n_writes != version
        }
        if not written or loss.grad_fn is None:
            return
        for node in _nodes(loss):
            for name in dir(node):
                if not name.startswith("_saved_"):
                    continue
                with suppress(Exception):  # what backward itself will complain of
                    # Python keeps the names of attributes that were asked for lately.
                    saved = getattr(node, sys.intern(name))
                    if not isinstance(saved, Tensor):
                        continue
                    now, place = written.get(saved.data_ptr(), (-1, None))
                    if node._sequence_nr() < now:
                        self.say(
                            f"a tensor that {node.name()} needs was changed through .data.",
                            place,
                            self.here(),
                        )

    def step_ends(self, optimizer: Optimizer) -> None:
        self._reads.clear()


class GraphKeptForNothing(Check):
    """``backward(retain_graph=True)`` of graphs that nobody goes through again."""

    id = "F504"
    title = "a graph kept for nothing"
    why = "All that the graph holds stays in memory until the loss is gone, and hides other errors."
    fix = "loss.backward()"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Graphs that were kept, as numbers of nodes, with the step; None where one was needed, or
        # enough were looked at.
        self._kept: dict[Place, tuple[int, frozenset[int]] | None] = {}
        self._counts: dict[Place, int] = {}

    def backward_begins(self, loss: Tensor, options: dict[str, Any]) -> None:
        if self.program.n_steps >= self.program.rests_from:
            return  # not every use is seen
        is_kept = options.get("retain_graph") and not options.get("create_graph")
        if not is_kept and not self._kept:
            return
        place = self.here()
        self._look(loss)
        # A package, or a function with an argument for it, keeps the graph for some callers.
        if place.is_installed or "retain_graph=True" not in place.source.replace(" ", ""):
            return
        if not is_kept or self._kept.get(place, ()) is None:
            return
        before = self._kept.get(place)
        if before is not None and before[0] < self.program.n_steps:
            self._counts[place] = self._counts.get(place, 0) + 1
            if self._counts[place] == 4:
                self.say("retain_graph=True, but no graph was used a second time.")
                self._kept[place] = None
                return
        numbers = frozenset(node._sequence_nr() for node in _nodes(loss) if node.next_functions)
        is_whole = len(numbers) < _MOST_NODES / 2
        self._kept[place] = (self.program.n_steps, numbers) if is_whole else None

    def gradients_asked(self, output: Tensor) -> None:
        self._look(output)

    def _look(self, output: Tensor) -> None:
        """Find out which of the graphs that were kept are used again."""
        if not any(self._kept.values()):
            return
        numbers = {node._sequence_nr() for node in _nodes(output) if node.next_functions}
        for place, kept in self._kept.items():
            if kept is not None and not numbers.isdisjoint(kept[1]):
                self._kept[place] = None
