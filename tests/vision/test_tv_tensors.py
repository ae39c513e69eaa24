import copy
import pickle

import numpy as np
import PIL.Image
import pytest

import facula
from facula.vision import tv_tensors

pytestmark = pytest.mark.promise("D3")


@pytest.fixture
def image():
    return tv_tensors.Image(facula.arange(24).view(2, 3, 4))


@pytest.fixture
def boxes():
    return tv_tensors.BoundingBoxes([[0, 0, 2, 3]], format="XYXY", canvas_size=(4, 5))


@pytest.fixture
def points():
    return tv_tensors.KeyPoints([[1.0, 2.0]], canvas_size=(4, 5))


def test_operations_give_plain_tensors(image):
    for result in (image + 1, 1 - image, image[0], image.flip(0), -image, image.float()):
        assert type(result) is facula.Tensor
    assert type(image.add_(1)) is facula.Tensor
    assert type(facula.stack([image, image])) is facula.Tensor


def test_clone_to_detach_and_requires_grad_keep_the_type(boxes):
    for result in (boxes.clone(), boxes.to(facula.float32), boxes.detach()):
        assert type(result) is tv_tensors.BoundingBoxes
        assert result.format == tv_tensors.BoundingBoxFormat.XYXY
        assert result.canvas_size == (4, 5)
    kept = boxes.to(facula.float32).requires_grad_()
    assert type(kept) is tv_tensors.BoundingBoxes and kept.requires_grad


def test_set_return_type_keeps_the_type_for_a_time(image, boxes):
    with tv_tensors.set_return_type("TVTensor"):
        assert type(image + 1) is tv_tensors.Image
        assert (boxes * 2).canvas_size == (4, 5)
        assert [type(part) for part in image.unbind(0)] == [tv_tensors.Image] * 2
    assert type(image + 1) is facula.Tensor
    tv_tensors.set_return_type("TVTensor")
    assert type(image + 1) is tv_tensors.Image
    tv_tensors.set_return_type("tensor")
    assert type(image + 1) is facula.Tensor


def test_set_return_type_refuses_other_types():
    with pytest.raises(ValueError, match=r"set_return_type: expected 'TVTensor' or 'Tensor', got"):
        tv_tensors.set_return_type("ndarray")


def test_wrap_hands_on_metadata(boxes, points):
    shifted = tv_tensors.wrap(boxes + 1, like=boxes, canvas_size=(9, 9))
    assert shifted.tolist() == [[1, 1, 3, 4]]
    assert (shifted.canvas_size, shifted.clamping_mode) == ((9, 9), "soft")
    assert tv_tensors.wrap(facula.zeros(1, 2), like=points).canvas_size == (4, 5)
    assert type(tv_tensors.wrap(points, like=facula.zeros(1))) is facula.Tensor


def test_memory_is_shared_with_the_data():
    data = facula.zeros(3, 2, 2)
    tv_tensors.Image(data).fill_(1)
    assert data.sum() == 12


def test_images_come_from_pillow_and_numpy():
    assert tv_tensors.Image(PIL.Image.new("RGB", (5, 4))).shape == (3, 4, 5)
    assert tv_tensors.Mask(PIL.Image.new("L", (5, 4))).shape == (1, 4, 5)
    assert tv_tensors.Image(np.zeros((4, 5))).dtype == facula.float64


@pytest.mark.parametrize("name", ["image", "boxes", "points"])
def test_copies_and_pickles_keep_type_and_metadata(name, request):
    tensor = request.getfixturevalue(name)
    for other in (copy.copy(tensor), copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
        assert type(other) is type(tensor)
        assert other.tolist() == tensor.tolist()
        assert vars(other) == vars(tensor)


def test_gradients_flow_through():
    data = facula.ones(3, 2, 2, requires_grad=True)
    image = tv_tensors.Image(data)
    assert image.requires_grad
    (image * 2).sum().backward()
    assert data.grad.tolist() == facula.full((3, 2, 2), 2.0).tolist()


def test_reprs_name_the_metadata(boxes, points):
    assert repr(boxes) == (
        "BoundingBoxes([[0, 0, 2, 3]], format=BoundingBoxFormat.XYXY, canvas_size=(4, 5), "
        "clamping_mode=soft)"
    )
    assert repr(points) == "KeyPoints([[1., 2.]], canvas_size=(4, 5))"


def test_impossible_shapes_are_refused():
    with pytest.raises(ValueError, match=r"Image: expected 2 or more dimensions, got \(3,\)"):
        tv_tensors.Image([1, 2, 3])
    with pytest.raises(ValueError, match=r"Video: expected \(\.\.\., T, C, H, W\), 4 or"):
        tv_tensors.Video(facula.zeros(3, 2, 2))
    with pytest.raises(ValueError, match=r"BoundingBoxes: expected \(N, K\) or \(K,\), got"):
        tv_tensors.BoundingBoxes([[[1, 2, 3, 4]]], format="XYXY", canvas_size=(4, 5))
    with pytest.raises(ValueError, match=r"rotated boxes are floating point, got torch.int64"):
        tv_tensors.BoundingBoxes([1, 2, 3, 4, 5], format="XYWHR", canvas_size=(4, 5))
    with pytest.raises(ValueError, match=r"clamping_mode is 'soft', 'hard' or None, got 'x'"):
        tv_tensors.BoundingBoxes([1], format="XYXY", canvas_size=(4, 5), clamping_mode="x")
    with pytest.raises(KeyError):
        tv_tensors.BoundingBoxes([1, 2, 3, 4], format="ABCD", canvas_size=(4, 5))


def test_formats_that_can_be_rotated():
    formats = list(tv_tensors.BoundingBoxFormat)
    rotated = [f.value for f in formats if tv_tensors.is_rotated_bounding_format(f)]
    assert rotated == ["XYWHR", "CXCYWHR", "XYXYXYXY"]
    assert tv_tensors.is_rotated_bounding_format("XYWHR")
    assert not tv_tensors.is_rotated_bounding_format("XYWH")
