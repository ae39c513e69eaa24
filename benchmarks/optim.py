"""Steps of the optimisers: large parameters, bound by memory, and small ones, bound by calls."""

from functools import partial

from harness import Case, main


def prepare(name, sizes, options, torch):
    torch.manual_seed(0)
    params = [torch.randn(size).requires_grad_() for size in sizes]
    for p in params:
        p.grad = torch.randn(p.shape)
    optimizer = getattr(torch.optim, name)(params, **options)
    optimizer.step()
    return {"optimizer": optimizer}


# Weights and biases of a perceptron, small enough for the cache.
SMALL = [(32, 32), (32,), (32, 32), (32,), (10, 32), (10,)]
LARGE = 10_000_000

CASES = [
    Case(
        f"{name} step, {label}",
        "optimizer.step()",
        partial(prepare, name, sizes, options),
        budget,
        limit=limit,
    )
    for name, label, sizes, options, budget, limit in [
        ("Adam", "10M parameters in one tensor", [(LARGE,)], {}, 2, 3.5),
        ("Adam", "10M parameters in 100 tensors", [(LARGE // 100,)] * 100, {}, 2, 3.5),
        ("SGD", "10M parameters, momentum", [(LARGE,)], {"lr": 1e-6, "momentum": 0.9}, 1, 2),
        ("SGD", "6 small parameters", SMALL, {"lr": 1e-6}, 6, float("inf")),
        ("AdamW", "6 small parameters", SMALL, {}, 6, float("inf")),
    ]
]
CASES.append(
    Case("zero_grad, 6 small parameters", "optimizer.zero_grad()", CASES[3].setup, budget=3)
)

if __name__ == "__main__":
    main(__file__)
