import inspect

import pytest

from .vision_cases import check, facula, torchvision

GRIDS = """
    L.zeros(4, 5)
    f32
    gray
    batch
    batch, padding=5, pad_value=0.5
    L.stack([f32] * 7), nrow=3
    L.stack([gray] * 7), nrow=3, pad_value=3
    [f32] * 3, nrow=2
    batch - 0.3, normalize=True
    batch - 0.3, normalize=True, value_range=(-0.1, 0.4)
    batch * L.tensor([1.0, 3.0]).view(2, 1, 1, 1), normalize=True, scale_each=True
    L.ones(2, 3, 4, 5), normalize=True
    L.zeros(3)
    []
    [1, 2]
    3
    [f32, f32[:, :3]]
    batch, nrow=0
    batch, nrow=-1
    L.stack([u8, u8]), normalize=True
    batch, normalize=True, value_range=3
"""
BOXES = "L.tensor([[2, 3, 10, 12], [0, 0, 22, 16], [5, 5, 9, 7]])"
BOX_CASES = f"""
    u8, {BOXES}
    f32, {BOXES}
    gray, {BOXES}
    u8, {BOXES}.to(L.float32), width=3
    u8, {BOXES}, colors="red"
    u8, {BOXES}, colors=["red", "#00ff10", (1, 2, 3)]
    u8, {BOXES}, colors=(9, 8, 7), fill=True
    u8, {BOXES}, labels=["a", None, "xy"]
    u8, {BOXES}, labels=["a", "b", "xy"], label_colors="blue"
    u8, {BOXES}, labels=["a", "b", "xy"], fill_labels=True
    u8, {BOXES}, labels=["a", "b", "xy"], fill_labels=True, label_background_colors="green", width=2
    u8, L.tensor([[5.0, 2, 15, 4, 13, 12, 3, 10]])
    u8, L.tensor([[5.0, 2, 15, 4, 13, 12, 3, 10]]), fill=True, colors="red"
    u8, {BOXES}[:0]
    u8, {BOXES}[0]
    u8, {BOXES}, labels=["a"]
    u8, {BOXES}, colors=["red"]
    u8, {BOXES}, colors="foo"
    u8, {BOXES}, colors=(1, 2)
    u8, {BOXES}.flip(-1)
    u8[:2], {BOXES}
    u8[0], {BOXES}
    batch, {BOXES}
    u8.to(L.int32), {BOXES}
    3, {BOXES}
    u8, L.zeros(2, 5)
    u8, {BOXES}, labels=["a", "b", "c"], font="no_such_font"
"""
MASKS = "L.stack([mask > 2, mask < 1])"
MASK_CASES = f"""
    u8, {MASKS}
    f32, {MASKS}
    u8, {MASKS}, alpha=0.3, colors="red"
    f32, {MASKS}, alpha=0.3, colors=["red", (1, 2, 3)]
    u8, L.stack([mask > 2, mask > 1, mask < 2])
    u8, {MASKS}[0]
    u8, {MASKS}[:0]
    u8, {MASKS}.to(L.uint8)
    u8, {MASKS}[:, :3]
    u8, {MASKS}[None]
    gray, {MASKS}
    batch, {MASKS}
    u8.to(L.int32), {MASKS}
    3, {MASKS}
    u8, {MASKS}, colors=["red"]
    u8, {MASKS}, colors="foo"
"""
POINTS = "L.tensor([[[3.0, 4], [10, 12], [20, 5]], [[6, 6], [1, 1], [15, 15]]])"
POINT_CASES = f"""
    u8, {POINTS}
    u8, {POINTS}, colors="red"
    f32, {POINTS}, colors=(9, 200, 7), radius=4
    u8, {POINTS}, connectivity=[(0, 1), (1, 2)], colors="red", width=2
    u8, {POINTS}, connectivity=[(0, 1)], visibility=L.tensor([[1, 1, 0], [0, 1, 1]]), colors="red"
    u8, {POINTS}, visibility=L.ones(2, 3, 1), colors="red"
    u8, {POINTS}[0]
    u8, {POINTS}, visibility=L.ones(3, 3)
    u8, {POINTS}, visibility=L.ones(3)
    gray, {POINTS}
    batch, {POINTS}
    u8.to(L.int32), {POINTS}
    3, {POINTS}
"""
FLOW = "(L.stack([f32[0] - 0.4, f32[2] - 0.6]))"
FLOW_CASES = f"""
    {FLOW}
    L.stack([{FLOW}, -{FLOW}])
    L.zeros(2, 3, 4)
    L.zeros(3, 3, 4)
    L.zeros(4, 5)
    L.zeros(2, 3, 4, dtype=L.int32)
    L.full((2, 1, 1), float("nan"))
"""
CASES = [
    f"vision.utils.{name}({line.strip()})"
    for name, text in [
        ("make_grid", GRIDS),
        ("draw_bounding_boxes", BOX_CASES),
        ("draw_segmentation_masks", MASK_CASES),
        ("draw_keypoints", POINT_CASES),
        ("flow_to_image", FLOW_CASES),
    ]
    for line in text.strip().splitlines()
]


@pytest.mark.parametrize("expression", CASES)
def test_utils(expression):
    check(expression, off=0.01 if "flow" in expression else 0)


@pytest.mark.parametrize("arguments", ["f32", "batch", "gray", "batch - 0.3, normalize=True"])
@pytest.mark.parametrize("format", ["PNG", "BMP", "JPEG"])
def test_saved_images(arguments, format):
    arguments = arguments.replace(",", f", file, format={format!r},", 1)
    if "file" not in arguments:
        arguments += f", file, format={format!r}"
    save = f"vision.utils.save_image({arguments})"
    check(f"[[{save}, file.getvalue()][1] for file in [__import__('io').BytesIO()]]")


def test_names_and_arguments():
    theirs, ours = torchvision.utils, facula.vision.utils
    public = {name for name in theirs.__all__ if name[0] != "_"}
    assert set(ours.__all__) == public
    for name in ours.__all__:
        expected = list(inspect.signature(getattr(theirs, name)).parameters)
        assert list(inspect.signature(getattr(ours, name)).parameters) == expected, name
