"""One training step of a small perceptron: forward, cross entropy, backward, SGD."""

from functools import partial
from itertools import pairwise

from harness import Case, main


def training_step(sizes, torch, device="cpu"):
    torch.manual_seed(0)
    x = torch.randn(64, sizes[0]).to(device)
    labels = torch.arange(64).remainder(sizes[-1]).unsqueeze(1).to(device)
    layers = []
    for n_in, n_out in pairwise(sizes):
        weight = torch.randn(n_in, n_out) * (2 / n_in) ** 0.5
        layers.append([p.to(device).requires_grad_() for p in (weight, torch.zeros(n_out))])

    def step():
        hidden = x
        for weight, bias in layers[:-1]:
            hidden = torch.relu(torch.addmm(bias, hidden, weight))
        weight, bias = layers[-1]
        log_probabilities = torch.log_softmax(torch.addmm(bias, hidden, weight), 1)
        (-log_probabilities.gather(1, labels).mean()).backward()
        with torch.no_grad():
            for layer in layers:
                for parameter in layer:
                    parameter.sub_(parameter.grad, alpha=0.01)
                    parameter.grad = None

    return {"step": step}


CASES = [
    Case(
        f"MLP step, 64x{'-'.join(map(str, sizes))}",
        "step()",
        partial(training_step, sizes),
        2.5,
        limit=4.4,
        has_memory_row=True,
    )
    for sizes in ([1000, 100, 10], [1000, 100, 100, 100, 10])
]

if __name__ == "__main__":
    main(__file__)
