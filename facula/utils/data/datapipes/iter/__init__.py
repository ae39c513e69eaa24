"""Steps of pipes that give their samples one after another."""

from __future__ import annotations

import copy
import fnmatch
import functools
import os
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from facula import _core
from facula.utils.data._utils.collate import default_collate
from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import DataChunk, IterDataPipe
from facula.utils.data.sampler import SequentialSampler

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "FileLister",
    "FileOpener",
    "Filter",
    "Forker",
    "Grouper",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "Sampler",
    "ShardingFilter",
    "Shuffler",
    "StreamReader",
    "UnBatcher",
    "Zipper",
]


def _length(pipe: Any, name: str) -> int:
    try:
        return len(pipe)
    except TypeError:
        raise TypeError(f"{name} instance doesn't have valid length") from None


class IterableWrapper(IterDataPipe[Any]):
    """A pipe of what can be iterated over.

    Args:
        iterable: the samples.
        deepcopy: whether each pass begins with a copy of them.

    Example:
        >>> from facula.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([1, 2]))
        [1, 2]
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:  # files and generators have no copies
                source = self.iterable
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


class _Step(IterDataPipe[Any]):
    """A step whose samples are as many as those of the pipe before it."""

    datapipe: Any

    def __len__(self) -> int:
        return _length(self.datapipe, type(self).__name__)


@functional_datapipe("map")
class Mapper(_Step):
    """A function of each sample.

    Args:
        datapipe: the pipe before it.
        fn: the function.
        input_col: the part of a sample that the function takes: an index or key, or several.
        output_col: where the result goes; -1 appends it; by default in place of the input.
    """

    def __init__(
        self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None
    ) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("Mapper: output_col needs input_col.")
        self.datapipe, self.fn = datapipe, fn
        self.input_col, self.output_col = input_col, output_col

    def _apply(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        columns = self.input_col
        several = isinstance(columns, (list, tuple))
        result = self.fn(*[data[c] for c in columns]) if several else self.fn(data[columns])
        is_tuple = isinstance(data, tuple)
        parts: Any = list(data) if is_tuple else copy.copy(data)
        if self.output_col == -1:
            parts.append(result)
        elif self.output_col is not None:
            parts[self.output_col] = result
        elif several:
            parts[columns[0]] = result
            for column in sorted(columns[1:], reverse=True):
                del parts[column]
        else:
            parts[columns] = result
        return tuple(parts) if is_tuple else parts

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply(data)


@functional_datapipe("collate")
class Collator(Mapper):
    """Batches of tensors from lists of samples.

    Args:
        datapipe: the pipe before it.
        conversion: the function that collates.
        collate_fn: another name of ``conversion``.
    """

    def __init__(
        self,
        datapipe: Any,
        conversion: Callable[..., Any] | None = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(datapipe, collate_fn or conversion or default_collate)


@functional_datapipe("filter")
class Filter(IterDataPipe[Any]):
    """The samples of which a function is true.

    Args:
        datapipe: the pipe before it.
        filter_fn: the function.
        input_col: the part of a sample that the function takes: an index or key, or several.
    """

    def __init__(
        self, datapipe: Any, filter_fn: Callable[..., bool], input_col: Any = None
    ) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            columns = self.input_col
            if columns is None:
                is_kept = self.filter_fn(data)
            elif isinstance(columns, (list, tuple)):
                is_kept = self.filter_fn(*[data[c] for c in columns])
            else:
                is_kept = self.filter_fn(data[columns])
            if not isinstance(is_kept, bool):
                raise ValueError(
                    f"Filter: expected a bool from filter_fn, got {type(is_kept).__name__}."
                )
            if is_kept:
                yield data


@functional_datapipe("batch")
class Batcher(IterDataPipe[Any]):
    """Lists of samples.

    Args:
        datapipe: the pipe before it.
        batch_size: how many samples a list has.
        drop_last: whether a last list with fewer is left out.
        wrapper_class: the class of the lists.
    """

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: type = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError(f"Batcher: expected a batch_size of at least 1, got {batch_size}.")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        n = _length(self.datapipe, "Batcher")
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe[Any]):
    """The samples of lists.

    Args:
        datapipe: the pipe before it.
        unbatch_level: how many levels of lists are taken apart; -1 for all.
    """

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._samples(element, self.unbatch_level)

    def _samples(self, element: Any, level: int) -> Iterator[Any]:
        is_list = isinstance(element, list)
        if level == 0 or (level == -1 and not is_list):
            yield element
            return
        if not is_list:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the lists.")
        for item in element:
            yield from self._samples(item, level if level == -1 else level - 1)


@functional_datapipe("groupby")
class Grouper(IterDataPipe[Any]):
    """Lists of samples of the same key.

    Args:
        datapipe: the pipe before it.
        group_key_fn: gives the key of a sample.
        keep_key: whether pairs of key and list are given.
        buffer_size: how many samples wait at most.
        group_size: how many samples a list has at most.
        guaranteed_group_size: how many a list has at least that is given before the end.
        drop_remaining: whether smaller lists are left out where too many samples wait.
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError(
                "Grouper: group_size must be > 0 and <= buffer_size, got group_size="
                f"{group_size} and buffer_size={buffer_size}."
            )
        if guaranteed_group_size is not None and not 0 < guaranteed_group_size <= (group_size or 0):
            raise AssertionError(
                "Grouper: guaranteed_group_size must be > 0 and <= group_size and group_size must "
                f"be set, got guaranteed_group_size={guaranteed_group_size} and group_size="
                f"{group_size}."
            )
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size = buffer_size, group_size
        self.guaranteed_group_size = guaranteed_group_size or group_size
        self.drop_remaining = drop_remaining

    def __iter__(self) -> Iterator[Any]:
        groups: defaultdict[Any, list[Any]] = defaultdict(list)
        n_waiting = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups[key].append(sample)
            n_waiting += 1
            if self.group_size is not None and len(groups[key]) == self.group_size:
                n_waiting -= self.group_size
                yield self._given(key, groups.pop(key))
            if n_waiting == self.buffer_size:
                largest = max(groups, key=lambda k: len(groups[k]))
                members = groups.pop(largest)
                n_waiting -= len(members)
                least = self.guaranteed_group_size
                if least is not None and len(members) < least and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(members))
                if least is None or len(members) >= least:
                    yield self._given(largest, members)
        for key, members in groups.items():
            yield self._given(key, members)

    def _given(self, key: Any, members: list[Any]) -> Any:
        chunk = DataChunk(members)
        return (key, chunk) if self.keep_key else chunk


@functional_datapipe("shuffle")
class Shuffler(_Step):
    """The samples in random order, as far as a buffer reaches.

    Args:
        datapipe: the pipe before it.
        buffer_size: how many samples wait to be drawn.
        unbatch_level: how many levels of lists are taken apart first; -1 for all.
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise ValueError("Shuffler: buffer_size should be larger than 0")
        self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe
        self.buffer_size = buffer_size
        self._is_enabled = True
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        """Switch the order between random and that of the pipe before.

        Args:
            shuffle: whether it is random.
        """
        self._is_enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        """Set the seed of the next pass, which is drawn from the default generator otherwise.

        Args:
            seed: the seed.
        """
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._is_enabled:
            yield from self.datapipe
            return
        if self._seed is None:
            self._seed = _core.empty((), dtype=_core.int64).random_().tolist()
        draw = random.Random(self._seed)
        self._seed = None
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) == self.buffer_size:
                place = draw.randint(0, len(buffer) - 1)
                given, buffer[place] = buffer[place], sample
                yield given
            else:
                buffer.append(sample)
        while buffer:
            yield buffer.pop(draw.randint(0, len(buffer) - 1))


@functional_datapipe("concat")
class Concater(IterDataPipe[Any]):
    """Pipes one after another.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(_length(pipe, "Concater") for pipe in self.datapipes)


@functional_datapipe("zip")
class Zipper(IterDataPipe[Any]):
    """Tuples of the samples of several pipes, up to the end of the shortest.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(_length(pipe, "Zipper") for pipe in self.datapipes)


@functional_datapipe("mux")
class Multiplexer(IterDataPipe[Any]):
    """A sample of each pipe in turn, up to the end of the shortest.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(_length(p, "Multiplexer") for p in self.datapipes) * len(self.datapipes)


class _Branch(IterDataPipe[Any]):
    """One of several pipes that share the samples of another, which is read once."""

    def __init__(self, shared: _Shared, place: int) -> None:
        self.shared, self.place = shared, place

    def __iter__(self) -> Iterator[Any]:
        number = self.shared.begin(self.place)
        while True:
            try:
                yield self.shared.next(self.place, number)
            except StopIteration:
                return

    def __len__(self) -> int:
        return _length(self.shared.datapipe, "Forker")


class _Shared:
    """The samples that some branches have taken and others not yet."""

    def __init__(self, datapipe: Any, n: int, buffer_size: int, choose: Any) -> None:
        self.datapipe, self.buffer_size, self.choose = datapipe, buffer_size, choose
        self.n, self.n_passes = n, 0
        self._forget()

    def _forget(self) -> None:
        self.waiting: list[deque[Any]] = [deque() for _ in range(self.n)]
        self.source: Iterator[Any] | None = None
        self.begun: set[int] = set()

    def begin(self, place: int) -> int:
        # A branch that begins again begins a new pass of all.
        if self.source is None or place in self.begun:
            self._forget()
            self.source = iter(self.datapipe)
            self.n_passes += 1
        self.begun.add(place)
        return self.n_passes

    def __getstate__(self) -> dict[str, Any]:
        # An iterator cannot be pickled: the copy begins with a new pass.
        passing = ("waiting", "source", "begun")
        return {name: value for name, value in vars(self).items() if name not in passing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def next(self, place: int, number: int) -> Any:
        assert self.source is not None
        if number != self.n_passes:
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from "
                "one of the pipes of the same fork() or demux(). Begin all of them anew."
            )
        while not self.waiting[place]:
            sample = next(self.source)
            for branch in self.choose(sample):
                self.waiting[branch].append(sample)
            if self.buffer_size >= 0 and max(map(len, self.waiting)) > self.buffer_size:
                raise BufferError(
                    "DataPipe buffer overflow: one of the pipes is read much faster than another. "
                    f"The buffer holds {self.buffer_size} samples; -1 is without a limit."
                )
        return self.waiting[place].popleft()


class _Branching(IterDataPipe[Any]):
    """Makes several pipes in place of an object of its own."""


# The two ways to choose branches are functions of the module, so that branches can be pickled.
def _all_branches(places: Sequence[int], sample: Any) -> Sequence[int]:
    return places


def _branch_of_class(
    classifier_fn: Callable[[Any], int | None], n: int, drop_none: bool, sample: Any
) -> Sequence[int]:
    place = classifier_fn(sample)
    if place is None and drop_none:
        return ()
    if place is None or not 0 <= place < n:
        raise ValueError(
            f"Output of the classification fn should be between 0 and {n - 1}. {place} is returned."
        )
    return (place,)


@functional_datapipe("fork")
class Forker(_Branching):
    """Several pipes of the same samples.

    Args:
        datapipe: the pipe before them.
        num_instances: how many; one is the pipe itself, not a list.
        buffer_size: how many samples wait for the slowest at most; -1 for any number.
        copy: None, ``"shallow"`` or ``"deep"`` copies of the samples.
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        buffer_size: int = 1000,
        copy: str | None = None,
    ) -> Any:
        if num_instances < 1:
            raise ValueError(
                f"Expected `num_instances` larger than 0, but {num_instances} is found"
            )
        if num_instances == 1:
            return datapipe
        if copy not in (None, "shallow", "deep"):
            raise ValueError(f"Forker: expected copy=None, 'shallow' or 'deep', got {copy!r}.")
        choose = functools.partial(_all_branches, range(num_instances))
        shared = _Shared(datapipe, num_instances, buffer_size, choose)
        branches: list[Any] = [_Branch(shared, place) for place in range(num_instances)]
        if copy is not None:
            import copy as copies

            change = copies.copy if copy == "shallow" else copies.deepcopy
            branches = [branch.map(change) for branch in branches]
        return branches


@functional_datapipe("demux")
class Demultiplexer(_Branching):
    """Several pipes, each of the samples that a function gives it.

    Args:
        datapipe: the pipe before them.
        num_instances: how many.
        classifier_fn: gives the number of a sample's pipe, or None.
        drop_none: whether samples without a number are left out; else they are an error.
        buffer_size: how many samples wait for the slowest at most; -1 for any number.
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        if num_instances < 1:
            raise ValueError(
                f"Expected `num_instances` larger than 0, but {num_instances} is found"
            )
        choose = functools.partial(_branch_of_class, classifier_fn, num_instances, drop_none)
        shared = _Shared(datapipe, num_instances, buffer_size, choose)
        return [_Branch(shared, place) for place in range(num_instances)]


class Sampler(IterDataPipe[Any]):
    """What a sampler gives for a pipe.

    Args:
        datapipe: the pipe, which has a length.
        sampler: the class of the sampler.
        sampler_args: its arguments after the pipe.
        sampler_kwargs: its arguments by name.
    """

    def __init__(
        self,
        datapipe: Any,
        sampler: type = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.datapipe = datapipe
        self.sampler = sampler(datapipe, *(sampler_args or ()), **(sampler_kwargs or {}))

    def __iter__(self) -> Iterator[Any]:
        yield from self.sampler

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("sharding_filter")
class ShardingFilter(IterDataPipe[Any]):
    """Every n-th sample, for one of n workers.

    Args:
        source_datapipe: the pipe before it.
        sharding_group_filter: accepted for compatibility.
    """

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: Any = None
    ) -> None:
        """Say which of how many workers this is.

        Args:
            num_of_instances: the number of workers.
            instance_id: the number of this one.
            sharding_group: accepted for compatibility.
        """
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances"
                f"({num_of_instances})"
            )
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        for i, sample in enumerate(self.source_datapipe):
            if i % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        n = _length(self.source_datapipe, "ShardingFilter")
        return n // self.num_of_instances + (self.instance_id < n % self.num_of_instances)


@functional_datapipe("list_files")
class FileLister(IterDataPipe[str]):
    """The paths of files in folders, in alphabetical order.

    Args:
        root: a folder or a file, or several.
        masks: patterns of file names, such as ``"*.png"``.
        recursive: whether folders inside of them are looked into.
        abspath: whether paths are absolute.
        non_deterministic: whether the order is left to the system.
        length: what ``len`` says.
    """

    def __init__(
        self,
        root: str | Sequence[str] | IterDataPipe[str] = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        self.datapipe: Any = [root] if isinstance(root, str) else root
        self.masks = [masks] if isinstance(masks, str) else masks
        self.recursive, self.abspath = recursive, abspath
        self.non_deterministic, self.length = non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            start = os.path.abspath(root) if self.abspath else root
            if os.path.isfile(start):
                yield from [start] if self._is_wanted(os.path.basename(start)) else []
            else:
                yield from self._files_in(start)

    def _files_in(self, start: str) -> Iterator[str]:
        def refuse(error: OSError) -> None:  # which os.walk would pass over
            raise error

        for folder, folders, names in os.walk(start, onerror=refuse):
            if not self.recursive:
                folders.clear()
            if not self.non_deterministic:
                folders.sort()
                names.sort()
            yield from (os.path.join(folder, name) for name in names if self._is_wanted(name))

    def _is_wanted(self, name: str) -> bool:
        return any(not mask or fnmatch.fnmatch(name, mask) for mask in self.masks)

    def __len__(self) -> int:
        if self.length < 0:
            raise TypeError("FileLister instance doesn't have valid length")
        return self.length


@functional_datapipe("open_files")
class FileOpener(IterDataPipe[Any]):
    """Pairs of a path and the open file.

    Args:
        datapipe: paths.
        mode: how files are opened.
        encoding: how text is encoded.
        length: what ``len`` says.
    """

    def __init__(
        self,
        datapipe: Iterable[str],
        mode: str = "r",
        encoding: str | None = None,
        length: int = -1,
    ) -> None:
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self) -> Iterator[Any]:
        for path in self.datapipe:
            yield path, open(path, self.mode, encoding=self.encoding)  # noqa: SIM115

    def __len__(self) -> int:
        if self.length < 0:
            raise TypeError("FileOpener instance doesn't have valid length")
        return self.length


@functional_datapipe("read_from_stream")
class StreamReader(IterDataPipe[Any]):
    """Pairs of a path and what is read from its file, which is closed at its end.

    Args:
        datapipe: pairs of a path and an open file.
        chunk: how much is read at once; None for all.
    """

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[Any]:
        for path, stream in self.datapipe:
            with stream:
                while data := stream.read(self.chunk if self.chunk is not None else -1):
                    yield path, data
