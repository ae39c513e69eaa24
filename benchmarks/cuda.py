"""Element-wise operations, products and a training step on an NVIDIA GPU."""

from functools import partial

from harness import Case, main

M = 1 << 20


def vectors(torch):
    torch.manual_seed(0)
    return {"x": torch.randn(M).to("cuda"), "y": torch.randn(M).to("cuda")}


def matrices(n, dtype, torch):
    torch.manual_seed(0)
    a, b = (torch.randn(n, n).to("cuda").to(getattr(torch, dtype)) for _ in range(2))
    return {"a": a, "b": b}


def training_step(torch):
    """64x1000-100-10, cross entropy with one-hot targets, SGD."""
    torch.manual_seed(0)
    x = torch.randn(64, 1000).to("cuda")
    targets = (torch.arange(64).remainder(10).unsqueeze(1) == torch.arange(10)).float().to("cuda")
    shapes = [(1000, 100), (100,), (100, 10), (10,)]
    parameters = [(torch.randn(*shape) * 0.05).to("cuda").requires_grad_() for shape in shapes]
    w1, b1, w2, b2 = parameters

    def step():
        hidden = torch.relu(torch.addmm(b1, x, w1))
        log_probabilities = torch.log_softmax(torch.addmm(b2, hidden, w2), 1)
        (-(log_probabilities * targets).sum(1).mean()).backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad, alpha=0.01)
                parameter.grad = None

    return {"step": step}


def ten(stmt):
    """Ten launches and a wait, so that launches can overlap as they do in a program."""
    return f"for _ in range(10): {stmt}\ntorch.cuda.synchronize()"


CASES = [
    Case("cuda: 10 add, 1M", ten("x + y"), vectors, 1),
    Case("cuda: 10 exp, 1M", ten("x.exp()"), vectors, 1),
    Case("cuda: 10 sum, 1M", ten("x.sum()"), vectors, 1),
    *(
        Case(
            f"cuda: 10 matmul, {n}x{n} {dtype}",
            ten("a @ b"),
            partial(matrices, n, dtype),
            1,
            limit=1,
        )
        for n in (1024, 4096)
        for dtype in ("float32", "bfloat16")
    ),
    Case("cuda: 10 MLP steps, 64x1000-100-10", ten("step()"), training_step, 1),
]

if __name__ == "__main__":
    main(__file__)
