import copy
import json
import pickle
from pathlib import Path

import pytest
from random_cases import CASES, FLOATING, fingerprint

import facula

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "random.json").read_text())


@pytest.mark.promise("T9")
@pytest.mark.parametrize("name", CASES)
def test_numbers_and_state_are_those_of_pytorch(name):
    dtypes, _ = CASES[name]
    assert {dtype: fingerprint(facula, name, dtype) for dtype in dtypes} == GOLDEN[name]


def test_first_numbers_of_seed_0():
    facula.manual_seed(0)
    assert facula.rand(3).tolist() == [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]


@pytest.mark.promise("T9")
@pytest.mark.parametrize("name", ["rand", "randn", "randperm", "bernoulli_", "multinomial"])
def test_philox_repeats_itself(name):
    dtype = CASES[name][0][0]
    assert fingerprint(facula, name, dtype, "philox") == fingerprint(facula, name, dtype, "philox")


@pytest.mark.promise("T9")
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("name", ["rand", "randn"])
def test_philox_number_depends_on_its_index_and_not_on_the_length(name, dtype):
    draw = CASES[name][1]
    short, long = (
        draw(facula, dtype, n, facula.Generator(kind="philox").manual_seed(5)) for n in (100, 20000)
    )
    assert short.tolist() == long.tolist()[:100]


def test_philox_calls_give_different_numbers():
    generator = facula.Generator(kind="philox").manual_seed(5)
    first, second = (facula.rand(100, generator=generator) for _ in range(2))
    assert not set(first.tolist()) & set(second.tolist())


def test_philox_has_the_published_bits():
    # Random123's vector for key 0 and counter 0, of which four elements have a word each.
    generator = facula.Generator(kind="philox").manual_seed(0)
    bits = facula.empty(4, dtype=facula.int64).random_(-(2**63), None, generator=generator)
    words = [number % 2**64 >> 32 for number in bits.tolist()]
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_philox_normals_have_the_moments_of_a_normal():
    generator = facula.Generator(kind="philox").manual_seed(1)
    for dtype in (facula.float32, facula.float64):
        x = facula.randn(50000, dtype=dtype, generator=generator).tolist()
        moments = [sum(v**k for v in x) / len(x) for k in (1, 2, 3, 4)]
        assert moments == pytest.approx([0, 1, 0, 3], abs=0.15)


@pytest.mark.parametrize("dtype", FLOATING)
def test_philox_normals_of_neighbours_are_independent(dtype):
    # Two share a radius and an angle.
    generator = facula.Generator(kind="philox").manual_seed(1)
    x = facula.randn(100000, dtype=getattr(facula, dtype), generator=generator).double()
    even, odd = x[::2], x[1::2]
    for power in (1, 2):
        correlation = facula.corrcoef(facula.stack([even**power, odd**power]))[0, 1]
        assert abs(correlation.item()) < 0.02


def test_state_restores_the_numbers_that_follow():
    for kind in ("mt19937", "philox"):
        generator = facula.Generator(kind=kind).manual_seed(3)
        facula.randn(3, generator=generator)  # leaves one normal in reserve
        state = generator.get_state()
        expected = facula.randn(5, generator=generator).tolist()
        facula.rand(1000, generator=generator)
        assert generator.set_state(state) is generator
        assert facula.randn(5, generator=generator).tolist() == expected


@pytest.mark.parametrize("kind", ["mt19937", "philox"])
def test_generators_can_be_copied_and_pickled(kind):
    generator = facula.Generator(kind=kind).manual_seed(3)
    facula.rand(10, generator=generator)
    pickled = pickle.loads(pickle.dumps(generator))
    copies = [generator.clone_state(), copy.deepcopy(generator), pickled]
    expected = facula.rand(5, generator=generator).tolist()
    assert [facula.rand(5, generator=g).tolist() for g in copies] == [expected] * 3


def test_generators_are_independent_of_the_default_one():
    facula.manual_seed(0)
    facula.rand(10, generator=facula.Generator().manual_seed(1))
    assert facula.rand(1).item() == 0.49625658988952637


@pytest.mark.parametrize("is_enabled", [True, False])
def test_fork_rng_leaves_no_trace(is_enabled):
    facula.manual_seed(0)
    with facula.random.fork_rng(enabled=is_enabled):
        facula.rand(1)
    assert (facula.rand(1).item() == 0.49625658988952637) is is_enabled


def test_seeds_are_reported():
    assert facula.Generator().initial_seed() == 67280421310721
    assert facula.Generator().manual_seed(-3).initial_seed() == 2**64 - 3
    facula.manual_seed(11)
    assert facula.initial_seed() == 11
    assert facula.seed() == facula.initial_seed() == facula.default_generator.initial_seed()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seed_outside_64_bits_is_refused(seed):
    with pytest.raises(ValueError, match="manual_seed: expected a seed in"):
        facula.manual_seed(seed)


def test_state_of_a_wrong_length_is_refused():
    with pytest.raises(RuntimeError, match=r"set_state: expected a state of 5056 bytes"):
        facula.set_rng_state(facula.zeros(10, dtype=facula.uint8))


def test_bytes_that_are_no_state_are_refused():
    with pytest.raises(RuntimeError, match=r"set_state: the bytes are not the state"):
        facula.set_rng_state(facula.zeros(5056, dtype=facula.uint8))


def test_state_of_another_dtype_is_refused():
    with pytest.raises(TypeError, match=r"set_state: expected a uint8 tensor"):
        facula.set_rng_state(facula.zeros(5056))
