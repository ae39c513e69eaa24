"""Samplers: the order in which a loader asks for samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import facula

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)

# RandomSampler draws with replacement in groups of PyTorch's size: the numbers are then PyTorch's.
_N_DRAWN = 32


class Sampler(Generic[T_co]):
    """Indices, or lists of indices, one after the other: a subclass has ``__iter__``.

    A sampler that has ``state_dict`` and ``load_state_dict`` is restored with them when a loader
    goes on in the middle of an epoch; the others are run up to the place.

    Example:
        >>> from facula.utils.data import DataLoader, Sampler
        >>> class Backwards(Sampler):
        ...     def __iter__(self):
        ...         return iter([2, 1, 0])
        >>> list(DataLoader("abc", sampler=Backwards(), batch_size=None))
        ['c', 'b', 'a']
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__}: a Sampler needs an __iter__().")


def check_positive(what: str, name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(
            f"{what}: expected {name} to be a positive int, got {value!r}. "
            f"({name} should be a positive integer value)"
        )


class SequentialSampler(Sampler[int]):
    """The indices in their order.

    Args:
        data_source: the dataset, of which only the length is asked.

    Example:
        >>> from facula.utils.data import SequentialSampler
        >>> list(SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices in random order, another one every time.

    Args:
        data_source: the dataset whose indices are drawn.
        replacement: draw each index from all, so that some come twice and others not at all.
        num_samples: how many indices to draw; the size of the dataset by default.
        generator: where the numbers come from. By default a generator of its own, seeded by the
            default generator at the start of each iteration.

    Example:
        >>> from facula.utils.data import RandomSampler
        >>> sorted(RandomSampler("abc"))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: facula.Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: expected replacement to be a bool, got {replacement}.")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        check_positive("RandomSampler", "num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices one iteration gives."""
        # The size of the dataset may change between two iterations.
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = facula.Generator().manual_seed(draw_seed(None))
        group = _N_DRAWN if self.replacement else n
        n_groups, n_left = divmod(self.num_samples, group)
        # The last group is drawn even for n_left == 0: a given generator then ends where
        # PyTorch's would.
        for n_wanted in itertools.chain(itertools.repeat(group, n_groups), [n_left]):
            if self.replacement:
                drawn = facula.randint(high=n, size=(n_wanted,), generator=generator)
            else:
                drawn = facula.randperm(n, generator=generator)[:n_wanted]
            yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


def draw_seed(generator: facula.Generator | None) -> int:
    """A seed of 63 bits from this generator, or from the default one."""
    seed: Any = facula.empty((), dtype=facula.int64).random_(generator=generator).item()
    return int(seed)


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    Args:
        indices: the indices to draw, each once.
        generator: the source of the random order; None for the default one.

    Example:
        >>> from facula.utils.data import SubsetRandomSampler
        >>> sorted(SubsetRandomSampler([2, 4, 8]))
        [2, 4, 8]
    """

    def __init__(self, indices: Sequence[int], generator: facula.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in facula.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights, which need not add up to 1.

    Args:
        weights: how likely each sample of the dataset is, relative to the others.
        num_samples: how many indices to draw.
        replacement: whether an index may be drawn again.
        generator: where the numbers come from; the default generator otherwise.

    Example:
        >>> from facula.utils.data import WeightedRandomSampler
        >>> list(WeightedRandomSampler([0.0, 3.0, 0.0], 4))
        [1, 1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: facula.Generator | None = None,
    ) -> None:
        check_positive("WeightedRandomSampler", "num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"WeightedRandomSampler: expected replacement to be a bool, got {replacement}."
            )
        self.weights = facula.as_tensor(weights, dtype=facula.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                "WeightedRandomSampler: expected one weight for each sample, got weights of shape "
                f"{tuple(self.weights.shape)}."
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = facula.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Another sampler's indices in lists.

    Args:
        sampler: iterable that gives the indices, one by one.
        batch_size: how many indices a list has.
        drop_last: leave out a last list that is shorter.

    Example:
        >>> from facula.utils.data import BatchSampler
        >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        check_positive("BatchSampler", "batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: expected drop_last to be a bool, got {drop_last!r}.")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        n_samples = len(self.sampler)  # type: ignore[arg-type]
        return n_samples // self.batch_size if self.drop_last else -(-n_samples // self.batch_size)
