"""Transforms of functions: programs, and every operation inside of them, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from .compare import Difference
from .frameworks import facula
from .func_programs import PROGRAMS, bad_calls, random_calls
from .known_transforms import unexcused
from .ops import table
from .transforms import jvp_differences, vmap_differences

N_SHOWN = 5
pytestmark = pytest.mark.filterwarnings("ignore")


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _flat(v)]
    return [value]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_transforms_gives_what_pytorch_gives(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _flat(PROGRAMS[name](torch))
        actual = _flat(PROGRAMS[name](facula))
    assert [tuple(t.shape) for t in actual] == [tuple(t.shape) for t in expected]
    for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
        theirs = torch.tensor(a.tolist(), dtype=e.dtype)
        torch.testing.assert_close(theirs, e.detach(), rtol=1e-7, atol=1e-9, msg=f"result {i}")


def _outcome(call: Any) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "no error"


@pytest.mark.parametrize("name", bad_calls(facula))
def test_a_bad_call_raises_what_pytorch_raises(name: str) -> None:
    assert _outcome(bad_calls(facula)[name]) == _outcome(bad_calls(torch)[name])


# PyTorch refuses randomness="same" where what is drawn from is batched.
_NOT_THE_SAME = {"bernoulli", "multinomial", "normal"}


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize("name", random_calls(facula))
def test_the_examples_of_a_batch_draw_pytorchs_numbers(name: str, randomness: str) -> None:
    if randomness == "same" and name in _NOT_THE_SAME:
        pytest.skip("PyTorch cannot")

    def drawn(lib: Any) -> Any:
        lib.manual_seed(0)
        return lib.func.vmap(random_calls(lib)[name], randomness=randomness)(lib.ones(3, 4))

    expected = drawn(torch)
    actual = torch.tensor(drawn(facula).tolist(), dtype=expected.dtype)
    torch.testing.assert_close(actual, expected)


OPS = table()


def _check(found: list[Difference]) -> None:
    texts = [d.text for d in found[:N_SHOWN]]
    assert not found, f"{len(found)} differences\n" + "\n".join(texts)


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
@pytest.mark.parametrize("name", sorted(OPS))
def test_vmap_does_for_a_batch_what_a_loop_does(name: str, dtype: str) -> None:
    if dtype not in OPS[name].dtypes:
        pytest.skip("compared for another dtype")
    _, differences, looped = vmap_differences(OPS[name], dtype)
    assert not looped, "no batching rule"
    _check(unexcused("vmap", name, dtype, differences))


@pytest.mark.parametrize("name", sorted(OPS))
def test_forward_mode_gives_pytorchs_tangents(name: str) -> None:
    dtype = "float64"
    _, differences = jvp_differences(OPS[name], dtype)
    _check(unexcused("jvp", name, dtype, differences))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ["cholesky", "eig", "eigvalsh", "svdvals"])
def test_tangents_of_factors_are_pytorchs(name: str, dtype: str) -> None:
    tall = (2, 4, 3) if name == "svdvals" else (2, 3, 3)
    drawn = torch.randn(2, *tall, dtype=getattr(torch, dtype), generator=torch.manual_seed(0))

    def run(lib: Any) -> list[Any]:
        own = getattr(lib, dtype)
        a, t = (lib.tensor(x.tolist(), dtype=own) for x in drawn)
        if name == "cholesky":
            a = a @ a.mH + lib.eye(3, dtype=own)
        value, tangent = lib.func.jvp(getattr(lib.linalg, name), (a,), (t,))
        return _flat([*value, *tangent] if isinstance(value, tuple) else [value, tangent])

    for e, a in zip(run(torch), run(facula), strict=True):
        torch.testing.assert_close(torch.tensor(a.tolist(), dtype=e.dtype), e)
