"""Fetching: from indices to a batch, the same for the caller, threads and processes."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import facula
from facula import Tensor, _core
from facula.utils.data._utils import random_streams
from facula.utils.data._utils.collate import complete, default_collate
from facula.utils.data.dataset import Subset, TensorDataset, items_getter

__all__ = ["Exhausted", "Fetcher", "Recipe"]


class Exhausted(Exception):
    """An iterable dataset has no more batches."""


@dataclass(frozen=True)
class Recipe:
    """What whoever fetches has to know about the loader."""

    dataset: Any
    collate_fn: Callable[[Any], Any]
    is_iterable: bool
    batch_size: int | None  # None: samples, not batches; 0: as many as a batch sampler says
    drop_last: bool


class Fetcher:
    """Makes the batches of one epoch that fall to one worker, or to the caller."""

    def __init__(self, recipe: Recipe, epoch_seed: int, worker: int = 0) -> None:
        self._recipe = recipe
        self._dataset = recipe.dataset
        self.collate = recipe.collate_fn
        self._seed = epoch_seed
        self._worker = worker
        self._n_fetched = 0
        # Shared memory in which a worker leaves the place, in its batch, of the sample that it is
        # fetching: when it is killed, the caller can say which sample that was.
        self.progress: Any = None
        self.failed_at: str | None = None
        self._iterator: Any = None
        self._is_ended = False  # what an iterable dataset says of its state then is of no use
        self._has_state = recipe.is_iterable and has_state(recipe.dataset)
        self._get_items = items_getter(recipe.dataset)
        self._gather = recipe.collate_fn is default_collate and _tensors_of(self._dataset)

    def seed_of(self, n: int) -> int:
        """The seed of batch ``n`` of the epoch; iterable datasets count the worker's own."""
        if self._recipe.is_iterable:
            n, seed = self._n_fetched, _core._mix_seeds(self._seed, self._worker)
        else:
            seed = self._seed
        return _core._mix_seeds(seed, n)

    def fetch(self, n: int, indices: Any) -> Any:
        """The batch; the streams of the process are as before."""
        knew_numpy = random_streams.knows_numpy()
        seed = self.seed_of(n)
        started = random_streams.start(seed)
        try:
            batch = self.fetch_in_thread(seed, n, indices)
        finally:
            random_streams.stop(started)
        if random_streams.knows_numpy() == knew_numpy or self._recipe.is_iterable:
            return batch
        # The dataset has just imported NumPy, whose stream was not started: again, with all three.
        return self.fetch(n, indices)

    def fetch_in_thread(self, seed: int, n: int, indices: Any) -> Any:
        """The batch, with Facula's stream alone: the others are shared with other threads."""
        self.failed_at = None
        _core._push_generator(seed)
        try:
            if self._recipe.is_iterable:
                return self._fetch_next()
            if self._recipe.batch_size is None:
                return self._fetch_sample(n, indices)
            return self._fetch_batch(n, indices)
        finally:
            _core._pop_generator()

    def _fetch_batch(self, n: int, indices: Sequence[Any]) -> Any:
        if self._gather and set(map(type, indices)) == {int}:
            return self._gathered(indices)
        dataset, progress = self._dataset, self.progress
        samples: Any = []
        try:
            if self._get_items is not None:
                samples = self._get_items(indices)
            elif progress is None:
                for index in indices:
                    samples.append(dataset[index])
            else:
                for k, index in enumerate(indices):
                    progress[0] = k
                    samples.append(dataset[index])
        except Exception as error:
            # The samples before the one that failed are in the list.
            failed = indices if self._get_items is not None else indices[len(samples)]
            self._locate(error, n, failed)
            raise
        try:
            return self.collate(samples)
        except RuntimeError as error:
            complete(error, indices=indices)
            raise

    def _gathered(self, indices: Sequence[int]) -> list[Tensor]:
        dataset: Any = self._dataset
        n_samples = len(dataset)
        for index in indices:
            if not -n_samples <= index < n_samples:
                raise _out_of_range(index, n_samples)
        while type(dataset) is Subset:
            indices, dataset = [dataset.indices[i] for i in indices], dataset.dataset
        where = facula.tensor(indices)
        return [tensor[where] for tensor in dataset.tensors]

    def _fetch_sample(self, n: int, index: Any) -> Any:
        try:
            sample = self._dataset[index]
        except Exception as error:
            self._locate(error, n, index)
            raise
        return self.collate(sample)

    def _locate(self, error: Exception, n: int, index: Any) -> None:
        what = f"sample {index!r}"
        if isinstance(index, list):
            what = f"one of {len(index)} samples, from {index[0]!r} to {index[-1]!r},"
        self.failed_at = f"{what} of batch {n}"
        if isinstance(error, StopIteration):  # would end the loop of the caller without a word
            raise RuntimeError(
                f"DataLoader: the dataset raised StopIteration for the index {index}."
            ) from error
        if (
            isinstance(error, IndexError)
            and type(index) is int
            and hasattr(self._dataset, "__len__")
        ):
            n_samples = len(self._dataset)
            if not -n_samples <= index < n_samples:
                raise _out_of_range(index, n_samples) from error

    def _samples(self) -> Any:
        """The next samples of an iterable dataset."""
        if self._iterator is None:
            self._iterator = iter(self._dataset)
        batch_size = self._recipe.batch_size
        if batch_size is None:
            for sample in self._iterator:
                return sample
            raise Exhausted
        samples = list(itertools.islice(self._iterator, batch_size))
        self._is_ended = len(samples) < batch_size
        if not samples or (self._recipe.drop_last and len(samples) < batch_size):
            raise Exhausted
        return samples

    def _fetch_next(self) -> Any:
        try:
            samples = self._samples()
        except Exhausted:
            raise
        except Exception:
            self.failed_at = f"batch {self._n_fetched} of the worker"
            raise
        self._n_fetched += 1
        return self.collate(samples)

    def state(self) -> Any:
        """The state of an iterable dataset that has one."""
        if not self._has_state:
            return None
        return {"dataset": self._dataset.state_dict(), "is_ended": self._is_ended}

    def resume(self, n_batches: int, state: Any) -> None:
        """Go to behind the first batches of an iterable dataset."""
        if state is not None:
            self._dataset.load_state_dict(state["dataset"])
            self._n_fetched = n_batches
            self._iterator = iter(()) if state["is_ended"] else None
        while self._n_fetched < n_batches:
            seed = self.seed_of(0)
            started = random_streams.start(seed)
            _core._push_generator(seed)
            try:
                self._samples()
                self._n_fetched += 1
            except Exhausted:
                return
            finally:
                _core._pop_generator()
                random_streams.stop(started)


def has_state(part: Any) -> bool:
    """Whether a sampler or dataset can say where it is."""
    if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
        return False
    # One that wants to be told something, such as litdata's, is for a loader that knows it.
    parameters = inspect.signature(part.state_dict).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in variadic for p in parameters)


def _tensors_of(dataset: Any) -> bool:
    # Rows of plain tensors are gathered all at once, which gives the same batch. With gradients or
    # subclasses it would not: their operations are seen by others, one sample at a time.
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return type(dataset) is TensorDataset and all(
        type(tensor) is Tensor and not tensor.requires_grad for tensor in dataset.tensors
    )


def _out_of_range(index: int, n_samples: int) -> IndexError:
    return IndexError(
        f"DataLoader: the sampler gave the index {index} for a dataset of {n_samples} samples."
    )


class _BaseDatasetFetcher:
    """What loaders of other packages fetch with: the samples as they are asked for, and no more."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool):
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.fetch")


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Samples by their indices."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        get_items = items_getter(self.dataset)
        if get_items is not None:
            return self.collate_fn(get_items(possibly_batched_index))
        return self.collate_fn([self.dataset[index] for index in possibly_batched_index])


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """The next samples of an iterable dataset; of a list of indices only the length counts."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool):
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        n_wanted = len(possibly_batched_index)
        samples = list(itertools.islice(self.dataset_iter, n_wanted))
        self.ended = len(samples) < n_wanted
        if not samples or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(samples)
