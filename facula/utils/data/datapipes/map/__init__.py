"""Steps of pipes that give their samples by index."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from facula import _core
from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, MapDataPipe

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe[Any]):
    """A pipe of a sequence or a mapping.

    Args:
        sequence: the samples.
        deepcopy: whether they are copied.

    Example:
        >>> from facula.utils.data.datapipes.map import SequenceWrapper
        >>> list(SequenceWrapper([1, 2, 3]).batch(2))
        [[1, 2], [3]]
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe[Any]):
    """A function of each sample.

    Args:
        datapipe: the pipe before it.
        fn: the function.
    """

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any]) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("concat")
class Concater(MapDataPipe[Any]):
    """Pipes one after another.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class Zipper(MapDataPipe[Any]):
    """Tuples of the samples of several pipes.

    Args:
        datapipes: the pipes.
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)


@functional_datapipe("batch")
class Batcher(MapDataPipe[Any]):
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

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        start = index * self.batch_size
        end = min(start + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(start, end)])

    def __len__(self) -> int:
        n = len(self.datapipe)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class Shuffler(IterDataPipe[Any]):
    """The samples in random order, one after another.

    Args:
        datapipe: the pipe before it.
        indices: the indices of its samples, by default 0 to its length.
    """

    def __init__(self, datapipe: Any, *, indices: Sequence[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else list(indices)
        self._is_enabled = True
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        """Switch the order between random and that of the indices.

        Args:
            shuffle: whether it is random.
        """
        self._is_enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        """Set the seed of the next pass.

        Args:
            seed: the seed.
        """
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        order = self.indices
        if self._is_enabled:
            if self._seed is None:
                self._seed = _core.empty((), dtype=_core.int64).random_().tolist()
            order = random.Random(self._seed).sample(self.indices, len(self.indices))
            self._seed = None
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


# Not by the mark, which would make it a method of pipes that have no index.
MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)
