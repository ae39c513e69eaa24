"""Random numbers of a GPU: those of a Philox generator, also on the CPU."""

import pytest

import facula

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1", "T9")]
FLOATING = [facula.float16, facula.bfloat16, facula.float32, facula.float64]
# Exactly the same numbers: their formulas are made of operations that are rounded in one way only.
FILLS = [
    ("uniform_", (), FLOATING),
    ("uniform_", (-3.0, 5.0), FLOATING),
    ("normal_", (1.0, 2.0), FLOATING),
    ("exponential_", (0.5,), FLOATING),
    ("bernoulli_", (0.3,), [*FLOATING, facula.bool, facula.int64]),
    ("random_", (), [*FLOATING, facula.uint8, facula.int32, facula.int64]),
    ("random_", (-5, 100), [*FLOATING, facula.int8, facula.int64]),
]


def generators(seed=7):
    return (
        facula.Generator(kind="philox").manual_seed(seed),
        facula.Generator("cuda").manual_seed(seed),
    )


@pytest.mark.parametrize(("name", "arguments", "dtypes"), FILLS)
def test_numbers_are_those_of_the_same_generator_on_the_cpu(name, arguments, dtypes):
    on_cpu, on_gpu = generators()
    for dtype in dtypes:
        for shape in ((1000,), (7, 11)):
            x = facula.empty(shape, dtype=dtype)
            y = facula.empty(shape, dtype=dtype, device="cuda")
            getattr(x, name)(*arguments, generator=on_cpu)
            getattr(y, name)(*arguments, generator=on_gpu)
            assert facula.equal(y.cpu(), x), dtype
            x = facula.empty(shape[::-1], dtype=dtype).permute(*range(len(shape))[::-1])
            y = x.to("cuda")
            getattr(x, name)(*arguments, generator=on_cpu)
            getattr(y, name)(*arguments, generator=on_gpu)
            assert facula.equal(y.cpu(), x), dtype


def test_other_distributions_agree_closely():
    on_cpu, on_gpu = generators()
    for name, *arguments in (("log_normal_", 0.5, 0.4), ("cauchy_", 1.0, 2.0), ("geometric_", 0.2)):
        x = getattr(facula.empty(1000, dtype=facula.float64), name)(*arguments, generator=on_cpu)
        y = facula.empty(1000, dtype=facula.float64, device="cuda")
        getattr(y, name)(*arguments, generator=on_gpu)
        assert facula.allclose(y.cpu(), x, rtol=1e-9)


def test_permutations_and_chances_are_those_of_the_cpu():
    on_cpu, on_gpu = generators()
    x, y = (
        facula.randperm(1000, generator=g, device=d) for g, d in ((on_cpu, "cpu"), (on_gpu, "cuda"))
    )
    assert facula.equal(y.cpu(), x)
    p = facula.rand(40, 50)
    x, y = facula.bernoulli(p, generator=on_cpu), facula.bernoulli(p.to("cuda"), generator=on_gpu)
    assert facula.equal(y.cpu(), x)


@pytest.mark.parametrize("dtype", [facula.float16, facula.float32], ids=str)
def test_a_mask_of_dropout_does_not_depend_on_gaps(dtype):
    x = facula.ones(33, 70, dtype=dtype, device="cuda")

    def dropped(x):
        facula.cuda.manual_seed(5)
        x = x.detach().requires_grad_()
        y = facula.nn.functional.dropout(x, 0.3)
        (grad,) = facula.autograd.grad(y.sum(), x)
        assert facula.equal(grad, y)
        return y

    expected = dropped(x)
    assert 0.6 < (expected > 0).to(facula.float32).mean().item() < 0.8
    for other in (
        facula.ones(33, 140, dtype=dtype, device="cuda")[:, ::2],
        facula.ones(34, 71, dtype=dtype, device="cuda")[1:, 1:],
        x[:1].expand(33, 70),
    ):
        assert facula.equal(dropped(other), expected)


def test_a_gpu_has_a_generator_that_seeds_start():
    facula.manual_seed(3)
    first = facula.randn(100, device="cuda")
    state = facula.cuda.get_rng_state()
    second = facula.rand(100, device="cuda")
    facula.cuda.set_rng_state(state)
    assert facula.equal(facula.rand(100, device="cuda"), second)
    facula.cuda.manual_seed(3)
    assert facula.cuda.initial_seed() == 3
    assert facula.equal(facula.randn(100, device="cuda"), first)
    facula.manual_seed(3)
    assert facula.equal(facula.randn(100, device="cuda"), first)
    with facula.random.fork_rng():
        facula.rand(5, device="cuda")
    assert facula.equal(facula.rand(100, device="cuda"), second)
    assert facula.Generator("cuda").device == facula.device("cuda", 0)


def test_numbers_of_the_gpu_leave_those_of_the_cpu_alone():
    facula.manual_seed(3)
    expected = facula.rand(4)
    facula.manual_seed(3)
    facula.rand(100, device="cuda")
    assert facula.equal(facula.rand(4), expected)


def test_categories_are_drawn_by_their_weights():
    weights = facula.tensor([[0.0, 1.0, 3.0, 0.0], [1.0, 0.0, 0.0, 0.0]], device="cuda")
    drawn = facula.multinomial(weights, 20000, replacement=True)
    assert drawn.shape == (2, 20000)
    assert drawn[1].amax().item() == 0
    share = (drawn[0] == 2).to(facula.float32).mean().item()
    assert 0.73 < share < 0.77
    assert set(drawn[0].unique().tolist()) == {1, 2}
    all_of_them = facula.multinomial(facula.ones(3, 8, device="cuda"), 8)
    assert all_of_them.sort(1).values.tolist() == [list(range(8))] * 3
    with pytest.raises(RuntimeError, match="multinomial"):
        facula.multinomial(facula.tensor([-1.0, 2.0], device="cuda"), 1)
