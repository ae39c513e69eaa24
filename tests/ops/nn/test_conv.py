"""Convolutions against sums written out in NumPy."""

import itertools
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

import facula
from check_op import check_op, check_threads
from facula.nn import functional as F

pytestmark = pytest.mark.promise("N2")


def per_dim(value, n):
    return (value,) * n if isinstance(value, int) else value


class Taps:
    """The form sum(x * w * y), one tap of the kernel at a time.

    For a tap, ``pixels`` of the padded x are those that it meets.
    """

    def __init__(self, size, kernel, *, stride=1, padding=0, dilation=1, groups=1):
        n = len(size)
        self.stride, self.padding, self.dilation = (
            per_dim(v, n) for v in (stride, padding, dilation)
        )
        self.size, self.kernel, self.groups = size, kernel, groups
        extent = [d * (k - 1) + 1 for d, k in zip(self.dilation, kernel, strict=True)]
        self.out = [
            (s + 2 * p - e) // t + 1
            for s, p, e, t in zip(size, self.padding, extent, self.stride, strict=True)
        ]

    def pixels(self):
        for tap in itertools.product(*map(range, self.kernel)):
            starts = [k * d for k, d in zip(tap, self.dilation, strict=True)]
            yield (
                tap,
                tuple(
                    slice(a, a + (o - 1) * t + 1, t)
                    for a, o, t in zip(starts, self.out, self.stride, strict=True)
                ),
            )

    def pad(self, x):
        return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in self.padding)])

    def split(self, a, dim):
        """(groups, ...): the channels of each group."""
        return np.stack(np.split(a, self.groups, dim))

    def output(self, x, w):
        x, w, y = self.split(self.pad(x), 1), self.split(w, 0), 0
        for tap, at in self.pixels():
            y = y + np.einsum("gnc...,goc->ngo...", x[(..., *at)], w[(..., *tap)])
        return y.reshape(y.shape[0], -1, *self.out)

    def input(self, w, y):
        y, w = self.split(y, 1), self.split(w, 0)
        padded = [s + 2 * p for s, p in zip(self.size, self.padding, strict=True)]
        x = np.zeros((y.shape[1], self.groups, w.shape[2], *padded), np.result_type(y, w))
        for tap, at in self.pixels():
            x[(..., *at)] += np.einsum("gno...,goc->ngc...", y, w[(..., *tap)])
        inside = [slice(p, p + s) for s, p in zip(self.size, self.padding, strict=True)]
        return x[(..., *inside)].reshape(x.shape[0], -1, *self.size)

    def weight(self, x, y):
        x, y = self.split(self.pad(x), 1), self.split(y, 1)
        w = np.zeros((self.groups, y.shape[2], x.shape[2], *self.kernel))
        for tap, at in self.pixels():
            w[(..., *tap)] = np.einsum("gncp,gnop->goc", flat(x[(..., *at)]), flat(y))
        return w.reshape(-1, *w.shape[2:])


def flat(a):
    return a.reshape(*a.shape[:3], -1)


def add_bias(y, bias):
    return y if bias is None else y + bias.reshape(-1, *(1,) * (y.ndim - 2))


@pytest.mark.parametrize(
    "shapes, options",
    [
        ([(2, 3, 7), (4, 3, 3), (4,)], {}),
        ([(2, 4, 9), (6, 2, 3)], {"stride": 2, "padding": 2, "dilation": 2, "groups": 2}),
        ([(2, 3, 5, 6), (4, 3, 3, 2), (4,)], {"padding": 1}),
        (
            [(1, 4, 7, 6), (4, 2, 3, 3)],
            {"stride": (2, 3), "padding": (1, 2), "dilation": (1, 2), "groups": 2},
        ),
        ([(2, 3, 5, 5), (3, 1, 3, 3)], {"stride": 2, "padding": 1, "groups": 3}),
        ([(2, 3, 4, 4), (5, 3, 1, 1)], {"stride": 2}),
        ([(1, 1, 2, 2), (1, 1, 3, 3)], {"padding": 4}),
        ([(1, 2, 3, 4, 3), (2, 2, 2, 3, 2)], {"stride": (1, 2, 1), "padding": 1}),
    ],
)
def test_a_convolution_is_a_sum_over_windows(shapes, options):
    n = len(shapes[0]) - 2
    taps = Taps(shapes[0][2:], shapes[1][2:], **options)

    def reference(x, w, bias=None):
        return add_bias(taps.output(x, w), bias)

    check_op(
        lambda *tensors: getattr(facula, f"conv{n}d")(*tensors, **options),
        reference,
        shapes,
        dtypes=("float32", "float64", "complex128", "int64"),
    )


@pytest.mark.parametrize(
    "shapes, options, size",
    [
        ([(2, 3, 4), (3, 2, 3), (2,)], {"stride": 2, "padding": 1, "output_padding": 1}, (8,)),
        (
            [(1, 4, 3, 4), (4, 2, 3, 2)],
            {"stride": 3, "padding": 2, "output_padding": 2, "groups": 2, "dilation": 2},
            (9, 10),
        ),
        ([(2, 3, 3, 3), (3, 2, 3, 3), (2,)], {}, (5, 5)),
        ([(1, 2, 2, 3, 2), (2, 2, 2, 2, 2)], {"stride": 2, "padding": 1}, (2, 4, 2)),
    ],
)
def test_a_transposed_convolution_adds_a_kernel_for_each_element(shapes, options, size):
    n = len(size)
    sizes = {k: v for k, v in options.items() if k != "output_padding"}
    taps = Taps(size, shapes[1][2:], **sizes)

    def reference(x, w, bias=None):
        return add_bias(taps.input(w, x), bias)

    check_op(
        lambda *tensors: getattr(facula, f"conv_transpose{n}d")(*tensors, **options),
        reference,
        shapes,
        dtypes=("float32", "float64", "complex128"),
    )


FORMATS = [facula.contiguous_format, facula.channels_last]


def laid_out(x, memory_format):
    is_image = x.ndim == 4
    return x.contiguous(memory_format=memory_format if is_image else facula.contiguous_format)


# Large enough for full tiles of the kernels and for their edges, in every direction.
LARGE = [
    ((3, 20, 13, 17), (37, 20, 3, 3), {"padding": 1}),
    ((2, 9, 30, 31), (16, 9, 5, 4), {"stride": 2, "padding": 2}),
    ((2, 3, 40, 41), (20, 3, 7, 7), {"stride": 2, "padding": 3}),
    ((2, 24, 12, 12), (24, 1, 3, 3), {"padding": 1, "groups": 24}),
    ((2, 24, 13, 12), (48, 1, 3, 3), {"stride": 2, "padding": 1, "groups": 24}),
    ((2, 5, 23, 37), (5, 1, 7, 7), {"padding": 3, "groups": 5}),
    ((1, 3, 6, 70), (3, 1, 5, 5), {"padding": (2, 0), "groups": 3}),
    ((2, 3, 9, 11), (3, 1, 5, 3), {"padding": 4, "dilation": (1, 2), "groups": 3}),
    ((1, 4, 5, 9, 11), (4, 1, 1, 3, 3), {"padding": 1, "groups": 4}),
    ((2, 18, 11, 12), (36, 6, 3, 3), {"padding": 2, "dilation": 2, "groups": 3}),
    ((9, 16, 7, 7), (24, 16, 3, 3), {"padding": 1}),
    ((2, 16, 14, 14), (24, 16, 1, 1), {"stride": 2}),
    ((2, 16, 14, 14), (24, 8, 1, 1), {"groups": 2}),
    ((2, 50, 9, 9), (11, 50, 3, 3), {"stride": 3, "padding": 4}),
    ((2, 70, 30, 28), (40, 70, 3, 3), {}),
    ((3, 66, 15, 17), (70, 33, 3, 3), {"padding": 2, "groups": 2}),
    ((5, 260, 15, 13), (270, 260, 3, 3), {"padding": 1}),
    ((70, 1, 28, 28), (33, 1, 3, 3), {}),
    ((1, 5, 6, 9, 11), (19, 5, 3, 2, 3), {"stride": (1, 2, 1), "padding": 1}),
    ((2, 6, 5, 9, 11), (8, 3, 1, 1, 1), {"stride": (2, 3, 2), "groups": 2}),
    # Output channels that fill vectors: windows are read from copied lines, in slices of channels,
    # bands of lines and segments of long ones.
    ((3, 50, 14, 15), (48, 50, 5, 5), {"padding": 2}),
    ((2, 130, 21, 17), (144, 130, 3, 3), {"stride": 2, "padding": 1}),
    ((2, 64, 19, 20), (32, 32, 4, 3), {"stride": (3, 2), "padding": 2, "groups": 2}),
    ((2, 16, 11, 13), (16, 16, 2, 2), {"stride": 3}),
    ((2, 31, 40, 41), (47, 31, 3, 3), {"padding": 6, "dilation": (3, 6)}),
    ((1, 40, 3, 1300), (32, 40, 1, 9), {"padding": (0, 4)}),
    ((2, 16, 6, 9, 11), (32, 16, 3, 3, 3), {"padding": 1}),
    ((1, 32, 6, 9, 11), (16, 32, 3, 3, 4), {"stride": 2, "padding": 1}),
]


@pytest.mark.parametrize("x_shape, w_shape, options", LARGE)
@pytest.mark.parametrize("dtype", [facula.float32, facula.float64])
@pytest.mark.parametrize("memory_format", FORMATS)
def test_large_convolutions_and_their_gradients(x_shape, w_shape, options, dtype, memory_format):
    rng = np.random.default_rng(0)
    taps = Taps(x_shape[2:], w_shape[2:], **options)
    x, w, b = (rng.standard_normal(s) for s in (x_shape, w_shape, w_shape[:1]))
    g = rng.standard_normal((x_shape[0], w_shape[0], *taps.out))
    tensors = [
        laid_out(facula.tensor(a).to(dtype), memory_format if a is x else facula.contiguous_format)
        for a in (x, w, b)
    ]
    for tensor in tensors:
        tensor.requires_grad_()
    conv = F.conv2d if x.ndim == 4 else F.conv3d
    y = conv(*tensors, **options)
    results = [y, *facula.autograd.grad(y, tensors, facula.tensor(g).to(dtype))]
    expected = [
        add_bias(taps.output(x, w), b),
        taps.input(w, g),
        taps.weight(x, g),
        g.sum((0, *range(2, g.ndim))),
    ]
    tolerance = 1e-12 if dtype == facula.float64 else 1e-5
    for result, array in zip(results, expected, strict=True):
        scale = np.abs(array).max()
        np.testing.assert_allclose(result.detach().numpy() / scale, array / scale, 0, tolerance)


# Sizes on both sides of the rules that choose between the ways of a convolution.
EDGES = [
    ((2, 6, 1, 128), (7, 6, 1, 1), {}),
    ((2, 6, 1, 127), (7, 6, 1, 1), {}),
    ((2, 6, 23, 23), (7, 6, 1, 1), {"stride": 2}),
    ((2, 5, 6, 7), (4, 5, 3, 3), {"stride": 2, "padding": 1}),
    ((2, 5, 6, 7), (5, 5, 3, 3), {"stride": 2, "padding": 1}),
    ((1, 4, 6, 5), (6, 4, 3, 3), {"stride": 4, "dilation": 2, "padding": 2}),
    ((3, 2, 4, 1300), (4, 1, 3, 5), {"groups": 2}),
    ((1, 6, 70, 70), (5, 6, 64, 64), {}),
    ((1, 6, 70, 70), (5, 6, 65, 64), {}),
    ((1, 2, 70, 70), (4, 1, 65, 64), {"groups": 2}),
    ((1, 2, 2, 66005), (2, 2, 2, 2), {"dilation": (1, 66000)}),
    ((1, 5, 2, 66005), (6, 5, 2, 2), {"stride": (1, 66000)}),
    ((2, 32, 14, 14), (32, 32, 3, 3), {}),
    ((3, 32, 14, 14), (32, 32, 3, 3), {"padding": 2}),
    ((3, 31, 14, 14), (32, 31, 3, 3), {}),
    ((3, 32, 14, 14), (32, 32, 3, 3), {"dilation": 2}),
    ((1, 512, 7, 7), (512, 512, 3, 3), {"padding": 1}),
    ((1, 512, 7, 7), (520, 512, 3, 3), {"padding": 1}),
    *(
        ((2, 3, 5, width), (6, 1, 3, 3), {"stride": 2, "padding": 1, "groups": 3})
        for width in (1, 2, 15, 31, 32, 33, 64, 65, 1100)
    ),
    *(
        ((2, 16, 4, width), (16, 16, 3, 5), {"stride": stride, "padding": (1, 2)})
        for width in range(1, 41)
        for stride in (1, 2, 3)
    ),
    *(((1, 2, 9, width), (2, 1, 5, 5), {"padding": 2, "groups": 2}) for width in range(1, 41)),
    ((1, 16, 5, 1200), (16, 16, 4, 9), {"padding": (3, 4), "dilation": (1, 30)}),
    ((1, 16, 3, 66005), (16, 16, 3, 2), {"dilation": (1, 66000), "padding": (1, 0)}),
    ((1, 16, 700, 6), (16, 16, 2, 2), {"dilation": (650, 1), "padding": (1, 0)}),
    # Each channel by itself, which with channels last fill whole vectors, parts of them or both.
    *(
        ((2, n, 4, width), (n, 1, 3, 5), {"stride": stride, "padding": (1, 2), "groups": n})
        for width in range(1, 41)
        for n, stride in ((8, 1), (19, 2), (32, 3))
    ),
    *(
        ((2, 3, height, width), (3, 1, 3, 3), {"stride": stride, "padding": 1, "groups": 3})
        for height in (1, 3, 4, 5, 9)
        for width in (1, 7, 16, 17, 33)
        for stride in (1, 2)
    ),
    ((1, 2, 11, 13), (2, 1, 3, 3), {"padding": 3, "groups": 2}),
    ((1, 1, 40, 300), (1, 1, 3, 3), {"stride": 2}),
    ((1, 24, 9, 20), (24, 1, 3, 4), {"padding": 6, "dilation": (2, 3), "groups": 24}),
    ((1, 9, 3, 200), (9, 1, 2, 2), {"padding": 1, "dilation": (1, 64), "groups": 9}),
    ((1, 9, 3, 200), (9, 1, 2, 2), {"padding": 1, "dilation": (1, 65), "groups": 9}),
    ((1, 9, 3, 200), (9, 1, 2, 2), {"stride": (1, 65), "groups": 9}),
    ((1, 8, 2, 66005), (8, 1, 2, 2), {"dilation": (1, 66000), "groups": 8}),
]


@pytest.mark.parametrize("x_shape, w_shape, options", EDGES)
def test_small_integers_are_exact_whichever_way_they_go(x_shape, w_shape, options):
    facula.manual_seed(0)
    x, w = facula.randint(-2, 3, x_shape), facula.randint(-2, 3, w_shape)
    g = facula.randint(-2, 3, F.conv2d(x, w, **options).shape)

    def results(dtype, memory_format=facula.contiguous_format):
        leaves = [laid_out(x.to(dtype), memory_format), w.to(dtype)]
        for leaf in leaves:
            leaf.requires_grad_()
        y = F.conv2d(*leaves, **options)
        return [t.detach() for t in (y, *facula.autograd.grad(y, leaves, g.to(dtype)))]

    exact = results(facula.complex128)  # which has one way only
    for dtype, memory_format in itertools.product((facula.float32, facula.float64), FORMATS):
        for result, other in zip(results(dtype, memory_format), exact, strict=True):
            assert facula.equal(result, other.real.to(dtype))


@pytest.mark.parametrize(
    "x_shape, w_shape, groups",
    [
        ((2, 4, 12, 11), (6, 4, 1, 1), 1),
        ((2, 9, 40, 41), (3, 3, 1, 1), 3),
        ((1, 2050, 12, 12), (50, 2050, 1, 1), 1),
        ((1, 8, 12, 12), (1, 8, 1, 1), 1),
        ((2, 0, 12, 12), (3, 0, 1, 1), 1),
        ((3, 300, 5, 5), (20, 300, 1, 1), 1),
        ((2, 50, 6, 7), (9, 50, 3, 3), 1),
        ((2, 3, 6, 7), (3, 1, 3, 3), 3),
    ],
)
@pytest.mark.parametrize("dtype", [facula.float32, facula.float64, facula.int32])
def test_a_bias_is_added_once_to_all_pixels_of_its_channel(x_shape, w_shape, groups, dtype):
    facula.manual_seed(0)
    shapes = x_shape, w_shape, w_shape[:1]
    x, w, bias = (facula.randint(-2, 3, shape).to(dtype) for shape in shapes)
    expected = F.conv2d(x, w, groups=groups) + bias.reshape(-1, 1, 1)
    assert facula.equal(F.conv2d(x, w, bias, groups=groups), expected)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="vectors have one width here")
@pytest.mark.parametrize("capability", ["baseline", "avx2"])
def test_vectors_of_every_width_give_these_results(capability):
    names = "test_large_convolutions or test_small_integers or test_results_do_not or test_a_bias"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        __file__,
        "-k",
        names,
    ]
    environment = os.environ | {"FACULA_CPU_CAPABILITY": capability}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout[-3000:]


@pytest.mark.parametrize("x_shape, w_shape, options", [case for case in LARGE if len(case[0]) == 4])
@pytest.mark.parametrize("memory_format", FORMATS)
def test_results_do_not_depend_on_the_number_of_threads(x_shape, w_shape, options, memory_format):
    facula.manual_seed(0)
    x = laid_out(facula.randn(x_shape), memory_format).requires_grad_()
    w = facula.randn(w_shape, requires_grad=True)
    g = facula.randn_like(F.conv2d(x, w, **options))

    def forward():
        return F.conv2d(x, w, **options)

    check_threads(
        forward,
        lambda: facula.autograd.grad(forward(), x, g)[0],
        lambda: facula.autograd.grad(forward(), w, g)[0],
    )


@pytest.mark.parametrize("x_shape, w_shape, options", [case for case in LARGE if len(case[0]) == 4])
@pytest.mark.parametrize("memory_format", FORMATS)
def test_an_image_has_the_same_bits_alone_and_in_a_batch(x_shape, w_shape, options, memory_format):
    facula.manual_seed(0)
    x, w = laid_out(facula.randn(x_shape), memory_format).requires_grad_(), facula.randn(w_shape)
    y = F.conv2d(x, w, **options)
    g = facula.randn_like(y)
    (gx,) = facula.autograd.grad(y, x, g)
    alone = x[-1:].detach().requires_grad_()
    y_alone = F.conv2d(alone, w, **options)
    (gx_alone,) = facula.autograd.grad(y_alone, alone, g[-1:])
    assert facula.equal(y_alone, y[-1:])
    assert facula.equal(gx_alone, gx[-1:])


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16])
def test_narrow_floats_are_summed_in_float_and_rounded_once(dtype):
    facula.manual_seed(0)
    x, w = facula.randn(2, 30, 9, 9).to(dtype), facula.randn(8, 30, 3, 3).to(dtype)
    expected = F.conv2d(x.float(), w.float(), padding=1).to(dtype)
    assert facula.equal(F.conv2d(x, w, padding=1), expected)


# Sums of bfloat16 may be products of pairs: of channels, and of taps for one that is left over.
# Far taps and the parts of long lines have copies of their own.
PAIRS = [
    ((2, 3, 33, 35), (8, 3, 7, 7), {"stride": 2, "padding": 3}),
    ((3, 16, 7, 7), (24, 16, 3, 3), {"padding": 1}),
    ((2, 9, 12, 70), (17, 9, 3, 3), {"padding": (4, 2), "dilation": 2}),
    ((2, 16, 9, 40), (8, 16, 3, 3), {"stride": 3, "padding": 1}),
    ((2, 18, 11, 13), (24, 9, 3, 2), {"groups": 2, "stride": (1, 2)}),
    ((2, 16, 9, 9), (8, 16, 1, 1), {"stride": 2}),
    ((2, 33, 12, 12), (16, 33, 1, 1), {}),
    ((1, 16, 1, 1), (8, 16, 3, 3), {"padding": 1}),
    ((1, 5, 9, 40), (8, 5, 2, 35), {}),
    ((2, 5, 12, 60), (20, 5, 2, 4), {"dilation": (1, 18), "padding": 3}),
    ((2, 4, 45, 9), (70, 4, 3, 3), {"dilation": (19, 1), "stride": (2, 3)}),
    ((2, 17, 1, 1101), (40, 17, 1, 5), {"padding": (0, 2)}),
    ((2, 6, 3, 1101), (16, 6, 2, 3), {"stride": 2}),
    ((40, 8, 5, 5), (130, 8, 3, 3), {"padding": 1}),
]


def _results(convolve, tensors, dtype, has_bias=True):
    x, w, bias, g = (t.to(dtype) for t in tensors)
    leaves = [x.requires_grad_(), w.requires_grad_()]
    y = convolve(x, w, bias if has_bias else None)
    return [y.detach(), *facula.autograd.grad(y, leaves, g)]


def _check_half(convolve, x_shape, w_shape, n_out):
    """Results are within half a unit of the last of 8 bits, and what a sum of floats is off by."""
    facula.manual_seed(0)
    x, w, bias = (facula.randn(s).bfloat16() for s in (x_shape, w_shape, (n_out,)))
    tensors = [x, w, bias, facula.randn_like(convolve(x, w, bias))]
    terms = _results(convolve, [t.abs() for t in tensors], facula.float64)
    for has_bias in (True, False):
        exact = _results(convolve, tensors, facula.float64, has_bias)
        actual = _results(convolve, tensors, facula.bfloat16, has_bias)
        for result, expected, all_terms in zip(actual, exact, terms, strict=True):
            error = (result.double() - expected).abs()
            assert (error <= expected.abs() * 2**-8 + all_terms * 1e-6).all()
    return tensors


@pytest.mark.parametrize("x_shape, w_shape, options", PAIRS)
def test_bfloat16_is_rounded_once_in_all_results(x_shape, w_shape, options):
    def convolve(x, w, bias):
        return F.conv2d(x, w, bias, **options)

    x, w, bias, g = _check_half(convolve, x_shape, w_shape, w_shape[0])
    x.requires_grad_(), w.requires_grad_()
    check_threads(
        lambda: convolve(x, w, bias),
        lambda: facula.autograd.grad(convolve(x, w, bias), x, g)[0],
        lambda: facula.autograd.grad(convolve(x, w, bias), w, g)[0],
    )
    # An image has the bits that it has alone.
    y, last = convolve(x, w, bias), x.detach()[-1:].requires_grad_()
    y_last = convolve(last, w, bias)
    assert facula.equal(y[-1:], y_last)
    grads = (facula.autograd.grad(*args)[0] for args in ((y, x, g), (y_last, last, g[-1:])))
    assert facula.equal(next(grads)[-1:], next(grads))
    wide = x.detach().to(memory_format=facula.channels_last)
    assert facula.equal(convolve(wide, w, bias), y)


def test_bfloat16_in_one_and_three_dimensions_and_transposed():
    _check_half(F.conv1d, (2, 16, 50), (8, 16, 5), 8)
    _check_half(F.conv3d, (2, 6, 5, 6, 7), (9, 6, 2, 3, 3), 9)
    _check_half(
        lambda *args: F.conv_transpose2d(*args, stride=2, padding=1),
        (2, 12, 9, 9),
        (12, 8, 4, 4),
        8,
    )


def test_bfloat16_passes_infinities_and_nan():
    x, w = facula.ones(1, 16, 9, 9).bfloat16(), facula.ones(8, 16, 3, 3).bfloat16()
    x[0, 3, 4, 4], x[0, 3, 0, 0] = facula.nan, facula.inf
    y = F.conv2d(x, w)[0, 0]
    assert y.isnan().sum() == 9 and y[0, 0] == facula.inf and y[6, 6] == 144


@pytest.mark.parametrize("n_channels", [6, 7])
def test_bfloat16_of_a_window_knows_nothing_of_numbers_beside_it(n_channels):
    x = facula.ones(1, n_channels, 9, 9).bfloat16()
    w = facula.ones(8, n_channels, 3, 3).bfloat16().requires_grad_()
    x[0, n_channels - 1, :, 5] = facula.inf
    y = F.conv2d(x, w)
    assert y[0, 0, 0].isinf().tolist() == [False, False, False, True, True, True, False]
    # Of seven columns the last has none to be paired with.
    x[..., 5], x[..., 7] = 1, facula.inf
    (grad,) = facula.autograd.grad(F.conv2d(x[..., :8], w[..., :2]).sum(), w)
    assert grad[0, 0].tolist() == [[49.0, facula.inf, 0.0]] * 3


def test_padding_by_name():
    x, w = facula.randn(1, 2, 9), facula.randn(3, 2, 4)
    assert facula.equal(F.conv1d(x, w, padding="valid"), F.conv1d(x, w))
    # The odd zero goes to the end.
    padded = facula.cat([facula.zeros(1, 2, 1), x, facula.zeros(1, 2, 2)], 2)
    assert F.conv1d(x, w, padding="same").allclose(F.conv1d(padded, w), atol=1e-6)


def test_a_single_image_needs_no_batch():
    x, w = facula.randn(3, 8, 8), facula.randn(4, 3, 3, 3)
    assert facula.equal(F.conv2d(x, w), F.conv2d(x[None], w)[0])


@pytest.mark.parametrize(
    "n, w_shape, options",
    [
        (3, (4, 3, 3, 3), {"padding": 1}),
        (16, (32, 16, 3, 3), {"stride": 2}),
        (12, (6, 4, 1, 1), {"groups": 3}),
        (12, (12, 1, 3, 3), {"padding": 2, "groups": 12}),
    ],
)
def test_channels_last_stays_channels_last(n, w_shape, options):
    x = facula.randn(2, n, 8, 8).to(memory_format=facula.channels_last).requires_grad_()
    w, b = facula.randn(w_shape, requires_grad=True), facula.randn(w_shape[0])
    y = F.conv2d(x, w, b, **options)
    assert y.is_contiguous(memory_format=facula.channels_last)
    planes = x.detach().contiguous().requires_grad_()
    expected = F.conv2d(planes, w, b, **options)
    facula.testing.assert_close(y, expected)
    g = facula.randn(y.shape)
    grads = facula.autograd.grad(y, (x, w), g)
    assert grads[0].is_contiguous(memory_format=facula.channels_last)
    for grad, other in zip(grads, facula.autograd.grad(expected, (planes, w), g), strict=True):
        facula.testing.assert_close(grad, other, atol=1e-4, rtol=1e-4)


def test_empty_batches_and_no_channels():
    w = facula.randn(4, 3, 3, 3, requires_grad=True)
    y = F.conv2d(facula.randn(0, 3, 8, 8), w)
    assert y.shape == (0, 4, 6, 6)
    y.sum().backward()
    assert w.grad.count_nonzero() == 0
    bias = facula.tensor([1.0, 2.0])
    y = F.conv2d(facula.randn(1, 0, 3, 3), facula.randn(2, 0, 3, 3), bias)
    assert y.flatten().tolist() == [1, 2]


def test_conv_tbc_is_conv1d_with_time_first():
    x, w, b = facula.randn(9, 2, 3), facula.randn(4, 3, 5), facula.randn(5)
    expected = F.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=2).permute(2, 0, 1)
    assert facula.equal(F.conv_tbc(x, w, b, 2), expected)


def test_unfold_gives_the_windows_that_a_convolution_multiplies():
    x, w = facula.randn(2, 3, 7, 8), facula.randn(4, 3, 3, 2)
    options = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}
    columns = F.unfold(x, (3, 2), **options)
    expected = F.conv2d(x, w, **options)
    assert (w.view(4, -1) @ columns).view(expected.shape).allclose(expected, atol=1e-5)


def test_fold_undoes_unfold_up_to_the_number_of_windows():
    x = facula.randn(2, 3, 6, 6, dtype=facula.float64)
    options = {"stride": 2, "padding": 1}
    count = F.fold(F.unfold(facula.ones_like(x), 3, **options), (6, 6), 3, **options)
    folded = F.fold(F.unfold(x, 3, **options), (6, 6), 3, **options)
    assert folded.allclose(x * count)


@pytest.mark.parametrize("dtype, large", [(facula.float16, 2048.0), (facula.bfloat16, 256.0)])
def test_sums_of_windows_of_16_bits_are_rounded_once(dtype, large):
    columns = facula.zeros(3, 3, dtype=dtype)
    columns[2, 0], columns[1, 1], columns[0, 2] = 1.0, 1.0, large
    assert F.fold(columns, (1, 5), (1, 3)).tolist() == [[[0.0, 0.0, large + 2, 0.0, 0.0]]]


def test_windows_have_gradients_of_both_orders():
    x = facula.randn(1, 2, 5, 5, dtype=facula.float64, requires_grad=True)
    columns = facula.randn(1, 8, 9, dtype=facula.float64, requires_grad=True)
    for f, a in ((F.unfold, x), (lambda c, k: F.fold(c, (4, 4), k), columns)):
        assert facula.autograd.gradcheck(lambda v, f=f: f(v, 2), a)
        assert facula.autograd.gradgradcheck(lambda v, f=f: f(v, 2), a)


X, W = (1, 2, 5, 5), (3, 2, 3, 3)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda x, w: F.conv2d(x[:, :1], w),
            "conv2d: expected an input of 2 channels for weight (3, 2, 3, 3), "
            "got float32 (1, 1, 5, 5). (expected input to have 2 channels, but got 1 channels "
            "instead)",
        ),
        (
            lambda x, w: F.conv2d(x, w, padding=-1),
            "conv2d: expected padding to be at least 0, got (-1, -1): "
            "a negative one is not supported.",
        ),
        (
            lambda x, w: F.conv2d(x, w, stride=0),
            "conv2d: expected stride to be at least 1, got (0, 0).",
        ),
        (
            lambda x, w: F.conv2d(x, w, dilation=3),
            "conv2d: the kernel, which with dilation reaches over 7 elements, is larger than the "
            "input, which has 5 with padding: input (1, 2, 5, 5), weight (3, 2, 3, 3). (Kernel "
            "size can't be greater than actual input size.)",
        ),
        (
            lambda x, w: F.conv2d(x, w, facula.ones(2)),
            "conv2d: expected a bias of shape (3,), one number per output channel, got (2,).",
        ),
        (
            lambda x, w: F.conv2d(x, w, groups=2),
            "conv2d: expected the first dimension of weight to be a multiple of groups=2, "
            "got weight (3, 2, 3, 3).",
        ),
        (
            lambda x, w: F.conv2d(x.double(), w),
            "conv2d: expected input and weight of one dtype, "
            "got float64 (1, 2, 5, 5) and float32 (3, 2, 3, 3).",
        ),
        (
            lambda x, w: F.conv2d(x[0, 0], w),
            "conv2d: expected an input of 3 (unbatched) or 4 (batched) dimensions, "
            "got float32 (5, 5). (Expected 3D (unbatched) or 4D (batched) input to conv2d)",
        ),
        (
            lambda x, w: F.conv2d(x, w, padding="full"),
            "conv2d: expected padding to be 'valid', 'same' or integers, got 'full'.",
        ),
        (
            lambda x, w: F.conv2d(x, w, padding="same", stride=2),
            "conv2d: expected a stride of 1 with padding='same', got (2, 2).",
        ),
        (
            lambda x, w: F.conv2d(x, w, stride=(1, 2, 3)),
            "conv2d: expected stride to be one integer or 2, one per spatial dimension, "
            "got (1, 2, 3).",
        ),
        (
            lambda x, w: F.conv2d(x, w, padding=2**62),
            "conv2d: a padding of 4611686018427387904 is more than an int64 can count.",
        ),
        (
            lambda x, w: F.conv_transpose2d(x, w[:2], stride=2, output_padding=2),
            "conv_transpose2d: expected an output_padding less than stride or dilation, got (2, 2) "
            "with stride (2, 2) and dilation (1, 1).",
        ),
        (
            lambda x, w: F.unfold(x, 6),
            "unfold: a window that with dilation reaches over 6 elements does not fit into an "
            "image of 5 with padding 0.",
        ),
        (
            lambda x, w: F.fold(facula.ones(1, 8, 15), 5, 2),
            "fold: expected 4 * 4 = 16 columns, the windows of an image of (5, 5), "
            "got float32 (1, 8, 15).",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(RuntimeError) as error:
        call(facula.ones(X), facula.ones(W))
    assert str(error.value) == message


def test_huge_strides_and_dilations_are_ordinary():
    x, w = facula.ones(1, 1, 5), facula.ones(1, 1, 3)
    assert F.conv1d(x, w, stride=2**62).flatten().tolist() == [3]
    assert F.conv1d(x, w, dilation=2**60, padding=2**60).flatten().tolist() == [1] * 5
    assert F.conv_transpose1d(x[..., :1], w, stride=2**62).flatten().tolist() == [1, 1, 1]


OWN = {
    False: (F.conv1d, F.conv2d, F.conv3d),
    True: (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("transposed", OWN)
@pytest.mark.parametrize("has_bias", [False, True])
def test_convolution_of_any_rank_is_that_of_its_own_function(n, transposed, has_bias):
    stride, padding, dilation, output_padding = [2] * n, [1] * n, [1] * n, [int(transposed)] * n
    x = facula.rand(2, 4, *(5,) * n, dtype=facula.float64, requires_grad=True)
    w = facula.rand(4, 2, *(3,) * n, dtype=facula.float64, requires_grad=True)
    b = facula.rand(4, dtype=facula.float64, requires_grad=True) if has_bias else None
    found = facula.convolution(x, w, b, stride, padding, dilation, transposed, output_padding, 2)
    own = OWN[transposed][n - 1]
    more = {"output_padding": output_padding} if transposed else {}
    expected = own(x, w, b, stride=2, padding=1, groups=2, **more)
    assert facula.equal(found, expected)
    inputs = [t for t in (x, w, b) if t is not None]
    for a, e in zip(
        facula.autograd.grad(found.square().sum(), inputs),
        facula.autograd.grad(expected.square().sum(), inputs),
        strict=True,
    ):
        assert facula.equal(a, e)


@pytest.mark.parametrize("call", [F.conv3d, F.conv_transpose3d])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_volumes_keep_their_channels_last(call, dtype):
    x = facula.randn(2, 4, 5, 6, 7, dtype=getattr(facula, dtype))
    w = facula.randn(4, 4, 3, 3, 3, dtype=x.dtype)
    y = call(x, w)
    for a, b in ((True, False), (False, True), (True, True)):
        volume = x.to(memory_format=facula.channels_last_3d) if a else x
        weight = w.to(memory_format=facula.channels_last_3d) if b else w
        z = call(volume, weight)
        assert z.is_contiguous(memory_format=facula.channels_last_3d)
        assert facula.equal(y, z)


def test_single_channels_and_pixels_tell_of_their_format():
    x = facula.randn(2, 3, 4, 4).to(memory_format=facula.channels_last)
    assert F.conv2d(x, facula.randn(1, 3, 2, 2)).stride() == (9, 1, 3, 1)
    assert F.conv2d(x, facula.randn(5, 3, 4, 4)).stride() == (5, 1, 5, 5)


def test_complex_images_of_a_batch_have_the_bits_they_have_alone():
    x = facula.randn(3, 16, 14, 14, 14, dtype=facula.complex64)
    w = facula.randn(16, 16, 3, 3, 3, dtype=facula.complex64)
    together = F.conv_transpose3d(x, w)
    assert together[1:2].equal(F.conv_transpose3d(x[1:2], w))
