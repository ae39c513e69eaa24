"""Convolutions of ResNets on 8x224x224 and a depthwise one: forward alone, and with gradients."""

from functools import partial
from math import inf
from typing import NamedTuple

from harness import Case, main


class Convolution(NamedTuple):
    n_in: int
    n_out: int
    size: int  # of the images
    kernel: int
    stride: int = 1
    groups: int = 1
    has_grad: bool = True  # of the images; those at the entrance of a network need none


# By name: the convolution, its budget, and the limit of a step with all gradients.
SHAPES = {
    "7x7, 3 to 64 on 224": (Convolution(3, 64, 224, 7, 2), 2, 3),
    "7x7, of fixed images": (Convolution(3, 64, 224, 7, 2, has_grad=False), 2, inf),
    "3x3, 64 to 64 on 56": (Convolution(64, 64, 56, 3), 1.3, inf),
    "3x3, 64 to 128 on 56, stride 2": (Convolution(64, 128, 56, 3, 2), 1.2, inf),
    "3x3, 128 to 128 on 28": (Convolution(128, 128, 28, 3), 1.3, inf),
    "3x3, 256 to 256 on 14": (Convolution(256, 256, 14, 3), 1.3, inf),
    "3x3, 512 to 512 on 7": (Convolution(512, 512, 7, 3), 1.3, inf),
    "1x1, 64 to 256 on 56": (Convolution(64, 256, 56, 1), 1.2, 1.5),
    "1x1, 64 to 128 on 56, stride 2": (Convolution(64, 128, 56, 1, 2), 1.2, inf),
    "3x3, depthwise 64 on 56": (Convolution(64, 64, 56, 3, groups=64), 1.2, inf),
}
FORWARD = ["7x7, 3 to 64 on 224", "3x3, 64 to 64 on 56", "1x1, 64 to 256 on 56"]


def convolution(shape, torch):
    n_in, n_out, size, kernel, stride, groups, has_grad = shape
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, groups=groups, bias=False)
    x = torch.randn(8, n_in, size, size)
    # PyTorch is at its best with this layout here.
    if torch.__name__ == "torch" and groups == 1:
        conv, x = (v.to(memory_format=torch.channels_last) for v in (conv, x))
    g = torch.randn_like(conv(x))
    inputs = [x.requires_grad_(), conv.weight] if has_grad else [conv.weight]

    def forward():
        with torch.no_grad():
            conv(x)

    def step():
        torch.autograd.grad(conv(x), inputs, g)

    return {"forward": forward, "step": step}


CASES = [
    *(
        Case(
            f"conv2d {name}, forward",
            "forward()",
            partial(convolution, SHAPES[name][0]),
            SHAPES[name][1],
            has_avx2_row=True,
        )
        for name in FORWARD
    ),
    *(
        Case(
            f"conv2d {name}",
            "step()",
            partial(convolution, shape),
            budget,
            limit=limit,
            has_avx2_row=True,
        )
        for name, (shape, budget, limit) in SHAPES.items()
    ),
]

if __name__ == "__main__":
    main(__file__)
