"""Samplers of trainings in several processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import facula
from facula.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The share of one process of the indices of a dataset, the same number for each process.

    Args:
        dataset: the dataset that the processes share.
        num_replicas: how many processes there are.
        rank: which of the processes this one is, from 0.
        shuffle: give the indices in random order, the same in all processes.
        seed: seed of the random order, together with the epoch of :meth:`set_epoch`.
        drop_last: leave out the last samples where they are not enough for all processes;
            otherwise samples of the start are given twice.

    Example:
        >>> from facula.utils.data import DistributedSampler
        >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError(
                "DistributedSampler: expected num_replicas and rank, since no process group is "
                "initialised to take them from."
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler: expected a rank of 0 to {num_replicas - 1}, got {rank}."
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else -(-n // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        indices = list(range(n))
        if self.shuffle:
            # The same in all processes, which then take disjoint shares of one permutation.
            generator = facula.Generator().manual_seed(self.seed + self.epoch)
            indices = facula.randperm(n, generator=generator).tolist()
        # All processes must give the same number: one that ends early leaves the others waiting in
        # their exchange of gradients.
        if indices and self.total_size > n:
            indices = (indices * (-(-self.total_size // n)))[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the random order of this epoch; without it every epoch has the same."""
        self.epoch = epoch
