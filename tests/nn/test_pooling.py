"""Pooling: the largest element, the average or a norm of windows."""

import numpy as np
import pytest

import facula
import facula.nn.functional as F
from facula import nn
from tests.check_op import check_threads

POOLS = [
    lambda x: F.max_pool2d(x, 3, 2, 1),
    lambda x: F.max_pool2d(x, 2, 3, dilation=2, ceil_mode=True),
    lambda x: F.avg_pool2d(x, (3, 2), 2, 1, ceil_mode=True),
    lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
    lambda x: F.adaptive_max_pool2d(x, (3, 4)),
]


def image(*shape, dtype=facula.float32):
    """Distinct numbers in no particular order, so that no two are the largest."""
    n = facula.Size(shape).numel()
    return (facula.arange(n) * 7919 % n).reshape(shape).to(dtype)


@pytest.mark.promise("N2")
def test_max_pooling_takes_the_largest_of_each_window():
    x = facula.tensor([[[1.0, 5.0, 2.0], [3.0, 4.0, 9.0], [7.0, 8.0, 6.0]]])
    values, indices = F.max_pool2d(x, 2, stride=1, return_indices=True)
    assert values.tolist() == [[[5.0, 9.0], [8.0, 9.0]]]
    assert indices.tolist() == [[[1, 5], [7, 5]]]
    assert F.max_pool2d(x, 2, padding=1).tolist() == [[[1.0, 5.0], [7.0, 9.0]]]


@pytest.mark.promise("N2")
def test_nan_and_minus_infinity_are_pooled_as_they_compare():
    nan, inf = float("nan"), float("inf")
    x = facula.tensor([[nan, 1.0, -inf, -inf, 2.0, nan]])
    values, indices = F.max_pool1d(x, 2, return_indices=True)
    assert str(values.tolist()) == "[[nan, -inf, nan]]"
    assert indices.tolist() == [[0, 2, 5]]


@pytest.mark.promise("N2")
def test_windows_of_padding_alone_give_minus_infinity_and_no_gradient():
    x = facula.ones(1, 1, requires_grad=True)
    y = F.max_pool1d(x, 2, stride=1, padding=2, dilation=3)
    assert y.tolist() == [[-float("inf"), -float("inf")]]
    y.sum().backward()
    assert x.grad.tolist() == [[0.0]]


@pytest.mark.promise("N2")
def test_averages_count_padding_where_asked():
    x = facula.ones(1, 2, 2)
    assert F.avg_pool2d(x, 2, padding=1).flatten().tolist() == [0.25] * 4
    assert F.avg_pool2d(x, 2, padding=1, count_include_pad=False).flatten().tolist() == [1.0] * 4
    assert F.avg_pool2d(x, 2, divisor_override=2).item() == 2.0


@pytest.mark.promise("N2")
@pytest.mark.parametrize("pool", POOLS)
def test_layouts_and_dtypes_agree(pool):
    x = image(2, 5, 9, 11)
    expected = pool(x)
    last = pool(x.to(memory_format=facula.channels_last))
    assert last.is_contiguous(memory_format=facula.channels_last)
    assert facula.equal(last, expected)
    for dtype in (facula.float64, facula.bfloat16):
        assert facula.allclose(pool(x.to(dtype)).float(), pool(x.to(dtype).float()), rtol=1e-2)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("format", ["contiguous_format", "channels_last"])
def test_gradients_of_pooling_agree_with_differences(pool, format):
    x = (image(2, 3, 7, 8, dtype=facula.float64) / 10).to(memory_format=getattr(facula, format))
    x.requires_grad_()
    assert facula.autograd.gradcheck(pool, (x,))
    assert facula.autograd.gradgradcheck(lambda x: pool(x) ** 2, (x,))


@pytest.mark.promise("N2")
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("format", ["contiguous_format", "channels_last"])
def test_pooling_does_not_depend_on_the_threads(pool, format):
    x = facula.randn(3, 70, 40, 41).to(memory_format=getattr(facula, format)).requires_grad_()

    def gradient():
        return facula.autograd.grad((pool(x) ** 2).sum(), x)[0]

    check_threads(lambda: pool(x).detach(), gradient)


@pytest.mark.promise("N2")
def test_adaptive_windows_cover_the_input_evenly():
    x = facula.arange(5.0).reshape(1, 5)
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[0.5, 2.0, 3.5]]
    assert F.adaptive_max_pool1d(x, 7).tolist() == [[0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0]]
    assert F.adaptive_avg_pool2d(facula.ones(1, 4, 6), (None, 2)).shape == (1, 4, 2)


@pytest.mark.promise("N2")
def test_fractional_pooling_places_windows_by_the_random_numbers():
    x = facula.arange(36.0).reshape(1, 6, 6)
    low = F.fractional_max_pool2d(x, 2, 3, _random_samples=facula.zeros(1, 1, 2))
    high = F.fractional_max_pool2d(x, 2, 3, _random_samples=facula.full((1, 1, 2), 0.9))
    assert low.tolist() == [[[7.0, 9.0, 11.0], [19.0, 21.0, 23.0], [31.0, 33.0, 35.0]]]
    assert high.tolist() == [[[7.0, 9.0, 11.0], [19.0, 21.0, 23.0], [31.0, 33.0, 35.0]]]


DTYPES = [facula.float32, facula.float64, facula.float16, facula.bfloat16]


@pytest.mark.promise("N2")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length, n", [(1000, 2), (1025, 3), (300, 4), (257, 2), (130, 1), (40, 3)])
def test_long_windows_agree_with_numpy(length, n, dtype):
    # Few different numbers: the first of the largest is the one whose place counts.
    x = facula.randint(-50, 50, (2, 3, length)).to(dtype)
    array, bounds = (
        x.double().numpy(),
        [(o * length // n, -(-(o + 1) * length // n)) for o in range(n)],
    )
    values, indices = F.adaptive_max_pool1d(x, n, return_indices=True)
    largest = np.stack([array[..., a:b].max(-1) for a, b in bounds], -1)
    places = np.stack([array[..., a:b].argmax(-1) + a for a, b in bounds], -1)
    assert values.double().tolist() == largest.tolist()
    assert F.adaptive_max_pool1d(x, n).double().tolist() == largest.tolist()
    assert indices.tolist() == places.tolist()
    means = np.stack([array[..., a:b].mean(-1) for a, b in bounds], -1)
    precision = {facula.float64: 1e-14, facula.float32: 1e-6}.get(dtype, 1e-2)
    found = F.adaptive_avg_pool1d(x, n).double().numpy()
    np.testing.assert_allclose(found, means, rtol=precision, atol=precision)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_last_nan_of_a_long_window_is_the_largest(dtype):
    x = facula.zeros(1, 700, dtype=dtype)
    x[0, 300], x[0, 500], x[0, 699] = float("nan"), float("nan"), 1.0
    values, indices = F.adaptive_max_pool1d(x, 1, return_indices=True)
    assert values.isnan().all() and indices.tolist() == [[500]]
    wide = x[:, :200].clone()
    wide[0, 150] = float("nan")
    assert F.adaptive_max_pool1d(wide, 1, return_indices=True)[1].tolist() == [[150]]


@pytest.mark.promise("N2")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 5, 16, 33, 270])
@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 0), (3, 1, 1), (3, 2, 1), (5, 3, 2)])
def test_rows_of_any_width_agree_with_the_windows_one_by_one(width, dtype, kernel, stride, padding):
    x = image(2, 3, 4, width + kernel, dtype=dtype)
    low = F.pad(x.double(), (padding,) * 4, value=-float("inf"))
    windows = low.unfold(2, kernel, stride).unfold(3, kernel, stride).flatten(-2)
    values, indices = F.max_pool2d(x, kernel, stride, padding, return_indices=True)
    assert facula.equal(values.double(), windows.amax(-1))
    assert facula.equal(F.max_pool2d(x, kernel, stride, padding), values)
    assert facula.equal(x.flatten(2).gather(2, indices.flatten(2)), values.flatten(2))
    zeros = F.pad(x.double(), (padding,) * 4)
    windows = zeros.unfold(2, kernel, stride).unfold(3, kernel, stride).flatten(-2)
    means = F.avg_pool2d(x, kernel, stride, padding)
    assert facula.allclose(
        means.double(), windows.mean(-1), rtol=1e-2 if dtype.itemsize == 2 else 1e-6
    )


SEQUENCE_POOLS = [
    lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True)[0],
    lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True)[1],
    lambda x: F.avg_pool1d(x, 3, 2, 1),
    lambda x: F.lp_pool1d(x.abs(), 2, 2),
    lambda x: F.adaptive_avg_pool1d(x, 4),
    lambda x: F.adaptive_max_pool1d(x, 4, return_indices=True)[0],
    lambda x: F.adaptive_max_pool1d(x, 4, return_indices=True)[1],
]


@pytest.mark.promise("N2")
@pytest.mark.parametrize("pool", SEQUENCE_POOLS)
@pytest.mark.parametrize("n_channels", [2, 16, 70])
def test_sequences_whose_channels_lie_together_are_pooled_as_they_lie(pool, n_channels):
    x = image(3, n_channels, 30)
    last = x.transpose(1, 2).contiguous().transpose(1, 2)
    y, expected = pool(last), pool(x)
    assert facula.allclose(y.double(), expected.double(), rtol=1e-6)
    assert y.transpose(1, 2).is_contiguous() and not y._is_view()
    if y.is_floating_point():
        gradients = [
            facula.autograd.grad((pool(t) * expected).sum(), t)[0]
            for t in (last.requires_grad_(), x.requires_grad_())
        ]
        assert facula.allclose(*gradients, rtol=1e-6)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", ["contiguous_format", "channels_last"])
def test_unpooling_keeps_dtype_and_layout(dtype, format):
    x = image(2, 5, 6, 8, dtype=dtype).to(memory_format=getattr(facula, format)) + 1
    y = F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
    windows = x.unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2)
    kept = facula.where(windows == windows.amax(-1, keepdim=True), windows, 0)
    expected = F.fold(
        kept.float().permute(0, 1, 4, 2, 3).flatten(3).flatten(1, 2), (6, 8), 2, stride=2
    )
    assert y.dtype == dtype and facula.equal(y.float(), expected)
    assert y.is_contiguous(memory_format=getattr(facula, format))


@pytest.mark.promise("N2")
def test_indices_out_of_range_are_refused_in_every_layout():
    x = facula.ones(1, 3, 2, 2).to(memory_format=facula.channels_last)
    for bad in (-1, 16):
        indices = facula.zeros(1, 3, 2, 2, dtype=facula.int64)
        indices[0, 2, 1, 1] = bad
        for values in (x, x.contiguous()):
            with pytest.raises(RuntimeError, match=rf"max_unpool2d: index {bad} is out of range"):
                F.max_unpool2d(values, indices, 2)


@pytest.mark.promise("N2")
def test_unpooling_puts_elements_back():
    x = image(2, 3, 4, 6)
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, indices, 2)
    assert facula.equal(back, facula.where(back == 0, 0.0, x))
    assert facula.equal(F.max_pool2d(back, 2), values)


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: F.max_pool2d(x, 0), RuntimeError, "kernel_size, stride and dilation must be"),
        (lambda x: F.max_pool2d(x, 2, padding=2), RuntimeError, "padding must be from 0 to half"),
        (
            lambda x: F.max_pool2d(x, 9),
            RuntimeError,
            r"max_pool2d: a window of 9 elements does not",
        ),
        (lambda x: F.max_pool2d(x, (2, 2, 2)), RuntimeError, "one int or one for each dimension"),
        (lambda x: F.max_pool2d(x[0, 0], 2), RuntimeError, "3 dimensions, or 4 with a batch"),
        (lambda x: F.max_pool2d(x.bool(), 2), NotImplementedError, "not implemented for bool"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=0), RuntimeError, "must not be 0"),
        (lambda x: F.adaptive_avg_pool2d(x, -1), RuntimeError, "must not be negative, got"),
        (lambda x: F.fractional_max_pool2d(x, 2), ValueError, "output_size or output_ratio"),
        (lambda x: F.fractional_max_pool2d(x, 3, 4), RuntimeError, "do not fit into dimension 2"),
        (
            lambda x: F.fractional_max_pool3d(facula.ones(1, 6, 6, 6), 3, 4),
            RuntimeError,
            "do not fit into dimension 1",
        ),
        (
            lambda x: F.max_unpool2d(x, facula.full(x.shape, 99), 1),
            RuntimeError,
            r"max_unpool2d: index 99 is out of range for an output of \(4, 5\)",
        ),
        (
            lambda x: F.max_unpool2d(x, x.long(), 2, output_size=(99, 99)),
            ValueError,
            r"output_size \(99, 99\) is not one that pooling turns into \(4, 5\)",
        ),
    ],
)
def test_impossible_poolings_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(facula.ones(1, 2, 4, 5))


@pytest.mark.promise("N2")
def test_layers_of_pooling_and_padding_print_as_pytorchs():
    assert repr(nn.MaxPool2d(3, stride=(2, 1), padding=1)) == (
        "MaxPool2d(kernel_size=3, stride=(2, 1), padding=1, dilation=1, ceil_mode=False)"
    )
    assert repr(nn.AvgPool1d(2)) == "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"
    assert repr(nn.AdaptiveAvgPool2d((None, 3))) == "AdaptiveAvgPool2d(output_size=(None, 3))"
    assert repr(nn.ConstantPad1d(2, 3.5)) == "ConstantPad1d(padding=(2, 2), value=3.5)"
    assert repr(nn.ZeroPad2d(1)) == "ZeroPad2d((1, 1, 1, 1))"


@pytest.mark.promise("N2")
def test_windows_far_larger_than_the_input_cost_no_more_than_it():
    x = facula.ones(1, 4, requires_grad=True)
    y = F.avg_pool1d(x, 2**30, stride=1, padding=2**29, count_include_pad=False)
    assert y.tolist() == [[1.0] * 5]
    y.sum().backward()
    assert F.max_pool1d(x, 2**30, stride=1, padding=2**29).tolist() == [[1.0] * 5]


@pytest.mark.parametrize("n", [2, 3])
def test_an_average_of_everything_tells_of_its_format(n):
    call = getattr(F, f"adaptive_avg_pool{n}d")
    last = facula.channels_last if n == 2 else facula.channels_last_3d
    x = facula.randn(2, 3, *[4] * n, requires_grad=True)
    y = x.detach().to(memory_format=last).requires_grad_()
    assert call(x, 1).stride() == (3, *[1] * (n + 1))
    pooled = call(y, 1)
    assert pooled.stride() == (3, 1, *[3] * n)
    facula.testing.assert_close(pooled, call(x, 1), check_stride=False)
    (pooled * pooled).sum().backward()
    (call(x, 1) ** 2).sum().backward()
    facula.testing.assert_close(x.grad, y.grad, check_stride=False)
    assert call(y[0], 1).stride() == (1,) * (n + 1)
