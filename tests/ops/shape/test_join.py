"""The written-out names of cat."""

import numpy as np
import pytest

import facula
from check_op import check_op


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["cat", "concat", "concatenate"])
def test_every_name_joins_along_a_dimension(name, dim):
    join = getattr(facula, name)
    check_op(
        lambda *xs: join(xs, dim),
        lambda *arrays: np.concatenate(arrays, dim),
        [(2, 3), (2, 3)],
        dtypes=["float16", "float32", "float64"],
    )
    assert join([facula.ones(1), facula.tensor([2])]).tolist() == [1, 2]
    with pytest.raises((RuntimeError, ValueError), match="cat"):
        join([])


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(5, 1, 3), (1, 3000), (3, 7, 1100), (70000, 3)])
def test_many_parts_of_different_lengths_are_joined(shape, dtype):
    """Parts that are short, long, and too long for one thread; as they are and with steps."""
    rng = np.random.default_rng(0)
    for dim in range(len(shape)):
        sizes = [list(shape) for _ in range(5)]
        for part, size in enumerate(sizes):
            size[dim] = shape[dim] * part % 7 + part
        arrays = [rng.integers(0, 100, size).astype(dtype) for size in sizes]
        expected = np.concatenate(arrays, dim)
        got = facula.cat([facula.from_numpy(a) for a in arrays], dim)
        assert (got.numpy() == expected).all()
        double = [facula.from_numpy(np.repeat(a, 2, axis=-1))[..., ::2] for a in arrays]
        assert (facula.cat(double, dim).numpy() == expected).all()


def test_stacks_of_images_are_joined():
    images = [np.random.default_rng(i).random((3, 32, 32), np.float32) for i in range(20)]
    tensors = [facula.from_numpy(image) for image in images]
    for dim in range(4):
        assert (facula.stack(tensors, dim).numpy() == np.stack(images, dim)).all()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 200, 32769, 70001])
def test_lines_are_copied_backwards_and_in_steps(n, dtype):
    a = np.random.default_rng(0).integers(0, 100, 3 * n).astype(dtype)
    x = facula.from_numpy(a)
    assert (x[:n].flip(0).numpy() == a[:n][::-1]).all()
    assert (x[1 : n + 1].flip(0).numpy() == a[1 : n + 1][::-1]).all()
    for step in (2, 3):
        assert (x[::step].contiguous().numpy() == a[::step]).all()
        assert (x[::step].flip(0).numpy() == a[::step][::-1]).all()
        y = facula.zeros(3 * n, dtype=x.dtype)
        y[::step] = x[: y[::step].numel()]
        expected = np.zeros_like(a)
        expected[::step] = a[: expected[::step].size]
        assert (y.numpy() == expected).all()


def test_what_is_rolled_keeps_its_memory_format():
    x = facula.arange(96.0).view(2, 3, 4, 4)
    y = x.to(memory_format=facula.channels_last)
    for shifts, dims in ((1, 2), (-1, 1), ((1, 2), (2, 3)), ((1, -1), (2, 2))):
        rolled = y.roll(shifts, dims)
        assert rolled.is_contiguous(memory_format=facula.channels_last)
        assert facula.equal(rolled, x.roll(shifts, dims))
        assert x.roll(shifts, dims).is_contiguous()
    # As in PyTorch, not where a dimension stays as it is, nor where all of them are one.
    for arguments in ((4, 2), ((1, 0), (2, 3)), (1,)):
        assert y.roll(*arguments).is_contiguous()
        assert facula.equal(y.roll(*arguments), x.roll(*arguments))
