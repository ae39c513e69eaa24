"""Element-wise operations, products and a training step on an NVIDIA GPU."""

from functools import partial

from harness import Case, main
from mlp import training_step

M = 1 << 20


def vectors(torch):
    torch.manual_seed(0)
    return {"x": torch.randn(M).to("cuda"), "y": torch.randn(M).to("cuda")}


def matrices(torch):
    torch.manual_seed(0)
    return {"a": torch.randn(2048, 2048).to("cuda"), "b": torch.randn(2048, 2048).to("cuda")}


def ten(stmt):
    """Ten launches and a wait, so that launches can overlap as they do in a program."""
    return f"for _ in range(10): {stmt}\ntorch.cuda.synchronize()"


MLP_SIZES = [1000, 100, 10]
CASES = [
    Case("cuda: 10 add, 1M", ten("x + y"), vectors, 1),
    Case("cuda: 10 exp, 1M", ten("x.exp()"), vectors, 1),
    Case("cuda: 10 sum, 1M", ten("x.sum()"), vectors, 1),
    Case("cuda: 10 matmul, 2048x2048", ten("a @ b"), matrices, 1, limit=1),
    Case(
        "cuda: 10 MLP steps, 64x1000-100-10",
        ten("step()"),
        partial(training_step, MLP_SIZES, device="cuda"),
        1,
    ),
]

if __name__ == "__main__":
    main(__file__)
