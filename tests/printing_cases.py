"""What the printing tests print: expressions over a framework ``f``, and print options."""

import math

EXPRESSIONS = [
    "f.tensor([1, -20, 300])",
    "f.tensor([[1, 2], [3, 4]], dtype=f.int32)",
    "f.tensor([200, 7], dtype=f.uint8)",
    "f.tensor([True, False])",
    "f.tensor(7)",
    "f.tensor(True)",
    "f.tensor(1.5)",
    "f.tensor(-0.0)",
    "f.tensor([0.0, 0.0])",
    "f.tensor([1.0, 2.0, 3.0])",
    "f.tensor([1.0, 2.5])",
    "f.tensor([1e8, 1.0])",
    "f.tensor([1e8 + 8])",
    "f.tensor([1000.0, 1.0])",
    "f.tensor([1001.0, 1.0])",
    "f.tensor([1001.5, 1.0])",
    "f.tensor([1e-4, 0.05])",
    "f.tensor([9e-5, 0.05])",
    "f.tensor([inf, nan, 0.0])",
    "f.tensor([inf, -inf, 1.5])",
    "f.tensor([nan])",
    "f.tensor([5e-324, 1e308], dtype=f.float64)",
    "f.tensor([0.1, 100.25], dtype=f.float16)",
    "f.tensor([0.1, 100.25], dtype=f.bfloat16)",
    "f.tensor([1 + 2j, -3.5 - 0.25j])",
    "f.tensor(complex(1, nan))",
    "f.tensor([1 + 2j, 1e9j], dtype=f.complex128)",
    "f.tensor([])",
    "f.empty(0, 3)",
    "f.empty(2, 0, dtype=f.int64)",
    "f.empty(0, dtype=f.bool)",
    "f.arange(30)",
    "f.arange(24.0).reshape(2, 3, 4)",
    "f.arange(16).reshape(2, 2, 2, 2)",
    "f.arange(1000)",
    "f.arange(1001)",
    "f.arange(10000).reshape(100, 100)",
    "f.arange(4000.0).reshape(10, 20, 20) / 7",
    "f.arange(2000).reshape(1, 2000)",
    "f.arange(2000).reshape(2000, 1)",
    "f.arange(12).reshape(3, 4).t()",
    "f.tensor([1.5]).expand(3, 2)",
    "f.ones(2, requires_grad=True)",
    "f.ones(2, requires_grad=True) * 2",
    "f.ones(40, requires_grad=True).exp()",
    "f.ones(9, dtype=f.float64, requires_grad=True).reshape(3, 3)",
    "f.ones(2, 2, requires_grad=True).sum()",
]

OPTIONS = [
    {},
    {"precision": 2},
    {"precision": 0},
    {"sci_mode": True},
    {"sci_mode": False},
    {"threshold": 5},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 0},
    {"linewidth": 30},
    {"profile": "short"},
    {"profile": "full", "linewidth": 200},
]


def printed(f, expression, options):
    """The text of an expression's value, with names as PyTorch writes them."""
    f.set_printoptions(profile="default")
    f.set_printoptions(**options)
    try:
        value = eval(expression, {"f": f, "inf": math.inf, "nan": math.nan})
        return repr(value).replace(f.__name__ + ".", "torch.")
    finally:
        f.set_printoptions(profile="default")
