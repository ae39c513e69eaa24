"""Borders around a tensor."""

import pytest

import facula
import facula.nn.functional as F

X = facula.tensor([[1.0, 2.0, 3.0]])


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "mode, expected",
    [
        ("constant", [[0.0, 0.0, 1.0, 2.0, 3.0, 0.0]]),
        ("reflect", [[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]]),
        ("replicate", [[1.0, 1.0, 1.0, 2.0, 3.0, 3.0]]),
        ("circular", [[2.0, 3.0, 1.0, 2.0, 3.0, 1.0]]),
    ],
)
def test_each_mode_fills_the_border_its_way(mode, expected):
    assert F.pad(X, (2, 1), mode=mode).tolist() == expected


@pytest.mark.promise("N2")
def test_negative_padding_crops():
    assert F.pad(X, (-1, 1), value=9.0).tolist() == [[2.0, 3.0, 9.0]]
    assert F.pad(X, (-2, 2), mode="reflect").tolist() == [[3.0, 2.0, 1.0]]
    assert F.pad(X, (-1, 1), mode="circular").tolist() == [[2.0, 3.0, 2.0]]


@pytest.mark.promise("N2")
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_gradients_of_padding_add_up_over_the_copies(mode):
    x = facula.rand(2, 3, 4, dtype=facula.float64, requires_grad=True)
    assert facula.autograd.gradcheck(lambda x: F.pad(x, (2, 1, -1, 2), mode=mode), (x,))
    assert facula.autograd.gradgradcheck(lambda x: F.pad(x, (2, 1, -1, 2), mode=mode) ** 2, (x,))


@pytest.mark.promise("N2")
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_padding_keeps_channels_last(mode):
    x = facula.rand(2, 3, 4, 5).to(memory_format=facula.channels_last)
    y = F.pad(x, (1, 1, 2, 0), mode=mode)
    assert y.is_contiguous(memory_format=facula.channels_last)
    assert facula.equal(y, F.pad(x.contiguous(), (1, 1, 2, 0), mode=mode))


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "pad, mode, error, text",
    [
        ((1,), "constant", RuntimeError, r"pad: expected an even number of numbers, got 1\."),
        ((1,) * 6, "constant", RuntimeError, r"at most 4 numbers for float32 \(1, 3\), got 6\."),
        ((-4, 0), "constant", RuntimeError, r"padding \(-4, 0\) takes more than there is"),
        ((3, 0), "reflect", RuntimeError, r"padding less than the size, got \(3, 0\)"),
        ((4, 0), "circular", RuntimeError, r"padding of at most the size, got \(4, 0\)"),
        ((-3, 0), "replicate", RuntimeError, r"padding \(-3, 0\) leaves nothing of dimension 1"),
        ((1, 1, 1, 1), "reflect", NotImplementedError, "mode 'reflect' takes 2 numbers"),
        ((1, 1), "mirror", NotImplementedError, "mode must be .*, got 'mirror'"),
    ],
)
def test_impossible_padding_is_refused(pad, mode, error, text):
    with pytest.raises(error, match=text):
        F.pad(X, pad, mode=mode)


def test_what_goes_around_is_what_cropping_left():
    with pytest.raises(RuntimeError, match="at most the size"):
        F.pad(facula.ones(1, 2, 3), (-2, 2), mode="circular")
    x = facula.arange(8.0).reshape(1, 2, 4).requires_grad_()
    y = F.pad(x, (-2, 2), mode="circular")
    assert y.tolist() == [[[2, 3, 2, 3], [6, 7, 6, 7]]]
    y.sum().backward()
    assert x.grad.tolist() == [[[0, 0, 2, 2], [0, 0, 2, 2]]]
