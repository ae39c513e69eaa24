"""The loader: batches of a dataset, fetched in the caller, in threads or in processes."""

from __future__ import annotations

import abc
import multiprocessing
import multiprocessing.context
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

import facula
from facula._state_dict import check_keys
from facula._warnings import warn_user
from facula.utils import _pytree
from facula.utils.data._utils.collate import default_collate, default_convert
from facula.utils.data._utils.fetch import (
    Recipe,
    _BaseDatasetFetcher,
    _IterableDatasetFetcher,
    _MapDatasetFetcher,
)
from facula.utils.data._utils.iterators import CallerIterator, PoolIterator
from facula.utils.data._utils.order import IN_AN_EPOCH, Place
from facula.utils.data._utils.pin_memory import pin_memory
from facula.utils.data._utils.pipes import _sharding_worker_init_fn as _sharding_worker_init_fn
from facula.utils.data._utils.pipes import is_pipe, seed_pipes
from facula.utils.data._utils.worker import get_worker_info as get_worker_info
from facula.utils.data.dataset import IterableDataset
from facula.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    check_positive,
    draw_seed,
)

__all__ = ["DataLoader"]

T_co = TypeVar("T_co", covariant=True)

# Samplers and persistent workers were made with these: a change would reach only some of them.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
_DEFAULT_PREFETCH = 2


_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]


class _BaseDataLoaderIter(abc.ABC):  # noqa: B024
    """What all iterators over a loader are instances of, for those who ask.

    Ours have ways of their own. Loaders of other packages, such as torchdata's, derive their
    iterators from this: ``_next_data`` is theirs to write.
    """

    def __init__(self, loader: Any) -> None:
        self._dataset = loader.dataset
        self._shared_seed: int | None = None
        self._seed_pipes(loader)
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._world_size, self._rank = 1, 0
        self._pin_memory = loader.pin_memory and facula.cuda.is_available()
        self._pin_memory_device = "cuda" if self._pin_memory else None
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter: Any = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """Begin another epoch."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._seed_pipes(loader)

    def _seed_pipes(self, loader: Any) -> None:
        if is_pipe(self._dataset, "IterDataPipe"):
            self._shared_seed = draw_seed(loader.generator)
            seed_pipes(self._dataset, self._shared_seed)

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._next_data")

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        n_said = self._IterableDataset_len_called
        is_iterable = self._dataset_kind == _DatasetKind.Iterable
        if is_iterable and n_said is not None and self._num_yielded == n_said + 1:
            warn_user(
                f"DataLoader: the IterableDataset has a len() of {n_said}, and gives more than "
                "that. With several workers, each must give its own share."
            )
        return data


_SingleProcessDataLoaderIter = CallerIterator
_MultiProcessingDataLoaderIter = PoolIterator
for _iterator, _name in (
    (CallerIterator, "_SingleProcessDataLoaderIter"),
    (PoolIterator, "_MultiProcessingDataLoaderIter"),
):
    _BaseDataLoaderIter.register(_iterator)
    # Errors of Python say these names, which are the ones that users find explained.
    _iterator.__name__ = _iterator.__qualname__ = _name
    _iterator.__module__ = __name__


class _DatasetKind:
    """The two kinds of datasets, as a loader's ``_dataset_kind`` has them."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> _BaseDatasetFetcher:
        """What iterators that other packages write fetch with."""
        fetcher = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[None]):
    """None, without end: the sampler of a loader over an iterable dataset."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Batches of a dataset, in an order, by as many workers as wanted.

    The order of the samples is PyTorch's for the same seed. Random numbers that the dataset draws
    (from Facula, Python's ``random`` or NumPy) depend on the epoch and the place of the batch in
    it: the batches are the same, to the bit, for any number and type of workers, and the caller's
    own random numbers do not depend on them.

    :meth:`state_dict` says at any batch where the loader is; a loader that is given it by
    :meth:`load_state_dict` goes on with the rest of the epoch.

    Args:
        dataset: what has ``dataset[index]`` and ``len(dataset)``, or an :class:`IterableDataset`.
        batch_size: samples in a batch; None gives the samples themselves.
        shuffle: take the samples in random order, another one every epoch.
        sampler: any iterable over indices, which gives the order in place of ``shuffle``.
        batch_sampler: any iterable over lists of indices, in place of ``batch_size``, ``shuffle``,
            ``sampler`` and ``drop_last``.
        num_workers: how many workers fetch; with 0, the caller does.
        collate_fn: function that makes a batch of a list of samples; :func:`default_collate` by
            default.
        pin_memory: whether batches are copied to page-locked memory, from which
            ``batch.to("cuda", non_blocking=True)`` goes on beside the program. Warns where there
            is no GPU.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a batch of a worker; 0 waits as long as it takes.
        worker_init_fn: function that is called in each worker with its number.
        multiprocessing_context: how worker processes are started: ``"fork"``, ``"spawn"``,
            ``"forkserver"`` or a context.
        generator: where the order comes from; the default generator otherwise.
        prefetch_factor: batches that each worker is ahead; 2 by default.
        persistent_workers: keep the workers from one epoch to the next.
        pin_memory_device: accepted as in PyTorch; nothing depends on it.
        in_order: give the batches in their order; with False, as they come.
        worker_type: what workers are: ``"process"``, or ``"thread"`` for datasets that release the
            interpreter lock.

    Example:
        >>> from facula.utils.data import DataLoader, TensorDataset
        >>> data = TensorDataset(facula.arange(10).view(5, 2), facula.arange(5))
        >>> for x, y in DataLoader(data, batch_size=2, drop_last=True):
        ...     print(x.tolist(), y.tolist())
        [[0, 1], [2, 3]] [0, 1]
        [[4, 5], [6, 7]] [2, 3]
    """

    # PyTorch's name: loaders that repeat their sampler for ever set it to False, to exchange it.
    __initialized = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[Any] | Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: facula.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_type: str = "process",
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, worker_type)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = (
            _DEFAULT_PREFETCH if num_workers > 0 and prefetch_factor is None else prefetch_factor
        )
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.worker_type = worker_type

        is_iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if is_iterable else _DatasetKind.Map
        if is_pipe(dataset, "IterDataPipe"):
            from facula.utils.data.graph_settings import apply_shuffle_settings

            self.dataset = apply_shuffle_settings(dataset, shuffle)
            shuffle = None
        if self._is_iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError(
                "DataLoader: sampler gives the order, so shuffle cannot be given too. "
                "(sampler option is mutually exclusive with shuffle)"
            )
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler gives the batches, so batch_size, shuffle, sampler "
                    "and drop_last cannot be given too."
                )
            batch_size, drop_last = None, False
        elif batch_size is None:
            if drop_last:
                raise ValueError(
                    "DataLoader: without batches (batch_size=None) there is no last one, so "
                    "drop_last cannot be given too."
                )
        else:
            check_positive("DataLoader", "batch_size", batch_size)
        if sampler is None and not self._is_iterable:
            if shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not self._is_iterable:
            assert sampler is not None
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (
            default_collate if self._auto_collation else default_convert
        )

        self._device: facula.device | None = None
        self._draws: list[bool] = []  # see Note [Streams of threads]
        self._IterableDataset_len_called: int | None = None  # what the user was told
        self._iterator: PoolIterator | None = None  # kept with its workers, if they persist
        self._place: Place | None = None  # where the latest iterator is
        self._resume: dict[str, Any] | None = None  # what the next iterator starts from
        self.__initialized = True  # from here on __setattr__ refuses what is fixed

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and self.__initialized:
            raise ValueError(f"DataLoader: {name} cannot be changed. Make another loader.")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The context that worker processes are started by."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError("DataLoader: multiprocessing_context needs num_workers > 0.")
            methods = multiprocessing.get_all_start_methods()
            if isinstance(context, str):
                if context not in methods:
                    raise ValueError(
                        f"DataLoader: expected multiprocessing_context to be one of {methods}, "
                        f"got {context!r}."
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "DataLoader: expected multiprocessing_context to be a context or one of "
                    f"{methods}, got {context!r}."
                )
        self._context = context

    @property
    def _is_iterable(self) -> bool:
        return self._dataset_kind == _DatasetKind.Iterable

    @property
    def _auto_collation(self) -> bool:
        return self.batch_size is not None or self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        order = self.sampler if self.batch_sampler is None else self.batch_sampler
        if order is not None:
            return order
        # Of an iterable dataset, which derived iterators ask all the same.
        nothing: Sampler[Any] = _InfiniteConstantSampler()
        if self.batch_size is None:
            return nothing
        return BatchSampler(nothing, self.batch_size, self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory and not facula.cuda.is_available():
            warn_user("DataLoader: pin_memory=True does nothing, since there is no GPU.")
        if self.num_workers == 0 and self.timeout > 0:
            raise AssertionError("DataLoader: a timeout needs num_workers > 0.")
        if not self.persistent_workers:
            return self._get_iterator()  # type: ignore[no-any-return]
        if self._iterator is None or self._iterator.is_closed:
            self._iterator = self._get_iterator()
        else:
            self._iterator.begin_epoch(self)
        return self._iterator

    def _get_iterator(self) -> Any:
        """A new iterator, which loaders derived from this one call for or replace."""
        return CallerIterator(self) if self.num_workers == 0 else PoolIterator(self)

    def check_worker_number_rationality(self) -> None:
        """Warn of more workers than there are cores; loaders derived from this one ask for it.

        Example:
            >>> from facula.utils.data import DataLoader
            >>> DataLoader(range(4), num_workers=1).check_worker_number_rationality()
        """
        n_cores = len(os.sched_getaffinity(0))
        if self.num_workers > n_cores:
            warn_user(
                f"This DataLoader will create {self.num_workers} worker processes in total, and "
                f"this process may use {n_cores} cores: fewer workers may be faster."
            )

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def to(self, device: Any) -> DataLoader[T_co]:
        """Let the tensors of all batches be on this device.

        Example:
            >>> from facula.utils.data import DataLoader
            >>> next(iter(DataLoader(range(4), batch_size=4).to("cpu"))).device
            device(type='cpu')
        """
        self._device = facula.device(device)
        return self

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iterator over the loader is: after its batches that were taken.

        What workers have fetched ahead does not count. The state can be saved with
        :func:`facula.save`, and loaded by a loader with another number of workers; for an
        :class:`IterableDataset`, whose workers have their shares, the number must be the same.

        Example:
            >>> from facula.utils.data import DataLoader
            >>> loader = DataLoader(range(4), batch_size=2)
            >>> batch = next(iter(loader))
            >>> other = DataLoader(range(4), batch_size=2)
            >>> other.load_state_dict(loader.state_dict())
            >>> list(other)
            [tensor([2, 3])]
        """
        if self._resume is not None:  # loaded, and no iterator has begun with it yet
            return self._resume
        place = self._place
        # Between epochs there is no place: the order of the next one is for the generators to say.
        if place is None or place.is_finished:
            return {
                "is_inside": False,
                "generators": {role: g.get_state() for role, g in self._generators().items()},
                "base_seed": place.base_seed if place else None,
                "epoch": place.epoch if place else 0,
            }
        return {"is_inside": True, "batch_size": self.batch_size, **place.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on, with the next iterator, from where :meth:`state_dict` was called."""
        op = "DataLoader.load_state_dict"
        check_keys(op, "the state", state_dict, ("is_inside", "generators", "base_seed", "epoch"))
        state = dict(state_dict)
        if state["is_inside"]:
            check_keys(op, "the state", state, IN_AN_EPOCH)
        n_workers = state.get("num_workers", self.num_workers)
        if state["is_inside"] and self._is_iterable != state["is_iterable"]:
            raise ValueError(
                "DataLoader.load_state_dict: the state is that of a loader of "
                f"{'an iterable' if state['is_iterable'] else 'a map-style'} dataset, and this "
                "one's is not."
            )
        if state["is_inside"] and self._is_iterable and n_workers != self.num_workers:
            raise ValueError(
                "DataLoader.load_state_dict: workers of an IterableDataset have their shares of "
                f"it, so the middle of an epoch of {n_workers} workers cannot go on with "
                f"{self.num_workers}."
            )
        batch_size = state.get("batch_size", self.batch_size)
        if state["is_inside"] and batch_size != self.batch_size:
            raise ValueError(
                "DataLoader.load_state_dict: the middle of an epoch in batches of "
                f"{batch_size} cannot go on in batches of {self.batch_size}: samples would be "
                "left out or come twice."
            )
        generators = self._generators()
        if set(generators) != set(state["generators"]):
            raise ValueError(
                "DataLoader.load_state_dict: the state has the generators "
                f"{sorted(state['generators'])}, and this loader {sorted(generators)}."
            )
        if not state["is_inside"]:
            for role, generator in generators.items():  # all or none: one may refuse its state
                facula.Generator(generator.device).set_state(state["generators"][role])
            for role, generator in generators.items():
                generator.set_state(state["generators"][role])
        self._resume = state

    def _generators(self) -> dict[str, facula.Generator]:
        """The generators that the order comes from, besides the default one."""
        owners = {"loader": self, **self._samplers()}
        found = {role: getattr(owner, "generator", None) for role, owner in owners.items()}
        return {role: g for role, g in found.items() if isinstance(g, facula.Generator)}

    def _samplers(self) -> dict[str, Any]:
        """All that has a part in the order."""
        found = {
            "batch_sampler": self.batch_sampler,
            "batch_sampler.sampler": getattr(self.batch_sampler, "sampler", None),
            "sampler": self.sampler,
        }
        return {role: sampler for role, sampler in found.items() if sampler is not None}

    def _recipe(self) -> Recipe:
        # Not the loader itself: it is pickled for each worker, with whatever a user hangs on it.
        batch_size = (self.batch_size or 0) if self._auto_collation else None
        return Recipe(self.dataset, self.collate_fn, self._is_iterable, batch_size, self.drop_last)

    def _finished(self, batch: Any) -> Any:
        """What is done to a batch before it is handed out."""
        is_pinned = self.pin_memory and facula.cuda.is_available()
        if is_pinned:
            batch = pin_memory(batch)
        device = self._device
        if device is None:
            return batch

        def moved(part: Any) -> Any:
            is_tensor = isinstance(part, facula.Tensor)
            return part.to(device, non_blocking=is_pinned) if is_tensor else part

        return _pytree.tree_map(moved, batch)

    def _check_length(self, n_batches: int) -> None:
        """Tell the user of an iterable dataset that is longer than it says."""
        n_said = self._IterableDataset_len_called
        if n_said is not None and (n_batches - 1) * (self.batch_size or 1) >= n_said:
            self._IterableDataset_len_called = None  # warned of once
            warn_user(
                f"DataLoader: the IterableDataset has a len() of {n_said}, and gives more samples "
                "than that. With several workers, each must give its own share."
            )


def loader_like(other: Any) -> DataLoader[Any]:
    """A loader made of the attributes that PyTorch's iterators read of any object.

    fastai gives such an object to ``_SingleProcessDataLoaderIter``. Its ``_index_sampler`` is of
    batches where ``_auto_collation`` says so; ``_dataset_kind`` alone says how the dataset is read.
    """
    context = other.multiprocessing_context
    is_context = isinstance(context, multiprocessing.context.BaseContext)
    loader: DataLoader[Any] = DataLoader(
        other.dataset,
        batch_size=1 if other._auto_collation else None,
        sampler=None if other._auto_collation else other._index_sampler,
        batch_sampler=other._index_sampler if other._auto_collation else None,
        num_workers=other.num_workers,
        collate_fn=other.collate_fn,
        pin_memory=other.pin_memory,
        timeout=other.timeout,
        worker_init_fn=other.worker_init_fn,
        multiprocessing_context=context if is_context else None,  # not the module of that name
        generator=other.generator,
        prefetch_factor=other.prefetch_factor if other.num_workers else None,
        persistent_workers=other.persistent_workers,
    )
    loader._dataset_kind = other._dataset_kind
    return loader


def _check_workers(
    num_workers: Any, timeout: Any, prefetch_factor: Any, persistent: bool, worker_type: str
) -> None:
    if num_workers < 0:
        raise ValueError(f"DataLoader: expected num_workers of at least 0, got {num_workers}.")
    if timeout < 0:
        raise ValueError(f"DataLoader: expected a timeout of at least 0, got {timeout}.")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("DataLoader: prefetch_factor needs num_workers > 0.")
    if num_workers > 0 and prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(
            f"DataLoader: expected prefetch_factor of at least 1, got {prefetch_factor}."
        )
    if persistent and num_workers == 0:
        raise ValueError("DataLoader: persistent_workers needs num_workers > 0.")
    if worker_type not in ("process", "thread"):
        raise ValueError(
            f"DataLoader: expected worker_type 'process' or 'thread', got {worker_type!r}."
        )


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader: an IterableDataset has its own order, so {name} cannot be given, "
                f"got {value!r}."
            )
