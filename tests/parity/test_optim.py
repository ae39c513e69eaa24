"""Optimisers against PyTorch, over its own list of them and of their options."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest
import torch

from .frameworks import convert, facula, to_numpy
from .ops import load_module

pytestmark = pytest.mark.promise("N6")

_DATABASE = load_module("common_optimizers")
INFOS = {info.name: info for info in _DATABASE.optim_db}

N_STEPS = 20
TOLERANCES = {"float32": 2e-6, "float64": 1e-9, "complex64": 2e-6, "complex128": 1e-9}
# Differences of gradients that hardly differ; products in bfloat16, iterated.
LOOSE = {("LBFGS", "complex64"): 10, ("Muon", "float64"): 5e3}
FLAGS = ("foreach", "fused", "differentiable")


def cases(dtypes_wanted: tuple[str, ...] = tuple(TOLERANCES)) -> list[Any]:
    """Optimiser, options and dtype, for every input in the list."""
    found = []
    for name, info in INFOS.items():
        dtypes = [d for d in dtypes_wanted if info.supports_complex or not d.startswith("complex")]
        for i, case in enumerate(info.optim_inputs_func(device="cpu")):
            for dtype in dtypes:
                label = f"{name}-{i}-{case.desc.replace(' ', '_')}-{dtype}"
                found.append(pytest.param(name, case.kwargs, dtype, id=label))
    return found


def shapes(name: str) -> list[tuple[int, ...]]:
    if name == "Muon":
        return [(3, 5), (17, 4)]
    every = [(3, 5), (7,), (17, 4), (2, 3, 4)]
    return every if name == "SparseAdam" else [*every, ()]


@functools.cache
def random(shape: tuple[int, ...], dtype: str, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=getattr(torch, dtype))


def parameters(lib: Any, name: str, dtype: str) -> list[Any]:
    made = [random(shape, dtype, i) for i, shape in enumerate(shapes(name))]
    if name != "LBFGS":  # PyTorch's takes contiguous gradients only
        made.append(random((4, 6), dtype, 9).t())
    return [convert(lib, p).requires_grad_() for p in made]


class Problem:
    """A bowl to descend, with noise in the gradients; the same in both frameworks."""

    def __init__(self, lib: Any, params: list[Any], dtype: str, has_noise: bool) -> None:
        self.lib, self.params, self.dtype, self.has_noise = lib, params, dtype, has_noise
        self.step = 0

    def closure(self) -> Any:
        loss = 0.0
        for i, p in enumerate(self.params):
            x = p.detach()
            size = (x.abs() ** 2).sum()
            p.grad = x * (i + 1)
            loss += size * (i + 1) / 2
            if self.has_noise:
                noise = random(tuple(p.shape), self.dtype, 100 * self.step + i)
                p.grad += convert(self.lib, noise) * 0.5
            if self.is_sparse:  # some rows only, others at other steps
                p.grad[self.step % len(p) :: 3] = 0
                p.grad = p.grad.to_sparse(1)
        return loss

    def run(self, optimizer: Any, n_steps: int) -> None:
        self.is_sparse = type(optimizer).__name__ == "SparseAdam"
        for _ in range(n_steps):
            self.step += 1
            if type(optimizer).__name__ == "LBFGS":
                optimizer.step(self.closure)
            else:
                self.closure()
                optimizer.step()


def options(lib: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    return {key: convert(lib, value) for key, value in kwargs.items()}


def check_close(name: str, dtype: str, expected: Any, actual: Any, where: str) -> None:
    tolerance = TOLERANCES[dtype] * LOOSE.get((name, dtype), 1)
    np.testing.assert_allclose(
        to_numpy(actual), to_numpy(expected), rtol=tolerance, atol=tolerance, err_msg=where
    )


def check_state(name: str, dtype: str, expected: Any, actual: Any, where: str = "state") -> None:
    if isinstance(expected, torch.Tensor):
        assert isinstance(actual, facula.Tensor), where
        assert str(actual.dtype).rsplit(".", 1)[-1] == str(expected.dtype).rsplit(".", 1)[-1], where
        assert tuple(actual.shape) == tuple(expected.shape), where
        check_close(name, dtype, expected, actual, where)
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys(), where
        for key, value in expected.items():
            check_state(name, dtype, value, actual[key], f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert type(actual) is type(expected) and len(actual) == len(expected), where
        for i, (a, b) in enumerate(zip(expected, actual, strict=True)):
            check_state(name, dtype, a, b, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=1e-5), where
    else:
        assert actual == expected, where


def make(lib: Any, name: str, kwargs: dict[str, Any], dtype: str) -> tuple[Any, Problem]:
    params = parameters(lib, name, dtype)
    optimizer = getattr(lib.optim, name)(params, **options(lib, kwargs))
    # A line search does not end where the gradients are not those of the loss.
    return optimizer, Problem(lib, params, dtype, has_noise=name != "LBFGS")


@pytest.mark.parametrize("name, kwargs, dtype", cases())
def test_parameters_and_state_agree(name, kwargs, dtype):
    results = []
    for lib in (torch, facula):
        optimizer, problem = make(lib, name, kwargs, dtype)
        problem.run(optimizer, 1 if name == "LBFGS" else N_STEPS)  # a step of it has 20
        results.append((optimizer.state_dict(), problem.params, repr(optimizer)))
    (state, params, text), (our_state, our_params, our_text) = results
    for i, (p, ours) in enumerate(zip(params, our_params, strict=True)):
        check_close(name, dtype, p, ours, f"parameter {i}")
    if name != "LBFGS" or dtype in ("float64", "complex128"):
        # Its history is differences of gradients that hardly differ: noise, in single precision.
        check_state(name, dtype, state, our_state)
    assert our_text == text


@pytest.mark.parametrize("name", [name for name in INFOS if name not in ("LBFGS", "Muon")])
def test_a_hundred_steps_agree(name):
    results = []
    for lib in (torch, facula):
        optimizer, problem = make(lib, name, {}, "float32")
        problem.run(optimizer, 100)
        results.append([to_numpy(p) for p in problem.params])
    for expected, actual in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name, kwargs, dtype", cases(("float32",)))
def test_flags_change_nothing(name, kwargs, dtype):
    expected = None
    for flag in (None, *(f for f in FLAGS if f in INFOS[name].supported_impls)):
        given = {**kwargs, flag: True} if flag else kwargs
        if isinstance(kwargs.get("lr"), torch.Tensor) and flag == "foreach":
            continue
        optimizer, problem = make(facula, name, given, dtype)
        if flag == "differentiable":
            for group in optimizer.param_groups:
                group["params"][:] = [p.clone() for p in group["params"]]
                problem.params = group["params"]
        problem.run(optimizer, 5)
        results = [to_numpy(p) for p in problem.params]
        for a, b in zip(expected or results, results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=str(flag))
        expected = expected or results


@pytest.mark.parametrize("name, kwargs, dtype", cases(("float32", "complex64")))
def test_states_are_exchanged_both_ways(name, kwargs, dtype):
    (theirs, problem), (ours, our_problem) = (make(f, name, kwargs, dtype) for f in (torch, facula))
    problem.run(theirs, 3)

    def hand_over(source: Any, target: Any, new_problem: Problem, old_problem: Problem) -> None:
        target.load_state_dict(_translate(new_problem.lib, source.state_dict()))
        for p, q in zip(new_problem.params, old_problem.params, strict=True):
            p.data.copy_(_translate(new_problem.lib, q.detach()))
        new_problem.step = old_problem.step

    hand_over(theirs, ours, our_problem, problem)
    our_problem.run(ours, 3)
    hand_over(ours, theirs, problem, our_problem)
    problem.run(theirs, 3)

    alone, problem_alone = make(torch, name, kwargs, dtype)
    problem_alone.run(alone, 9)
    for i, (p, q) in enumerate(zip(problem_alone.params, problem.params, strict=True)):
        check_close(name, dtype, p, q, f"parameter {i}")


def _translate(lib: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _translate(lib, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_translate(lib, item) for item in value)
    if isinstance(value, (torch.Tensor, facula.Tensor)):
        dtype = getattr(lib, str(value.dtype).rsplit(".", 1)[-1])
        return lib.from_numpy(to_numpy(value).copy()).to(dtype)
    return value


def bad_cases() -> list[Any]:
    found = []
    for name, info in INFOS.items():
        for i, case in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
            found.append(pytest.param(name, case, id=f"{name}-{i}"))
    return found


@pytest.mark.parametrize("name, case", bad_cases())
def test_bad_options_are_refused_as_in_pytorch(name, case):
    given = case.optimizer_error_input
    params = given.params if given.params is not None else [random((2, 3), "float32", 0)]
    twins: dict[int, Any] = {}
    ours = _convert_parameters(params, twins)
    at_construction = _DATABASE.OptimizerErrorEnum.CONSTRUCTION_ERROR

    def construct() -> Any:
        return getattr(facula.optim, name)(ours, **options(facula, given.kwargs))

    if issubclass(case.error_type, Warning):
        with pytest.warns(case.error_type):
            construct()
    elif case.error_on == at_construction:
        with pytest.raises(case.error_type):
            construct()
    else:
        optimizer = construct()
        for p, twin in twins.values():
            twin.grad = None if p.grad is None else convert(facula, p.grad)
        with pytest.raises(case.error_type):
            optimizer.step()


def _convert_parameters(value: Any, twins: dict[int, Any]) -> Any:
    """Groups of parameters; one that is there twice stays one."""
    if isinstance(value, torch.Tensor):
        if id(value) not in twins:
            twins[id(value)] = value, convert(facula, value.detach()).requires_grad_()
        return twins[id(value)][1]
    if isinstance(value, dict):
        return {key: _convert_parameters(item, twins) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_convert_parameters(item, twins) for item in value)
    return value


@pytest.mark.parametrize("name", INFOS)
def test_arguments_and_defaults_are_those_of_pytorch(name):
    def arguments(lib: Any) -> list[Any]:
        signature = inspect.signature(getattr(lib.optim, name).__init__)
        return [(p.name, p.default, p.kind) for p in signature.parameters.values()]

    assert arguments(facula) == arguments(torch)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [name for name in INFOS if name != "LBFGS"])
def test_reduced_precision_is_as_close_to_the_truth_as_in_pytorch(name, dtype):
    starts = [p.detach().to(getattr(torch, dtype)) for p in parameters(torch, name, "float32")]

    def run(lib: Any, dtype: str) -> list[np.ndarray]:
        params = [convert(lib, p.to(getattr(torch, dtype))) for p in starts]
        optimizer = getattr(lib.optim, name)(params)
        for step in range(3):
            for i, p in enumerate(params):
                grad = random(tuple(p.shape), "float32", 100 * step + i).to(starts[i].dtype)
                p.grad = convert(lib, grad.to(getattr(torch, dtype)))
                if name == "SparseAdam":
                    p.grad = p.grad.to_sparse()
            optimizer.step()
        return [to_numpy(p).astype(np.float64) for p in params]

    truth = run(torch, "float64")
    theirs, ours = (
        max(np.abs(a - b).max() for a, b in zip(truth, run(lib, dtype), strict=True))
        for lib in (torch, facula)
    )
    assert ours <= 1.5 * theirs + 4 * torch.finfo(getattr(torch, dtype)).eps


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64"])
@pytest.mark.parametrize("name, arguments", [("ema", (0.7,)), ("swa", ())])
def test_averages_over_time_agree(name, arguments, dtype):
    results = []
    for lib in (torch, facula):
        single = getattr(lib.optim.swa_utils, f"get_{name}_avg_fn")(*arguments)
        several = getattr(lib.optim.swa_utils, f"get_{name}_multi_avg_fn")(*arguments)
        values = [lib.arange(6).mul(7 * i + 3).to(getattr(lib, dtype)) for i in range(4)]
        average, moved = values[0], values[0].clone()
        for i, value in enumerate(values[1:], 1):
            average = single(average, value, lib.tensor(i))
            if dtype != "int64" or name == "ema":  # PyTorch's cannot average integers in lists
                several([moved], [value], lib.tensor(i))
        results.append([to_numpy(average), to_numpy(moved)])
    for expected, actual in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=2e-6)
