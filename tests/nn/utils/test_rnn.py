import pytest

import facula
from facula.nn.utils.rnn import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

pytestmark = pytest.mark.promise("N3")


def sequences(*lengths):
    return [facula.arange(10 * n, 11 * n) for n in lengths]


def test_packing_goes_step_by_step_through_the_sequences():
    packed = pack_sequence(sequences(3, 2, 1))
    assert packed.data.tolist() == [30, 20, 10, 31, 21, 32]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices is None
    assert packed.unsorted_indices is None


def test_sequences_are_sorted_on_request_and_come_back_in_their_order():
    packed = pack_sequence(sequences(1, 3, 2), enforce_sorted=False)
    assert packed.data.tolist() == [30, 20, 10, 31, 21, 32]
    assert packed.sorted_indices.tolist() == [1, 2, 0]
    assert packed.unsorted_indices.tolist() == [2, 0, 1]
    padded, lengths = pad_packed_sequence(packed, batch_first=True)
    assert padded.tolist() == [[10, 0, 0], [30, 31, 32], [20, 21, 0]]
    assert lengths.tolist() == [1, 3, 2]
    assert [x.tolist() for x in unpack_sequence(packed)] == [[10], [30, 31, 32], [20, 21]]


def test_steps_beyond_the_lengths_are_left_out():
    packed = pack_padded_sequence(facula.arange(8).view(4, 2), facula.tensor([2, 1]))
    assert packed.data.tolist() == [0, 1, 2]
    assert packed.batch_sizes.tolist() == [2, 1]


def test_padding_has_its_value_and_total_length():
    padded, lengths = pad_packed_sequence(pack_sequence(sequences(2, 1)), True, -1, total_length=4)
    assert padded.tolist() == [[20, 21, -1, -1], [10, -1, -1, -1]]
    assert lengths.tolist() == [2, 1]


@pytest.mark.parametrize(
    "side, expected", [("right", [[20, 21], [10, 0]]), ("left", [[20, 21], [0, 10]])]
)
def test_pad_sequence_fills_up_one_side(side, expected):
    xs = sequences(2, 1)
    assert pad_sequence(xs, batch_first=True, padding_side=side).tolist() == expected
    assert pad_sequence(xs, padding_side=side).t().tolist() == expected


def test_pad_sequence_has_the_dtype_of_the_first():
    padded = pad_sequence([facula.tensor([1.5]), facula.tensor([2, 3])])
    assert padded.dtype == facula.float32
    assert padded.tolist() == [[1.5, 2.0], [0.0, 3.0]]


def test_unpad_sequence_undoes_pad_sequence_and_leaves_the_batch_alone():
    xs = sequences(3, 1, 2)
    padded = pad_sequence(xs)
    before = padded.clone()
    parts = unpad_sequence(padded, facula.tensor([3, 1, 2]))
    assert [p.tolist() for p in parts] == [x.tolist() for x in xs]
    parts[0].zero_()
    assert facula.equal(padded, before)


def test_gradients_find_their_way_back():
    xs = [facula.ones(n, 2, requires_grad=True) for n in (1, 3)]
    packed = pack_sequence(xs, enforce_sorted=False)
    (packed.data * facula.arange(4).unsqueeze(1)).sum().backward()
    assert xs[0].grad.tolist() == [[1, 1]]
    assert xs[1].grad.tolist() == [[0, 0], [2, 2], [3, 3]]


def test_a_packed_sequence_converts_its_data_only():
    packed = pack_sequence(sequences(2, 3), enforce_sorted=False)
    assert packed.to(facula.int64) is packed
    for name, dtype in {
        "double": "float64",
        "float": "float32",
        "half": "float16",
        "int": "int32",
        "short": "int16",
        "char": "int8",
        "byte": "uint8",
    }.items():
        other = getattr(packed, name)()
        assert isinstance(other, PackedSequence)
        assert other.data.dtype == getattr(facula, dtype)
        assert other.batch_sizes.dtype == other.sorted_indices.dtype == facula.int64
    assert packed.long() is packed
    assert packed.cpu() is packed
    assert not packed.is_cuda
    assert not packed.is_pinned()


def test_a_packed_sequence_is_a_tuple_of_four():
    data, sizes = facula.arange(3), facula.tensor([2, 1])
    assert PackedSequence((data, sizes)).data is data
    packed = PackedSequence(data, sizes, facula.tensor([1, 0]))
    assert len(packed) == 4
    assert packed[3].tolist() == [1, 0]
    with pytest.raises(AssertionError, match="data and batch_sizes, or a pair of both"):
        PackedSequence(data)


def test_invert_permutation():
    assert invert_permutation(facula.tensor([2, 0, 1])).tolist() == [1, 2, 0]
    assert invert_permutation(None) is None
    with pytest.raises(RuntimeError, match="out of bounds for a dimension of size"):
        invert_permutation(facula.tensor([0, 5]))


padded = facula.zeros(4, 3, 2)


@pytest.mark.parametrize(
    "lengths, message",
    [
        ([4, 2, 0], "lengths from 1 to 4, the steps of the input, got 0 at index 2"),
        ([4, -2, 1], "got -2 at index 1"),
        ([5, 2, 1], "got 5 at index 0"),
        ([1, 2, 1], "decreasing order, got 2 after 1 at index 1. Pass enforce_sorted=False"),
        ([2, 1], "expected 3 lengths, one for each sequence of the batch, got 2"),
        (facula.tensor([[3, 2, 1]]), r"lengths in one dimension on the CPU, got .* \(1, 3\)"),
    ],
)
def test_wrong_lengths_are_refused(lengths, message):
    with pytest.raises(RuntimeError, match=message):
        pack_padded_sequence(padded, lengths)


def test_inputs_that_cannot_be_packed_are_refused():
    with pytest.raises(RuntimeError, match=r"nothing to pack in .* 4 steps and 0 sequences"):
        pack_padded_sequence(padded[:, :0], [])
    with pytest.raises(IndexError, match="at least 2 dimensions"):
        pack_padded_sequence(facula.zeros(3), [1, 1, 1])
    with pytest.raises(TypeError, match="expected input to be a Tensor, got list"):
        pack_padded_sequence([[1]], [1])


@pytest.mark.parametrize(
    "xs, error, message",
    [
        ([], RuntimeError, "at least one sequence, got an empty list"),
        (3, RuntimeError, "expected sequences to be iterable, got int"),
        ([[1, 2]], TypeError, "expected Tensors, got list at index 0"),
        (
            [facula.zeros(2, 3), facula.zeros(2, 4)],
            RuntimeError,
            r"\(2, 3\) and \(2, 4\) at index 1",
        ),
        ([facula.tensor(1.0)], RuntimeError, "differ in their first dimension only"),
    ],
)
def test_lists_that_cannot_be_padded_are_refused(xs, error, message):
    with pytest.raises(error, match=message):
        pad_sequence(xs)


def test_other_wrong_arguments_are_refused():
    packed = pack_sequence(sequences(3, 1))
    with pytest.raises(ValueError, match="longest sequence has 3 steps, got 2"):
        pad_packed_sequence(packed, total_length=2)
    with pytest.raises(RuntimeError, match=r"add up to the 4 rows of the data, got \[1, 2\]"):
        pad_packed_sequence(PackedSequence(packed.data, facula.tensor([1, 2])))
    with pytest.raises(RuntimeError, match="'left' or 'right', got 'top'"):
        pad_sequence(sequences(2), padding_side="top")
    with pytest.raises(ValueError, match="expected 3 lengths"):
        unpad_sequence(padded, facula.tensor([1, 2]))
