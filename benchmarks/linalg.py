"""Factorisations: many small matrices, and a large one."""

from functools import partial

from harness import Case, main


def matrices(shape, torch):
    torch.manual_seed(0)
    a, b = torch.randn(*shape), torch.randn(*shape)
    return {"a": a, "b": b, "s": a @ a.mT / shape[-1] + torch.eye(shape[-1])}


CASES = [
    Case(f"{name}, {size}", program, partial(matrices, shape), 1)
    for size, shape in [("64 of 32x32", (64, 32, 32)), ("512x512", (512, 512))]
    for name, program in [
        ("solve", "torch.linalg.solve(a, b)"),
        ("inverse", "torch.linalg.inv(a)"),
        ("cholesky", "torch.linalg.cholesky(s)"),
        ("svd", "torch.linalg.svd(a)"),
        ("eigh", "torch.linalg.eigh(s)"),
    ]
]

if __name__ == "__main__":
    main(__file__)
