"""Batches of sequences that differ in length: padded, or packed without the padding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import facula
from facula._core import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of a batch without padding, step by step. The recurrent layers take it as input.

    :func:`pack_padded_sequence` and :func:`pack_sequence` make one.

    Args:
        data: the elements of the first step of all sequences, then those of the second step, and
            so on; longer sequences come first.
        batch_sizes: for each step the number of sequences that are that long, int64 on the CPU.
        sorted_indices: where the sequences were in the batch before they were sorted by length.
        unsorted_indices: the inverse of ``sorted_indices``, from which it is made by default.

    Example:
        >>> from facula.nn.utils.rnn import pack_sequence
        >>> pack_sequence([facula.tensor([1, 2, 3]), facula.tensor([4])]).data
        tensor([1, 4, 2, 3])
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError(
                    "PackedSequence: expected data and batch_sizes, or a pair of both, got data "
                    f"of type {type(data).__name__} alone."
                )
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"PackedSequence: expected batch_sizes on the CPU, got {batch_sizes.device}. "
                "pack_sequence and pack_padded_sequence make it so."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """``data`` on another device or in another dtype; arguments as for ``Tensor.to``.

        The indices follow to the device, ``batch_sizes`` stays on the CPU.
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (
            None if index is None else index.to(data.device)
            for index in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, *indices)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> PackedSequence:
        """The sequences in a GPU's memory."""
        return self.to("cuda" if device is None else device, non_blocking=non_blocking)

    def cpu(self) -> PackedSequence:
        """The sequences in the computer's own memory."""
        return self.to("cpu")

    def double(self) -> PackedSequence:
        """The sequences as float64."""
        return self.to(facula.float64)

    def float(self) -> PackedSequence:
        """The sequences as float32."""
        return self.to(facula.float32)

    def half(self) -> PackedSequence:
        """The sequences as float16."""
        return self.to(facula.float16)

    def long(self) -> PackedSequence:
        """The sequences as int64."""
        return self.to(facula.int64)

    def int(self) -> PackedSequence:
        """The sequences as int32."""
        return self.to(facula.int32)

    def short(self) -> PackedSequence:
        """The sequences as int16."""
        return self.to(facula.int16)

    def char(self) -> PackedSequence:
        """The sequences as int8."""
        return self.to(facula.int8)

    def byte(self) -> PackedSequence:
        """The sequences as uint8."""
        return self.to(facula.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the sequences are in a GPU's memory."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the sequences are in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another; ``None`` for ``None``.

    Example:
        >>> from facula.nn.utils.rnn import invert_permutation
        >>> invert_permutation(facula.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    positions = facula.arange(permutation.numel(), device=permutation.device)
    return facula.empty_like(permutation).scatter_(0, permutation, positions)


def _as_lengths(lengths: Any) -> Tensor:
    """Lengths as int64 on the CPU, in one dimension."""
    if isinstance(lengths, Tensor):
        result = lengths.to(facula.int64)
    else:
        result = facula.as_tensor([int(length) for length in lengths], dtype=facula.int64)
    if result.dim() != 1 or result.device.type != "cpu":
        raise RuntimeError(
            "pack_padded_sequence: expected lengths in one dimension on the CPU, got a tensor of "
            f"shape {tuple(result.shape)} on {result.device}."
        )
    return result


def _check_lengths(lengths: list[int], n_steps: int, batch: int, enforce_sorted: bool) -> None:
    if batch == 0 or n_steps == 0:
        raise RuntimeError(
            "pack_padded_sequence: there is nothing to pack in an input of "
            f"{n_steps} steps and {batch} sequences."
        )
    if len(lengths) != batch:
        raise RuntimeError(
            f"pack_padded_sequence: expected {batch} lengths, one for each sequence of the batch, "
            f"got {len(lengths)}."
        )
    for i, length in enumerate(lengths):
        if not 0 < length <= n_steps:
            raise RuntimeError(
                f"pack_padded_sequence: expected lengths from 1 to {n_steps}, the steps of the "
                f"input, got {length} at index {i}."
            )
        if enforce_sorted and i > 0 and length > lengths[i - 1]:
            raise RuntimeError(
                "pack_padded_sequence: expected lengths in decreasing order, got "
                f"{length} after {lengths[i - 1]} at index {i}. Pass enforce_sorted=False to have "
                "the sequences sorted."
            )


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | list[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Take the padding away from a batch of sequences.

    Args:
        input: the padded sequences.
        lengths: the length of each sequence, in decreasing order unless ``enforce_sorted`` is
            false; on the CPU if it is a tensor.
        batch_first: whether the batch is the first dimension of the input, and not the second.
        enforce_sorted: whether lengths that are not in decreasing order are refused; otherwise the
            sequences are sorted, and what is made of them comes back in the order they had.

    Shape:
        input ``(T, B, *)``, or ``(B, T, *)`` with ``batch_first``; ``data`` of the result
        ``(sum of the lengths, *)``.

    Example:
        >>> from facula.nn.utils.rnn import pack_padded_sequence
        >>> padded = facula.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
        >>> p = pack_padded_sequence(padded, [2, 1, 3], batch_first=True, enforce_sorted=False)
        >>> p.data, p.batch_sizes
        (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    if not isinstance(input, Tensor):
        raise TypeError(
            f"pack_padded_sequence: expected input to be a Tensor, got {type(input).__name__}."
        )
    lengths = _as_lengths(lengths)
    if input.dim() < 2:
        raise IndexError(
            "pack_padded_sequence: expected an input of at least 2 dimensions, steps and batch, "
            f"got one of shape {tuple(input.shape)}."
        )
    steps = input.transpose(0, 1) if batch_first else input
    _check_lengths(lengths.tolist(), steps.size(0), steps.size(1), enforce_sorted)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = facula.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        steps = steps.index_select(1, sorted_indices)
    n_steps = int(lengths[0])
    # Indexing with a mask takes elements row by row, here step by step: the order of a packed
    # sequence.
    mask = facula.arange(n_steps, device="cpu").unsqueeze(1) < lengths
    # How many elements a mask on meta chooses is not known: that of the CPU is asked.
    chosen = mask.nonzero(as_tuple=True) if input.is_meta else mask.to(input.device)
    data = steps[:n_steps][chosen]
    return PackedSequence(data, mask.sum(1), sorted_indices)


def _check_batch_sizes(sequence: PackedSequence) -> None:
    sizes = sequence.batch_sizes.tolist()
    is_falling = all(a >= b for a, b in zip(sizes, [*sizes[1:], 1], strict=True))
    if not is_falling or sum(sizes) != sequence.data.size(0):
        raise RuntimeError(
            "pad_packed_sequence: expected positive batch_sizes that do not grow and add up to the "
            f"{sequence.data.size(0)} rows of the data, got {sizes}."
        )


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The sequences of a packed batch, padded to one length, and their lengths.

    Undoes :func:`pack_padded_sequence`; sequences that it sorted come back in their first order.

    Args:
        sequence: the packed sequences.
        batch_first: whether the batch is the first dimension of the result, and not the second.
        padding_value: what shorter sequences are filled up with.
        total_length: the length to pad to, by default that of the longest sequence.

    Shape:
        results ``(T, B, *)``, or ``(B, T, *)`` with ``batch_first``, and ``(B,)``.

    Example:
        >>> from facula.nn.utils.rnn import pack_sequence, pad_packed_sequence
        >>> packed = pack_sequence([facula.tensor([1, 2, 3]), facula.tensor([4])])
        >>> pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 0, 0]]), tensor([3, 1]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    _check_batch_sizes(sequence)
    n_steps, batch = batch_sizes.size(0), int(batch_sizes[0])
    if total_length is None:
        total_length = n_steps
    elif total_length < n_steps:
        raise ValueError(
            f"pad_packed_sequence: expected a total_length of {n_steps} or more, since the longest "
            f"sequence has {n_steps} steps, got {total_length}."
        )
    mask = facula.arange(batch, device=batch_sizes.device) < batch_sizes.unsqueeze(1)
    padded = data.new_full((total_length, batch, *data.shape[1:]), padding_value)
    rows = mask.to(data.device)
    if total_length > n_steps:
        rows = facula.cat([rows, rows.new_zeros(total_length - n_steps, batch)])
    padded, lengths = padded.index_put((rows,), data), mask.sum(0)
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is None:
        return padded, lengths
    padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
    return padded, lengths[unsorted_indices.cpu()]


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of different lengths as one tensor, padded to the longest.

    Args:
        sequences: tensors that differ in their first dimension only.
        batch_first: whether the batch is the first dimension of the result, and not the second.
        padding_value: what shorter sequences are filled up with.
        padding_side: where padding goes: ``"right"``, after the end, or ``"left"``, before the
            beginning.

    Shape:
        sequences ``(L, *)``; result ``(T, B, *)``, or ``(B, T, *)`` with ``batch_first``.

    Example:
        >>> from facula.nn.utils.rnn import pad_sequence
        >>> pad_sequence([facula.tensor([1, 2, 3]), facula.tensor([4])], batch_first=True)
        tensor([[1, 2, 3],
                [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: expected sequences to be iterable, got {type(sequences).__name__}."
        )
    tensors = list(sequences)
    if not tensors:
        raise RuntimeError("pad_sequence: expected at least one sequence, got an empty list.")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"pad_sequence: expected padding_side to be 'left' or 'right', got {padding_side!r}."
        )
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"pad_sequence: expected Tensors, got {type(x).__name__} at index {i}.")
        if x.dim() == 0 or x.shape[1:] != tensors[0].shape[1:]:
            raise RuntimeError(
                "pad_sequence: expected sequences that differ in their first dimension only, got "
                f"shapes {tuple(tensors[0].shape)} and {tuple(x.shape)} at index {i}."
            )
    total = max(x.size(0) for x in tensors)
    padded = []
    for x in tensors:
        x = x.to(tensors[0].dtype)
        if x.size(0) < total:
            filler = x.new_full((total - x.size(0), *x.shape[1:]), padding_value)
            x = facula.cat([x, filler] if padding_side == "right" else [filler, x])
        padded.append(x)
    return facula.stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, each with its own length. Undoes :func:`pad_sequence`.

    Args:
        padded_sequences: the padded batch, which is not changed.
        lengths: the length of each sequence.
        batch_first: whether the batch is the first dimension of the input, and not the second.

    Shape:
        padded_sequences ``(T, B, *)``, or ``(B, T, *)`` with ``batch_first``; results ``(L, *)``.

    Example:
        >>> from facula.nn.utils.rnn import unpad_sequence
        >>> padded = facula.tensor([[1, 2, 3], [4, 0, 0]])
        >>> unpad_sequence(padded, facula.tensor([3, 1]), batch_first=True)
        [tensor([1, 2, 3]), tensor([4])]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    if len(lengths) != len(batch):
        raise ValueError(
            f"unpad_sequence: expected {len(batch)} lengths, one for each sequence of the batch, "
            f"got {len(lengths)}."
        )
    # Each is a copy, so that writing to a result does not change the batch.
    return [
        sequence[: max(length, 0)].clone()
        for sequence, length in zip(batch, lengths.tolist(), strict=True)
    ]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of different lengths as one packed batch.

    Args:
        sequences: tensors that differ in their first dimension only, the longest first unless
            ``enforce_sorted`` is false.
        enforce_sorted: whether sequences that are not in decreasing order of length are refused;
            otherwise they are sorted.

    Example:
        >>> from facula.nn.utils.rnn import pack_sequence
        >>> p = pack_sequence([facula.tensor([1, 2, 3]), facula.tensor([4, 5]), facula.tensor([6])])
        >>> p.data, p.batch_sizes
        (tensor([1, 4, 6, 2, 5, 3]), tensor([3, 2, 1]))
    """
    padded = pad_sequence(sequences)
    lengths = [x.size(0) for x in sequences]
    return pack_padded_sequence(padded, lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch. Undoes :func:`pack_sequence`.

    Example:
        >>> from facula.nn.utils.rnn import pack_sequence, unpack_sequence
        >>> unpack_sequence(pack_sequence([facula.tensor([1, 2, 3]), facula.tensor([4])]))
        [tensor([1, 2, 3]), tensor([4])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
