"""Element-wise operations, reductions and sort on large tensors."""

from functools import partial

from harness import Case, main

M = 1 << 20


def vectors(numel, torch):
    torch.manual_seed(0)
    return {"x": torch.randn(numel), "y": torch.randn(numel)}


def matrix(n_rows, torch):
    torch.manual_seed(0)
    return {"x": torch.randn(n_rows, 1024)}


GELU = "0.5 * x * (1 + torch.erf(x * 0.7071067811865476))"
F_GELU = "torch.nn.functional.gelu(x)"
SOFTMAX = "torch.softmax(x, 1)"
CASES = [
    Case("add, 1M", "x + y", partial(vectors, M), 1, limit=1),
    Case("exp, 1M", "x.exp()", partial(vectors, M), 2, floor="x.square()", has_avx2_row=True),
    Case("tanh, 1M", "x.tanh()", partial(vectors, M), 2, floor="x.square()"),
    Case("gelu, 1M", F_GELU, partial(vectors, M), 2, floor="x.square()", has_avx2_row=True),
    Case("gelu as a formula, 1M", GELU, partial(vectors, M), 2),
    Case("sum, 1M", "x.sum()", partial(vectors, M), 1, limit=1),
    Case("softmax, 1024x1024", SOFTMAX, partial(matrix, 1024), 2, has_avx2_row=True),
    Case("sort, 1M", "x.sort()", partial(vectors, M), 3),
    Case("add, 16M", "x + y", partial(vectors, 16 * M), 3, limit=4),
    Case("exp, 16M", "x.exp()", partial(vectors, 16 * M), 2, floor="x.square()"),
    Case("tanh, 16M", "x.tanh()", partial(vectors, 16 * M), 2, floor="x.square()"),
    Case("gelu as a formula, 16M", GELU, partial(vectors, 16 * M), 1),
    Case("sum, 16M", "x.sum()", partial(vectors, 16 * M), 1, limit=1),
    Case("softmax, 16384x1024", SOFTMAX, partial(matrix, 16384), 1),
]

if __name__ == "__main__":
    main(__file__)
