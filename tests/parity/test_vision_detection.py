"""torchvision.models.detection: the same networks, detections and losses with the same weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from .vision_oracle import torch, torchvision  # isort: skip
from .frameworks import convert, dtype_name, facula

pytestmark = [
    pytest.mark.promise("D3"),
    pytest.mark.filterwarnings("ignore:.*trainable_backbone_layers.*:UserWarning"),
]
OURS: Any = facula.vision.models.detection
THEIRS: Any = torchvision.models.detection

N_CLASSES = 4
# Small images and few proposals: two networks run on two cores.
SMALL_RCNN = {
    "min_size": 64,
    "max_size": 96,
    "rpn_pre_nms_top_n_train": 60,
    "rpn_pre_nms_top_n_test": 60,
    "rpn_post_nms_top_n_train": 30,
    "rpn_post_nms_top_n_test": 30,
    "box_batch_size_per_image": 16,
    "box_detections_per_img": 8,
    "box_score_thresh": 0.0,
}
SMALL_DENSE = {"min_size": 64, "max_size": 96, "score_thresh": 0.0, "topk_candidates": 30}
MODELS: dict[str, dict[str, Any]] = {
    "fasterrcnn_resnet50_fpn": SMALL_RCNN,
    "fasterrcnn_resnet50_fpn_v2": SMALL_RCNN,
    "fasterrcnn_mobilenet_v3_large_fpn": {**SMALL_RCNN, "rpn_score_thresh": 0.0},
    "fasterrcnn_mobilenet_v3_large_320_fpn": {**SMALL_RCNN, "rpn_score_thresh": 0.0},
    "maskrcnn_resnet50_fpn": SMALL_RCNN,
    "maskrcnn_resnet50_fpn_v2": SMALL_RCNN,
    "keypointrcnn_resnet50_fpn": {
        **SMALL_RCNN,
        "min_size": (48, 64),
        "num_keypoints": 3,
        "box_batch_size_per_image": 8,
        "box_detections_per_img": 3,
    },
    "retinanet_resnet50_fpn": SMALL_DENSE,
    "retinanet_resnet50_fpn_v2": SMALL_DENSE,
    "fcos_resnet50_fpn": SMALL_DENSE,
    "ssd300_vgg16": {"topk_candidates": 30},
    "ssdlite320_mobilenet_v3_large": {"topk_candidates": 30},
}


@contextmanager
def _quickly() -> Iterator[None]:
    """Parameters are not drawn: most of the time would go into that."""
    inits = [
        (m.nn.init, name)
        for m in (torch, facula)
        for name in vars(m.nn.init)
        if name.endswith("_") and not name.startswith("_")
    ]
    saved = [getattr(*place) for place in inits]
    try:
        for module, name in inits:
            setattr(module, name, lambda tensor, *args, **kwargs: tensor)
        yield
    finally:
        for (module, name), function in zip(inits, saved, strict=True):
            setattr(module, name, function)


def _fill(model: Any) -> dict[str, Any]:
    """Parameters that keep activations in range, from NumPy: the same for both."""
    rng = np.random.default_rng(0)
    state = {}
    for name, value in model.state_dict().items():
        shape = tuple(value.shape)
        if name.endswith("num_batches_tracked"):
            state[name] = np.zeros(shape, dtype=np.int64)
        elif name.endswith("running_var"):
            state[name] = np.full(shape, 1.0, dtype=np.float32)
        elif value.ndim >= 2:
            fan = float(np.prod(shape[1:]))
            state[name] = rng.standard_normal(shape, dtype=np.float32) * np.float32(fan**-0.5)
        elif name.endswith("weight"):
            state[name] = np.full(shape, 0.9, dtype=np.float32)
        else:
            state[name] = rng.standard_normal(shape, dtype=np.float32) * np.float32(0.1)
    return state


def _twins(name: str, **kwargs: Any) -> tuple[Any, Any]:
    kwargs = {"weights": None, "weights_backbone": None, "num_classes": N_CLASSES, **kwargs}
    with warnings.catch_warnings(), _quickly():
        warnings.simplefilter("ignore")
        theirs, ours = getattr(THEIRS, name)(**kwargs), getattr(OURS, name)(**kwargs)
    state = _fill(theirs)
    theirs.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()})
    ours.load_state_dict({k: facula.from_numpy(v.copy()) for k, v in state.items()})
    return ours, theirs


def _images() -> list[Any]:
    rng = np.random.default_rng(1)
    return [
        torch.from_numpy(rng.random((3, *size), dtype=np.float32)) for size in ((50, 70), (60, 44))
    ]


def _targets(name: str) -> list[dict[str, Any]]:
    boxes = [[[5.0, 6, 40, 45], [30, 10, 66, 30], [2, 2, 60, 48]], [[4, 4, 30, 50]]]
    targets = []
    for i, (rows, image) in enumerate(zip(boxes, _images(), strict=True)):
        target = {
            "boxes": torch.tensor(rows),
            "labels": torch.arange(len(rows)).remainder(1 if "keypoint" in name else 3) + 1,
        }
        height, width = image.shape[-2:]
        if name.startswith("mask"):
            rng = np.random.default_rng(i)
            masks = rng.integers(0, 2, (len(rows), height, width), dtype=np.uint8)
            target["masks"] = torch.from_numpy(masks)
        if name.startswith("keypoint"):
            centers = (target["boxes"][:, None, :2] + target["boxes"][:, None, 2:]) / 2
            points = centers + torch.tensor([[0.0, 0], [3, -4], [-200, 0]])
            seen = torch.tensor([1.0, 1, 1]).expand(len(rows), 3)[..., None]
            target["keypoints"] = torch.cat([points, seen], -1)
        targets.append(target)
    return targets


def _same(ours: Any, theirs: Any, context: str, tolerance: float = 2e-3) -> None:
    assert dtype_name(ours.dtype) == dtype_name(theirs.dtype), f"{context}: dtype"
    assert tuple(ours.shape) == tuple(theirs.shape), f"{context}: shape"
    a, b = ours.detach().numpy(), theirs.detach().numpy()
    scale = float(np.abs(b).max(initial=0.1)) if b.dtype.kind == "f" else 0.0
    np.testing.assert_allclose(a, b, tolerance, tolerance * scale, err_msg=context)


@pytest.mark.parametrize("name", MODELS)
def test_detections_and_losses(name: str) -> None:
    ours, theirs = _twins(name, **MODELS[name])
    assert repr(ours) == repr(theirs)
    images, targets = _images(), _targets(name)

    ours.eval()
    theirs.eval()
    with torch.no_grad(), facula.no_grad():
        expected, actual = theirs(images), ours(convert(facula, images))
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        assert sorted(a) == sorted(b)
        assert len(b["boxes"]) > 0
        for key in b:
            _same(a[key], b[key], f"{name}: {key} of image {i}")

    ours.train()
    theirs.train()
    torch.manual_seed(5)
    facula.manual_seed(5)
    with torch.no_grad(), facula.no_grad():
        expected = theirs(images, [dict(t) for t in targets])
        actual = ours(convert(facula, images), convert(facula, targets))
    assert list(actual) == list(expected)
    for key in expected:
        _same(actual[key], expected[key], f"{name}: {key}")


WITHOUT_OBJECTS = [
    "fasterrcnn_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
    "fcos_resnet50_fpn",
    "ssdlite320_mobilenet_v3_large",
]


@pytest.mark.parametrize("name", WITHOUT_OBJECTS)
def test_an_image_without_objects(name: str) -> None:
    ours, theirs = _twins(name, **MODELS[name])
    targets = _targets(name)
    targets[1] = {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)}
    torch.manual_seed(5)
    facula.manual_seed(5)
    with torch.no_grad(), facula.no_grad():
        expected = theirs(_images(), [dict(t) for t in targets])
        actual = ours(convert(facula, _images()), convert(facula, targets))
    for key in expected:
        _same(actual[key], expected[key], f"{name}: {key}")


@pytest.mark.parametrize("name", ["maskrcnn_resnet50_fpn", "fcos_resnet50_fpn"])
def test_gradients_of_the_losses(name: str) -> None:
    # In float64: rounding alone moves activations over the corner of a ReLU otherwise.
    ours, theirs = (model.double() for model in _twins(name, **MODELS[name]))
    torch.manual_seed(5)
    facula.manual_seed(5)
    images = [image.double() for image in _images()]
    sum(theirs(images, _targets(name)).values()).backward()
    sum(ours(convert(facula, images), convert(facula, _targets(name))).values()).backward()
    expected = dict(theirs.named_parameters())
    for key, parameter in ours.named_parameters():
        assert (parameter.grad is None) == (expected[key].grad is None), key
        if parameter.grad is not None:
            _same(parameter.grad, expected[key].grad, key, 1e-5)


INITIALISED = [
    "maskrcnn_resnet50_fpn_v2",
    "keypointrcnn_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
    "fcos_resnet50_fpn",
    "ssdlite320_mobilenet_v3_large",
]


@pytest.mark.parametrize("name", INITIALISED)
def test_parts_are_initialised_alike(name: str) -> None:
    for m in (torch, facula):
        m.manual_seed(3)
    kwargs = {"weights": None, "weights_backbone": None, "num_classes": N_CLASSES}
    theirs = getattr(THEIRS, name)(**kwargs).state_dict()
    ours = getattr(OURS, name)(**kwargs).state_dict()
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        if not key.startswith("backbone.body"):
            _same(ours[key], value, key, 1e-5)


def test_which_layers_are_frozen() -> None:
    for kind, args in (("resnet", {}), ("mobilenet", {"fpn": True})):
        for n in range(6):
            names = []
            for m in (THEIRS, OURS):
                utils = m.backbone_utils
                make = utils.resnet_fpn_backbone if kind == "resnet" else utils.mobilenet_backbone
                network = "resnet18" if kind == "resnet" else "mobilenet_v3_small"
                with _quickly():
                    model = make(backbone_name=network, weights=None, trainable_layers=n, **args)
                names.append([k for k, p in model.named_parameters() if p.requires_grad])
            assert names[0] == names[1]


@pytest.mark.parametrize("name", ["maskrcnn_resnet50_fpn", "retinanet_resnet50_fpn"])
def test_files_of_the_first_version_load(name: str) -> None:
    ours, _ = _twins(name)
    new = {key: value.clone() for key, value in ours.state_dict().items()}
    old = {}
    for key, value in new.items():
        if key.startswith(("backbone.fpn.inner_blocks", "backbone.fpn.layer_blocks")):
            key = key.replace(".0.weight", ".weight").replace(".0.bias", ".bias")
        key = key.replace("rpn.head.conv.0.0", "rpn.head.conv")
        for i in range(4):
            key = key.replace(f"mask_head.{i}.0", f"mask_head.mask_fcn{i + 1}")
            key = key.replace(f"_head.conv.{i}.0", f"_head.conv.{2 * i}")
        old[key] = value
    assert old.keys() != new.keys()
    for parameter in ours.parameters():
        facula.nn.init.zeros_(parameter)
    ours.load_state_dict(old)
    for key, value in ours.state_dict().items():
        assert facula.equal(value, new[key]), key


BAD_TARGETS = {
    "none": lambda t: None,
    "a list of boxes": lambda t: [{**t[0], "boxes": t[0]["boxes"].tolist()}, t[1]],
    "boxes of three numbers": lambda t: [{**t[0], "boxes": t[0]["boxes"][:, :3]}, t[1]],
    "an empty box": lambda t: [{**t[0], "boxes": t[0]["boxes"] * 0}, t[1]],
    "labels of another dtype": lambda t: [{**t[0], "labels": t[0]["labels"].int()}, t[1]],
}


@pytest.mark.parametrize("bad", BAD_TARGETS)
def test_bad_targets_raise_the_same_exceptions(bad: str) -> None:
    name = "fasterrcnn_mobilenet_v3_large_320_fpn"
    errors = []
    for model in reversed(_twins(name, **MODELS[name])):
        is_ours = type(model).__module__.startswith("facula")
        images, targets = _images(), BAD_TARGETS[bad](_targets(name))
        if is_ours:
            images, targets = convert(facula, images), convert(facula, targets)
        with pytest.raises(Exception) as caught:
            model(images, targets)
        errors.append(caught.type)
    assert errors[0] is errors[1]


def test_bad_images_raise_the_same_exceptions() -> None:
    ours, theirs = _twins("ssdlite320_mobilenet_v3_large")
    for image in (
        torch.zeros(3, 8),
        torch.zeros(1, 3, 8, 8),
        torch.zeros(3, 8, 8, dtype=torch.uint8),
    ):
        with pytest.raises(Exception) as expected:
            theirs.eval()([image])
        with pytest.raises(expected.type):
            ours.eval()([convert(facula, image)])


def test_boxes_to_begin_with() -> None:
    ours, theirs = OURS.anchor_utils, THEIRS.anchor_utils
    x = [torch.zeros(1, 2, 5, 7), torch.zeros(1, 2, 3, 4)]
    for make in (
        lambda m: m.AnchorGenerator(((8, 16), (32,)), ((0.5, 1.0), (2.0,))),
        lambda m: m.AnchorGenerator((8, 16), (0.5, 1.0)),
        lambda m: m.DefaultBoxGenerator([[2], [2, 3]]),
        lambda m: m.DefaultBoxGenerator([[2], [2, 3]], scales=[0.1, 0.5, 1.2], steps=[8, 16]),
        lambda m: m.DefaultBoxGenerator([[2], [3]], clip=False, max_ratio=1.5),
    ):
        a, b = make(ours), make(theirs)
        assert a.num_anchors_per_location() == b.num_anchors_per_location()
        image_list = THEIRS.image_list.ImageList(torch.zeros(2, 3, 40, 56), [(40, 50), (33, 56)])
        twin = OURS.image_list.ImageList(facula.zeros(2, 3, 40, 56), [(40, 50), (33, 56)])
        for p, q in zip(a(twin, convert(facula, x)), b(image_list, x), strict=True):
            _same(p, q, repr(b), 1e-6)
