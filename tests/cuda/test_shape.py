"""Pieces of tensors put together and turned around."""

import pytest
from agree import assert_agrees

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]


@pytest.mark.parametrize("dtype", [facula.uint8, facula.float16, facula.complex128], ids=str)
def test_tensors_are_turned_and_cut_as_on_the_cpu(dtype):
    x = (facula.rand(4, 5, 6) * 50).to(dtype)
    assert_agrees(lambda t: t.flip(0, 2), x)
    assert_agrees(lambda t: t.roll((2, -1), (1, 2)), x)
    assert_agrees(lambda t: t.tril(1), x)
    assert_agrees(lambda t: t[:, :3].triu(-1), x)
    assert_agrees(lambda t: t.transpose(0, 2).tril(-2), x)
    assert_agrees(lambda t: facula.cat([t, t[:, :2]], 1), x)
    assert_agrees(lambda t: facula.stack([t, t], 2), x)
    assert_agrees(lambda t: t.repeat(2, 1, 3), x)
    assert_agrees(lambda t: t.repeat_interleave(3, 1), x)
    assert_agrees(lambda t: t.unfold(1, 3, 2), x)
    assert_agrees(lambda t: t.diagonal(1, 0, 1), x)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_paddings_agree(mode):
    x = facula.randn(2, 3, 5, 6, dtype=facula.float64)
    assert_agrees(lambda t: facula.nn.functional.pad(t, (2, 1, 1, 3), mode), x)

    def gradient(t):
        a = t.clone().requires_grad_()
        y = facula.nn.functional.pad(a, (2, 1, 1, 3), mode)
        return facula.autograd.grad((y**2).sum(), a)

    assert_agrees(gradient, x)


def test_columns_of_images_agree():
    x = facula.randn(2, 3, 8, 9, dtype=facula.float64)
    assert_agrees(lambda t: facula.nn.functional.unfold(t, (3, 2), stride=2, padding=1), x)
    columns = facula.randn(2, 12, 20, dtype=facula.float64)
    assert_agrees(lambda t: facula.nn.functional.fold(t, (5, 6), (2, 2)), columns)


@pytest.mark.parametrize("offset", [-5, -2, 0, 1, 3, 9])
@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (5, 5), (1, 300), (300, 2), (0, 3), (3, 0)])
def test_indices_of_triangles_are_those_of_the_cpu(shape, offset):
    for make in (facula.tril_indices, facula.triu_indices):
        for dtype in (facula.int32, facula.int64):
            expected = make(*shape, offset, dtype=dtype)
            actual = make(*shape, offset, dtype=dtype, device="cuda")
            assert actual.dtype == dtype
            assert facula.equal(actual.cpu(), expected)


def test_tensors_are_made_on_the_gpu():
    for make in (
        lambda d: facula.arange(10, device=d),
        lambda d: facula.arange(1, 7, 0.5, device=d),
        lambda d: facula.linspace(0, 1, 7, device=d),
        lambda d: facula.logspace(0, 2, 5, device=d),
        lambda d: facula.eye(3, 4, device=d),
        lambda d: facula.full((2, 3), 7, device=d),
        lambda d: facula.tril_indices(4, 5, 1, device=d),
        lambda d: facula.ones(3, device=d).new_zeros(2),
    ):
        expected, actual = make("cpu"), make("cuda")
        assert actual.device.type == "cuda"
        assert facula.equal(actual.cpu(), expected)
