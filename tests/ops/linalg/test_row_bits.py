"""A row of a product has the bits that it has alone: by sizes, dtypes, layouts, instruction sets.

Every case is run in processes that are held to an instruction set each, because the kernels are
chosen as the library is loaded.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import facula
from facula.nn import functional as F

DTYPES = ["float32"] * 3 + ["float64", "complex64", "complex128", "float16", "bfloat16"]
# Both sides of every number that cuts a sum or chooses a way: a vector, a tile, several sums, a
# slice of k, two slices, a long k.
EDGES = [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 48, 49, 64, 97]
DEPTHS = [1, 2, 3, 5, 16, 63, 64, 100, 255, 256, 257, 300, 511, 777, 1000, 1024, 1025, 1531, 2049]
LONG = [16385, 65535, 65536, 65537]


def matrix(rng, rows, cols, dtype):
    """Of random numbers, in a random layout."""
    dtype = getattr(facula, dtype)
    by_columns, is_part = rng.random() < 0.5, rng.random() < 0.3
    shape = (cols, rows) if by_columns else (rows, cols)
    x = facula.randn(shape[0], shape[1] + 5 * is_part).to(dtype)[:, : shape[1]]
    return x.t() if by_columns else x


def same(rows, all_rows, what):
    assert facula.equal(rows, all_rows), what
    signs = [x.real.signbit() if x.is_complex() else x.signbit() for x in (rows, all_rows)]
    assert facula.equal(*signs), what


def check_product(rng):
    m = rng.choice([rng.choice(EDGES[1:]), rng.randint(2, 100)])
    n = rng.choice([1, rng.choice(EDGES), rng.randint(1, 200)])
    k = rng.choice([rng.choice(DEPTHS), rng.randint(1, 400)])
    if rng.random() < 0.01:
        m, n, k = min(m, 9), min(n, 20), rng.choice(LONG)
    dtype = rng.choice(DTYPES)
    a, b, c = matrix(rng, m, k, dtype), matrix(rng, k, n, dtype), matrix(rng, m, n, dtype)
    first = rng.randrange(m)
    part = slice(first, first + rng.choice([1, 1, 2, 3, 5, 8]))
    beta, alpha = rng.choice([0, 1, 0.3]), rng.choice([1, 0.7])
    what = dtype, (m, k, n), a.stride(), b.stride(), part, beta, alpha

    product = a @ b
    same(a[part] @ b, product[part], what)
    same(a[part].contiguous() @ b, product[part], what)
    same(a[first] @ b, product[first], what)
    if n == 1:
        same(facula.mv(a, b[:, 0]), product[:, 0], what)
        same(facula.dot(a[first], b[:, 0]), product[first, 0], what)
    same(facula.bmm(a[None], b[None])[0], product, what)
    same(facula.bmm(a[:, None], b.expand(m, k, n))[:, 0], product, what)
    same(facula.einsum("ij,jk->ik", a[part], b), facula.einsum("ij,jk->ik", a, b)[part], what)
    total = facula.addmm(c, a, b, beta=beta, alpha=alpha)
    same(facula.addmm(c[part], a[part], b, beta=beta, alpha=alpha), total[part], what)
    for bias in (None, c[0].contiguous()):
        layer = F.linear(a, b.t(), bias)
        same(F.linear(a[part], b.t(), bias), layer[part], what)
        same(F.linear(a[first], b.t(), bias), layer[first], what)
    with_threads(lambda: a @ b, product, what)


def with_threads(program, expected, what):
    n_threads = facula.get_num_threads()
    try:
        for n in (1, 3):
            facula.set_num_threads(n)
            same(program(), expected, what)
    finally:
        facula.set_num_threads(n_threads)


def check_convolution(rng):
    """An image of a batch, for kernels of one pixel."""
    channels, to, n = rng.randint(1, 40), rng.randint(1, 40), rng.randint(2, 5)
    side = rng.choice([1, 3, 7, 12, 14])
    x = facula.randn(n, channels, side, side).to(getattr(facula, rng.choice(DTYPES[:4])))
    w = facula.randn(to, channels, 1, 1).to(x.dtype)
    what = x.dtype, x.shape, w.shape
    for stride in (1, 2):
        images = F.conv2d(x, w, stride=stride)
        for i in range(n):
            same(F.conv2d(x[i : i + 1], w, stride=stride), images[i : i + 1], what)


def check_attention(rng):
    """A sequence of a batch, and a query among others."""
    n, heads, length, size = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 140), 16
    dtype = getattr(facula, rng.choice(["float32", "float64", "bfloat16"]))
    q, k, v = (facula.randn(n, heads, length, size).to(dtype) for _ in range(3))
    every = F.scaled_dot_product_attention(q, k, v)
    i, j = rng.randrange(n), rng.randrange(length)
    what = dtype, q.shape, i, j
    same(F.scaled_dot_product_attention(q[i], k[i], v[i]), every[i], what)
    one = F.scaled_dot_product_attention(q[:, :, j : j + 1], k, v)
    same(one, every[:, :, j : j + 1], what)


def main(seed, n_cases):
    rng = random.Random(seed)
    facula.manual_seed(seed)
    for i in range(n_cases):
        check_product(rng)
        if i % 4 == 0:
            check_convolution(rng)
            check_attention(rng)


@pytest.mark.promise("T10")
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("capability", ["baseline", "avx2", "avx512"])
def test_a_row_has_the_same_bits_among_any_number_of_others(capability, seed):
    environment = os.environ | {"FACULA_CPU_CAPABILITY": capability}
    program = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); "
    program += f"import test_row_bits; test_row_bits.main({seed}, 150)"
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=300)


@pytest.mark.promise("T10")
@pytest.mark.parametrize(
    "m, k, n, dtype",
    [
        (64, 256, 256, "float32"),
        (64, 511, 777, "float32"),
        (64, 1000, 100, "float32"),
        (64, 1000, 100, "float64"),
        (64, 384, 1536, "float32"),
    ],
)
def test_every_number_of_rows_of_a_layer(m, k, n, dtype):
    dtype = getattr(facula, dtype)
    x, w, bias = (facula.randn(*s).to(dtype) for s in ((m, k), (n, k), (n,)))
    for added in (None, bias):
        layer = F.linear(x, w, added)
        for n_rows in [*range(1, 20), 31, 33, 47, 63]:
            same(F.linear(x[:n_rows], w, added), layer[:n_rows], (n_rows, added is None))
