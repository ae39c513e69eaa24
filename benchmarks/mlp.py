"""One training step of a small perceptron: forward, cross entropy, backward, SGD."""

from functools import partial
from itertools import pairwise

from harness import Case, main


def training_step(sizes, torch, device="cpu"):
    nn = torch.nn
    torch.manual_seed(0)
    layers = [layer for n in pairwise(sizes) for layer in (nn.Linear(*n), nn.ReLU())]
    model = nn.Sequential(*layers[:-1]).to(device)
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, sizes[0]).to(device)
    labels = torch.arange(64).remainder(sizes[-1]).to(device)

    def step():
        optimizer.zero_grad()
        loss_of(model(x), labels).backward()
        optimizer.step()

    return {"step": step}


CASES = [
    Case(
        f"MLP step, 64x{'-'.join(map(str, sizes))}",
        "step()",
        partial(training_step, sizes),
        2.5,
        limit=4.4,
        has_memory_row=True,
        has_avx2_row=True,
    )
    for sizes in ([1000, 100, 10], [1000, 100, 100, 100, 10])
]

if __name__ == "__main__":
    main(__file__)
