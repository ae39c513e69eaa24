"""Products of square matrices."""

from functools import partial

from harness import Case, main


def matrices(size, dtype, torch):
    torch.manual_seed(0)
    a, b = (torch.randn(size, size).to(getattr(torch, dtype)) for _ in range(2))
    return {"a": a, "b": b}


CASES = [
    Case(name, "a @ b", partial(matrices, size, dtype), 1, limit=1, has_avx2_row=True)
    for name, size, dtype in [
        ("matmul, 256x256", 256, "float32"),
        ("matmul, 1024x1024", 1024, "float32"),
        ("matmul, 2048x2048", 2048, "float32"),
        ("matmul, 1024x1024, bfloat16", 1024, "bfloat16"),
    ]
]

if __name__ == "__main__":
    main(__file__)
