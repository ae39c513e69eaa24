"""Sizes, indices and devices at the edge of what can be counted: an error, and nothing written."""

import threading

import numpy as np
import pytest

import facula

HUGE = 2**63 - 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: facula.ones(4).resize_(2**62),
        lambda: facula.ones(8)[4:].resize_(2**61 - 2),
        lambda: facula.ones(4).resize_(2**61, memory_format=facula.contiguous_format),
        lambda: facula.empty_strided((2, 2), (2**62, 1)),
        lambda: facula.empty_strided((3,), (HUGE,)),
        lambda: facula.arange(5).split([HUGE, HUGE, 7]),
        lambda: facula.arange(0, -(2**63), -1),
        lambda: facula.arange(0, 1e30, 1, dtype=facula.int64),
    ],
)
def test_sizes_that_overflow_are_refused(call):
    with pytest.raises(RuntimeError):
        call()


@pytest.mark.parametrize("step", [HUGE, HUGE - 1, 2**62])
def test_a_step_beyond_the_end_takes_one_element(step):
    x = facula.arange(6.0).reshape(3, 2)
    assert x[::step].tolist() == [[0, 1]]
    assert x[1:, ::step].sum().item() == 6
    assert x[3::step].shape == (0, 2)
    x[::step] = 9
    assert x.tolist() == [[9, 9], [2, 3], [4, 5]]


def test_resize_in_a_format_grows_the_storage():
    x = facula.ones(1).expand(1000).resize_(1000, memory_format=facula.contiguous_format)
    assert x.untyped_storage().nbytes() >= 4000
    image = facula.ones(1, 1, 1, 1).expand(2, 3, 4, 5)
    image.resize_(2, 3, 4, 5, memory_format=facula.channels_last)
    assert image.untyped_storage().nbytes() >= 480
    assert image.is_contiguous(memory_format=facula.channels_last)


def test_resize_to_a_format_of_another_rank_changes_nothing():
    x = facula.ones(2, 3)
    with pytest.raises(RuntimeError, match="resize_: expected 4 dimensions"):
        x.resize_(5, 5, memory_format=facula.channels_last)
    assert x.shape == (2, 3)


@pytest.mark.parametrize("diagonal", [HUGE, -HUGE - 1])
def test_diagonals_far_outside(diagonal):
    x = facula.ones(3, 3)
    everything = {True: x.tril(diagonal), False: x.triu(diagonal)}
    assert everything[diagonal > 0].sum() == 9
    assert everything[diagonal < 0].sum() == 0


def test_a_refused_fill_writes_nothing():
    y = facula.zeros(4)
    with facula.no_grad():
        view = y[:2]
    with pytest.raises(RuntimeError, match="no_grad"):
        view.fill_(facula.tensor(2.0, requires_grad=True))
    assert y.tolist() == [0, 0, 0, 0]
    assert y.grad_fn is None


def test_nonzero_of_bools_with_other_bytes():
    x = facula.tensor([2, 0, 3], dtype=facula.uint8).view(facula.bool)
    assert x.nonzero().tolist() == [[0], [2]]


def test_nonzero_while_another_thread_writes():
    x, ones, zeros = facula.zeros(1 << 18), facula.ones(1 << 18), facula.zeros(1 << 18)
    is_done = threading.Event()

    def write():
        while not is_done.is_set():
            x.copy_(ones)
            x.copy_(zeros)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            found = x.nonzero()
            assert found.numel() == 0 or 0 <= found.min() <= found.max() < x.numel()
    finally:
        is_done.set()
        writer.join()


def test_writes_to_memory_that_elements_share_keep_their_order():
    index = np.random.default_rng(0).integers(0, 64, 4000)
    expected = np.zeros(127, np.int64)
    for start in index:
        expected[start : start + 64] += 1
    memory = facula.zeros(127, dtype=facula.int64)
    target = memory.as_strided((64, 64), (1, 1))
    target.index_put_(
        (facula.from_numpy(index),), facula.ones(64, dtype=facula.int64), accumulate=True
    )
    np.testing.assert_array_equal(memory.numpy(), expected)


def test_the_cpu_has_no_index():
    x = facula.zeros(3, device="cpu:0")
    assert x.device == facula.device("cpu")
    assert (x.fill_(1) + facula.ones(3).to(facula.device("cpu", 0))).tolist() == [2, 2, 2]


@pytest.mark.parametrize("a", [1e8, 1e10, 1e15])
def test_igamma_of_large_numbers_is_the_normal_distribution(a):
    distance = facula.tensor([-3.0, -1.0, 0.0, 1.0, 3.0], dtype=facula.float64)
    x = a + distance * a**0.5
    expected = 0.5 * facula.erfc(-distance / 2**0.5)
    result = facula.igamma(facula.full_like(x, a), x)
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=5 / a**0.5, atol=1 / a**0.5)
