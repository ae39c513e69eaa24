"""Boxes and what is inside them: nms, RoI pooling and deformable convolution."""

import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from harness import Case, main


def ops_of(torch):
    if torch.__name__ == "facula":
        return import_module("facula.vision.ops")
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    return import_module("tests.parity.vision_oracle").torchvision.ops


def corners(torch, n, extent, side):
    low = torch.rand(n, 2) * extent
    return torch.cat([low, low + torch.rand(n, 2) * side + 1], 1)


def many_boxes(n, torch):
    torch.manual_seed(0)
    boxes, scores = corners(torch, n, 1000.0, 50.0), torch.rand(n)
    ops = ops_of(torch)
    return {"step": lambda: ops.nms(boxes, scores, 0.5)}


def pooling(name, has_gradient, torch):
    torch.manual_seed(0)
    ops = ops_of(torch)
    n_channels = 49 * 8 if name.startswith("ps") else 256
    x = torch.randn(2, n_channels, 50, 68, requires_grad=has_gradient)
    image = (torch.arange(512) % 2).float()[:, None]
    rois = torch.cat([image, corners(torch, 512, 500.0, 300.0)], 1)
    pool = getattr(ops, name)
    options = {"sampling_ratio": 2} if name.endswith("align") else {}

    def step():
        y = pool(x, rois, 7, 1 / 16, **options)
        if has_gradient:
            torch.autograd.grad(y, x, y.detach())

    return {"step": step}


def deformable(has_gradient, torch):
    torch.manual_seed(0)
    ops = ops_of(torch)
    shapes = [(1, 64, 56, 56), (1, 18, 56, 56), (64, 64, 3, 3)]
    x, offset, weight = (torch.randn(*shape, requires_grad=has_gradient) for shape in shapes)

    def step():
        y = ops.deform_conv2d(x, offset, weight, padding=1)
        if has_gradient:
            torch.autograd.grad(y, (x, offset, weight), y.detach())

    return {"step": step}


CASES = [
    Case("nms of 1000 boxes", "step()", partial(many_boxes, 1000), 1),
    Case("nms of 5000 boxes", "step()", partial(many_boxes, 5000), 1),
    *(
        Case(f"{name}, 512 boxes to 7x7", "step()", partial(pooling, name, False), 1)
        for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool")
    ),
    Case("roi_align, with gradient", "step()", partial(pooling, "roi_align", True), 1),
    Case("deform_conv2d 3x3, 64x56x56", "step()", partial(deformable, False), 1),
    Case("deform_conv2d, with gradients", "step()", partial(deformable, True), 1),
]

if __name__ == "__main__":
    main(__file__)
