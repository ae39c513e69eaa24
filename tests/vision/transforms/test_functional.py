import math
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

import facula
from facula.vision import tv_tensors
from facula.vision.transforms import functional as F1
from facula.vision.transforms.v2 import functional as F

pytestmark = pytest.mark.promise("D3")


@pytest.fixture
def photo():
    generator = np.random.RandomState(0)
    return PIL.Image.fromarray(generator.randint(0, 256, (17, 23, 3)).astype(np.uint8))


@pytest.fixture
def image(photo):
    return F.pil_to_tensor(photo)


def bytes_of(*rows):
    return facula.tensor([rows], dtype=facula.uint8)


def same_pixels(photo, image):
    return photo.tobytes() == F.to_pil_image(image).tobytes()


@pytest.mark.parametrize(
    "change",
    [
        F.hflip,
        F.vflip,
        F.invert,
        lambda x: F.crop(x, -2, 3, 9, 30),
        lambda x: F.center_crop(x, (30, 6)),
        lambda x: F.pad(x, [1, 2, 3, 4], fill=7),
        lambda x: F.pad(x, 3, padding_mode="reflect"),
        lambda x: F.pad(x, 3, padding_mode="symmetric"),
        lambda x: F.pad(x, 3, padding_mode="edge"),
        lambda x: F.five_crop(x, 5)[4],
        lambda x: F.ten_crop(x, 5)[6],
        lambda x: F.posterize(x, 3),
        lambda x: F.solarize(x, 100),
        lambda x: F.equalize(x),
        lambda x: F.permute_channels(x, [2, 0, 1]),
        lambda x: F.rotate(x, 180),
        lambda x: F.erase(x, 1, 2, 3, 4, facula.tensor(9)),
        lambda x: F.gaussian_blur(x, 3),
    ],
)
def test_tensors_and_pil_images_agree(change, photo, image):
    assert same_pixels(change(photo), change(image))


def test_sixteen_bits_of_a_pil_image_are_a_tensor_of_uint16():
    tensor = F.pil_to_tensor(PIL.Image.new("I;16", (3, 2), 50000))
    assert (tensor.dtype, tensor.shape) == (facula.uint16, (1, 2, 3))
    assert tensor.unique().tolist() == [50000]


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "I", "F"])
def test_pil_images_of_any_mode_become_tensors_and_return(mode, photo):
    photo = photo.convert(mode)
    tensor = F.pil_to_tensor(photo)
    assert tensor.shape == (len(photo.getbands()), 17, 23)
    assert np.array_equal(tensor.numpy(), np.atleast_3d(np.array(photo)).transpose(2, 0, 1))


def test_to_tensor_scales_bytes_only(photo):
    assert F1.to_tensor(photo).max() <= 1
    assert F1.to_tensor(photo).is_contiguous()
    assert F1.to_tensor(np.full((2, 2), 7, np.int32)).tolist() == [[[7, 7], [7, 7]]]


def test_resize_takes_a_side_a_size_or_a_limit(image):
    assert F.resize(image, 34).shape == (3, 34, 46)
    assert F.resize(image, [5, 6]).shape == (3, 5, 6)
    assert F.resize(image, 34, max_size=40).shape == (3, 29, 40)
    assert F.resize(image, None, max_size=46).shape == (3, 34, 46)
    assert F.resize(image, [17, 23]) is image


def test_resize_agrees_with_averages():
    image = facula.arange(16.0).view(1, 4, 4)
    assert F.resize(image, [2, 2], antialias=False).tolist() == [[[2.5, 4.5], [10.5, 12.5]]]
    assert F.resize(image, [2, 2], "nearest").tolist() == [[[0.0, 2.0], [8.0, 10.0]]]


def test_masks_take_the_nearest_pixel_and_keep_their_dimensions():
    mask = tv_tensors.Mask(facula.arange(16).view(4, 4))
    assert F.resize(mask, [2, 2]).tolist() == [[0, 2], [8, 10]]
    assert F.rotate(mask, 90)[0].tolist() == [3, 7, 11, 15]
    for change in (lambda x: F.affine(x, 9, [1, 1], 1.1, [0, 0]), lambda x: F.pad(x, 1)):
        assert type(change(mask)) is tv_tensors.Mask
        assert change(mask).dim() == 2


def test_four_quarter_turns_are_none(image):
    turned = image
    for _ in range(4):
        turned = F.rotate(turned, 90, expand=True)
    assert turned.equal(image)


def test_what_lies_outside_is_filled(image):
    turned = F.rotate(image, 45, fill=[1, 2, 3])
    assert turned[:, 0, 0].tolist() == [1, 2, 3]
    moved = F.affine(image, 0, [3, 0], 1.0, [0, 0], fill=9)
    assert moved[:, :, 3:].equal(image[:, :, :-3])
    assert moved[:, :, :3].unique().tolist() == [9]


def test_a_perspective_that_moves_no_corner_changes_nothing(image):
    corners = [[0, 0], [22, 0], [22, 16], [0, 16]]
    assert F.perspective(image, corners, corners).equal(image)


def test_an_elastic_transform_without_displacement_changes_nothing(image):
    assert F.elastic(image, facula.zeros(1, 17, 23, 2)).equal(image)


def test_colors_move_between_images(image):
    scaled = F.to_dtype(image, facula.float32, scale=True)
    gray = F.rgb_to_grayscale(scaled, 3)
    assert facula.allclose(F.adjust_saturation(scaled, 0), gray, atol=1e-6)
    assert F.adjust_saturation(scaled, 1).equal(scaled)
    assert F.adjust_contrast(scaled, 0).std(dim=(1, 2)).max() < 1e-6
    assert F.adjust_brightness(image, 0).sum() == 0
    assert F.adjust_gamma(image, 1).equal(image)
    turned = F.adjust_hue(F.adjust_hue(scaled, 0.3), -0.3)
    assert facula.allclose(turned, scaled, atol=1e-5)


def test_colors_have_the_values_of_torchvision():
    image = facula.tensor([10, 200, 90, 250, 0, 30], dtype=facula.uint8).view(3, 1, 2)
    expected = {
        "adjust_brightness": [15, 255, 135, 255, 0, 45],
        "adjust_contrast": [0, 234, 69, 255, 0, 0],
        "adjust_saturation": [0, 195, 107, 255, 0, 0],
    }
    for name, values in expected.items():
        result = getattr(F, name)(image, 1.5).flatten().int()
        assert (result - facula.tensor(values)).abs().max() <= 1, name
    result = F.adjust_hue(image, 0.25).flatten().int()
    assert (result - facula.tensor([0, 30, 55, 250, 90, 190])).abs().max() <= 1
    assert F.rgb_to_grayscale(image).flatten().tolist() == [55, 209]


def test_to_dtype_scales_between_the_ranges_of_dtypes():
    image = bytes_of([0, 128, 255])
    assert F.to_dtype(image, facula.int16, scale=True).flatten().tolist() == [0, 16384, 32640]
    back = F.to_dtype(F.to_dtype(image, facula.float32, scale=True), facula.uint8, scale=True)
    assert back.equal(image)
    assert F.to_dtype(image, facula.float32).max() == 255
    mask = tv_tensors.Mask(image)
    assert F.to_dtype(mask, facula.float32, scale=True).max() == 255


def test_normalize_inverts_to_the_image():
    image = facula.rand(3, 4, 5)
    mean, std = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]
    normalized = F.normalize(image, mean, std)
    back = normalized * facula.tensor(std).view(3, 1, 1) + facula.tensor(mean).view(3, 1, 1)
    assert facula.allclose(back, image, atol=1e-6)
    same = image.clone()
    assert F.normalize(same, mean, std, inplace=True).data_ptr() == same.data_ptr()
    assert same.equal(normalized)


def test_noise_depends_on_the_seed_only(image):
    def noisy():
        facula.manual_seed(0)
        return F.gaussian_noise(image, sigma=0.2)

    assert noisy().equal(noisy())
    assert not noisy().equal(image)


def test_videos_are_changed_frame_by_frame(image):
    video = tv_tensors.Video(facula.stack([image, image.flip(-1)]))
    for change in (F.hflip, F.autocontrast, lambda x: F.rotate(x, 30), lambda x: F.resize(x, 9)):
        result = change(video)
        assert type(result) is tv_tensors.Video
        assert result[0].equal(change(image))
    assert F.uniform_temporal_subsample(video, 1).shape == (1, 3, 17, 23)


def test_boxes_follow_their_image():
    boxes = tv_tensors.BoundingBoxes([[1, 2, 4, 6]], format="XYXY", canvas_size=(10, 20))
    assert F.hflip(boxes).tolist() == [[16, 2, 19, 6]]
    assert F.vflip(boxes).tolist() == [[1, 4, 4, 8]]
    assert F.crop(boxes, 3, 2, 5, 6).tolist() == [[0, 0, 2, 3]]
    assert F.crop(boxes, 3, 2, 5, 6).canvas_size == (5, 6)
    assert F.pad(boxes, [1, 2]).tolist() == [[2, 4, 5, 8]]
    assert F.resize(boxes, [20, 40]).tolist() == [[2, 4, 8, 12]]
    turned = F.rotate(boxes, 90, expand=True)
    assert (turned.tolist(), turned.canvas_size) == ([[2, 16, 6, 19]], (20, 10))


def test_box_formats_convert_and_return():
    xyxy = tv_tensors.BoundingBoxes([[1.0, 2, 4, 6]], format="XYXY", canvas_size=(10, 20))
    for name in ("XYWH", "CXCYWH"):
        other = F.convert_bounding_box_format(xyxy, new_format=name)
        assert other.format == tv_tensors.BoundingBoxFormat[name]
        assert F.convert_bounding_box_format(other, new_format="XYXY").equal(xyxy)
    rotated = facula.tensor([[4.0, 5, 3, 2, 30]])
    for name in ("CXCYWHR", "XYXYXYXY"):
        other = F.convert_bounding_box_format(rotated, "XYWHR", name)
        back = F.convert_bounding_box_format(other, name, "XYWHR")
        assert facula.allclose(back, rotated, atol=1e-4)


def test_rotated_boxes_clamp_to_what_lies_in_the_image():
    boxes = tv_tensors.BoundingBoxes([[0.0, 0, 22, 16, -45]], format="XYWHR", canvas_size=(17, 23))
    soft = F.clamp_bounding_boxes(boxes, clamping_mode="soft")
    assert facula.allclose(soft, facula.tensor([[0, 0, 22, 12.0208, -45]]), atol=1e-3)
    inside = F.clamp_bounding_boxes(boxes, clamping_mode="hard")
    corners = F.convert_bounding_box_format(inside, new_format="XYXYXYXY").view(4, 2)
    limit = facula.tensor([23.0, 17.0])
    assert bool(((corners >= -1e-3) & (corners <= limit + 1e-3)).all())
    assert 0 < inside[0, 2] * inside[0, 3] < soft[0, 2] * soft[0, 3]


def test_sanitize_removes_small_boxes_and_those_outside():
    boxes = facula.tensor([[0, 0, 5, 5], [2, 2, 2, 8], [-1, 0, 5, 5], [0, 0, 20, 10]])
    left, is_valid = F.sanitize_bounding_boxes(boxes, "XYXY", (10, 20))
    assert is_valid.tolist() == [True, False, False, True]
    assert left.equal(boxes[is_valid])
    rotated = facula.tensor([[10.0, 5, 4, 2, 90], [10, 5, 4, 0.5, 90]])
    assert F.sanitize_bounding_boxes(rotated, "CXCYWHR", (10, 20))[1].tolist() == [True, False]


def test_points_follow_their_image():
    points = tv_tensors.KeyPoints([[1.0, 2], [19, 9]], canvas_size=(10, 20))
    assert F.hflip(points).tolist() == [[18, 2], [0, 9]]
    assert F.crop(points, 1, 1, 5, 5).tolist() == [[0, 1], [18, 8]]
    assert F.clamp_keypoints(F.crop(points, 1, 1, 5, 5)).tolist() == [[0, 1], [4, 4]]
    assert F.sanitize_keypoints(F.crop(points, 1, 1, 5, 5))[1].tolist() == [True, False]
    moved = F.affine(points, 0, [2, 3], 1.0, [0, 0])
    assert moved.tolist() == [[3, 5], [21, 12]]
    around = F.rotate(points, 180)
    assert facula.allclose(around, facula.tensor([[19.0, 8], [1, 1]]), atol=1e-4)


def test_a_crop_that_misses_the_image_is_empty(image):
    assert F.crop(image, -9, -9, 4, 4).shape == (3, 4, 4)
    assert F.crop(image, 50, 50, 4, 5).sum() == 0


def test_kernels_of_own_types_are_called():
    class Label(tv_tensors.TVTensor):
        pass

    with pytest.raises(TypeError, match=r"vertical_flip: expected an input of type .*got Label"):
        F.vflip(Label([1]))
    F.register_kernel(F.vflip, Label)(lambda inpt: inpt + 1)
    assert F.vflip(Label([1])).tolist() == [2]
    with pytest.raises(ValueError, match=r"vertical_flip has a kernel for Label already"):
        F.register_kernel(F.vflip, Label)
    with pytest.raises(ValueError, match=r"register_kernel: Image has its kernels"):
        F.register_kernel(F.vflip, tv_tensors.Image)
    with pytest.raises(ValueError, match=r"register_kernel: expected a functional"):
        F.register_kernel(len, Label)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: F.resize(x, [3, 4], max_size=5), ValueError, "max_size is for a size that is"),
        (lambda x: F.resize(x, 5, max_size=5), ValueError, "max_size=5 must exceed size=5"),
        (lambda x: F.resize(x, 5, "best"), ValueError, "interpolation: expected one of"),
        (lambda x: F.resize(x, 5.0), TypeError, "expected a size of one or two ints, got 5.0"),
        (lambda x: F.pad(x, [1, 2, 3]), ValueError, "padding is an int or 1, 2 or 4 ints"),
        (lambda x: F.pad(x, 1, padding_mode="x"), ValueError, "padding_mode is one of"),
        (lambda x: F.five_crop(x, 99), ValueError, r"a crop \(99, 99\) does not fit"),
        (lambda x: F.adjust_hue(x, 0.6), ValueError, "hue_factor is from -0.5 to 0.5, got 0.6"),
        (lambda x: F.adjust_gamma(x, -1), ValueError, "expected a gamma of 0 or more"),
        (lambda x: F.adjust_brightness(x, -1), ValueError, "expected a factor of 0 or more"),
        (lambda x: F.posterize(x, 9), TypeError, "bits is an int from 0 to 8"),
        (lambda x: F.normalize(x, [0.5], [0.5]), TypeError, "expected a floating-point image"),
        (lambda x: F.normalize(x / 255, [0.5], [0.0]), ValueError, "a std of 0"),
        (lambda x: F.affine(x, 1, [1], 1.0, [0]), ValueError, "translate is a sequence of two"),
        (lambda x: F.affine(x, 1, [1, 2], 0, [0]), ValueError, "scale is positive, got 0"),
        (lambda x: F.rotate(x, 1, "bicubic"), ValueError, "'nearest' or 'bilinear'"),
        (lambda x: F.rotate(x, 1, fill=[1, 2]), ValueError, "expected one fill or 3"),
        (lambda x: F.perspective(x, None, None), ValueError, "expected startpoints and"),
        (lambda x: F.perspective(x, [[0, 0]] * 4, [[0, 0]] * 4), RuntimeError, "give no map"),
        (lambda x: F.elastic(x, facula.zeros(1)), ValueError, r"expected a displacement \(1, 17"),
        (lambda x: F.gaussian_blur(x, 4), ValueError, "kernel_size is odd and positive"),
        (lambda x: F.gaussian_blur(x, 3, 0.0), ValueError, "sigma is positive"),
        (lambda x: F.gaussian_noise(x.int()), ValueError, "expected a floating-point or uint8"),
        (lambda x: F.permute_channels(x, [0]), ValueError, "expected one index for each channel"),
        (lambda x: F.hflip(tuple(x)), TypeError, "expected an input of type .*got tuple"),
        (lambda x: F.to_pil_image(x.repeat(2, 1, 1)), ValueError, "expected 1 to 4 channels"),
        (lambda x: F.to_pil_image(x.to(facula.int64)), TypeError, "no PIL image has 3 channels"),
        (lambda x: F.to_dtype(x / 255, facula.int64, True), RuntimeError, "too few digits"),
        (lambda x: F1.hflip([x]), TypeError, "hflip: expected a PIL image or a tensor, got list"),
        (lambda x: F1.posterize(x / 255, 3), TypeError, "expected a torch.uint8 image"),
        (lambda x: F1.resize(x, 5, "bilinear"), TypeError, "expected an InterpolationMode or"),
        (lambda x: F1.to_tensor(x), TypeError, "expected a PIL image or a NumPy array"),
    ],
)
def test_bad_arguments_are_refused(call, error, message, image):
    with pytest.raises(error, match=message):
        call(image)


def test_gaussian_blur_agrees_with_the_formula():
    image = facula.zeros(1, 5, 5, dtype=facula.float64)
    image[0, 2, 2] = 1
    blurred = F.gaussian_blur(image, 3, 0.8)
    side = math.exp(-0.5 / 0.8**2)
    middle = 1 / (1 + 2 * side) ** 2
    assert facula.allclose(blurred[0, 2, 2], facula.tensor(middle, dtype=facula.float64))
    assert facula.allclose(blurred[0, 1, 1], facula.tensor(middle * side**2, dtype=facula.float64))


def test_gradients_go_through_images():
    image = facula.rand(3, 8, 8, requires_grad=True)
    result = F.normalize(F.resize(F.hflip(F.crop(image, 1, 1, 6, 6)), [4, 4]), [0.5], [0.5])
    result.sum().backward()
    assert image.grad is not None
    assert image.grad[:, 0].sum() == 0 and image.grad.sum() > 0


def test_results_do_not_depend_on_the_threads(image):
    def results():
        return [F.resize(image, [40, 50]), F.resize(image, [9, 8], 3), F.rotate(image, 30, 2)]

    n_threads = facula.get_num_threads()
    try:
        facula.set_num_threads(1)
        one = results()
        facula.set_num_threads(4)
        assert all(a.equal(b) for a, b in zip(one, results(), strict=True))
    finally:
        facula.set_num_threads(n_threads)


def test_pillow_and_numpy_are_imported_only_where_they_are_needed():
    program = (
        "import sys, facula.vision.transforms.functional, facula.vision.utils, facula.vision.io\n"
        "from facula.vision.transforms.v2 import functional as F\n"
        "F.resize(sys.modules['facula'].zeros(3, 4, 4), [2, 2])\n"
        "sys.exit('PIL' in sys.modules or 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_missing_pillow_is_named_with_the_command_that_installs_it(photo, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.ImageOps", None)
    with pytest.raises(ImportError, match=r"Pillow is needed here .*pip install facula\[vision\]"):
        F.invert(photo)
