"""The cost of one operation on a few elements, and of a short chain forward and backward."""

from harness import Case, main


def tensors(torch):
    return {
        "x": torch.ones(8),
        "y": torch.ones(8),
        "g": torch.ones(8, requires_grad=True),
        "scalar": torch.ones(()),
        "a": torch.ones(16, 16),
        "b": torch.ones(16, 16),
    }


def chain(torch):
    x = torch.linspace(0.1, 0.8, 8).requires_grad_()
    w = torch.ones(8)

    def step():
        ((x * w + w).tanh() * x).sum().backward()
        x.grad = None

    return {"step": step}


CASES = [
    Case("add, 8 elements", "x + y", tensors, 3),
    Case("add, 8 elements, with grad", "g + y", tensors, 3),
    Case("add_, 8 elements", "x.add_(y)", tensors, 3),
    Case("view", "x.view(2, 4)", tensors, 3),
    Case("slice", "x[2:6]", tensors, 3),
    Case("item", "scalar.item()", tensors, 3),
    Case("sum, 8 elements", "x.sum()", tensors, 3),
    Case("matmul, 16x16", "a @ b", tensors, 3),
    Case("5 operations forward and backward", "step()", chain, 6),
]

if __name__ == "__main__":
    main(__file__)
