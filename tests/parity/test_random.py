"""Random numbers against PyTorch, bit for bit, the generator's state included."""

import numpy as np
import pytest
import torch
from random_cases import CASES, SIZES, to_bytes

import facula

pytestmark = pytest.mark.promise("T9")

SEEDS = (0, 42, 2**64 - 1)


def same_state():
    ours, theirs = facula.get_rng_state(), torch.get_rng_state()
    return ours.numpy().tobytes() == theirs.numpy().tobytes()


def draw_both(call):
    return to_bytes(facula, call(facula)), to_bytes(torch, call(torch))


@pytest.fixture(params=SEEDS)
def seed(request):
    torch.manual_seed(request.param)
    facula.manual_seed(request.param)
    return request.param


@pytest.mark.parametrize("name", CASES)
def test_same_seed_same_numbers(name, seed):
    dtypes, call = CASES[name]
    for dtype in dtypes:
        for n in (*SIZES, 100003):
            if name == "randperm" and n > 2**24:
                continue
            ours, theirs = draw_both(lambda lib, n=n, dtype=dtype: call(lib, dtype, n, None))
            assert ours == theirs, (dtype, n)
            assert same_state(), (dtype, n)


def test_calls_in_any_order_stay_in_step(seed):
    for step in range(300):
        name = sorted(CASES)[(7 * step) % len(CASES)]
        dtypes, call = CASES[name]
        dtype, n = dtypes[step % len(dtypes)], SIZES[(5 * step) % len(SIZES)]
        ours, theirs = draw_both(lambda lib: call(lib, dtype, n, None))  # noqa: B023
        assert ours == theirs and same_state(), (step, name, dtype, n)


def _channels_last(lib):
    return lib.zeros(2, 3, 4, 5).to(memory_format=lib.channels_last)


LAYOUTS = {
    "transposed": lambda lib: lib.zeros(4, 6).t(),
    "permuted": lambda lib: lib.zeros(2, 3, 4).permute(1, 2, 0),
    "sliced": lambda lib: lib.zeros(6, 10)[::2, 1::3],
    "sliced and transposed": lambda lib: lib.zeros(6, 10)[::2, 1::3].t(),
    "with a dimension of 1": lambda lib: lib.zeros(5, 1, 4).transpose(1, 2),
    "channels last": _channels_last,
    "no dimensions": lambda lib: lib.zeros(()),
    "no elements": lambda lib: lib.zeros(3, 0),
}
FILLS = {
    "normal_": (0.3, 0.7),
    "uniform_": (-1.0, 2.0),
    "random_": (0, 1000),
    "bernoulli_": (0.4,),
    "exponential_": (),
    "geometric_": (0.2,),
    "log_normal_": (),
    "cauchy_": (),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fill", FILLS)
def test_elements_are_filled_in_the_order_of_memory(fill, layout, seed):
    def call(lib):
        return getattr(LAYOUTS[layout](lib), fill)(*FILLS[fill])

    ours, theirs = draw_both(call)
    assert ours == theirs and same_state()


WITH_TENSORS = {
    "bernoulli": lambda lib: lib.bernoulli(lib.full((3, 4), 0.5).t()),
    "bernoulli with p": lambda lib: lib.bernoulli(lib.zeros(3, 4).t(), 0.3),
    "bernoulli_ of float64": lambda lib: lib.zeros(3, 4).bernoulli_(
        lib.full((3, 4), 0.5, dtype=lib.float64)
    ),
    "bernoulli_ broadcast": lambda lib: lib.zeros(3, 4).bernoulli_(lib.full((3, 1), 0.5)),
    "bernoulli_ transposed": lambda lib: lib.zeros(4, 3).t().bernoulli_(lib.full((3, 4), 0.5)),
    "normal of two tensors": lambda lib: lib.normal(lib.arange(20.0), lib.ones(20)),
    "normal broadcast": lambda lib: lib.normal(lib.arange(5.0)[:, None], lib.arange(4.0)),
    "normal of a mean": lambda lib: lib.normal(lib.arange(20.0), 0.5),
    "normal of means alone": lambda lib: lib.normal(lib.arange(20.0)),
    "normal of a std": lambda lib: lib.normal(0.5, lib.arange(20.0)),
    "poisson transposed": lambda lib: lib.poisson(lib.arange(20.0).reshape(4, 5).t()),
    "multinomial transposed": lambda lib: lib.multinomial(lib.ones(5, 4).t(), 3),
    "binomial": lambda lib: lib.binomial(lib.full((9,), 50.0), lib.arange(9.0) / 8),
    "rand_like": lambda lib: lib.rand_like(_channels_last(lib)),
    "randn_like": lambda lib: lib.randn_like(lib.zeros(4, 6).t()),
    "randn_like of a dtype": lambda lib: lib.randn_like(lib.zeros(4, 6), dtype=lib.float64),
    "randint_like": lambda lib: lib.randint_like(lib.zeros(4, 6), 3, 10),
    "randint_like from 0": lambda lib: lib.randint_like(lib.zeros(4, 6), 10),
    "rand out": lambda lib: lib.rand(4, 6, out=lib.empty(0)),
    "randn out": lambda lib: lib.randn(4, 6, out=lib.empty(6, 4).t()),
    "randperm out": lambda lib: lib.randperm(20, out=lib.empty(0, dtype=lib.int64)),
    "randint out": lambda lib: lib.randint(5, (3, 4), out=lib.empty(0, dtype=lib.int64)),
    "complex rand": lambda lib: lib.view_as_real(lib.rand(5, dtype=lib.complex64)),
    "complex randn": lambda lib: lib.view_as_real(lib.randn(12, dtype=lib.complex128)),
}


@pytest.mark.parametrize("name", WITH_TENSORS)
def test_tensor_arguments(name, seed):
    ours, theirs = draw_both(WITH_TENSORS[name])
    assert ours == theirs and same_state()


SHAPES = [[0.01, 0.3, 1.0], [2.5, 40.0, 3000.0]]


@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet"])
def test_gamma_and_dirichlet_numbers(name, seed):
    for dtype in ("float32", "float64"):
        ours, theirs = (
            getattr(lib, name)(lib.tensor(SHAPES, dtype=getattr(lib, dtype)).repeat(50, 1)).numpy()
            for lib in (facula, torch)
        )
        # PyTorch sums the rows of a Dirichlet sample in an order of its own.
        ulps = 4 if (name, dtype) == ("_sample_dirichlet", "float64") else 0
        np.testing.assert_array_max_ulp(ours, theirs, ulps)
    assert same_state()


def test_derivatives_of_gamma_and_beta_numbers_agree_to_the_precision_of_pytorchs():
    x = np.random.default_rng(0).uniform(0.01, 0.99, 500)
    alpha = np.random.default_rng(1).gamma(1.0, 3.0, 500) + 0.05
    beta = np.random.default_rng(2).gamma(1.0, 3.0, 500) + 0.05
    for name, args in [
        ("_standard_gamma_grad", (alpha, x * 2 * alpha)),
        ("_dirichlet_grad", (x, alpha, alpha + beta)),
    ]:
        ours, theirs = (
            getattr(lib, name)(*(lib.from_numpy(a) for a in args)).numpy()
            for lib in (facula, torch)
        )
        # Far from where its samples lie PyTorch's approximation of a beta number is a coarse one.
        assert np.quantile(np.abs(ours / theirs - 1), 0.9) < 5e-3


def test_states_can_be_exchanged():
    torch.manual_seed(9)
    torch.randn(3)
    facula.set_rng_state(facula.from_numpy(torch.get_rng_state().numpy()))
    ours, theirs = draw_both(lambda lib: lib.randn(5))
    assert ours == theirs
    facula.rand(1000)
    torch.set_rng_state(torch.from_numpy(facula.get_rng_state().numpy()))
    ours, theirs = draw_both(lambda lib: lib.randn(50))
    assert ours == theirs


REFUSED = {
    "rand of integers": lambda lib: lib.rand(3, dtype=lib.int64),
    "rand of a negative size": lambda lib: lib.rand(-1),
    "rand of a float size": lambda lib: lib.rand(2.0),
    "rand without a size": lambda lib: lib.rand(),
    "rand out of another dtype": lambda lib: lib.rand(
        2, out=lib.empty(0, dtype=lib.float64), dtype=lib.float32
    ),
    "generator of another type": lambda lib: lib.rand(2, generator=3),
    "randint of an empty range": lambda lib: lib.randint(3, 3, (2,)),
    "randint out of the dtype's range": lambda lib: lib.randint(0, 300, (2,), dtype=lib.uint8),
    "randint of a float": lambda lib: lib.randint(3.5, (2,)),
    "randint of complex": lambda lib: lib.randint(3, (2,), dtype=lib.complex64),
    "randperm of a negative n": lambda lib: lib.randperm(-1),
    "randperm beyond the dtype": lambda lib: lib.randperm(300, dtype=lib.uint8),
    "randperm beyond the mantissa": lambda lib: lib.randperm(3000, dtype=lib.float16),
    "randperm of bool": lambda lib: lib.randperm(4, dtype=lib.bool),
    "randperm with grad": lambda lib: lib.randperm(4, requires_grad=True),
    "normal_ of a negative std": lambda lib: lib.empty(2).normal_(0, -1),
    "uniform_ upside down": lambda lib: lib.empty(2).uniform_(1, 0),
    "uniform_ to infinity": lambda lib: lib.empty(2).uniform_(0, float("inf")),
    "uniform_ too wide": lambda lib: lib.empty(2).uniform_(-3e38, 3e38),
    "exponential_ of rate 0": lambda lib: lib.empty(2).exponential_(0),
    "exponential_ of integers": lambda lib: lib.empty(2, dtype=lib.int64).exponential_(),
    "geometric_ of 1": lambda lib: lib.empty(2).geometric_(1),
    "log_normal_ of std 0": lambda lib: lib.empty(2).log_normal_(0, 0),
    "cauchy_ of sigma 0": lambda lib: lib.empty(2).cauchy_(0, 0),
    "cauchy_ of integers": lambda lib: lib.empty(2, dtype=lib.int64).cauchy_(),
    "bernoulli_ of 2": lambda lib: lib.empty(2).bernoulli_(2),
    "bernoulli of 1.5": lambda lib: lib.bernoulli(lib.full((2,), 1.5)),
    "bernoulli of NaN": lambda lib: lib.bernoulli(lib.full((2,), float("nan"))),
    "bernoulli of integers": lambda lib: lib.bernoulli(lib.ones(2, dtype=lib.int64)),
    "bernoulli_ of another shape": lambda lib: lib.empty(2).bernoulli_(lib.full((3,), 0.5)),
    "random_ of an empty range": lambda lib: lib.empty(2).random_(5, 5),
    "random_ out of range": lambda lib: lib.empty(2, dtype=lib.int8).random_(0, 200),
    "random_ of bool up to 3": lambda lib: lib.empty(2, dtype=lib.bool).random_(0, 3),
    "random_ of all bits of int8": lambda lib: lib.empty(2, dtype=lib.int8).random_(-(2**63), None),
    "normal of negative std": lambda lib: lib.normal(lib.zeros(2), -1.0),
    "normal of negative stds": lambda lib: lib.normal(0.0, lib.full((2,), -1.0)),
    "normal of shapes apart": lambda lib: lib.normal(lib.zeros(2), lib.ones(3)),
    "normal of two numbers": lambda lib: lib.normal(2.0, 3.0),
    "multinomial of too many": lambda lib: lib.multinomial(lib.ones(3), 4),
    "multinomial of none": lambda lib: lib.multinomial(lib.ones(3), 0),
    "multinomial of integers": lambda lib: lib.multinomial(lib.tensor([1, 2]), 1),
    "multinomial of 3 dims": lambda lib: lib.multinomial(lib.ones(2, 2, 2), 1),
    "multinomial of 0 dims": lambda lib: lib.multinomial(lib.tensor(1.0), 1),
    "multinomial of a negative": lambda lib: lib.multinomial(lib.tensor([-1.0, 2]), 1),
    "multinomial of a negative, replaced": lambda lib: lib.multinomial(
        lib.tensor([-1.0, 2]), 2, True
    ),
    "multinomial of zeros": lambda lib: lib.multinomial(lib.zeros(2), 1),
    "multinomial of NaN": lambda lib: lib.multinomial(lib.tensor([float("nan"), 1]), 1),
    "multinomial of nothing": lambda lib: lib.multinomial(lib.empty(2, 0), 1, True),
    "multinomial into floats": lambda lib: lib.multinomial(lib.ones(3), 2, out=lib.empty(0)),
    "poisson of a negative": lambda lib: lib.poisson(lib.tensor([-1.0])),
    "poisson of integers": lambda lib: lib.poisson(lib.tensor([1])),
    "rand_like of integers": lambda lib: lib.rand_like(lib.zeros(2, dtype=lib.int64)),
    "normal_ of an expanded tensor": lambda lib: lib.empty(1, 3).expand(2, 3).normal_(),
    "bernoulli_ of an expanded tensor": lambda lib: lib.empty(1, 3).expand(2, 3).bernoulli_(),
    "normal_ of a leaf": lambda lib: lib.rand(2, requires_grad=True).normal_(),
    "rand out of a leaf": lambda lib: lib.rand(2, out=lib.rand(3, requires_grad=True)),
    "bernoulli out with grad": lambda lib: lib.bernoulli(
        lib.ones(2, requires_grad=True), out=lib.empty(0)
    ),
    "normal out with grad": lambda lib: lib.normal(
        lib.ones(2, requires_grad=True), 1.0, out=lib.empty(0)
    ),
    "manual_seed beyond 64 bits": lambda lib: lib.manual_seed(2**64),
    "manual_seed of a word": lambda lib: lib.manual_seed("x"),
    "generator's seed of a float": lambda lib: lib.Generator().manual_seed(1.5),
    "state of floats": lambda lib: lib.set_rng_state(lib.zeros(5056)),
    "state too short": lambda lib: lib.set_rng_state(lib.zeros(10, dtype=lib.uint8)),
    "state of zeros": lambda lib: lib.set_rng_state(lib.zeros(5056, dtype=lib.uint8)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_raise_what_pytorch_raises(name):
    torch.manual_seed(0)
    facula.manual_seed(0)
    with pytest.raises(Exception) as theirs:
        REFUSED[name](torch)
    with pytest.raises(theirs.type) as ours:
        REFUSED[name](facula)
    assert type(ours.value) is type(theirs.value)
    assert same_state()


GRADIENTS = {
    "bernoulli": lambda lib, x: lib.bernoulli(x),
    "poisson": lambda lib, x: lib.poisson(x),
    "normal": lambda lib, x: lib.normal(x, 1.0),
    "normal_": lambda lib, x: (x * 2).normal_(),
    "uniform_": lambda lib, x: (x * 2).uniform_(),
    "bernoulli_": lambda lib, x: (x * 2).bernoulli_(0.5),
    "exponential_": lambda lib, x: (x * 2).exponential_(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_no_gradient_passes_a_sample(name, seed):
    def call(lib):
        x = lib.full((20,), 0.5, requires_grad=True)
        GRADIENTS[name](lib, x).sum().backward()
        return x.grad

    ours, theirs = draw_both(call)
    assert ours == theirs and same_state()
