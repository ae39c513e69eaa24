"""The functions below grid_sample, which take numbers for modes."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import facula
from check_op import check_op
from facula.nn import functional as F

MODES = ["bilinear", "nearest", "bicubic"]
PADDINGS = ["zeros", "border", "reflection"]
SIZES = {"grid_sampler_2d": (4, 5), "grid_sampler_3d": (3, 4, 5)}


def linear(image, point):
    """The value of one image at a point, between its pixels; zero outside."""
    total = 0.0
    low = np.floor(point).astype(int)
    for corner in itertools.product((0, 1), repeat=len(point)):
        pixel = low + corner
        if all(0 <= p < n for p, n in zip(pixel, image.shape, strict=True)):
            total += np.prod(1 - np.abs(point - pixel)) * image[tuple(pixel)]
    return total


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("name", SIZES)
def test_points_between_pixels_agree_with_numpy(name, align_corners):
    size = SIZES[name]
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2, 3, *size))
    places = rng.uniform(-1.3, 1.3, (2, *(2,) * len(size), len(size)))
    y = getattr(facula, name)(facula.tensor(x), facula.tensor(places), 0, 0, align_corners)
    expected = np.empty(y.shape)
    for n, c, *at in np.ndindex(*y.shape):
        # Coordinates of a grid are in the order x, y, z; sizes of an image the other way round.
        p = places[(n, *at)][::-1]
        half = (np.array(size) - 1) / 2
        point = (p + 1) * half if align_corners else p * np.array(size) / 2 + half
        expected[(n, c, *at)] = linear(x[n, c], point)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("padding", range(3))
@pytest.mark.parametrize(
    "name, mode",
    [("grid_sampler_2d", m) for m in range(3)] + [("grid_sampler_3d", m) for m in range(2)],
)
def test_numbers_choose_the_modes_of_grid_sample(name, mode, padding):
    size = SIZES[name]
    x = facula.rand(2, 3, *size).transpose(-1, -2).contiguous().transpose(-1, -2)
    grid = facula.rand(2, *(3,) * len(size), len(size)) * 3 - 1.5
    found = getattr(facula, name)(x, grid, mode, padding, False)
    expected = F.grid_sample(x, grid, MODES[mode], PADDINGS[padding], align_corners=False)
    assert facula.equal(found, expected)
    assert facula.equal(facula.grid_sampler(x, grid, mode, padding, False), expected)
    assert getattr(facula, name)(x[:0], grid[:0], mode, padding, False).shape[0] == 0


@pytest.mark.parametrize("name", SIZES)
def test_the_gradients_of_image_and_grid_agree_with_differences(name):
    size = SIZES[name]
    x = facula.rand(1, 2, *size, dtype=facula.float64, requires_grad=True)
    grid = facula.rand(1, *(2,) * len(size), len(size), dtype=facula.float64)
    grid = (grid * 1.2 - 0.6).requires_grad_()
    op = getattr(facula, name)
    assert facula.autograd.gradcheck(lambda x, g: op(x, g, 0, 0, False), (x, grid))


@pytest.mark.parametrize("name", SIZES)
def test_images_of_another_rank_and_unknown_modes_are_refused(name):
    n = len(SIZES[name])
    grid = facula.zeros(1, *(2,) * n, n)
    with pytest.raises(RuntimeError, match="grid_sample"):
        getattr(facula, name)(facula.ones(1, 2), grid, 0, 0, False)
    with pytest.raises((RuntimeError, ValueError), match="grid_sample"):
        getattr(facula, name)(facula.ones(1, 1, *SIZES[name]), grid, 7, 0, False)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 3, 4, 5), (1, 1, 1, 2)])
def test_affine_grids_are_products_with_the_coordinates_of_pixels(size, align_corners):
    n, dims = size[0], size[2:]
    lines = []
    for length in dims:
        line = np.linspace(-1, 1, length) if length > 1 else np.zeros(1)
        lines.append(line if align_corners else (2 * np.arange(length) + 1) / length - 1)
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]
    points = np.stack([*mesh, np.ones(dims)], -1)
    check_op(
        lambda theta: facula.affine_grid_generator(theta, size, align_corners),
        lambda theta: np.einsum("...j,nij->n...i", points, theta),
        [(n, len(dims), len(dims) + 1)],
        dtypes=["float32", "float64"],
    )


@pytest.mark.parametrize("size", [(1, 1), (1, 2), (2, 1), (3, 5)])
def test_what_is_not_finite_stays_out_of_places_outside(size):
    """Elements are read two at a time, places outside at the first two: these must not count."""
    x = facula.full((1, 2, *size), float("inf"), requires_grad=True)
    grid = facula.full((1, 1, 70, 2), 3.0)
    grid[0, 0, ::3] = -4.0
    grid[0, 0, 5] = 0.0
    grid.requires_grad_()
    y = F.grid_sample(x, grid, align_corners=False)
    inside = facula.zeros(70, dtype=facula.bool)
    inside[5] = True
    assert (y[..., ~inside] == 0).all() and not (y[..., inside] == 0).any()
    to_x, to_grid = facula.autograd.grad(y, (x, grid), facula.ones(y.shape))
    assert facula.allclose(to_x.sum(), facula.tensor(2.0))
    assert (to_grid[:, :, ~inside] == 0).all()


@pytest.mark.parametrize("dtype", [facula.float32, facula.float64, facula.float16, facula.bfloat16])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_channels", [3, 8, 16, 21])
def test_channels_are_sampled_together_as_each_alone(n_channels, mode, padding, dtype):
    x = facula.randn(2, n_channels, 6, 7).to(dtype)
    grid = (facula.rand(2, 9, 10, 2) * 3 - 1.5).to(dtype)
    grid[1, 3, 4, 0] = float("nan")

    def sample(image):
        return F.grid_sample(image, grid, mode, padding, align_corners=False)

    alone = facula.cat([sample(x[:, c : c + 1]) for c in range(n_channels)], 1)
    for image in (x, x.to(memory_format=facula.channels_last)):
        y = sample(image)
        assert y.is_contiguous() and facula.equal(y.nan_to_num(99), alone.nan_to_num(99))


@pytest.mark.parametrize("mode", MODES[:2])
def test_volumes_with_channels_last_are_sampled_as_those_apart(mode):
    x = facula.randn(2, 11, 3, 4, 5, dtype=facula.float64)
    grid = facula.rand(2, 4, 4, 6, 3, dtype=facula.float64) * 3 - 1.5
    few = grid[:, :1, :2]
    last = x.to(memory_format=facula.channels_last_3d)
    for places in (grid, few):
        y = F.grid_sample(x, places, mode, align_corners=False)
        assert facula.equal(F.grid_sample(last, places, mode, align_corners=False), y)
    assert facula.equal(
        F.grid_sample(x, few, mode, align_corners=False),
        F.grid_sample(x, grid, mode, align_corners=False)[:, :, :1, :2],
    )


def test_samples_of_cubics_agree_with_numpy():
    rng = np.random.default_rng(0)
    x, places = rng.uniform(-1, 1, (1, 2, 6, 5)), rng.uniform(-1.5, 1.5, (1, 7, 9, 2))
    y = F.grid_sample(
        facula.tensor(x), facula.tensor(places), mode="bicubic", align_corners=True
    ).numpy()

    def weights(part):
        near = [(1.25 * d - 2.25) * d * d + 1 for d in (part, 1 - part)]
        far = [((-0.75 * d + 3.75) * d - 6) * d + 3 for d in (part + 1, 2 - part)]
        return [far[0], *near, far[1]]

    padded = np.pad(x[0], ((0, 0), (8, 8), (8, 8)))
    for i, j in np.ndindex(7, 9):
        at = (places[0, i, j, ::-1] + 1) * (np.array([6, 5]) - 1) / 2
        low = np.floor(at).astype(int)
        rows, columns = (weights(p) for p in at - low)
        window = padded[:, low[0] + 7 : low[0] + 11, low[1] + 7 : low[1] + 11]
        expected = np.einsum("cij,i,j->c", window, rows, columns)
        np.testing.assert_allclose(y[0, :, i, j], expected, rtol=1e-10, atol=1e-12)


# An image of one pixel at the end of a page; the page behind it may not be read.
AT_THE_END = """
import ctypes, mmap
import numpy as np
import facula
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page = mmap.PAGESIZE
access, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
start = libc.mmap(None, 2 * page, access, kind, -1, 0)
assert libc.mprotect(start + page, page, 0) == 0
for n_channels in (9, 12, 17):
    for dtype in ("float32", "float64"):
        nbytes = n_channels * np.dtype(dtype).itemsize
        memory = (ctypes.c_char * nbytes).from_address(start + page - nbytes)
        image = np.frombuffer(memory, dtype=dtype).reshape(1, n_channels, 1, 1)
        image[:] = 1
        for mode in ("bilinear", "nearest", "bicubic"):
            x = facula.from_numpy(image)
            grid = facula.zeros(1, 4, 4, 2, dtype=x.dtype)
            y = facula.nn.functional.grid_sample(x, grid, mode, align_corners=True)
            assert (y == 1).all()
"""


def test_nothing_is_read_behind_an_image_of_one_pixel():
    ended = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
