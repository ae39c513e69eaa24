"""Plugins of the :class:`Trainer`: losses, accuracy, times, and a log of them."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

__all__ = [
    "AccuracyMonitor",
    "Logger",
    "LossMonitor",
    "Monitor",
    "Plugin",
    "ProgressMonitor",
    "TimeMonitor",
]

Interval = list[tuple[int, str]]


class Plugin:
    """Base of plugins: methods ``batch``, ``iteration``, ``update`` and ``epoch`` are called."""

    def __init__(self, interval: Interval | None = None) -> None:
        self.trigger_interval = [] if interval is None else interval

    def register(self, trainer: Any) -> None:
        """Get to know the trainer."""
        raise NotImplementedError(f"{type(self).__name__}: register(trainer) is not defined.")


class Monitor(Plugin):
    """Base of plugins that keep a number and its averages in ``trainer.stats``."""

    stat_name: str

    def __init__(
        self,
        running_average: bool = True,
        epoch_average: bool = True,
        smoothing: float = 0.7,
        precision: int | None = None,
        number_format: str | None = None,
        unit: str = "",
    ) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")])
        self.smoothing = smoothing
        self.with_running_average = running_average
        self.with_epoch_average = epoch_average
        digits = 4 if precision is None else precision
        shown = f".{digits}f" if number_format is None else number_format
        self.log_format = f"{{last:{shown}}}{unit}"
        self.log_iter_fields = [self.log_format]
        self.log_epoch_fields = [f"{{epoch_mean:{shown}}}{unit}"] if epoch_average else []
        if running_average:
            self.log_iter_fields.append(f" ({{running_avg:{shown}}}{unit})")

    def register(self, trainer: Any) -> None:
        """Make a place for the numbers."""
        self.trainer = trainer
        stats = trainer.stats.setdefault(self.stat_name, {})
        stats["log_iter_fields"] = self.log_iter_fields
        stats["log_epoch_fields"] = self.log_epoch_fields
        if self.with_epoch_average:
            stats["epoch_stats"] = 0, 0

    def _get_value(self, *args: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: _get_value is not defined.")

    def iteration(self, *args: Any) -> None:
        """Note the number of an iteration."""
        stats = self.trainer.stats.setdefault(self.stat_name, {})
        stats["last"] = value = self._get_value(*args)
        if self.with_epoch_average:
            total, n = stats["epoch_stats"]
            stats["epoch_stats"] = total + value, n + 1
        if self.with_running_average:
            before = stats.get("running_avg", 0)
            stats["running_avg"] = before * self.smoothing + value * (1 - self.smoothing)

    def epoch(self, idx: int) -> None:
        """Note the mean of an epoch, and begin another."""
        if self.with_epoch_average:
            stats = self.trainer.stats.setdefault(self.stat_name, {})
            total, n = stats["epoch_stats"]
            stats["epoch_mean"] = total / max(n, 1)
            stats["epoch_stats"] = 0, 0


class LossMonitor(Monitor):
    """The loss."""

    stat_name = "loss"

    def _get_value(self, iteration: int, input: Any, target: Any, output: Any, loss: Any) -> float:
        return float(loss)


class AccuracyMonitor(Monitor):
    """The share of right classes, in per cent."""

    stat_name = "accuracy"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"unit": "%", "precision": 2, **kwargs})

    def _get_value(self, iteration: int, input: Any, target: Any, output: Any, loss: Any) -> float:
        n_right = int((output.max(1)[1].view(-1) == target.view(-1)).sum())
        return 100.0 * n_right / int(target.numel())


class TimeMonitor(Monitor):
    """The time between iterations, in milliseconds."""

    stat_name = "time"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"unit": "ms", "precision": 0, **kwargs})
        self.last_time: float | None = None

    def _get_value(self, *args: Any) -> float:
        now, before = time.time(), self.last_time
        self.last_time = now
        return 0 if before is None else 1000 * (now - before)


class ProgressMonitor(Plugin):
    """How much of the epoch is done."""

    stat_name = "progress"

    def __init__(self) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")])

    def register(self, trainer: Any) -> None:
        """Make a place for the numbers."""
        self.trainer = trainer
        trainer.stats[self.stat_name] = {
            "samples_used": 0,
            "epoch_size": len(trainer.dataset),
            "log_iter_fields": ["{samples_used}/{epoch_size}", "({percent:.2f}%)"],
        }

    def iteration(self, iteration: int, input: Any, *args: Any) -> None:
        """Count the samples of a batch."""
        stats = self.trainer.stats[self.stat_name]
        stats["samples_used"] += 1
        stats["percent"] = 100.0 * stats["samples_used"] / stats["epoch_size"]

    def epoch(self, idx: int) -> None:
        """Begin to count again."""
        stats = self.trainer.stats[self.stat_name]
        stats["samples_used"] = stats["percent"] = 0


class Logger(Plugin):
    """Prints numbers of other plugins, by their names in ``trainer.stats``."""

    alignment = 4
    separator = "#" * 80

    def __init__(self, fields: list[str], interval: Interval | None = None) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")] if interval is None else interval)
        self.field_widths: dict[str, dict[str, int]] = defaultdict(dict)
        self.fields = [field.split(".") for field in fields]

    def register(self, trainer: Any) -> None:
        """Get to know the trainer."""
        self.trainer = trainer

    def log(self, message: str) -> None:
        """Print a line."""
        print(message)

    def _log_all(self, kind: str, prefix: str = "") -> None:
        parts = []
        for path in self.fields:
            stat: Any = self.trainer.stats
            for name in path:
                stat = stat.get(name, {}) if isinstance(stat, dict) else {}
            if isinstance(stat, dict):
                formats = stat.get(kind, [])
                text = "".join(f.format(**stat) for f in formats)
            else:
                text = str(stat)
            if text:
                parts.append(f"{'.'.join(path)}: {text}")
        if parts:
            self.log(prefix + "\t".join(parts))

    def iteration(self, *args: Any) -> None:
        """Print the numbers of an iteration."""
        self._log_all("log_iter_fields")

    def epoch(self, epoch_idx: int) -> None:
        """Print the numbers of an epoch."""
        self.log(self.separator)
        self._log_all("log_epoch_fields", f"Epoch summary {epoch_idx}: ")
        self.log(self.separator)
