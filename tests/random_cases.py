"""Calls that draw random numbers, written once for PyTorch and for Facula.

``lib`` is either module: the two have the same API, and the same seed gives both the same numbers.
"""

import hashlib

FLOATING = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
WIDE = ("int32", "int64", "float64")

# 16 is where normals begin to be drawn in blocks; 624 words are one state of the generator.
SIZES = (0, 1, 2, 3, 15, 16, 17, 31, 33, 40, 100, 623, 1000, 1025, 4097)


def _empty(lib, dtype, n):
    return lib.empty(n, dtype=getattr(lib, dtype))


def _ramp(lib, dtype, n, top):
    return (lib.arange(n, dtype=lib.float64) * (top / max(n - 1, 1))).to(getattr(lib, dtype))


def _strided(lib, dtype, n):
    return lib.zeros(n, 2, dtype=getattr(lib, dtype))[:, 0]


def _multinomial(lib, dtype, n, g, n_samples, replacement):
    weights = (1 + lib.arange(2 * (n + 1)).reshape(2, -1) % 5).to(getattr(lib, dtype))
    return lib.multinomial(weights, min(n_samples, n + 1), replacement, generator=g)


def _method(name, *args):
    return lambda lib, dtype, n, g: getattr(_empty(lib, dtype, n), name)(*args, generator=g)


def _creation(name, *args):
    def call(lib, dtype, n, g):
        return getattr(lib, name)(*args, (n,), dtype=getattr(lib, dtype), generator=g)

    return call


# name: (dtypes, call). A call makes one tensor from (lib, dtype, n, generator).
CASES = {
    "rand": (FLOATING, _creation("rand")),
    "randn": (FLOATING, _creation("randn")),
    "randint": (INTEGERS + FLOATING, _creation("randint", 3, 101)),
    "randint below 2^28": (WIDE, _creation("randint", 0, 2**28 - 1)),
    "randint from 2^28": (WIDE, _creation("randint", 0, 2**28)),
    "randperm": (
        ("int32", "int64", "float32", "float64"),
        lambda lib, dtype, n, g: lib.randperm(n, dtype=getattr(lib, dtype), generator=g),
    ),
    "normal": (FLOATING, _creation("normal", 0.3, 0.7)),
    "uniform_": (FLOATING, _method("uniform_", 3.1, 100.7)),
    "normal_": (FLOATING, _method("normal_", -3.1, 10.7)),
    "normal_ strided": (
        FLOATING,
        lambda lib, dtype, n, g: _strided(lib, dtype, n).normal_(0.3, 0.7, generator=g),
    ),
    "log_normal_": (FLOATING, _method("log_normal_", 0.3, 0.7)),
    "cauchy_": (FLOATING, _method("cauchy_", 0.3, 0.7)),
    "exponential_": (FLOATING, _method("exponential_", 0.37)),
    "geometric_": (INTEGERS + FLOATING, _method("geometric_", 0.3)),
    "bernoulli_": (("bool", *INTEGERS, *FLOATING), _method("bernoulli_", 0.3)),
    "bernoulli": (
        FLOATING,
        lambda lib, dtype, n, g: lib.bernoulli(_ramp(lib, dtype, n, 1.0), generator=g),
    ),
    "random_": (("bool", *INTEGERS, *FLOATING), _method("random_")),
    "random_ range": (INTEGERS + FLOATING, _method("random_", 3, 101)),
    "random_ all bits": (("int64", "float64", "float32"), _method("random_", -(2**63), None)),
    "multinomial": (FLOATING, lambda *args: _multinomial(*args, 10, False)),
    "multinomial of one": (FLOATING, lambda *args: _multinomial(*args, 1, True)),
    "multinomial with replacement": (FLOATING, lambda *args: _multinomial(*args, 10, True)),
    "poisson": (
        FLOATING,
        lambda lib, dtype, n, g: lib.poisson(_ramp(lib, dtype, n, 40.0), generator=g),
    ),
}


def to_bytes(lib, tensor):
    # Widened, which is exact, because NumPy has no bfloat16.
    wide = lib.float64 if tensor.dtype.is_floating_point else lib.int64
    return tensor.to(wide).numpy().tobytes()


def fingerprint(lib, name, dtype, kind=None):
    """A digest of the numbers of every size, drawn one after the other, and of the last state."""
    _, call = CASES[name]
    generator = lib.Generator() if kind is None else lib.Generator(kind=kind)
    generator.manual_seed(2**40 + 7)
    digest = hashlib.sha256()
    for n in SIZES:
        digest.update(to_bytes(lib, call(lib, dtype, n, generator)))
    digest.update(generator.get_state().numpy().tobytes())
    return digest.hexdigest()[:16]
