"""The order of an epoch: which indices each batch has, and where in it a loader is."""

from __future__ import annotations

import itertools
import pickle
import random
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import facula
from facula import _core
from facula.utils.data._utils.fetch import has_state
from facula.utils.data._utils.pipes import is_pipe
from facula.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    draw_seed,
)

__all__ = ["Order", "Place"]

# Samplers that draw from Facula's generators alone.
_KNOWN_SAMPLERS = (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    range,
    list,
    tuple,
)


# The keys that a state has in the middle of an epoch.
IN_AN_EPOCH = ("streams", "is_iterable", "sampler", "n_taken", "ahead", "taken_from", "dataset")


@dataclass
class Place:
    """Where in which epoch an iterator is; it outlives the iterator."""

    start: dict[str, Any]
    base_seed: int
    epoch: int  # since the base seed was drawn: workers that persist keep it
    num_workers: int
    is_iterable: bool
    sampler_state: Any = None
    n_taken: int = 0  # batches from the first on that were taken, with none left out
    ahead: set[int] = field(
        default_factory=set
    )  # batches taken out of order, behind the first that was not
    taken_from: list[int] = field(default_factory=list)  # by worker
    dataset_states: list[Any] = field(default_factory=list)  # by worker
    is_finished: bool = False

    def seed(self) -> int:
        return _core._mix_seeds(self.base_seed, self.epoch)

    def note(self, n: int) -> None:
        """Batch ``n`` is taken."""
        if n == self.n_taken and not self.ahead:  # as nearly always
            self.n_taken += 1
            return
        self.ahead.add(n)
        while self.n_taken in self.ahead:
            self.ahead.remove(self.n_taken)
            self.n_taken += 1

    def state_dict(self) -> dict[str, Any]:
        return {
            "base_seed": self.base_seed,
            "epoch": self.epoch,
            "num_workers": self.num_workers,
            "is_iterable": self.is_iterable,
            **self.start,
            "sampler": self.sampler_state,
            "n_taken": self.n_taken,
            "ahead": sorted(self.ahead),
            "taken_from": list(self.taken_from),
            "dataset": list(self.dataset_states),
        }


class Order:
    """The indices of each batch of an epoch, from the place where it is resumed on."""

    def __init__(self, loader: Any, known_seed: int | None, epoch: int) -> None:
        state, loader._resume = loader._resume, None
        if state is not None and not state["is_inside"]:
            if loader.persistent_workers and known_seed is None and state["base_seed"] is not None:
                known_seed, epoch = state["base_seed"], state["epoch"] + 1
            state = None
        self.resumed = state
        self.pipe_seed: int | None = None
        samplers = loader._samplers().values()
        self._stateful = next((sampler for sampler in samplers if has_state(sampler)), None)
        self._states: dict[int, Any] = {}  # what the sampler's state was after each batch
        self._n = 0
        self._iterator: Any = itertools.repeat(None)
        if state is not None:  # an epoch that drew its seed draws it again, from the same state
            known_seed, epoch = state["base_seed"] if state["epoch"] else None, state["epoch"]
        if state is None:
            self.start = _snapshot(loader)
            sampler_state = self._stateful.state_dict() if self._stateful is not None else None
            base_seed = self._begin(loader, known_seed)
        else:
            self.start = {key: state[key] for key in ("generators", "streams")}
            sampler_state = state["sampler"]
            base_seed = self._begin_resumed(loader, known_seed, state)
        self.place = Place(
            self.start,
            base_seed,
            epoch,
            loader.num_workers,
            loader._is_iterable,
            sampler_state,
            taken_from=[0] * max(1, loader.num_workers),
            dataset_states=[None] * max(1, loader.num_workers),
        )
        if state is not None:
            self.place.n_taken = state["n_taken"]
            self.place.ahead = set(state["ahead"])
            if loader._is_iterable:  # the others may have other workers now
                self.place.taken_from = list(state["taken_from"])
                self.place.dataset_states = list(state["dataset"])
        loader._place = self.place

    def _begin(self, loader: Any, known_seed: int | None) -> int:
        # The order of the draws is PyTorch's: pipes, an eager sampler, the base seed, a lazy one.
        if is_pipe(loader.dataset, "IterDataPipe"):
            self.pipe_seed = draw_seed(loader.generator)
        if not loader._is_iterable:
            self._iterator = iter(loader._index_sampler)
        if known_seed is not None:
            return known_seed
        base_seed = draw_seed(loader.generator)
        if self.pipe_seed is not None and loader.num_workers > 0:
            draw_seed(loader.generator)  # another for pipes, which PyTorch's new workers never see
        return base_seed

    def _begin_resumed(self, loader: Any, known_seed: int | None, state: dict[str, Any]) -> int:
        streams = _read_streams(state["streams"])
        before = ()
        for role, generator in loader._generators().items():
            generator.set_state(state["generators"][role])
        _write_streams(state["streams"])
        try:
            if self._stateful is not None:
                self._stateful.load_state_dict(state["sampler"])
            base_seed = self._begin(loader, known_seed)
            self._n = state["n_taken"]
            if loader._is_iterable:
                return base_seed
            before = _plain(_read_streams(streams))
            n_left_out = 0 if self._stateful is not None else state["n_taken"]
            for _ in itertools.islice(self._iterator, n_left_out):
                pass
            # A sampler may draw at its first index, and must do it here, from the restored streams.
            first = list(itertools.islice(self._iterator, 1))
            self._iterator = itertools.chain(first, self._iterator)
            return base_seed
        finally:
            # A loader that was stopped before the sampler's first draw lets it count.
            if _plain(streams) != before:
                _write_streams(streams)

    def next(self) -> tuple[int, Any]:
        """The number and the indices of the next batch."""
        indices = next(self._iterator)
        n = self._n
        self._n += 1
        if self._stateful is not None:
            self._states[n] = self._stateful.state_dict()
        return n, indices

    def note(self, n: int) -> None:
        """Batch ``n`` is taken by the user."""
        before = self.place.n_taken
        self.place.note(n)
        if self._stateful is not None:
            for passed in range(before, self.place.n_taken):
                self.place.sampler_state = self._states.pop(passed, None)


def _snapshot(loader: Any) -> dict[str, Any]:
    """All that the order of an epoch comes from, at its start."""
    wanted: set[str] = set()
    if any(type(sampler) not in _KNOWN_SAMPLERS for sampler in loader._samplers().values()):
        wanted = {"python", "numpy"} if "numpy" in sys.modules else {"python"}
    generators = {role: g.get_state() for role, g in loader._generators().items()}
    return {"generators": generators, "streams": _read_streams(wanted)}


def _read_streams(like: Collection[str]) -> dict[str, Any]:
    streams: dict[str, Any] = {"facula": facula.get_rng_state()}
    if "python" in like:
        streams["python"] = random.getstate()
    if "numpy" in like:
        import numpy

        streams["numpy"] = numpy.random.get_state(legacy=False)
    return streams


def _plain(streams: dict[str, Any]) -> tuple[Any, ...]:
    # Arrays have no plain ==, and which ones NumPy's state has depends on its generator.
    return streams["facula"].tolist(), streams.get("python"), pickle.dumps(streams.get("numpy"))


def _write_streams(streams: dict[str, Any]) -> None:
    facula.set_rng_state(streams["facula"])
    if "python" in streams:
        random.setstate(streams["python"])
    if "numpy" in streams:
        import numpy

        numpy.random.set_state(streams["numpy"])
