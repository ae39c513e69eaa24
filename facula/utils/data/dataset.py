"""Datasets: what gives samples by index, or one after the other."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import facula
from facula import Tensor
from facula._notes import note
from facula._warnings import warn_user

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: a subclass has ``__getitem__``, and usually ``__len__``.

    A dataset may also have ``__getitems__(indices)``, which returns the list of the samples of a
    batch and is then what a loader calls.

    Example:
        >>> from facula.utils.data import Dataset
        >>> class Squares(Dataset):
        ...     def __len__(self):
        ...         return 10
        ...     def __getitem__(self, index):
        ...         return index**2
        >>> Squares()[3]
        9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__}: a Dataset needs a __getitem__(index).")

    def __add__(self, other: Dataset[T_co]) -> Dataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples one after the other: a subclass has ``__iter__``.

    Every worker of a loader iterates over the whole; :func:`get_worker_info` tells it which share
    is its own. With ``state_dict`` and ``load_state_dict``, a loader that goes on in the middle of
    an epoch restores the dataset instead of reading again what was read.

    Example:
        >>> from facula.utils.data import DataLoader, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(5))
        >>> list(DataLoader(Count(), batch_size=3))
        [tensor([0, 1, 2]), tensor([3, 4])]
    """

    def __add__(self, other: Dataset[T_co]) -> Dataset[T_co]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of equal length; a sample has one row of each.

    Args:
        tensors: tensors of one first size; sample i has the i-th part of each.
        older: ``data_tensor`` and ``target_tensor``, as the two tensors were called once.

    Example:
        >>> from facula.utils.data import TensorDataset
        >>> TensorDataset(facula.arange(6).view(3, 2), facula.arange(3))[1]
        (tensor([2, 3]), tensor(1))
    """

    def __init__(self, *tensors: Tensor, **older: Tensor) -> None:
        if older:
            if older.keys() - {"data_tensor", "target_tensor"} or len(tensors) + len(older) > 2:
                raise TypeError(
                    f"TensorDataset: expected tensors without names, got {', '.join(older)}."
                )
            note("TensorDataset(data_tensor=x, target_tensor=y) is now TensorDataset(x, y).")
            tensors = *tensors, *(older[name] for name in sorted(older))
        sizes = [tensor.size(0) for tensor in tensors]
        if len(set(sizes)) > 1:
            shapes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
            raise AssertionError(f"TensorDataset: expected tensors of one length, got {shapes}.")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])  # a generator would take longer

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))

    @property
    def data_tensor(self) -> Tensor:
        """The older name of ``tensors[0]``."""
        note("TensorDataset.data_tensor is now tensors[0].")
        return self.tensors[0]

    @property
    def target_tensor(self) -> Tensor:
        """The older name of ``tensors[1]``."""
        note("TensorDataset.target_tensor is now tensors[1].")
        return self.tensors[1]


class StackDataset(Dataset[Any]):
    """Datasets of equal length side by side; a sample is the tuple, or dict, of theirs.

    Args:
        args: datasets whose samples become tuples; or none, and keywords.
        kwargs: datasets by name, whose samples become dicts.

    Example:
        >>> from facula.utils.data import StackDataset
        >>> StackDataset(image=["a", "b"], label=[0, 1])[1]
        {'image': 'b', 'label': 1}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "StackDataset: expected datasets either in order or by name, got both."
            )
        if not args and not kwargs:
            raise ValueError("StackDataset: expected at least one dataset.")
        self.datasets: Any = kwargs or args
        parts = self._parts()
        lengths = [len(part) for part in parts]
        if len(set(lengths)) > 1:
            raise ValueError(f"StackDataset: expected datasets of one length, got {lengths}.")
        self._length = lengths[0]

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, parts: Sequence[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, parts, strict=True))
        return tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([part[index] for part in self._parts()])

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        columns = [samples_of(part, indices) for part in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"StackDataset: expected __getitems__ of {len(indices)} indices to return as "
                    f"many samples, got {len(column)}."
                )
        return [self._sample(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


def items_getter(dataset: Any) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """What gives all samples of some indices at once, if the dataset has that."""
    if type(dataset) is Subset and items_getter(dataset.dataset) is None:
        return None  # one by one, an error can name its sample
    return getattr(dataset, "__getitems__", None)


def samples_of(dataset: Any, indices: Sequence[Any]) -> Sequence[Any]:
    get_items = items_getter(dataset)
    return [dataset[i] for i in indices] if get_items is None else get_items(indices)


class ConcatDataset(Dataset[T_co]):
    """Datasets one behind the other, with one index over all.

    Args:
        datasets: the datasets, in their order.

    Example:
        >>> from facula.utils.data import ConcatDataset
        >>> ConcatDataset(["ab", "cde"])[3]
        'd'
    """

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The number of samples up to and with each dataset."""
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: expected at least one dataset.")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise AssertionError(
                    "ConcatDataset: expected datasets with indices, got an IterableDataset. "
                    "ChainDataset takes those."
                )
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    f"ConcatDataset: index {index} is before the first of {len(self)} samples."
                )
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        if which == len(self.datasets):
            raise IndexError(f"ConcatDataset: index {index} is behind the last of {len(self)}.")
        sample: T_co = self.datasets[which][
            index - (self.cumulative_sizes[which - 1] if which else 0)
        ]
        return sample

    @property
    def cummulative_sizes(self) -> list[int]:
        """An old spelling of ``cumulative_sizes``."""
        warn_user(
            "ConcatDataset: cummulative_sizes is now cumulative_sizes.",
            DeprecationWarning,
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after the other.

    Args:
        datasets: the datasets to iterate over, one after another.

    Example:
        >>> from facula.utils.data import ChainDataset, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(2))
        >>> list(Count() + Count())
        [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        # While it goes, not at construction: the datasets may be a generator, or endless.
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    "ChainDataset: expected iterable datasets, got "
                    f"{type(dataset).__name__}. ConcatDataset takes those with indices."
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    Args:
        dataset: the dataset to choose from.
        indices: the indices of the samples that are chosen, in their order.

    Example:
        >>> from facula.utils.data import Subset
        >>> Subset("abcd", [3, 0])[0]
        'd'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            sample: T_co = self.dataset[[self.indices[i] for i in index]]
        else:
            sample = self.dataset[self.indices[index]]
        return sample

    def __getitems__(self, indices: Sequence[int]) -> Sequence[T_co]:
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any,
    lengths: Sequence[int | float],
    generator: facula.Generator | None = None,
) -> list[Subset[Any]]:
    """Cut a dataset into parts that have no sample in common.

    Args:
        dataset: the dataset to cut into parts.
        lengths: the sizes of the parts, which add up to the size of the dataset; or fractions
            that add up to 1, where samples left over go to the first parts, one each.
        generator: where the permutation comes from; the default generator otherwise.

    Example:
        >>> from facula.utils.data import random_split
        >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
        [7, 3]
    """
    n_samples = len(dataset)
    # Not above 1, not even by rounding: more samples than there are would be given out.
    is_fractions = math.isclose(sum(lengths), 1) and sum(lengths) <= 1
    sizes: list[Any] = _sizes_of(lengths, n_samples) if is_fractions else list(lengths)
    if sum(sizes) != n_samples:
        raise ValueError(
            f"random_split: expected lengths that add up to the {n_samples} samples or, as "
            f"fractions, to 1, got {list(lengths)}."
        )
    order = facula.randperm(n_samples, generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def _sizes_of(fractions: Sequence[float], n_samples: int) -> list[int]:
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"random_split: expected fractions in [0, 1], got {fraction} at {i}.")
    sizes = [int(n_samples * fraction) for fraction in fractions]
    # What rounding down has left goes round, as in PyTorch: the parts then have its samples.
    for i in range(n_samples - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warn_user(f"random_split: part {i} has no samples.")
    return sizes
