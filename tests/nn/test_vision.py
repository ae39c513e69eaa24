"""Images: other sizes, other places, and channels as pixels."""

import pytest

import facula
import facula.nn.functional as F
from facula import nn
from tests.check_op import check_threads

ROW = facula.tensor([[[1.0, 2.0, 4.0]]])


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "mode, align_corners, expected",
    [
        ("nearest", None, [1.0, 1.0, 2.0, 2.0, 4.0]),
        ("nearest-exact", None, [1.0, 1.0, 2.0, 4.0, 4.0]),
        ("linear", False, [1.0, 1.4, 2.0, 3.2, 4.0]),
        ("linear", True, [1.0, 1.5, 2.0, 3.0, 4.0]),
        ("area", None, [1.0, 1.5, 2.0, 3.0, 4.0]),
    ],
)
def test_each_mode_interpolates_its_way(mode, align_corners, expected):
    y = F.interpolate(ROW, size=5, mode=mode, align_corners=align_corners)
    assert facula.allclose(y, facula.tensor([[expected]]))


@pytest.mark.promise("N2")
def test_a_scale_factor_counts_unless_it_is_computed_again():
    x = facula.arange(4.0).reshape(1, 1, 4)
    as_given = F.interpolate(x, scale_factor=1.6, mode="linear")
    again = F.interpolate(x, scale_factor=1.6, mode="linear", recompute_scale_factor=True)
    assert facula.equal(again, F.interpolate(x, size=6, mode="linear"))
    assert not facula.equal(as_given, again)


@pytest.mark.promise("N2")
def test_antialias_averages_what_a_smaller_image_skips():
    x = facula.tensor([0.0, 0.0, 0.0, 8.0] * 2).repeat(8, 1).reshape(1, 1, 8, 8)
    plain = F.interpolate(x, size=2, mode="bilinear")
    smooth = F.interpolate(x, size=2, mode="bilinear", antialias=True)
    assert plain.flatten().tolist() == [0.0] * 4
    assert 1.0 < smooth.min().item() < smooth.max().item() < 3.0


@pytest.mark.promise("N2")
def test_bytes_are_interpolated_in_steps_of_one():
    x = facula.tensor([[[[0, 100], [200, 255]]]], dtype=facula.uint8)
    y = F.interpolate(x, size=(3, 3), mode="bilinear")
    assert y.dtype == facula.uint8
    assert y.tolist() == [[[[0, 50, 100], [100, 139, 178], [200, 228, 255]]]]


MODES = [
    {"mode": "nearest", "size": (5, 9)},
    {"mode": "bilinear", "size": (9, 3)},
    {"mode": "bicubic", "scale_factor": 1.7},
    {"mode": "bilinear", "size": (3, 4), "antialias": True},
    {"mode": "lanczos", "size": (3, 9), "antialias": True},
]


@pytest.mark.promise("N2")
@pytest.mark.parametrize("options", MODES)
def test_gradients_of_interpolation_agree_with_differences(options):
    x = facula.rand(2, 2, 5, 6, dtype=facula.float64, requires_grad=True)
    assert facula.autograd.gradcheck(lambda x: F.interpolate(x, **options), (x,))
    assert facula.autograd.gradgradcheck(lambda x: F.interpolate(x, **options) ** 2, (x,))


@pytest.mark.promise("N2")
@pytest.mark.parametrize("options", MODES)
def test_interpolation_keeps_channels_last(options):
    x = facula.rand(2, 5, 5, 6)
    y = F.interpolate(x.to(memory_format=facula.channels_last), **options)
    assert y.is_contiguous(memory_format=facula.channels_last)
    assert facula.allclose(y, F.interpolate(x, **options), atol=1e-6)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("format", ["contiguous_format", "channels_last"])
def test_interpolation_does_not_depend_on_the_threads(options, format):
    x = facula.rand(4, 30, 33, 41).to(memory_format=getattr(facula, format)).requires_grad_()

    def gradient():
        return facula.autograd.grad((F.interpolate(x, **options) ** 2).sum(), x)[0]

    check_threads(lambda: F.interpolate(x, **options).detach(), gradient)


@pytest.mark.promise("N2")
def test_pixels_come_from_channels_and_go_back():
    x = facula.arange(24.0).reshape(1, 8, 1, 3)
    y = F.pixel_shuffle(x, 2)
    assert y[0, 0].tolist() == [[0.0, 3.0, 1.0, 4.0, 2.0, 5.0], [6.0, 9.0, 7.0, 10.0, 8.0, 11.0]]
    assert facula.equal(F.pixel_unshuffle(y, 2), x)
    assert F.channel_shuffle(x, 2)[0, :, 0, 0].tolist() == [0, 12, 3, 15, 6, 18, 9, 21]


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: F.interpolate(x), ValueError, "expected size or scale_factor"),
        (lambda x: F.interpolate(x, 2, 2), ValueError, "got both"),
        (lambda x: F.interpolate(x, (2, 2, 2)), ValueError, r"a size of 2 numbers for an input"),
        (lambda x: F.interpolate(x, 2, mode="linear"), NotImplementedError, "3 dimensions, got"),
        (lambda x: F.interpolate(x, 2, mode="best"), NotImplementedError, "got .* and 'best'"),
        (lambda x: F.interpolate(x, 2, align_corners=True), ValueError, "align_corners has no"),
        (lambda x: F.interpolate(x, 2, antialias=True), ValueError, "antialias is for the modes"),
        (lambda x: F.interpolate(x, 0), RuntimeError, r"sizes from 1 to 2\^31, got float32"),
        (lambda x: F.interpolate(x.int(), 2), NotImplementedError, "not implemented for int32"),
        (lambda x: F.pixel_shuffle(x, 2), RuntimeError, r"channels that 2 \* 2 divides, got 3"),
        (lambda x: F.pixel_unshuffle(x, 3), RuntimeError, "height and width that 3 divides"),
        (lambda x: F.channel_shuffle(x, 2), RuntimeError, "2 groups divide, got 3"),
    ],
)
def test_impossible_images_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(facula.ones(1, 3, 4, 5))


@pytest.mark.promise("N2")
def test_layers_of_images_print_as_pytorchs():
    assert repr(nn.Upsample(scale_factor=2, mode="bilinear")) == (
        "Upsample(scale_factor=2.0, mode='bilinear')"
    )
    assert repr(nn.UpsamplingBilinear2d(4)) == "UpsamplingBilinear2d(size=4, mode='bilinear')"
    assert repr(nn.PixelShuffle(3)) == "PixelShuffle(upscale_factor=3)"
