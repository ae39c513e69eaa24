"""Numbers as arguments: which of them a dtype takes, and what becomes of them."""

from __future__ import annotations

import pytest
import torch

from .frameworks import facula, outcome_of, same_exception_type

CALLS = [
    "x.fill_(v)",
    "torch.fill(x, v)",
    "torch.full((2,), v, dtype=x.dtype)",
    "torch.full((0,), v, dtype=x.dtype)",
    "torch.full_like(x, v)",
    "x.new_full((2,), v)",
    "x.masked_fill(m, v)",
    "x.masked_fill_(~m & m, v)",
    "x.masked_fill(m, torch.tensor(v, dtype=torch.int64 if type(v) is int else None))",
    "x.index_fill_(0, i, v)",
    "x.index_fill_(0, i[:0], v)",
    "x.scatter(0, i, v)",
    "x.scatter_(0, i[:0], v)",
    "x.scatter(0, i, v, reduce='add')",
    "x.__setitem__(0, v) or x",
    "x.__setitem__(m, v) or x",
    "torch.where(m, x, v)",
    "x.clamp(min=v)",
    "x.add(x, alpha=v)",
    "x.index_add(0, i, x[:1], alpha=v)",
    "torch.addcmul(x, x, x, value=v)",
    "torch.threshold(x, 1, v)",
    "torch.linspace(0, v, 2, dtype=x.dtype)",
    "torch.nn.functional.pad(x, (1, 1), value=v)",
    "torch.tensor(v, dtype=x.dtype)",
    "torch.scalar_tensor(v, dtype=x.dtype)",
]
DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
VALUES = [
    *(0, 2, 128, 255, 256, 300, -1, -128, -129, -255, -256, 2**31, 2**62),
    *(2.7, -0.5, 255.9, 70000.0, 1e10, 1e300, float("inf"), float("nan")),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", CALLS)
def test_a_number_is_taken_or_refused(text: str, dtype: str) -> None:
    for value in VALUES:
        results, errors = [], []
        for lib in (torch, facula):
            x = lib.ones(2, dtype=getattr(lib, dtype))
            names = {"torch": lib, "x": x, "v": value}
            names |= {"m": lib.tensor([True, False]), "i": lib.tensor([0])}
            result, error = outcome_of(lambda names=names: eval(text, names))
            results.append(None if error else (str(result.dtype).split(".")[-1], result.tolist()))
            errors.append(error)
        expected, actual = errors
        assert (expected is None) == (actual is None), (value, expected, actual, results)
        if expected is not None:
            assert same_exception_type(expected, actual), (value, expected, actual)
        else:
            assert str(results[0]) == str(results[1]), (value, results)
