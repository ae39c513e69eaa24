"""Measures what makes a network faster on this machine: larger batches, layouts, bfloat16.

Nothing here is always faster. bfloat16 pays where the processor or GPU has instructions for it,
``channels_last`` where its convolutions want it, larger batches until the memory or the caches are
full. So measure your own network on your own machine: change ``Net``, and run it again.
"""

import argparse
import contextlib
import time

from tqdm import tqdm

import facula
from facula import nn, optim
from facula.nn import functional as F


class Net(nn.Module):
    """Logits ``(N, 10)`` of images ``(N, 3, H, W)``."""

    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(2 * width, 10),
        )

    def forward(self, x):
        return self.layers(x)


def images_per_second(step, batch_size, device, seconds):
    """How many images pass through ``step()``, the best of three measurements."""
    rates = []
    step()  # the first call also reserves memory and, on a GPU, compiles
    for _ in range(3):
        n_steps, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds / 3:
            step()
            if device == "cuda":
                facula.cuda.synchronize()  # a GPU works on while Python goes on
            n_steps += 1
        rates.append(n_steps * batch_size / (time.perf_counter() - begin))
    return max(rates)


def setting(device, size, batch_size, layout=facula.contiguous_format, dtype=None):
    """A network, images and labels, and the context that its forward pass runs in."""
    facula.manual_seed(0)
    model = Net().to(device, memory_format=layout)
    images = facula.randn(batch_size, 3, size, size, device=device).to(memory_format=layout)
    labels = facula.randint(10, (batch_size,), device=device)
    context = contextlib.nullcontext() if dtype is None else facula.autocast(device, dtype=dtype)
    return model, images, labels, context


def training(device, size, batch_size, **options):
    """A training step."""
    model, images, labels, context = setting(device, size, batch_size, **options)
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step():
        with context:
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def prediction(device, size, batch_size, mode=contextlib.nullcontext, **options):
    """A forward pass in evaluation mode."""
    model, images, _, context = setting(device, size, batch_size, **options)
    model.eval()

    def step():
        with mode(), context:
            model(images)

    return step


def measure(device, size, small, large, seconds):
    """Name and images per second of every way, training first."""
    half = {"dtype": facula.bfloat16}
    last = {"layout": facula.channels_last}
    quiet = {"mode": facula.inference_mode}
    ways = [
        (f"training, {small} at a time", training, small, {}),
        (f"training, {large} at a time", training, large, {}),
        ("  and channels_last", training, large, last),
        ("  and bfloat16", training, large, half),
        ("  and both", training, large, last | half),
        (f"prediction, {large} at a time", prediction, large, {}),
        ("  and inference_mode", prediction, large, quiet),
        ("  and channels_last", prediction, large, quiet | last),
        ("  and bfloat16", prediction, large, quiet | last | half),
    ]
    rows = []
    for name, kind, batch_size, options in tqdm(ways, "measuring", disable=None, leave=False):
        step = kind(device, size, batch_size, **options)
        rows.append((name, images_per_second(step, batch_size, device, seconds)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if facula.cuda.is_available() else "cpu")
    parser.add_argument("--size", type=int, default=32, help="height and width of the images")
    parser.add_argument("--small", type=int, default=1, help="images of a small batch")
    parser.add_argument("--large", type=int, default=64, help="images of a large batch")
    parser.add_argument("--seconds", type=float, default=1.5, help="time for each measurement")
    args = parser.parse_args()
    rows = measure(args.device, args.size, args.small, args.large, args.seconds)
    base = {"training": rows[0][1], "prediction": rows[5][1]}
    first = base["training"]
    for name, rate in rows:
        first = base.get(name.partition(",")[0], first)
        print(f"{name:<28}{rate:>10,.0f} images/s {rate / first:>6.2f}x")


if __name__ == "__main__":
    main()
