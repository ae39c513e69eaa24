import inspect

import pytest

from .vision_cases import check, facula, outcome, torch, torchvision

MAKE = """
    tv.Image(u8)
    tv.Image(gray[0])
    tv.Image(pil)
    tv.Image(array[:, :, 0])
    tv.Image([[1.0, 2.0]])
    tv.Image(3.0)
    tv.Image(u8, dtype=L.float32)
    tv.Image(f32.clone(), requires_grad=True)
    tv.Image(f32.clone().requires_grad_())
    tv.Video(batch)
    tv.Video(u8)
    tv.Mask(pil)
    tv.Mask(mask)
    tv.Mask(L.tensor(3))
    tv.BoundingBoxes([1, 2, 3, 4], format="xyxy", canvas_size=(3, 3))
    tv.BoundingBoxes([1, 2, 3, 4], format=tv.BoundingBoxFormat.CXCYWH, canvas_size=(3, 3))
    tv.BoundingBoxes([1, 2, 3, 4], format="foo", canvas_size=(3, 3))
    tv.BoundingBoxes([1, 2, 3, 4, 5], format="XYWHR", canvas_size=(3, 3))
    tv.BoundingBoxes([1.0, 2, 3, 4, 5], format="XYWHR", canvas_size=(3, 3))
    tv.BoundingBoxes([1, 2, 3, 4], format="XYXY", canvas_size=(3, 3), clamping_mode="hard")
    tv.BoundingBoxes([1, 2, 3, 4], format="XYXY", canvas_size=(3, 3), clamping_mode=None)
    tv.BoundingBoxes([1, 2, 3, 4], format="XYXY", canvas_size=(3, 3), clamping_mode="x")
    tv.BoundingBoxes([[[1, 2, 3, 4]]], format="XYXY", canvas_size=(3, 3))
    tv.BoundingBoxes([], format="XYXY", canvas_size=(3, 3))
    tv.BoundingBoxes(L.zeros(0, 4), format="XYXY", canvas_size=(3, 3), dtype=L.int64)
    tv.KeyPoints([1.0, 2.0], canvas_size=(3, 3))
    tv.KeyPoints(L.zeros(2, 3, 2), canvas_size=(3, 3))
    tv.KeyPoints(3.0, canvas_size=(3, 3))
    tv.wrap(L.zeros(1, 4), like=xyxy)
    tv.wrap(L.zeros(1, 4), like=xyxy, format="XYWH", canvas_size=(9, 9))
    tv.wrap(L.zeros(1, 2), like=points, canvas_size=(9, 9))
    tv.wrap(L.zeros(1, 2), like=image)
    tv.wrap(L.zeros(1, 2), like=u8)
    tv.set_return_type("foo")
    tv.is_rotated_bounding_format("XYXYXYXY")
    tv.is_rotated_bounding_format("foo")
    __import__("copy").copy(xyxy)
    __import__("copy").deepcopy(points)
    __import__("pickle").loads(__import__("pickle").dumps(xyxy))
"""
OPERATIONS = """
    {} + 1
    1 - {}
    {} * {}
    -{}
    {}[0]
    {} > 1
    {}.clone()
    {}.to(L.float64)
    {}.to(L.float32)
    {}.detach()
    {}.clone().requires_grad_(False)
    {}.clone().add_(1)
    {}.float()
    {}.reshape(-1)
    {}.sum()
    {}.unbind(0)
    {}.max(0)[0]
    {}.shape
    {}.dtype
    {}.ndim
    {}.numpy().shape
"""
INPUTS = ["image", "mask", "video", "xyxy_int", "points"]


@pytest.mark.parametrize("expression", [line.strip() for line in MAKE.strip().splitlines()])
def test_tensors_are_made(expression):
    check(expression)
    value = outcome(torch, expression)
    if isinstance(value, torch.Tensor) and value.numel() < 50:
        assert repr(outcome(facula, expression)) == repr(value)


@pytest.mark.parametrize("operation", [line.strip() for line in OPERATIONS.strip().splitlines()])
@pytest.mark.parametrize("return_type", ["Tensor", "TVTensor"])
def test_operations_return_the_types_that_were_set(operation, return_type):
    expressions = [operation.format(*[name] * 2) for name in INPUTS]
    both = torchvision.tv_tensors, facula.vision.tv_tensors
    with both[0].set_return_type(return_type), both[1].set_return_type(return_type):
        check(*expressions)


def test_names_and_arguments():
    theirs, ours = torchvision.tv_tensors, facula.vision.tv_tensors
    public = [name for name in dir(theirs) if name[0] != "_" and name != "torch"]
    assert set(public) == set(ours.__all__)
    for name in ("BoundingBoxes", "KeyPoints", "wrap", "is_rotated_bounding_format"):
        expected = list(inspect.signature(getattr(theirs, name)).parameters)
        assert list(inspect.signature(getattr(ours, name)).parameters) == expected, name
