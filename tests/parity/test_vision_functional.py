import inspect

import pytest

from .vision_cases import check, facula, outcome, torch, torchvision

IMAGES = ["u8", "f32", "gray", "batch", "image", "video", "pil", "pil_gray"]
OTHERS = ["mask", "masks", "xyxy", "xywh", "xywhr", "corners", "points"]

COLOR = """
    adjust_brightness({}, 0)  adjust_brightness({}, 0.7)  adjust_brightness({}, 1.8)
    adjust_brightness({}, -1)
    adjust_contrast({}, 0)  adjust_contrast({}, 0.7)  adjust_contrast({}, 1.8)
    adjust_contrast({}, -1)
    adjust_saturation({}, 0)  adjust_saturation({}, 0.7)  adjust_saturation({}, 1.8)
    adjust_saturation({}, -1)
    adjust_hue({}, 0)  adjust_hue({}, 0.1)  adjust_hue({}, -0.4)  adjust_hue({}, 0.5)
    adjust_hue({}, 0.6)
    adjust_gamma({}, 0.5)  adjust_gamma({}, 2, gain=1.5)  adjust_gamma({}, -1)
    adjust_sharpness({}, 0)  adjust_sharpness({}, 0.5)  adjust_sharpness({}, 2)
    adjust_sharpness({}, -1)
    posterize({}, 1)  posterize({}, 4)  posterize({}, 8)  posterize({}, 9)
    solarize({}, 0.3)  solarize({}, 1)  solarize({}, 100)  solarize({}, 300)
    invert({})  autocontrast({})  equalize({})
    rgb_to_grayscale({})  rgb_to_grayscale({}, 3)  rgb_to_grayscale({}, 2)
    to_grayscale({})  grayscale_to_rgb({})
    permute_channels({}, [2, 0, 1])  permute_channels({}, [0, 0, 1])  permute_channels({}, [0])
""".replace(")  ", ")\n")

SIZE = """
    horizontal_flip({})  vertical_flip({})  hflip({})  vflip({})
    resize({}, 8)  resize({}, [8])  resize({}, [9, 31])  resize({}, (40, 50))  resize({}, [17, 23])
    resize({}, 10, max_size=12)  resize({}, None, max_size=12)  resize({}, None)
    resize({}, [9, 7], interpolation=0)  resize({}, [9, 7], interpolation="nearest-exact")
    resize({}, [9, 7], interpolation=IM.BICUBIC)  resize({}, [30, 29], interpolation=3)
    resize({}, [9, 31], antialias=False)  resize({}, [9, 7], IM.BICUBIC, None, False)
    resize({}, [9, 7], interpolation=IM.LANCZOS)  resize({}, [9, 7], interpolation=IM.BOX)
    resize({}, [9, 7], IM.LANCZOS, None, False)  resize({}, [9, 7], interpolation="hamming")
    resize({}, [9, 7], interpolation="foo")  resize({}, [9, 7], interpolation=None)
    resize({}, [9, 7], interpolation=11)  resize({}, 0)  resize({}, [4, 5], max_size=9)
    resize({}, 5, max_size=5)  resize({}, "a")  resize({}, 5.0)
    pad({}, 2)  pad({}, [3])  pad({}, [1, 2])  pad({}, [1, 2, 3, 4])  pad({}, [1, 2, 3])
    pad({}, -2)  pad({}, [-1, 2, 3, 0])  pad({}, 2, fill=7)  pad({}, 2, fill=[1, 2, 3])
    pad({}, 2, fill=(5,))  pad({}, 2, fill=[1, 2])  pad({}, 2, padding_mode="edge")
    pad({}, [1, 2, 3, 4], padding_mode="reflect")  pad({}, [1, 2, 3, 4], padding_mode="symmetric")
    pad({}, [-1, 2, 3, -4], padding_mode="reflect")
    pad({}, [-1, 2, 3, -4], padding_mode="symmetric")  pad({}, [-1, 2, 3, -4], padding_mode="edge")
    pad({}, 2, padding_mode="foo")  pad({}, "a")  pad({}, 1.5)  pad({}, [1.5, 2])
    crop({}, 2, 3, 7, 9)  crop({}, -2, -3, 9, 9)  crop({}, 10, 15, 12, 12)  crop({}, 50, 50, 3, 4)
    crop({}, 0, 0, 0, 0)  crop({}, -1, -1, 30, 40)
    center_crop({}, 8)  center_crop({}, [8])  center_crop({}, [9, 12])  center_crop({}, [30, 12])
    center_crop({}, (40, 41))  center_crop({}, [1, 2, 3])  center_crop({}, 7.5)
    resized_crop({}, 2, 3, 10, 11, [6, 7])  resized_crop({}, -2, 3, 10, 31, 8)
    resized_crop({}, 2, 3, 10, 11, [6, 7], interpolation=0)
    resized_crop({}, 2, 3, 10, 11, [6, 7], antialias=False)
    five_crop({}, 5)  five_crop({}, [5, 8])  five_crop({}, 50)  five_crop({}, [1, 2, 3])
    ten_crop({}, 5)  ten_crop({}, [5, 8], vertical_flip=True)
    get_dimensions({})  get_num_channels({})  get_size({})  get_image_size({})
    get_image_num_channels({})  get_num_frames({})
""".replace(")  ", ")\n")

MISC = """
    normalize({}, [0.4, 0.5, 0.6], [0.2, 0.3, 0.4])  normalize({}, [0.5], [0.5])
    normalize({}, [0.5] * 3, [0.0, 1.0, 1.0])  normalize({}, [0.5] * 2, [0.5] * 2)
    to_dtype({}, L.float32, scale=True)  to_dtype({}, L.float64)  to_dtype({}, L.uint8, scale=True)
    to_dtype({}, L.int32, scale=True)  to_dtype({}, L.int64, scale=True)  to_dtype({}, L.int64)
    to_dtype({}, L.float16, scale=True)  to_dtype({}, L.int16, scale=True)
    convert_image_dtype({}, L.float32)
    gaussian_blur({}, 3)  gaussian_blur({}, [5, 3])  gaussian_blur({}, [3, 5], [0.5, 1.2])
    gaussian_blur({}, 3, 2)  gaussian_blur({}, 4)  gaussian_blur({}, 3, -1.0)
    gaussian_blur({}, 3, "a")  gaussian_blur({}, [3, 3, 3])  gaussian_blur({}, 3.0)
    gaussian_blur({}, 3, [1.0, 2.0, 3.0])  gaussian_blur({}, 41)
    erase({}, 2, 3, 5, 6, L.zeros(1))  erase({}, 2, 3, 5, 6, L.ones(1, 5, 6))
    erase({}, 2, 3, 5, 6, L.ones(7, 5, 6))
    uniform_temporal_subsample({}, 1)  uniform_temporal_subsample({}, 3)
    gaussian_noise({}, sigma=-1)
    to_image({})  to_pil_image({})  is_pure_tensor({})
""".replace(")  ", ")\n")


def cases(text, inputs, prefix="F"):
    """For each call its expressions, one for each input."""
    calls = [line.strip() for line in text.strip().splitlines()]
    return [[f"{prefix}.{call.format(name)}" for name in inputs] for call in calls]


# Rounding at the boundary between two bytes: sums are taken in another order.
OFF_BY_ONE = {
    "adjust_hue": 0.01,
    "adjust_saturation": 0.02,
    "gaussian_blur": 0.005,
    "adjust_contrast": 0.005,
}


def tolerance(expressions):
    name = expressions[0].split(".")[1].split("(")[0]
    return OFF_BY_ONE.get(name, 0.0)


@pytest.mark.parametrize("expressions", cases(COLOR, [*IMAGES, *OTHERS[:1]]))
def test_color(expressions):
    check(*expressions, off=tolerance(expressions))


@pytest.mark.parametrize("expressions", cases(SIZE, [*IMAGES, "mask", "masks"]))
def test_size(expressions):
    check(*expressions)


@pytest.mark.parametrize("expressions", cases(MISC, [*IMAGES, *OTHERS[:4]]))
def test_misc(expressions):
    check(*expressions, off=tolerance(expressions))


WARP = """
    rotate({}, 0)  rotate({}, 90)  rotate({}, 180, expand=True)  rotate({}, 270, expand=True)
    rotate({}, 31.7)  rotate({}, -131.2, expand=True)  rotate({}, 31.7, 2)
    rotate({}, 31.7, IM.BILINEAR, True, fill=[0.2, 0.3, 0.4])  rotate({}, 31.7, fill=9)
    rotate({}, 31.7, "bilinear", fill=3)  rotate({}, 31.7, "bicubic")
    rotate({}, 31.7, "nearest", center=[3, 4])  rotate({}, 31.7, 2, True, center=[3, 4])
    rotate({}, 90, center=(3.5, 4))  rotate({}, "a")  rotate({}, 30, center=[1])
    rotate({}, 30, center=5)  rotate({}, 30, fill="a")  rotate({}, 30, fill=[1, 2])
    affine({}, 11.3, [1, 2], 1.2, [3, 4])  affine({}, 11.3, [1.5, 2], 0.8, [3, 4], 2)
    affine({}, 11.3, [1, 2], 1.2, [3, 4], IM.BILINEAR, [0.2, 0.3, 0.4])
    affine({}, 11.3, (1, 2), 1.2, (3,), center=[2, 3])  affine({}, 11.3, [1, 2], 1.2, 7)
    affine({}, 11.3, [1, 2], 1.2, [3, 4], "nearest", 9)  affine({}, "a", [1, 2], 1.2, [3, 4])
    affine({}, 11.3, [1], 1.2, [3, 4])  affine({}, 11.3, 1, 1.2, [3, 4])
    affine({}, 11.3, [1, 2], 0, [3, 4])  affine({}, 11.3, [1, 2], 1.2, [3, 4, 5])
    affine({}, 11.3, [1, 2], 1.2, "a")  affine({}, 11.3, [1, 2], 1.2, [3, 4], center=[1])
    affine({}, 11.3, [1, 2], 1.2, [3, 4], "bicubic")
    perspective({}, CORNERS, MOVED)  perspective({}, CORNERS, MOVED, 0)
    perspective({}, CORNERS, MOVED, 3)  perspective({}, CORNERS, MOVED, fill=4)
    perspective({}, None, None, coefficients=[1.1, 0.1, -1.2, 0.1, 0.9, 1.0, 0.001, -0.002])
    perspective({}, None, None)  perspective({}, None, None, coefficients=[1.0] * 7)
    perspective({}, [[0, 0]] * 3, [[0, 0]] * 3)
    elastic({}, displacement)  elastic({}, displacement, 0)  elastic({}, displacement, 3)
    elastic({}, displacement, fill=[0.2, 0.3, 0.4])  elastic({}, displacement, "nearest", fill=7)
    elastic({}, displacement[0])  elastic({}, displacement[:, :4])  elastic({}, 3)
    elastic_transform({}, displacement)
""".replace(")  ", ")\n")


@pytest.mark.parametrize("expressions", cases(WARP, [*IMAGES, "mask", "masks"]))
def test_warp(expressions):
    check(*expressions, atol=2e-4, off=0.01)


BOXES = [
    *("xyxy", "xyxy_int", "xyxy_hard", "xyxy_free"),
    *("xywh", "xywh_int", "cxcywh", "cxcywh_int"),
]
ROTATED_FREE = ["xywhr_free", "corners_free"]
POINTS = ["points", "points_int"]
EXACT = """
    convert_bounding_box_format({}, new_format="XYXY")
    convert_bounding_box_format({}, new_format="xywh")
    convert_bounding_box_format({}, new_format=tv.BoundingBoxFormat.CXCYWH)
    convert_bounding_box_format({}, new_format="XYWHR")
    convert_bounding_box_format({}, new_format="CXCYWHR")
    convert_bounding_box_format({}, new_format="XYXYXYXY")
    convert_bounding_box_format({}, "XYXY", "XYXY")  convert_bounding_box_format({})
    convert_bounding_box_format(L.zeros(2, 4), "XYXY", "XYWH")
    convert_bounding_box_format(L.zeros(2, 4), new_format="XYWH")
    clamp_bounding_boxes({})  clamp_bounding_boxes({}, clamping_mode=None)
    clamp_bounding_boxes({}, clamping_mode="foo")  clamp_bounding_boxes({}, canvas_size=(3, 3))
    clamp_keypoints({})  clamp_keypoints({}, (3, 3))
    sanitize_bounding_boxes({})  sanitize_bounding_boxes({}, min_size=5)
    sanitize_bounding_boxes({}, min_area=70)  sanitize_bounding_boxes({}, "XYXY", (3, 3))
    sanitize_keypoints({})  sanitize_keypoints({}, (3, 3))
""".replace(")  ", ")\n")


@pytest.mark.parametrize("expressions", cases(EXACT, [*BOXES, *ROTATED_FREE, *POINTS]))
def test_boxes(expressions):
    if "sanitize" in expressions[0]:
        # torchvision measures rotated boxes along one side only.
        expressions = [each for each in expressions if not any(r in each for r in ROTATED_FREE)]
    check(*expressions)


@pytest.mark.parametrize("expressions", cases(SIZE + WARP, [*BOXES, *ROTATED_FREE, *POINTS]))
def test_boxes_and_points_follow_images(expressions):
    if "get_image_size" in expressions[0] or "[1.5, 2])" in expressions[0]:
        pytest.skip("torchvision takes boxes for images there, and pads them by parts of pixels")
    # An angle of 180 or of -180 degrees.
    expressions = [each for each in expressions if "(xywhr_free, 90)" not in each]
    check(*expressions, atol=1e-4)


CLAMPED = """
    clamp_bounding_boxes({})
    horizontal_flip({})  vertical_flip({})  pad({}, 2)  pad({}, [1, 2, 3, 4])
    crop({}, 0, 1, 15, 20)  crop({}, -1, -2, 19, 26)  center_crop({}, [15, 22])
    resize({}, 9)  resize({}, [40, 30])  resized_crop({}, 0, 1, 15, 20, [11, 12])
    rotate({}, 31.7)  rotate({}, -131.2, expand=True)  affine({}, 11.3, [1, 2], 0.9, [3, 4])
    perspective({}, CORNERS, MOVED)  elastic({}, displacement)
""".replace(")  ", ")\n")
ROTATED = ["xywhr", "cxcywhr", "corners"]


@pytest.mark.parametrize(
    "expressions", [*cases(CLAMPED, ROTATED), ["F.clamp_bounding_boxes(xywhr_hard)"]]
)
def test_rotated_boxes_are_clamped(expressions):
    check(*expressions, atol=2e-3)


V1 = """
    to_tensor({})  pil_to_tensor({})  to_pil_image({})  convert_image_dtype({}, L.float32)
    convert_image_dtype({}, L.uint8)  convert_image_dtype({}, L.int16)
    to_pil_image({}, "YCbCr")  to_pil_image({}, "L")  to_pil_image({}, "foo")
    get_dimensions({})  get_image_size({})  get_image_num_channels({})
    perspective({}, CORNERS, MOVED)  perspective({}, CORNERS, MOVED, fill=4)
    perspective({}, None, None)  perspective({}, CORNERS[:3], MOVED[:3])
    elastic_transform({}, displacement)  elastic_transform({}, 3)
    resize({}, [5, 6, 7])  resize({}, None)  resize({}, None, max_size=7)
    erase({}, 2, 3, 5, 6, L.zeros(1))  pad({}, 1, fill=3.5)
""".replace(")  ", ")\n")
NOT_IN_V1 = ["horizontal", "vertical", "elastic(", "permute", "num_", "get_size", "video"]
NOT_IN_V1 += ["noise", "to_image", "pure", "rgb({}", "to_dtype", "temporal"]


def v1_cases(text):
    lines = [line for line in text.splitlines() if not any(name in line for name in NOT_IN_V1)]
    return cases("\n".join(lines), ["u8", "f32", "gray", "batch", "pil", "pil_gray"], "F1")


@pytest.mark.parametrize("expressions", v1_cases(COLOR + SIZE + MISC + WARP + V1))
def test_v1(expressions):
    check(*expressions, atol=2e-4, off=0.02)


def test_v1_refuses_what_is_no_image():
    lines = [line.strip() for line in COLOR.strip().splitlines() + V1.strip().splitlines()]
    for line in lines:
        expression = "F1." + line.format("[3]")
        for lib in (torch, facula):
            assert isinstance(outcome(lib, expression), Exception), expression


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK", "YCbCr", "I", "F", "HSV"])
def test_modes_of_pillow(mode):
    image = f"pil.convert({mode!r})" if mode != "HSV" else "pil.convert('HSV')"
    for name in ["F1.to_tensor", "F1.pil_to_tensor", "F.hflip", "F1.vflip", "F.to_image"]:
        check(f"{name}({image})")
    check(f"F.resize({image}, [5, 6])")
    check(f"F.crop({image}, -1, -1, 30, 30)")
    check(f"F.get_dimensions({image})")


DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("shape", [(4,), (4, 5), *((4, 5, n) for n in range(1, 6)), (4, 5, 1, 1)])
def test_arrays(dtype, shape):
    array = f"np.ones({shape}, dtype={dtype!r})"
    check(f"F1.to_pil_image({array})")
    check(f"F1.to_tensor({array})")
    check(f"F1.to_pil_image(L.from_numpy({array}))")
    if len(shape) in (2, 3):
        check(f"F.to_image({array})")


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("other", DTYPES)
def test_dtypes(dtype, other):
    image = f"(u8 // 3).to(L.{dtype})"
    if "float" in dtype:
        image = f"f32.to(L.{dtype})"
    for scale in (True, False):
        check(f"F.to_dtype({image}, L.{other}, scale={scale})", atol=1e-3)
    check(f"F1.convert_image_dtype({image}, L.{other})", atol=1e-3)


def test_every_functional_is_there():
    theirs = torchvision.transforms.v2.functional
    ours = facula.vision.transforms.v2.functional
    missing = [name for name in dir(theirs) if name[0] != "_" and name not in ours.__all__]
    assert not missing
    v1 = facula.vision.transforms.functional
    assert not [name for name in v1.__all__ if not hasattr(torchvision.transforms.functional, name)]


def default(value):
    value = getattr(value, "value", value)
    return value if isinstance(value, (int, float)) else str(value)


def test_arguments_are_those_of_torchvision():
    for ours, theirs in (
        (facula.vision.transforms.v2.functional, torchvision.transforms.v2.functional),
        (facula.vision.transforms.functional, torchvision.transforms.functional),
    ):
        for name in ours.__all__:
            function = getattr(ours, name)
            if not inspect.isfunction(function):
                continue
            expected = inspect.signature(getattr(theirs, name)).parameters.values()
            actual = inspect.signature(function).parameters.values()
            described = [
                [(p.name, p.kind, default(p.default)) for p in each] for each in (expected, actual)
            ]
            assert described[0] == described[1], name
