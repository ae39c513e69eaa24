"""Pooling, padding and resampling of images, forward and backward."""

from functools import partial

from harness import Case, main


def step_of(shape, function, torch):
    torch.manual_seed(0)
    x = torch.randn(*shape, requires_grad=True)
    run = partial(function, torch.nn.functional)
    g = torch.randn(run(x).shape)

    def step():
        run(x).backward(g)
        x.grad = None

    return {"step": step}


def case(name, shape, function, budget=1.0):
    return Case(
        f"{name}, {'x'.join(map(str, shape))}", "step()", partial(step_of, shape, function), budget
    )


CASES = [
    case("max_pool2d 2x2", (64, 64, 24, 24), lambda F, x: F.max_pool2d(x, 2)),
    case("max_pool2d 3x3, stride 2", (8, 64, 112, 112), lambda F, x: F.max_pool2d(x, 3, 2, 1)),
    case("avg_pool2d 2x2", (8, 64, 56, 56), lambda F, x: F.avg_pool2d(x, 2)),
    case("adaptive_avg_pool2d to 1x1", (8, 512, 7, 7), lambda F, x: F.adaptive_avg_pool2d(x, 1)),
    case("adaptive_max_pool2d to 6x6", (8, 256, 13, 13), lambda F, x: F.adaptive_max_pool2d(x, 6)),
    case("pad by a reflection", (8, 64, 56, 56), lambda F, x: F.pad(x, (1,) * 4, mode="reflect")),
    case(
        "interpolate x2, bilinear",
        (8, 64, 56, 56),
        lambda F, x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    ),
    case(
        "interpolate to 96x96, antialias",
        (8, 3, 224, 224),
        lambda F, x: F.interpolate(x, size=96, mode="bilinear", antialias=True),
    ),
]

if __name__ == "__main__":
    main(__file__)
