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
@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("dtype", [facula.float32, facula.float64, facula.float16, facula.bfloat16])
@pytest.mark.parametrize("n_channels", [2, 3, 16, 37])
def test_channels_that_lie_together_are_interpolated_as_those_apart(options, dtype, n_channels):
    x = facula.randn(2, n_channels, 7, 9, dtype=facula.float64).to(dtype)
    y = F.interpolate(x.to(memory_format=facula.channels_last), **options)
    expected = F.interpolate(x.double(), **options)
    precision = {facula.float64: 1e-12, facula.float32: 1e-5}.get(dtype, 3e-2)
    assert y.dtype == dtype and facula.allclose(
        y.double(), expected, rtol=precision, atol=precision
    )


@pytest.mark.promise("N2")
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("n_channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "size, to", [((1, 1), (3, 5)), ((5, 7), (4, 3)), ((9, 30), (20, 41)), ((40, 70), (9, 8))]
)
def test_bytes_of_interleaved_images_are_interpolated_exactly_so(
    mode, antialias, n_channels, size, to
):
    # No sum goes below 0 or above 255, where the first dimension to be resampled would be cut off.
    x = facula.randint(64, 192, (2, n_channels, *size), dtype=facula.uint8)
    options = {"size": to, "mode": mode, "antialias": antialias}
    last = F.interpolate(x.to(memory_format=facula.channels_last), **options)
    apart = F.interpolate(x, **options)
    assert facula.equal(last, apart)
    exact = F.interpolate(x.double(), **options)
    assert (apart.double() - exact).abs().max() <= 1.5  # rounded twice


@pytest.mark.promise("N2")
@pytest.mark.parametrize("size", [(3,), (6, 5), (4, 3, 6)])
def test_nearest_elements_are_picked_in_every_layout(size):
    to = [2 * n + 1 for n in size]
    x = facula.arange(2 * 19 * facula.Size(size).numel()).reshape(2, 19, *size).float()
    last = x.movedim(1, -1).contiguous().movedim(-1, 1)
    expected = x
    for dim, (n, m) in enumerate(zip(size, to, strict=True)):
        expected = expected.index_select(dim + 2, facula.arange(m) * n // m)
    assert facula.equal(F.interpolate(x, to), expected)
    assert facula.equal(F.interpolate(last, to), expected)


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


@pytest.mark.promise("N2")
def test_a_grid_of_centers_gives_the_image():
    x = facula.rand(2, 3, 4, 5)
    identity = facula.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]).expand(2, 2, 3)
    for align_corners in (False, True):
        grid = F.affine_grid(identity, x.shape, align_corners=align_corners)
        y = F.grid_sample(x, grid, align_corners=align_corners)
        assert facula.allclose(y, x, atol=1e-6)


@pytest.mark.promise("N2")
def test_places_outside_show_what_the_padding_mode_says():
    x = facula.tensor([[[[1.0, 2.0, 4.0]]]])
    grid = facula.tensor([[[[-5 / 3, 0.0], [5 / 3, 0.0]]]])

    def sample(padding_mode):
        y = F.grid_sample(x, grid, padding_mode=padding_mode, align_corners=False)
        return [round(v, 5) for v in y.flatten().tolist()]

    assert sample("zeros") == [0.0, 0.0]
    assert sample("border") == [1.0, 4.0]
    assert sample("reflection") == [1.5, 3.0]


@pytest.mark.promise("N2")
def test_places_that_are_no_numbers_do_no_harm():
    nan, inf = float("nan"), float("inf")
    grid = facula.tensor([[[[nan, 0.0], [inf, 0.0], [1e30, -1e30]]]], requires_grad=True)
    x = facula.ones(1, 1, 2, 2, requires_grad=True)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding_mode in ("zeros", "border", "reflection"):
            y = F.grid_sample(x, grid, mode, padding_mode, align_corners=False)
            y.sum().backward()
            if mode != "nearest":
                assert y[0, 0, 0, 0].isnan()


GRIDS = [
    ((2, 2, 4, 5), (2, 3, 2, 2), "bilinear"),
    ((2, 2, 4, 5), (2, 3, 2, 2), "bicubic"),
    ((1, 2, 3, 4, 3), (1, 2, 2, 3, 3), "bilinear"),
]


@pytest.mark.promise("N2")
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("shape, places, mode", GRIDS)
def test_gradients_of_samples_agree_with_differences(shape, places, mode, padding_mode):
    facula.manual_seed(3)
    x = facula.rand(shape, dtype=facula.float64, requires_grad=True)
    grid = (facula.rand(places, dtype=facula.float64) * 2.6 - 1.3).requires_grad_()

    def sample(x, grid):
        return F.grid_sample(x, grid, mode, padding_mode, align_corners=False)

    assert facula.autograd.gradcheck(sample, (x, grid))
    assert facula.autograd.gradgradcheck(sample, (x, grid))


@pytest.mark.promise("N2")
def test_samples_do_not_depend_on_the_threads():
    x = facula.rand(2, 20, 30, 31, requires_grad=True)
    grid = (facula.rand(2, 40, 40, 2) * 2 - 1).requires_grad_()

    def gradient(i):
        y = F.grid_sample(x, grid, align_corners=False)
        return facula.autograd.grad((y**2).sum(), (x, grid))[i]

    check_threads(
        lambda: F.grid_sample(x, grid, align_corners=False).detach(),
        lambda: gradient(0),
        lambda: gradient(1),
    )


@pytest.mark.promise("N2")
@pytest.mark.parametrize(
    "x, grid, options, error, text",
    [
        ((1, 1, 2, 2), (1, 2, 2, 3), {}, RuntimeError, "a grid of 2 coordinates"),
        ((1, 1, 2, 2), (2, 2, 2, 2), {}, RuntimeError, "one batch size"),
        ((1, 1, 0, 2), (1, 2, 2, 2), {}, RuntimeError, "an input with elements"),
        ((1, 1, 2), (1, 2, 2), {}, RuntimeError, "4 or 5 dimensions"),
        ((1, 1, 2, 2), (1, 2, 2, 2), {"mode": "best"}, ValueError, "expected mode as one of"),
        ((1, 1, 2, 2, 2), (1, 2, 2, 2, 3), {"mode": "bicubic"}, RuntimeError, "'bicubic' is for"),
    ],
)
def test_impossible_grids_are_refused(x, grid, options, error, text):
    with pytest.raises(error, match=text):
        F.grid_sample(facula.ones(x), facula.ones(grid), align_corners=False, **options)


@pytest.mark.promise("N2")
def test_affine_grids_of_the_wrong_form_are_refused():
    theta = facula.ones(2, 2, 3)
    with pytest.raises(ValueError, match=r"expected theta \(N, 3, 4\) for the size"):
        F.affine_grid(theta, (2, 1, 2, 2, 2), align_corners=False)
    with pytest.raises(NotImplementedError, match=r"expected a size \(N, C, H, W\)"):
        F.affine_grid(theta, (2, 1, 2), align_corners=False)
    with pytest.raises(RuntimeError, match=r"expected theta \(3, 2, 3\)"):
        F.affine_grid(theta, (3, 1, 2, 2), align_corners=False)
    with pytest.warns(UserWarning, match="align_corners is False by default"):
        F.affine_grid(theta, (2, 1, 2, 2))
