"""``nn.init``, ``nn.utils`` and calls with other parameters: the same transcript in both."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
import torch as pytorch
import torch.nn.utils.prune
from torch.nn.utils import parametrizations

from .frameworks import facula, outcome_of, seed, to_numpy
from .transcript import Log, assert_same_transcript


def clipping(torch: Any, log: Log) -> None:
    nn, utils = torch.nn, torch.nn.utils

    def parameters() -> list[Any]:
        made = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3, 2)), nn.Parameter()]
        for p in made[:2]:
            p.grad = torch.arange(p.numel(), dtype=torch.float32).reshape(p.shape) - 1
        return made

    for args in ((1.0,), (100.0,), (1.0, 1), (1.0, 3), (1.0, "inf"), (1.0, 0), (-1.0,), (0.5, 0.5)):
        p = parameters()
        log(lambda p=p, args=args: utils.clip_grad_norm_(p, *args), p[0].grad, p[1].grad)
    p = parameters()
    log(utils.clip_grad_norm_(p[1], 1.0), utils.clip_grad_norm_([], 1.0))
    log(utils.clip_grad_norm_(iter([]), 1.0), lambda: utils.clip_grad_norm_(p, "a"))
    utils.clip_grad_value_(p, 0.5)
    log(p[0].grad, p[1].grad, lambda: utils.clip_grad_value_(p, "a"))
    p[0].grad[0] = math.nan
    log(lambda: utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True), p[1].grad)
    log(utils.clip_grad_norm_(p, 1.0), utils.get_total_norm([torch.ones(2), torch.ones(7)], 3))
    log(utils.get_total_norm([]), utils.get_total_norm(torch.ones(4)), utils.clip_grad_norm(p, 1.0))
    p = parameters()
    utils.clip_grads_with_norm_(p, 1.0, torch.tensor(2.0))
    log(p[0].grad)


def vectors(torch: Any, log: Log) -> None:
    nn, utils = torch.nn, torch.nn.utils
    m = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(m.parameters())
    log(vector.tolist(), vector.requires_grad)
    utils.vector_to_parameters(torch.arange(9.0), m.parameters())
    log(m.weight, m.bias, lambda: utils.vector_to_parameters(3, m.parameters()))
    log(lambda: utils.vector_to_parameters(torch.ones(4), m.parameters()))
    log(lambda: utils.parameters_to_vector([]), torch.nn.utils.skip_init(nn.Linear, 2, 3))
    log(lambda: utils.skip_init(3), lambda: utils.skip_init(nn.Identity), torch.rand(1))


def old_weight_norm(torch: Any, log: Log) -> None:
    nn, utils = torch.nn, torch.nn.utils
    x = torch.ones(1, 2, requires_grad=True)
    for dim in (0, 1, None, -1):
        m = utils.weight_norm(nn.Linear(2, 3), dim=dim)
        m(x).sum().backward()
        log(m, list(m.state_dict()), m.weight_g, m.weight_g.grad, m.weight_v.grad, type(m.weight))
        log(lambda m=m: utils.weight_norm(m), utils.remove_weight_norm(m), m.weight, m._parameters)
        log(lambda m=m: utils.remove_weight_norm(m))
    log(lambda: utils.weight_norm(nn.Linear(2, 3), "zz"))
    log(utils.weight_norm(nn.Linear(2, 3), "bias").bias_g)
    log(lambda: utils.weight_norm(nn.LazyLinear(2)))


def old_spectral_norm(torch: Any, log: Log) -> None:
    nn, utils = torch.nn, torch.nn.utils
    x = torch.ones(1, 2)
    for options in ({}, {"n_power_iterations": 3, "eps": 1e-6}, {"dim": 1}):
        m = utils.spectral_norm(nn.Linear(2, 3), **options)
        log(m, list(m.state_dict()), m.state_dict()._metadata, m.weight)
        m(x).sum().backward()
        log(m(x), m.weight_orig.grad, m.weight_u, m.weight_v, m.eval()(x), m(x))
        twin = utils.spectral_norm(nn.Linear(2, 3), **options).eval()
        log(twin.load_state_dict(m.state_dict()), twin(x))
        log(lambda m=m: utils.spectral_norm(m), utils.remove_spectral_norm(m), list(m.state_dict()))
        log(m.weight, lambda m=m: utils.remove_spectral_norm(m), m.state_dict()._metadata)
    log(lambda: utils.spectral_norm(nn.Linear(2, 3), "zz"))
    log(lambda: utils.spectral_norm(nn.Linear(2, 3), n_power_iterations=0))
    log(lambda: utils.spectral_norm(nn.LazyLinear(2)), lambda: utils.spectral_norm(nn.Identity()))
    conv = utils.spectral_norm(nn.ConvTranspose1d(2, 3, 2))
    log(conv.weight_u.shape, conv.weight_v.shape)


def _parametrizations(nn: Any) -> dict[str, Any]:
    class Symmetric(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).t()

    class Double(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

        def right_inverse(self, y: Any) -> Any:
            return y / 2

    class Sum(nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return a + b

        def right_inverse(self, y: Any) -> Any:
            return y / 4, y * 3 / 4

    return {kind.__name__: kind for kind in (Symmetric, Double, Sum)}


def parametrized(torch: Any, log: Log) -> None:
    nn, p = torch.nn, torch.nn.utils.parametrize
    kinds = _parametrizations(nn)
    m = nn.Linear(3, 3)
    first = m.weight
    log(p.register_parametrization(m, "weight", kinds["Symmetric"]()), type(m).__name__)
    log(m.weight, list(m.state_dict()), m.parametrizations.weight.original is first)
    log(lambda: setattr(m, "weight", torch.ones(3, 3)), lambda: setattr(m, "weight", first))
    p.register_parametrization(m, "weight", kinds["Double"]())
    p.register_parametrization(m, "bias", kinds["Double"]())
    m(torch.ones(1, 3)).sum().backward()
    log(m, first.grad, m.weight, m.bias, lambda: pickle.dumps(m))
    twin = copy.deepcopy(m)
    log(type(twin) is type(m), twin.weight, twin.parametrizations.weight.original is first)
    m.bias = torch.ones(3)
    log(m.bias, m.parametrizations.bias.original, p.is_parametrized(m, "bias"))
    with p.cached():
        log(m.weight is m.weight, m.bias is m.weight)
    log(m.weight is m.weight, p.type_before_parametrizations(m).__name__)
    log(p.remove_parametrizations(m, "bias", leave_parametrized=False), m.bias)
    log(p.remove_parametrizations(m, "weight"), m.weight, m.weight is first, list(m.state_dict()))
    log(p.is_parametrized(m), lambda: p.remove_parametrizations(m, "weight"))
    log(lambda: p.register_parametrization(m, "zz", kinds["Double"]()))
    p.register_parametrization(m, "weight", kinds["Sum"]())
    log(m.parametrizations.weight.original0, m.parametrizations.weight.original1, m)
    log(lambda: p.remove_parametrizations(m, "weight", leave_parametrized=False))
    twin = nn.Linear(3, 3)
    log(p.transfer_parametrizations_and_params(m, twin), twin.weight)
    log(p.remove_parametrizations(m, "weight"), m.weight)
    buffered = nn.Module()
    buffered.register_buffer("b", torch.ones(2))
    p.register_parametrization(buffered, "b", kinds["Double"]())
    log(buffered.b, list(buffered.state_dict()), p.remove_parametrizations(buffered, "b").b)


def refused_parametrizations(torch: Any, log: Log) -> None:
    nn, p = torch.nn, torch.nn.utils.parametrize

    def made(forward: Any, right_inverse: Any = None) -> Any:
        members = {"forward": lambda self, *x: forward(*x)}
        if right_inverse is not None:
            members["right_inverse"] = lambda self, y: right_inverse(y)
        return type("Made", (nn.Module,), members)()

    cases = [
        (lambda x: x[0],),
        (lambda x: x.double(),),
        (lambda x: 3,),
        (lambda x: x, lambda y: 3),
        (lambda x: x, lambda y: y.double()),
        (lambda x: x, lambda y: y[0]),
        (lambda x, y: x, lambda y: (y, 3)),
    ]
    for case in cases:
        for has_one in (False, True):
            m = nn.Linear(3, 3)
            if has_one:
                p.register_parametrization(m, "weight", made(lambda x: x, lambda y: y))
            try:
                p.register_parametrization(m, "weight", made(*case))
            except (ValueError, TypeError) as error:
                log(type(error).__name__)
            log(type(m).__name__, list(m.state_dict()))
    m = nn.Linear(3, 3)
    log(p.register_parametrization(m, "weight", made(lambda x: x[0]), unsafe=True), m.weight.shape)
    log(lambda: p.ParametrizationList([], m.bias))


def norm_parametrizations(torch: Any, log: Log) -> None:
    nn, p = torch.nn, torch.nn.utils.parametrizations
    x = torch.ones(1, 2)
    for dim in (0, 1, None):
        m = p.weight_norm(nn.Linear(2, 3), dim=dim)
        m(x).sum().backward()
        log(m, list(m.state_dict()), m.weight.data, *(q.grad for q in m.parameters()))
        m.weight = torch.ones(3, 2)
        log(m.parametrizations.weight.original0)
    m = p.weight_norm(nn.Linear(2, 3))
    old = {"bias": torch.ones(3), "weight_g": torch.ones(3, 1), "weight_v": torch.ones(3, 2)}
    log(m.load_state_dict(old), m.weight.data)
    for options in ({}, {"n_power_iterations": 3}, {"dim": 1}):
        m = p.spectral_norm(nn.Linear(2, 3), **options)
        log(m, list(m.state_dict()), m.parametrizations.weight[0]._u)
        m(x).sum().backward()
        log(m.weight, m.parametrizations.weight.original.grad, m.eval().weight, m.weight)
    log(p.spectral_norm(nn.Linear(2, 3), "bias").bias)
    log(lambda: p.spectral_norm(nn.Linear(2, 3), "zz"), lambda: p.weight_norm(nn.Identity()))
    log(lambda: p.spectral_norm(nn.Linear(2, 3), n_power_iterations=0))
    log(lambda: p.spectral_norm(nn.Linear(2, 3), dim=4))


def pruning(torch: Any, log: Log) -> None:
    nn, prune = torch.nn, torch.nn.utils.prune
    x = torch.ones(1, 4)

    def show(m: Any) -> None:
        log(
            m,
            list(m.state_dict()),
            m.weight,
            [type(h).__name__ for h in m._forward_pre_hooks.values()],
        )
        log(getattr(m, "weight_mask", None), prune.is_pruned(m))

    for name, args in (
        ("identity", ()),
        ("random_unstructured", (0.3,)),
        ("random_unstructured", (5,)),
        ("l1_unstructured", (0.5,)),
        ("random_structured", (2, 1)),
        ("random_structured", (0.5, 0)),
        ("ln_structured", (1, 2, 0)),
        ("ln_structured", (0.5, 1, 1)),
        ("ln_structured", (2, math.inf, -1)),
        ("ln_structured", (0, 1, 1)),
        ("custom_from_mask", (torch.eye(3, 4),)),
    ):
        m = nn.Linear(4, 3)
        log(name, getattr(prune, name)(m, "weight", *args) is m)
        show(m)
        m(x).sum().backward()
        log(m.weight_orig.grad)
        prune.l1_unstructured(m, "weight", 2)
        prune.ln_structured(m, "weight", 1, 2, 0)
        show(m)
        prune.remove(m, "weight")
        show(m)
        log(lambda m=m: prune.remove(m, "weight"))
    a, b = nn.Linear(4, 3), nn.Linear(3, 2)
    for method in (prune.L1Unstructured, prune.RandomUnstructured):
        prune.global_unstructured([(a, "weight"), (b, "bias")], method, amount=4)
        log(a.weight, b.bias)
    scores = torch.arange(12.0).reshape(3, 4)
    prune.l1_unstructured(m, "weight", 0.5, importance_scores=scores)
    log(m.weight_mask, prune.L1Unstructured(2).prune(torch.arange(5.0)))
    m = nn.Linear(4, 3)
    for bad in ("a", -1, 1.5, 100):
        log(lambda bad=bad: prune.l1_unstructured(m, "weight", bad), list(m._parameters))
    log(
        lambda: prune.ln_structured(m, "bias", 1, 2, 0),
        lambda: prune.random_structured(m, "bias", 1, 0),
    )
    log(lambda: prune.ln_structured(m, "weight", 1, 2, 5), lambda: prune.identity(m, "zz"))
    log(lambda: prune.l1_unstructured(m, "weight", 1, importance_scores=torch.ones(2)))
    log(lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1))
    log(lambda: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=1))
    log(sorted(m._parameters), lambda: prune.PruningContainer(3))


def calls_with_other_parameters(torch: Any, log: Log) -> None:
    nn, call = torch.nn, torch.func.functional_call
    m, w, x = nn.Linear(2, 1), torch.ones(1, 2), torch.ones(1, 2)
    log(call(m, {"weight": w}, x), call(m, {"weight": w, "zz": w}, (x,)))
    log(lambda: call(m, {"weight": w}, x, strict=True), lambda: call(m, {"weight": 3}, x))
    log(lambda: call(m, {"weight": w, "bias": w[0, :1], "zz": w}, x, strict=True))
    log(call(m, [{"weight": w}, {"bias": w[0, :1]}], (x,)), lambda: call(m, [{"weight": w}] * 2, x))
    log(lambda: call(m, 3, x), lambda: call(m, {"a.b": w}, x), lambda: call(m, {"": w}, x))
    log(lambda: call(m, {"in_features": w}, x), m.weight)

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Parameter(torch.ones(1))
            self.b = self.a
            self.register_buffer("c", torch.zeros(1))

        def forward(self, x: Any, k: int = 0) -> Any:
            if k == 1:
                self.c.add_(1)
            if k == 2:
                self.c = self.c + 1
            return self.a * x + self.b + k

    n, zero, one = Tied(), torch.zeros(1), torch.ones(1)
    log(call(n, {"a": zero}, one), call(n, {"b": zero}, one))
    log(call(n, {"a": zero}, one, tie_weights=False), call(n, {"a": zero, "b": zero}, one))
    log(lambda: call(n, {"a": zero, "b": torch.ones(1)}, one))
    for k in (1, 2):
        buffers = {"c": torch.zeros(1)}
        log(call(n, buffers, (), {"x": one, "k": k}), buffers, n.c)
    log(torch.nn.utils.stateless.functional_call(n, {"a": zero}, one))
    stack = torch.func.stack_module_state
    log(stack([nn.Linear(1, 2), nn.Linear(1, 2)]), lambda: stack([]))
    log(lambda: stack([nn.Linear(1, 1), nn.Identity()]))
    log(lambda: stack([nn.Linear(1, 1), nn.Linear(1, 1).eval()]))
    log(lambda: stack([nn.Linear(1, 1), nn.Linear(2, 1)]))
    grads = torch.func.grad(lambda p: call(m, p, x).sum())(dict(m.named_parameters()))
    log(grads)
    nn.utils.parametrize.register_parametrization(m, "weight", _parametrizations(nn)["Double"]())
    before = m.weight.detach().clone()
    log(call(m, {"weight": w}, x), (m.weight - before).abs().max().item() == 0)
    log(call(m, {"parametrizations.weight.original": w}, x), call(m, {"bias": w[0, :1]}, x))
    normed = nn.utils.weight_norm(nn.Linear(2, 1))
    log(call(normed, {"weight_v": w * 3, "weight_g": w[:, :1]}, x))


def fusing(torch: Any, log: Log) -> None:
    nn, utils = torch.nn, torch.nn.utils
    for conv, bn, x, transpose in (
        (nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3), torch.ones(1, 2, 5), False),
        (nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3), torch.ones(1, 2, 3, 3), False),
        (nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), torch.ones(1, 2, 3, 3), True),
        (nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3, affine=False), torch.ones(1, 2, 5), False),
    ):
        bn.running_mean.fill_(0.3)
        bn.running_var.fill_(2.0)
        log(lambda c=conv, b=bn: utils.fuse_conv_bn_eval(c, b))
        fused = utils.fuse_conv_bn_eval(conv.eval(), bn.eval(), transpose)
        log(fused, fused(x), fused.weight.requires_grad, list(fused.state_dict()))
    linear, bn = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval()
    bn.running_var.fill_(2.0)
    log(utils.fuse_linear_bn_eval(linear, bn)(torch.ones(1, 3)))
    log(lambda: utils.fuse_linear_bn_eval(linear, nn.BatchNorm1d(3).eval()))
    m = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Linear(2, 2))
    utils.convert_conv2d_weight_memory_format(m, torch.channels_last)
    log(m[0].weight.stride(), m[1].weight.stride())


PROGRAMS = [
    calls_with_other_parameters,
    clipping,
    fusing,
    norm_parametrizations,
    old_spectral_norm,
    old_weight_norm,
    parametrized,
    pruning,
    refused_parametrizations,
    vectors,
]


@pytest.mark.promise("N2")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_with_utilities_says_the_same_as_in_pytorch(program):
    assert_same_transcript(program)


FILLS = [
    "uniform_(t, -2, 3)",
    "normal_(t, 1.0, 2.0)",
    "trunc_normal_(t)",
    "trunc_normal_(t, 0.5, 0.1, 0.6, 0.9)",
    "trunc_normal_(t, 0.0, 1.0, 2.0, 3.0)",
    "trunc_normal_(t, 5.0, 1.0, -1.0, 1.0)",
    "constant_(t, 0.3)",
    "ones_(t)",
    "zeros_(t)",
    "eye_(t)",
    "dirac_(t)",
    "dirac_(t, 2)",
    "xavier_uniform_(t, 1.5)",
    "xavier_normal_(t)",
    "kaiming_uniform_(t)",
    "kaiming_uniform_(t, 0.2, 'fan_out')",
    "kaiming_normal_(t, nonlinearity='relu')",
    "kaiming_normal_(t, mode='fan')",
    "sparse_(t, 0.4)",
    "sparse_(t, 1.0, 0.1)",
    "kaiming_uniform_(t, nonlinearity='nothing')",
]
SHAPES = [(6,), (4, 6), (40, 30), (4, 3, 5), (2, 3, 4, 5), (2, 2, 2, 3, 3), (0, 3), (7, 0)]


@pytest.mark.promise("N2")
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("fill", FILLS)
def test_a_fill_of_init_draws_the_same_numbers(fill, dtype):
    for shape in SHAPES:

        def run(lib, shape=shape):
            seed(lib)
            init = lib.nn.init
            tensor = lib.empty(shape, dtype=getattr(lib, dtype))
            result = eval("init." + fill, {"init": init, "t": tensor})
            assert result is tensor
            return tensor

        expected, error = outcome_of(lambda run=run: run(pytorch))
        if error is not None:
            with pytest.raises(type(error)):
                run(facula)
        else:
            actual, raised = outcome_of(lambda run=run: run(facula))
            assert raised is None, shape
            assert np.array_equal(to_numpy(actual), to_numpy(expected)), shape


@pytest.mark.promise("N2")
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (4, 3, 2), (2, 8, 3)])
def test_orthogonal_fills_agree(shape):
    filled = []
    for lib in (pytorch, facula):
        seed(lib)
        filled.append(to_numpy(lib.nn.init.orthogonal_(lib.empty(shape), gain=2)))
    np.testing.assert_allclose(filled[1], filled[0], atol=2e-6)


HOUSEHOLDER = ("householder", parametrizations._OrthMaps.householder)


@pytest.mark.promise("N2")
@pytest.mark.parametrize("use_trivialization", [True, False])
@pytest.mark.parametrize("orthogonal_map", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (5, 3)])
def test_orthogonal_parametrizations_agree(shape, orthogonal_map, use_trivialization):
    results = []
    for lib in (pytorch, facula):
        seed(lib)
        m = lib.nn.Linear(*shape).double()
        made = lib.nn.utils.parametrizations.orthogonal(
            m, "weight", orthogonal_map, use_trivialization=use_trivialization
        )
        assert made is m
        weight = m.weight
        (weight * lib.arange(weight.numel()).reshape(weight.shape)).sum().backward()
        values = [weight, m.parametrizations.weight.original.grad]
        if use_trivialization or m.parametrizations.weight[0].orthogonal_map in HOUSEHOLDER:
            m.weight = lib.eye(*weight.shape, dtype=lib.float64)
            values.append(m.weight)
        with lib.no_grad():
            m.parametrizations.weight.original.add_(0.1)
        values.append(m.weight)
        results.append([*map(to_numpy, values)])
    for ours, theirs in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
