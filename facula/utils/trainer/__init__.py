"""``Trainer`` with plugins, as PyTorch 0.1 to 0.4 had it in ``torch.utils.trainer``."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

from facula._notes import note
from facula.autograd import Variable
from facula.utils.trainer import plugins
from facula.utils.trainer.plugins import Plugin

__all__ = ["Trainer", "plugins"]

note("torch.utils.trainer is an older form. Write the loop over the loader yourself.")

_KINDS = "iteration", "epoch", "batch", "update"


class Trainer:
    """A training loop that calls plugins at batches, updates, iterations and epochs."""

    def __init__(
        self,
        model: Callable[..., Any] | None = None,
        criterion: Callable[..., Any] | None = None,
        optimizer: Any = None,
        dataset: Iterable[Any] | None = None,
    ) -> None:
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.dataset = dataset
        self.iterations = 0
        self.stats: dict[str, Any] = {}
        # Of each kind the plugins by the time of their next call; equal times in their order.
        self.plugin_queues: dict[str, list[tuple[int, int, Plugin]]] = {k: [] for k in _KINDS}

    def register_plugin(self, plugin: Plugin) -> None:
        """Add a plugin, which says at what intervals it is called."""
        plugin.register(self)
        for duration, unit in plugin.trigger_interval:
            queue = self.plugin_queues[unit]
            queue.append((duration, len(queue), plugin))

    def call_plugins(self, queue_name: str, time: int, *args: Any) -> None:
        """Call the plugins of a kind whose time has come."""
        queue = self.plugin_queues[queue_name]
        while queue and queue[0][0] <= time:
            _, order, plugin = queue[0]
            getattr(plugin, queue_name)(time, *args)
            interval = next(n for n, unit in plugin.trigger_interval if unit == queue_name)
            heapq.heapreplace(queue, (time + interval, order, plugin))

    def run(self, epochs: int = 1) -> None:
        """Train for some epochs."""
        for queue in self.plugin_queues.values():
            heapq.heapify(queue)
        for epoch in range(1, epochs + 1):
            self.train()
            self.call_plugins("epoch", epoch)

    def train(self) -> None:
        """Train for one epoch."""
        assert self.dataset is not None
        for i, (batch_input, batch_target) in enumerate(self.dataset, self.iterations + 1):
            self.call_plugins("batch", i, batch_input, batch_target)
            result: dict[str, Any] = {}
            step = self._step(Variable(batch_input), Variable(batch_target), result)
            self.optimizer.zero_grad()
            self.optimizer.step(step)
            output, loss = result["output"].data, result["loss"].data
            self.call_plugins("iteration", i, batch_input, batch_target, output, loss)
            self.call_plugins("update", i, self.model)
            self.iterations = i

    def _step(self, input: Any, target: Any, result: dict[str, Any]) -> Callable[[], Any]:
        def closure() -> Any:
            assert self.model is not None and self.criterion is not None
            output = self.model(input)
            loss = self.criterion(output, target)
            loss.backward()
            result.setdefault("output", output)
            result.setdefault("loss", loss)
            return loss

        return closure
