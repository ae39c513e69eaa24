"""torchvision.ops, operation by operation: values, dtypes, gradients, exceptions, printed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .vision_oracle import torch, torchvision  # isort: skip
from .frameworks import convert, dtype_name, facula, is_tensor

pytestmark = pytest.mark.promise("D3")
OURS: Any = facula.vision.ops
THEIRS: Any = torchvision.ops

TOLERANCES = {"float16": 5e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-9}


def _boxes(n: int, seed: int = 0, size: float = 10.0, dtype: Any = None) -> Any:
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(n, 2, generator=generator) * size
    sides = torch.rand(n, 2, generator=generator) * size / 2 + 0.1
    return torch.cat([corners, corners + sides], 1).to(dtype or torch.float32)


def _rois(n: int, n_images: int, seed: int = 0, size: float = 10.0, dtype: Any = None) -> Any:
    numbers = torch.arange(n).remainder(n_images)[:, None].to(torch.float32)
    return torch.cat([numbers, _boxes(n, seed, size)], 1).to(dtype or torch.float32)


def _random(*shape: int, seed: int = 0, dtype: Any = None) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype or torch.float32)


def _same(ours: Any, theirs: Any, context: str) -> None:
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), context
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            _same(a, b, f"{context}[{i}]")
        return
    assert dtype_name(ours.dtype) == dtype_name(theirs.dtype), f"{context}: dtype"
    assert tuple(ours.shape) == tuple(theirs.shape), f"{context}: shape"
    a, b = (t.detach().to(m.float64).numpy() for t, m in ((ours, facula), (theirs, torch)))
    tolerance = TOLERANCES.get(dtype_name(theirs.dtype), 0)
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=1.0))
    np.testing.assert_allclose(a, b, tolerance, tolerance * scale, err_msg=context)


def _check(name: str, *args: Any, **kwargs: Any) -> None:
    """Value, and the gradient of every floating-point tensor among the arguments."""
    wanted = [a for a in args if is_tensor(a) and a.is_floating_point()]
    given = [
        a.clone().requires_grad_() if is_tensor(a) and a.is_floating_point() else a for a in args
    ]
    theirs = getattr(THEIRS, name)(*given, **kwargs)
    twins = [
        convert(facula, a.detach()).requires_grad_(a.requires_grad)
        if is_tensor(a)
        else convert(facula, a)
        for a in given
    ]
    ours = getattr(OURS, name)(*twins, **convert(facula, kwargs))
    _same(ours, theirs, name)
    if not wanted or not theirs.is_floating_point() or not theirs.requires_grad:
        return
    up = _random(*theirs.shape, seed=5, dtype=theirs.dtype)
    leaves = [a for a in given if is_tensor(a) and a.requires_grad]
    expected = torch.autograd.grad(theirs, leaves, up, allow_unused=True)
    leaves = [a for a in twins if hasattr(a, "requires_grad") and a.requires_grad]
    actual = facula.autograd.grad(ours, leaves, convert(facula, up), allow_unused=True)
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        assert (a is None) == (b is None), f"{name}: gradient {i}"
        if b is not None:
            _same(a, b, f"{name}: gradient {i}")


def _check_error(name: str, *args: Any, **kwargs: Any) -> None:
    errors: list[type[Exception] | None] = []
    for function, given in ((getattr(THEIRS, name), args), (getattr(OURS, name), None)):
        given = convert(facula, list(args)) if given is None else given
        try:
            function(*given, **kwargs)
            errors.append(None)
        except Exception as error:
            errors.append(type(error))
    assert errors[0] is not None, f"{name} accepts it"
    assert errors[1] is errors[0], f"{name}: expected {errors[0]}, got {errors[1]}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("n", [0, 1, 17, 64, 65, 700])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0, float("nan")])
def test_nms_keeps_the_same_boxes(n: int, threshold: float, dtype: Any) -> None:
    boxes, scores = _boxes(n, n, 40, dtype), _random(n, seed=n, dtype=dtype)
    scores[::3] = 0.5  # ties
    _check("nms", boxes, scores, threshold)


def test_nms_of_boxes_that_are_no_numbers() -> None:
    boxes = _boxes(40, 1)
    boxes[::7, 1] = float("nan")
    boxes[3, 2] = float("inf")
    boxes[4] = boxes[4].flip(0)
    boxes[5:8] = boxes[5]
    _check("nms", boxes, _random(40), 0.2)
    _check("nms", boxes, _random(40) * float("nan"), 0.2)


@pytest.mark.parametrize("n", [0, 30, 1200])
def test_batched_nms_keeps_the_same_boxes(n: int) -> None:
    idxs = torch.arange(n).remainder(5)
    _check("batched_nms", _boxes(n, 2, 30), _random(n), idxs, 0.4)


ROI_KINDS: dict[str, Callable[..., dict[str, Any]]] = {
    "roi_align": lambda: {"sampling_ratio": 2},
    "roi_pool": dict,
    "ps_roi_align": lambda: {"sampling_ratio": 2},
    "ps_roi_pool": dict,
}


@pytest.mark.parametrize("name", ROI_KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", [1, (3, 2), (5, 7)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 0.5, 2.0])
def test_pooling_of_regions(name: str, dtype: Any, size: Any, scale: float) -> None:
    rows, columns = size if isinstance(size, tuple) else (size, size)
    # More channels than a task has; boxes that reach over every side of the image.
    x = _random(2, 35 * (rows * columns if name.startswith("ps") else 1), 9, 12, dtype=dtype)
    rois = _rois(6, 2, 3, 14, dtype)
    rois[0, 1:] -= 6
    rois[1, 3:] = rois[1, 1:3]
    _check(name, x, rois, size, scale, **ROI_KINDS[name]())
    _check(name, x, [rois[::2, 1:], rois[1::2, 1:]], size, scale)


@pytest.mark.parametrize("sampling_ratio", [-1, 0, 1, 3])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align_options(sampling_ratio: int, aligned: bool) -> None:
    rois = torch.tensor([[0, 1.5, 2.5, 30, 8], [1, 4, 4, 2, 1], [0, 3, 3, 3, 3], [1, -9, -9, 0, 0]])
    x = _random(2, 3, 10, 40, dtype=torch.float64)
    _check("roi_align", x, rois.double(), (3, 4), 1.0, sampling_ratio, aligned)


@pytest.mark.parametrize("name", ROI_KINDS)
def test_pooling_of_regions_of_half_precision(name: str) -> None:
    # Coordinates that half precision holds exactly: PyTorch computes them in it.
    rois = torch.tensor([[0, 1, 2, 5, 6], [1, 0, 0, 4, 4]]).half()
    theirs = getattr(THEIRS, name)(_random(2, 8, 8, 8).half(), rois, 2)
    twins = convert(facula, [_random(2, 8, 8, 8).half(), rois])
    _same(getattr(OURS, name)(*twins, 2), theirs, name)


@pytest.mark.parametrize("name", ROI_KINDS)
def test_pooling_of_nothing(name: str) -> None:
    x, rois = _random(2, 4, 6, 6), _rois(3, 2)
    _check(name, x, rois[:0], 2)
    _check(name, x[:0], rois[:0], 2)
    _check(name, x[:, :0], rois, 2)
    _check(name, x, [rois[:0, 1:], rois[:2, 1:]], 2)


@pytest.mark.parametrize("name", ROI_KINDS)
def test_pooling_refuses_what_torchvision_refuses(name: str) -> None:
    x, rois = _random(2, 4, 6, 6), _rois(3, 2)
    for boxes in (rois[:, :4], rois[0], [rois], "boxes", [], rois.double()):
        _check_error(name, x, boxes, 2)
    _check_error(name, x[0], rois, 2)
    _check_error(name, x[:, :3].bfloat16(), rois.bfloat16(), 1)
    _check_error(name, x.long(), rois.long(), 2)
    _check_error(name, x, rois, -1)
    if name.startswith("ps"):
        _check_error(name, x[:, :3], rois, 2)


def test_nms_refuses_what_torchvision_refuses() -> None:
    boxes, scores = _boxes(3), _random(3)
    for args in (
        (boxes.half(), scores.half()),
        (boxes.long(), scores.long()),
        (boxes, scores.double()),
        (boxes[0], scores),
        (boxes[:, :3], scores),
        (boxes, scores[:2]),
        (boxes, scores[None]),
    ):
        _check_error("nms", *args, 0.5)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("shifts", [1, 2])
@pytest.mark.parametrize("has_mask", [False, True])
def test_deform_conv2d(groups: int, shifts: int, has_mask: bool) -> None:
    x = _random(2, 4, 7, 6, dtype=torch.float64)
    weight = _random(6, 4 // groups, 3, 2, dtype=torch.float64)
    options = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}
    places = (4, 8)
    offset = _random(2, 2 * shifts * 6, *places, seed=1, dtype=torch.float64) * 2
    mask = _random(2, shifts * 6, *places, seed=2, dtype=torch.float64) if has_mask else None
    bias = _random(6, seed=3, dtype=torch.float64)
    _check("deform_conv2d", x, offset, weight, bias, *options.values(), mask)
    # Where no place is between elements, or all are outside.
    _check("deform_conv2d", x, offset * 0, weight, bias, *options.values(), mask)
    _check("deform_conv2d", x, offset.round() * 3, weight, None, *options.values(), mask)
    far = [x, torch.full_like(offset, float("inf")), weight, bias, *options.values(), mask]
    ours = OURS.deform_conv2d(*convert(facula, far))
    _same(ours, THEIRS.deform_conv2d(*far), "infinite offsets")


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_deform_conv2d_of_other_dtypes(dtype: Any) -> None:
    x, weight = _random(1, 2, 5, 5, dtype=dtype), _random(3, 2, 3, 3, dtype=dtype)
    offset = (_random(1, 18, 3, 3) * 4).round().div(4).to(dtype)
    theirs = THEIRS.deform_conv2d(x, offset, weight)
    _same(OURS.deform_conv2d(*convert(facula, [x, offset, weight])), theirs, "deform_conv2d")
    assert tuple(OURS.deform_conv2d(*convert(facula, [x[:0], offset[:0], weight])).shape) == (
        THEIRS.deform_conv2d(x[:0], offset[:0], weight).shape
    )


def test_deform_conv2d_refuses_what_torchvision_refuses() -> None:
    x, offset, weight = _random(2, 4, 5, 5), _random(2, 18, 3, 3), _random(6, 2, 3, 3)
    mask, bias = _random(2, 9, 3, 3), _random(6)
    for args in (
        (x, offset[:, :9], weight),
        (x, offset[:, :, :2], weight),
        (x, offset[:, :17], weight),
        (x, offset[:1], weight),
        (x.int(), offset.int(), weight.int()),
        (x.bfloat16(), offset.bfloat16(), weight.bfloat16()),
        (x, offset.double(), weight),
        (x[0], offset, weight),
        (x[:, :3], offset, weight),
        (x[:, :, :2, :2], offset, weight),
        (x, offset, weight[0]),
        (x, offset, weight, bias[:2]),
        (x, offset, weight, bias, 1, -1),
        (x, offset, weight, bias, 1, 0, 1, mask[:, :3]),
        (x, offset, weight, bias, 1, 0, 1, mask[:, :, :2]),
    ):
        _check_error("deform_conv2d", *args)


@pytest.mark.parametrize("in_fmt", ["xyxy", "xywh", "cxcywh", "xywhr", "cxcywhr", "xyxyxyxy", "?"])
@pytest.mark.parametrize("out_fmt", ["xyxy", "xywh", "cxcywh", "xywhr", "cxcywhr", "xyxyxyxy", "?"])
def test_box_convert(in_fmt: str, out_fmt: str) -> None:
    n_numbers = {"xywhr": 5, "cxcywhr": 5, "xyxyxyxy": 8}.get(in_fmt, 4)
    boxes = (_random(2, 3, n_numbers) * 20).round()
    rotated = ("xywhr", "cxcywhr", "xyxyxyxy")
    if "?" in (in_fmt, out_fmt) or (in_fmt in rotated) != (out_fmt in rotated):
        _check_error("box_convert", boxes, in_fmt, out_fmt)
        return
    for dtype in (torch.float32, torch.float64, torch.int64):
        _check("box_convert", boxes.to(dtype), in_fmt, out_fmt)


@pytest.mark.parametrize("fmt", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.float32, torch.float64, torch.uint8, torch.int8, torch.int64]
)
def test_areas_and_overlaps(fmt: str, dtype: Any) -> None:
    a, b = (_boxes(5, 1, 20).round() + 1).to(dtype), (_boxes(7, 2, 20).round() + 1).to(dtype)
    _check("box_area", a, fmt)
    _check("box_iou", a, b, fmt)
    _check("box_iou", a[None], b[None], fmt)
    _check("box_iou", a[:0], b, fmt)


@pytest.mark.parametrize("fmt", ["cxcywhr", "xywhr", "xyxyxyxy"])
def test_overlaps_of_rotated_boxes(fmt: str) -> None:
    boxes = torch.cat([_boxes(12, 4).div(2), _random(12, 1) * 100], 1)
    boxes[:, 2:4] += 1
    boxes[1] = boxes[0]
    boxes[2] = torch.tensor([boxes[0, 0], boxes[0, 1], boxes[0, 2], boxes[0, 3] / 2, boxes[0, 4]])
    boxes = THEIRS.box_convert(boxes, "cxcywhr", fmt)
    theirs = THEIRS.box_iou(boxes, boxes[:7], fmt)
    ours = OURS.box_iou(*convert(facula, [boxes, boxes[:7]]), fmt)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("kind", ["generalized", "distance", "complete"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32])
def test_further_overlaps_and_their_losses(kind: str, dtype: Any) -> None:
    a, b = (_boxes(5, s, 20).mul(2).round().div(2).to(dtype) for s in (1, 2))
    a[2:4, 2:] += 1
    b[2:4, 2:] += 1
    _check(f"{kind}_box_iou", a, b)
    for reduction in ("none", "mean", "sum"):
        _check(f"{kind}_box_iou_loss", a, b, reduction)
        _check(f"{kind}_box_iou_loss", a[:0], b[:0], reduction)
    _check_error(f"{kind}_box_iou_loss", a, b, "max")
    _check_error(f"{kind}_box_iou_loss", a[:, :3], b[:, :3])


def test_small_helpers() -> None:
    boxes = _boxes(9, 3)
    _check("remove_small_boxes", boxes, 2.0)
    for b in (boxes * 3 - 4, (boxes * 3 - 4)[None], (boxes * 3 - 4).int()):
        _check("clip_boxes_to_image", b, (9, 13))
    masks = torch.zeros(4, 6, 7)
    masks[0, 2, 3] = masks[1, 1:4, 2:6] = masks[2, 0, 0] = masks[2, 5, 6] = 1
    for dtype in (torch.float32, torch.bool, torch.uint8):
        _check("masks_to_boxes", masks.to(dtype))
    _check("masks_to_boxes", masks[:0])


@pytest.mark.parametrize("alpha", [0.25, -1, 1.0])
@pytest.mark.parametrize("gamma", [0.0, 2, 1.5])
def test_sigmoid_focal_loss(alpha: float, gamma: float) -> None:
    for reduction in ("none", "mean", "sum"):
        targets = (_random(4, 3, seed=1) > 0).float()
        _check("sigmoid_focal_loss", _random(4, 3) * 3, targets, alpha, gamma, reduction)
    _check_error("sigmoid_focal_loss", _random(4), _random(4), 2.0)
    _check_error("sigmoid_focal_loss", _random(4), _random(4), reduction="max")


@pytest.mark.parametrize("n_dims", [2, 3])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_drop_block_drops_the_same_blocks(n_dims: int, p: float) -> None:
    x = _random(2, 3, *(7, 9, 8)[:n_dims])
    for inplace in (False, True):
        torch.manual_seed(3)
        facula.manual_seed(3)
        theirs = getattr(THEIRS, f"drop_block{n_dims}d")(x.clone(), p, 3, inplace)
        ours = getattr(OURS, f"drop_block{n_dims}d")(convert(facula, x), p, 3, inplace)
        _same(ours, theirs, "drop_block")
    for args in ((x, 1.5, 3), (x, -0.1, 3), (x[0], 0.3, 3), (x, 0.3, 2)):
        _check_error(f"drop_block{n_dims}d", *args)


def _twin_modules(make: Callable[[Any], Any]) -> tuple[Any, Any]:
    torch.manual_seed(1)
    facula.manual_seed(1)
    theirs, ours = make(THEIRS), make(OURS)
    for (a, x), (b, y) in zip(ours.state_dict().items(), theirs.state_dict().items(), strict=True):
        assert a == b
        _same(x, y, a)
    assert repr(ours) == repr(theirs)
    return ours, theirs


@pytest.mark.parametrize("extra", [None, "max", "p6p7", "p6p7 of the result"])
@pytest.mark.parametrize("has_norm", [False, True])
def test_feature_pyramid_network(extra: str | None, has_norm: bool) -> None:
    def make(ops: Any) -> Any:
        pyramid = ops.feature_pyramid_network
        last = {
            None: lambda: None,
            "max": pyramid.LastLevelMaxPool,
            "p6p7": lambda: pyramid.LastLevelP6P7(8, 5),
            "p6p7 of the result": lambda: pyramid.LastLevelP6P7(5, 5),
        }[extra]()
        nn = (facula if ops is OURS else torch).nn
        return ops.FeaturePyramidNetwork([4, 6, 8], 5, last, nn.BatchNorm2d if has_norm else None)

    ours, theirs = _twin_modules(make)
    x = {"a": _random(2, 4, 15, 13), "b": _random(2, 6, 8, 7), "c": _random(2, 8, 4, 4)}
    expected, actual = theirs(x), ours(convert(facula, x))
    assert list(actual) == list(expected) and type(actual) is type(expected)
    for name in expected:
        _same(actual[name], expected[name], name)


def test_multi_scale_roi_align() -> None:
    ours, theirs = _twin_modules(lambda ops: ops.MultiScaleRoIAlign(["0", "1", "2"], (3, 2), 2))
    x = {"0": _random(2, 5, 64, 48), "1": _random(2, 5, 32, 24), "2": _random(2, 5, 16, 12),
         "pool": _random(2, 5, 8, 6)}  # fmt: skip
    boxes = [_boxes(20, 1, 500), _boxes(7, 2, 60)]
    boxes[0][3] = 0
    sizes = [(500, 384), (512, 300)]
    _same(ours(convert(facula, x), convert(facula, boxes), sizes), theirs(x, boxes, sizes), "pool")
    one = {"0": x["1"]}
    ours, theirs = _twin_modules(lambda ops: ops.MultiScaleRoIAlign(["0"], 3, 2))
    _same(ours(convert(facula, one), convert(facula, boxes), sizes), theirs(one, boxes, sizes), "1")


def test_layers_are_printed_and_initialised_alike() -> None:
    for make in (
        lambda ops: ops.DropBlock2d(0.3, 3),
        lambda ops: ops.DropBlock3d(0.3, 3, inplace=True),
        lambda ops: ops.DeformConv2d(4, 6, 3),
        lambda ops: ops.DeformConv2d(4, 6, (3, 1), 2, 1, 2, 2, False),
        lambda ops: ops.RoIAlign(7, 1.0, 2, True),
        lambda ops: ops.RoIPool((7, 3), 0.5),
        lambda ops: ops.PSRoIAlign(7, 1.0, 2),
        lambda ops: ops.PSRoIPool(7, 1.0),
    ):
        _twin_modules(make)


def test_every_name_of_torchvision_is_here() -> None:
    assert sorted(OURS.__all__) == sorted(THEIRS.__all__)
