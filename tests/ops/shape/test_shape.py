"""Triangles in place."""

import numpy as np
import pytest

import facula


@pytest.mark.promise("T5")
@pytest.mark.parametrize("diagonal", [-2, 0, 1, 5])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (0, 3)])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_in_place_agree_with_numpy(name, shape, diagonal):
    a = np.arange(1, np.prod(shape) + 1).reshape(shape)
    for dtype in ("float32", "bfloat16", "int64", "complex64"):
        for x in (facula.tensor(a), facula.tensor(a.swapaxes(-1, -2).copy()).transpose(-1, -2)):
            x = x.to(getattr(facula, dtype))
            assert getattr(x, name + "_")(diagonal) is x
            assert x.tolist() == getattr(np, name)(a, diagonal).tolist()


@pytest.mark.parametrize("name", ["tril_", "triu_"])
def test_triangles_in_place_pass_the_gradient_of_what_they_keep(name):
    x = facula.rand(3, 3, dtype=facula.float64, requires_grad=True)
    f = lambda x: getattr(x * x, name)()  # noqa: E731
    assert facula.autograd.gradcheck(f, (x,))
    assert facula.autograd.gradgradcheck(f, (x,))


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int16", "bfloat16", "float32", "int64"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (16, 16), (17, 33), (70, 131)])
def test_copies_of_transposed_matrices_keep_every_bit(dtype, shape):
    rng = np.random.default_rng(0)
    kind = {"bool": np.uint8, "bfloat16": np.int16}.get(dtype, dtype)
    bits = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(kind)
    x = facula.tensor(bits).view(getattr(facula, dtype))
    copy = x.mT.contiguous()
    assert copy.is_contiguous()
    np.testing.assert_array_equal(copy.view(getattr(facula, np.dtype(kind).name)).numpy(), bits.T)


def test_lines_of_any_length_are_copied_from_any_place_to_any_other():
    rng = np.random.default_rng(0)
    source = rng.integers(0, 256, 3000, dtype=np.uint8)
    x = facula.tensor(source)
    for n in (0, 1, 63, 64, 255, 256, 257, 300, 511, 513, 600, 1025, 2048, 2500):
        for begin, at in ((0, 0), (1, 0), (0, 3), (13, 64), (31, 33), (64, 13)):
            y = facula.zeros(n + 200, dtype=facula.uint8)
            y[at : at + n] = x[begin : begin + n]
            expected = np.zeros(n + 200, np.uint8)
            expected[at : at + n] = source[begin : begin + n]
            np.testing.assert_array_equal(y.numpy(), expected)
        rolled = x[:n].roll(5)
        np.testing.assert_array_equal(rolled.numpy(), np.roll(source[:n], 5))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (15, 16), (16, 17), (33, 31), (100, 300)])
def test_planes_are_copied_from_any_order_of_memory(shape, dtype):
    x = (facula.arange(shape[0] * shape[1]).reshape(shape) * 7 % 11).to(getattr(facula, dtype))
    a = x.numpy()
    np.testing.assert_array_equal(x.t().contiguous().numpy(), a.T)
    wide = facula.stack([x, x], 2)[..., 0]
    for dims in ((0,), (1,), (0, 1)):
        np.testing.assert_array_equal(wide.flip(dims).numpy(), np.flip(a, dims))
        np.testing.assert_array_equal(x.flip(dims).numpy(), np.flip(a, dims))
    spaced = facula.zeros(shape[0], 2 * shape[1], dtype=x.dtype)
    spaced[:, ::2].copy_(x)
    spaced[:, 1::2].copy_(x.t().contiguous().t())
    np.testing.assert_array_equal(spaced.numpy(), np.repeat(a, 2, axis=1))
    spaced[:, ::2].fill_(1)
    assert spaced[:, ::2].eq(1).all() and facula.equal(spaced[:, 1::2], x)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "bfloat16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 64, 100])
def test_every_second_element_is_copied_and_nothing_beside_it(dtype, n):
    kind = getattr(facula, dtype)
    source = facula.arange(1, 2 * n).remainder(97).to(kind)  # ends with the last of every second
    for begin in (0, 1):
        for x in (source[::2], source[::2].flip(0)[:n], source[:n], source[:1].expand(n)):
            whole = facula.zeros(2 * n + 1, dtype=kind)
            whole[begin : begin + 2 * n - 1 : 2] = x
            assert whole[begin::2][:n].tolist() == x.tolist()
            assert whole[1 - begin :: 2].eq(0).all()
    backwards = facula.arange(1, 2 * n)[::2].flip(0).remainder(97).to(kind)
    assert source[::2].flip(0).tolist() == backwards.tolist()


def test_every_second_element_of_tensors_larger_than_caches():
    x = facula.arange(2 * 1200 * 1200).reshape(1200, 2400)
    y = x * 3 + 1
    expected = x.reshape(-1, 2)[:, 0] * (y.reshape(-1, 2)[:, 0])
    assert facula.equal((x[:, ::2] * y[:, ::2]).flatten(), expected)
    wide = x.double()
    assert facula.equal((wide[:, ::2] - y[:, ::2]).flatten(), (-2.0 * wide[:, ::2] - 1).flatten())


def test_flips_keep_bools_that_are_more_than_0_and_1():
    x = facula.tensor([0, 1, 2, 255], dtype=facula.uint8).view(facula.bool)
    assert x.flip(0).tolist() == [True, True, True, False]
    assert x.flip(0).int().tolist() == [1, 1, 1, 0]
    assert facula.stack([x, x], 1)[:, 0].flip(0).sum() == 3
