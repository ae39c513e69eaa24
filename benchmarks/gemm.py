"""Products of square float32 matrices."""

from functools import partial

from harness import Case, main


def matrices(size, torch):
    torch.manual_seed(0)
    return {"a": torch.randn(size, size), "b": torch.randn(size, size)}


CASES = [
    Case(f"matmul, {size}x{size}", "a @ b", partial(matrices, size), 1, limit=1)
    for size in (256, 1024, 2048)
]

if __name__ == "__main__":
    main(__file__)
