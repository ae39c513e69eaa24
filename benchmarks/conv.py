"""Convolutions of ResNet-18 on 8x224x224 and a depthwise one: forward and both gradients."""

from functools import partial

from harness import Case, main

# Channels in and out, size of the images, kernel, stride, groups.
SHAPES = {
    "7x7, 3 to 64 on 224": (3, 64, 224, 7, 2, 1),
    "3x3, 64 to 64 on 56": (64, 64, 56, 3, 1, 1),
    "3x3, 64 to 128 on 56, stride 2": (64, 128, 56, 3, 2, 1),
    "3x3, 128 to 128 on 28": (128, 128, 28, 3, 1, 1),
    "3x3, 256 to 256 on 14": (256, 256, 14, 3, 1, 1),
    "3x3, 512 to 512 on 7": (512, 512, 7, 3, 1, 1),
    "1x1, 64 to 128 on 56, stride 2": (64, 128, 56, 1, 2, 1),
    "3x3, depthwise 64 on 56": (64, 64, 56, 3, 1, 64),
}


def convolution(shape, torch):
    n_in, n_out, size, kernel, stride, groups = shape
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, groups=groups, bias=False)
    x = torch.randn(8, n_in, size, size, requires_grad=n_in > 3)  # images have no gradient
    # PyTorch is at its best with this layout here.
    if torch.__name__ == "torch" and groups == 1:
        conv = conv.to(memory_format=torch.channels_last)
        x = x.detach().to(memory_format=torch.channels_last).requires_grad_(n_in > 3)
    g = torch.randn_like(conv(x))
    inputs = [x, conv.weight] if n_in > 3 else [conv.weight]
    return {"step": lambda: torch.autograd.grad(conv(x), inputs, g)}


CASES = [
    Case(f"conv2d {name}", "step()", partial(convolution, shape), 1.2)
    for name, shape in SHAPES.items()
]

if __name__ == "__main__":
    main(__file__)
