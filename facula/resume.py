"""Trainings that go on exactly where they were stopped.

A checkpoint here is a file, as everywhere but in ``facula.utils.checkpoint``: PyTorch calls so what
computes activations again in backward.
"""

from __future__ import annotations

import os
import random
import re
import sys
from pathlib import Path
from typing import Any

import facula
from facula._warnings import warn_user
from facula.serialization import CheckpointError, load, save

__all__ = ["Checkpoints"]

_NAME = re.compile(r"step-(\d+)\.pt")


class Checkpoints:
    """A folder of checkpoints: everything that a training needs to go on as if never stopped.

    Each file has the states of the parts, the values given to :meth:`save`, and the state of every
    random generator: Python's, NumPy's, Facula's. Files are written all or nothing, so that a
    kill at any instant costs the steps since the last save and no more.

    Args:
        folder: where the files are; it is made if it is not there.
        keep_last: how many of the newest files to keep.
        best: ``"min"`` or ``"max"`` also keeps, as ``best.pt``, the file whose ``metric`` is the
            lowest or highest.
        parts: objects with ``state_dict`` and ``load_state_dict``, each by a name: the model, the
            optimizer, the scheduler, the scaler, and the loader for its place in the epoch.

    Example:
        >>> import tempfile
        >>> from facula import nn, optim
        >>> model = nn.Linear(2, 1)
        >>> parts = {"model": model, "optimizer": optim.AdamW(model.parameters())}
        >>> checkpoints = facula.resume.Checkpoints(tempfile.mkdtemp(), **parts)
        >>> checkpoints.restore() is None
        True
        >>> checkpoints.save(100, epoch=3)
        >>> checkpoints.restore()
        {'step': 100, 'metric': None, 'epoch': 3}
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        keep_last: int = 3,
        best: str | None = None,
        **parts: Any,
    ) -> None:
        if keep_last < 1:
            raise ValueError(f"Checkpoints: expected keep_last of at least 1, got {keep_last}.")
        if best not in (None, "min", "max"):
            raise ValueError(f"Checkpoints: expected best to be 'min' or 'max', got {best!r}.")
        for name, part in parts.items():
            if not hasattr(part, "state_dict") or not hasattr(part, "load_state_dict"):
                raise TypeError(
                    f"Checkpoints: expected {name} to have state_dict and load_state_dict, got "
                    f"{type(part).__name__}. Give plain values to save(step, {name}=...)."
                )
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._keep_last = keep_last
        self._best = best
        self._parts = parts

    def paths(self) -> list[Path]:
        """The files, from the oldest step to the newest."""
        found = ((_NAME.fullmatch(path.name), path) for path in self._folder.iterdir())
        return [path for _, path in sorted((int(m[1]), path) for m, path in found if m)]

    def save(self, step: int, *, metric: float | None = None, **values: Any) -> None:
        """Write the state of everything as that of ``step``, and remove what is too old.

        Args:
            step: how far the training is; the file with the highest step is the newest.
            metric: how good the model is, for ``best``.
            values: what else :meth:`restore` gives back: the epoch, the place in it, the history.
        """
        if self._best is not None and metric is None:
            raise ValueError(f"Checkpoints.save: best={self._best!r} needs the metric of the step.")
        content = {
            "values": {"step": step, "metric": metric, **values},
            "parts": {name: part.state_dict() for name, part in self._parts.items()},
            "random": _random_states(),
        }
        # The new file is whole before an old one is removed: there is always one to go on from.
        save(content, self._folder / f"step-{step:09d}.pt")
        if self._best is not None and self._is_better(metric):
            save(content, self._folder / "best.pt")
        for path in self.paths()[: -self._keep_last]:
            path.unlink()

    def _is_better(self, metric: Any) -> bool:
        try:
            # From the file, so that a training that was stopped goes on comparing. Mapped: the
            # tensors are not read for it.
            known = load(self._folder / "best.pt", mmap=True)["values"]["metric"]
        except (CheckpointError, FileNotFoundError):
            return True
        return bool(metric < known if self._best == "min" else metric > known)

    def restore(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any] | None:
        """Give every part and random generator its state of the newest file that is whole.

        A damaged file is passed over for the one before, with a warning.

        Args:
            path: another file to restore, such as ``best.pt``.

        Returns:
            What :meth:`save` was given, by name; None where there is no file.
        """
        # To the CPU: each part moves what it loads to where it is now, perhaps on another machine.
        content = self._newest() if path is None else load(path, map_location="cpu")
        if content is None:
            return None
        missing = set(self._parts) ^ set(content["parts"])
        if missing:
            raise KeyError(
                f"Checkpoints.restore: the file has the parts {sorted(content['parts'])}, and "
                f"{sorted(self._parts)} are to be restored."
            )
        for name, part in self._parts.items():
            part.load_state_dict(content["parts"][name])
        # Last: loading a part may draw random numbers.
        _set_random_states(content["random"])
        values: dict[str, Any] = content["values"]
        return values

    def _newest(self) -> Any:
        error: CheckpointError | None = None
        for path in reversed(self.paths()):
            try:
                return load(path, map_location="cpu")
            except CheckpointError as found:
                error = found
                warn_user(
                    f"Checkpoints.restore: {path} cannot be read, so the one before it is taken. "
                    f"({found})",
                )
        if error is not None:
            raise error
        return None


def _random_states() -> dict[str, Any]:
    cpu, *gpus = facula.random._get_states()
    states: dict[str, Any] = {"python": random.getstate(), "facula": cpu, "cuda": gpus}
    if "numpy" in sys.modules:  # else nobody has drawn from it
        states["numpy"] = sys.modules["numpy"].random.get_state()
    return states


def _set_random_states(states: dict[str, Any]) -> None:
    random.setstate(states["python"])
    facula.random._set_states([states["facula"], *states.get("cuda", [])])
    if "numpy" in states:
        import numpy

        numpy.random.set_state(states["numpy"])
